"""How much a push may hold: records and values, counted as a reader of JSON would find them, summaries and labels."""

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregation.push import bounds, checks
from aggregation.push.bounds import BLOCKS_MAXIMUM, RECORDS_MAXIMUM, SUMMARIES_MAXIMUM, bounds_check
from aggregation.push.checks import LABELS_MAXIMUM
from healthsvc.kernel.errors import ErrorCode, ServiceError
from tests import factories
from tests.aggregation.pushing import Body, body_of, counts, heartbeat, push, receipt_of
from tests.aggregation.test_push import DAY, held, nothing_is_stored
from tests.clients import ApiClient
from users.models import User

TEXTS = st.text(st.sampled_from('a,{}[]"\\ü'), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
BODIES = st.fixed_dictionaries(
    {"provider": TEXTS},
    optional={
        part: st.dictionaries(TEXTS, st.lists(VALUES, max_size=4), max_size=3) for part in ("timeseries", "summaries")
    },
)


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team)


def values_of(value: Any) -> int:
    """The items and members of a value, at all depths; an empty list or object counts as one."""
    if not isinstance(value, dict | list):
        return 0
    children = list(value.values()) if isinstance(value, dict) else value
    return max(1, len(children)) + sum(map(values_of, children))


def records_of(body: dict[str, Any]) -> int:
    lists = [one for part in ("timeseries", "summaries") for one in body.get(part, {}).values()]
    return sum(max(1, len(one)) for one in lists)


def code(body: bytes) -> ErrorCode | None:
    try:
        bounds_check(body)
    except ServiceError as error:
        return error.code
    return None


@settings(deadline=None)
@given(BODIES, st.integers(4, 60), st.booleans())
def test_records_and_values_are_counted_to_the_one(body: dict[str, Any], chunk_bytes: int, spaced: bool) -> None:
    text = orjson.dumps(body, option=orjson.OPT_INDENT_2 if spaced else 0)
    records, values = records_of(body), values_of(body)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bounds, "_CHUNK_BYTES", chunk_bytes)
        for most_records, most_values in ((records, values), (records, values - 1), (records - 1, values)):
            patched.setattr(bounds, "RECORDS_MAXIMUM", most_records)
            patched.setattr(bounds, "VALUES_MAXIMUM", most_values)
            # Bodies with fewer marks than records are let by without a look.
            over = (most_records, most_values) != (records, values)
            looked_at = sum(text.count(mark) for mark in (b",", b"{", b"[")) > most_records
            assert code(text) is (ErrorCode.TOO_LARGE if over and looked_at else None)


def test_what_is_over_the_bounds_is_refused_before_it_is_read() -> None:
    def body(records: list[bytes]) -> bytes:
        return b'{"provider":"manual","timeseries":{"steps":[' + b",".join(records) + b"]}}"

    sample = b'{"start":"2026-03-01T08:00:00Z","value":1}'
    assert code(body([sample] * RECORDS_MAXIMUM)) is None
    assert code(body([sample] * (RECORDS_MAXIMUM + 1))) is ErrorCode.TOO_LARGE
    assert code(body([b"1"] * (RECORDS_MAXIMUM + 1))) is ErrorCode.TOO_LARGE
    assert code(body([b"[" + b"1," * bounds.VALUES_MAXIMUM + b"1]"])) is ErrorCode.TOO_LARGE
    assert code(b"[" * 20_000_000) is ErrorCode.TOO_LARGE
    assert code(body([b'"' + b",{[" * RECORDS_MAXIMUM + b'"'])) is None
    assert code(b"\xff" * 1_000_000) is None


@pytest.mark.parametrize("named", ['{"provider":"manual","timeseries":{%s}}', "{%s}"])
def test_names_are_counted_before_they_are_read(named: str) -> None:
    """Each would be an entry of a receipt."""
    for value in ("[]", "1"):
        names = ",".join(f'"name_{number}":{value}' for number in range(RECORDS_MAXIMUM + 1))
        with pytest.raises(ServiceError) as caught:
            bounds_check((named % names).encode())
        assert "names of fields and resources" in str(caught.value.detail)


def test_labels_of_a_list_are_bounded(api: ApiClient, user: User, team: factories.Tenant) -> None:
    begin = datetime(2026, 3, 1, tzinfo=UTC)

    def beats(kinds: list[str]) -> list[Any]:
        return [
            heartbeat((begin + timedelta(seconds=number)).isoformat(), type=kind) for number, kind in enumerate(kinds)
        ]

    wrong = [heartbeat("yesterday", type=f"wrong {number}") for number in range(10)]
    wrong += [heartbeat(f"{DAY}T08:00:00Z", -1.0, type=f"low {number}") for number in range(10)]
    kinds = [f"kind {number}" for number in range(LABELS_MAXIMUM)]
    receipt = receipt_of(api, user, body_of({"heartrate": [*wrong, *beats([*kinds, "one more", "kind 0", ""])]}))
    assert receipt["timeseries"] == {"heartrate": counts(created=LABELS_MAXIMUM + 2, refused=21)}
    (beyond,) = (one for one in receipt["refused"] if one["reason"] == "too_many_labels")
    assert (beyond["index"], beyond["loc"]) == (len(wrong) + LABELS_MAXIMUM, ["type"])
    labels = [label for *_, label in held(team, user)]
    assert labels == [*kinds, "kind 0", None]


def test_what_notes_say_is_no_label(api: ApiClient, user: User) -> None:
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    notes = [
        {"start": (begin + timedelta(minutes=number)).isoformat(), "content": f"note {number}"}
        for number in range(LABELS_MAXIMUM + 5)
    ]
    assert receipt_of(api, user, body_of({"note": notes}))["timeseries"] == {"note": counts(created=len(notes))}


def test_notes_of_a_list_are_bounded_all_the_same(api: ApiClient, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "NOTES_MAXIMUM", 3)
    notes = [
        {"start": f"{DAY}T08:00:0{second}Z", "content": f"note {number}"}
        for second, number in enumerate((0, 1, 2, 3, 2))
    ]
    receipt = receipt_of(api, user, body_of({"note": notes}))
    assert receipt["timeseries"] == {"note": counts(created=4, refused=1)}
    assert [(one["index"], one["loc"]) for one in receipt["refused"]] == [(3, ["content"])]


def test_a_push_of_too_many_records_is_refused_whole(api: ApiClient, user: User, team: factories.Tenant) -> None:
    body = b'{"provider":"manual","timeseries":{"steps":[' + b"{}," * RECORDS_MAXIMUM + b"{}]}}"
    answer = api.request("POST", f"/v2/user/{user.id}/data", data=body)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert "Split it" in answer.json()["detail"]
    given: Body = {"horoscope": [{}] * (SUMMARIES_MAXIMUM - 1), "activity": [{}], "workout_stream": [{}]}
    answer = push(api, user, body_of(None, given))
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert nothing_is_stored(team)
    assert receipt_of(api, user, body_of({"steps": []}, {**given, "activity": []}))["refused_total"] == 5_000


def test_samples_far_apart_are_bounded_by_the_stretches_they_touch(
    api: ApiClient, team: factories.Tenant, user: User
) -> None:
    first = datetime(2020, 1, 1, tzinfo=UTC)
    every_hour = [
        {"timestamp": (first + timedelta(hours=hour)).isoformat(), "value": 0.1, "type": "lead_1"}
        for hour in range(BLOCKS_MAXIMUM + 1)
    ]
    answer = push(api, user, body_of({"electrocardiogram_voltage": every_hour}))
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert "10000 stretches of time" in answer.json()["detail"]
    assert nothing_is_stored(team)
    day = every_hour[:24]
    assert receipt_of(api, user, body_of({"electrocardiogram_voltage": day}))["refused_total"] == 0
