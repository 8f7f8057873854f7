"""Pushes over HTTP: what is stored, what is refused and named, and whose data may be sent."""

import gzip
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import orjson
import pyarrow as pa
import pytest

from aggregation.models import Push, Series, Summary
from aggregation.push.receipts import REFUSED_NAMED_MAXIMUM
from aggregation.records import OFFSET_UNKNOWN, DataSource
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.pushing import body_of, counts, heartbeat, push, receipt_of
from tests.aggregation.samples import Sample, stored, us
from tests.clients import ApiClient
from users.models import User
from webhooks.models import Event

SOURCE = DataSource("manual", "watch", "com.example", "w-1")
DAY = "2026-03-01"
NIGHT = {
    "bedtime_start": "2026-02-28T22:00:00Z", "bedtime_stop": "2026-03-01T06:00:00Z", "type": "long_sleep",
    "duration": 28_800, "total": 27_000, "awake": 1_800, "light": 15_000, "rem": 6_000, "deep": 6_000,
}  # fmt: skip


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team)


def held(team: factories.Tenant, user: User, resource: str = "heartrate") -> list[Sample]:
    with team_scope(team.context):
        return stored(team.context, user.id, resource).get((resource, SOURCE), [])


def nothing_is_stored(team: factories.Tenant) -> bool:
    with team_scope(team.context):
        return not any((Series.objects.count(), Summary.objects.count(), Push.objects.count(), Event.objects.count()))


def test_what_is_pushed_can_be_read_when_it_answers(api: ApiClient, user: User) -> None:
    sample = heartbeat(f"{DAY}T08:00:00Z", 61.5, timezone_offset=3_600, type="automatic")
    receipt = receipt_of(api, user, body_of({"heartrate": [sample]}, batch_id="first"))
    assert datetime.fromisoformat(receipt.pop("stored_at")).tzinfo is not None
    assert receipt == {
        "batch_id": "first",
        "timeseries": {"heartrate": counts(created=1)},
        "summaries": {},
        "refused": [],
        "refused_total": 0,
        "notes": [],
    }
    read = api.get(f"/v2/timeseries/{user.id}/heartrate/grouped", {"start_date": DAY, "end_date": DAY}).json()
    (group,) = read["groups"]["manual"]
    assert (group["source"]["type"], group["source"]["app_id"]) == ("watch", "com.example")
    (found,) = group["data"]
    assert (found["timestamp"], found["value"], found["unit"]) == (f"{DAY}T08:00:00+00:00", 61.5, "bpm")
    assert (found["timezone_offset"], found["type"]) == (3_600, "automatic")


def test_counts_are_those_of_one_after_another(api: ApiClient, user: User, team: factories.Tenant) -> None:
    times = [f"{DAY}T08:0{minute}:00Z" for minute in range(5)]
    receipt_of(api, user, body_of({"heartrate": [heartbeat(at) for at in times[:3]]}))
    second = [heartbeat(times[0]), heartbeat(times[1], 70.0), heartbeat(times[3]), heartbeat(times[3])]
    second += [heartbeat(times[4], 50.0), heartbeat(times[4], 55.0), heartbeat(times[4], 1_000.0)]
    receipt = receipt_of(api, user, body_of({"heartrate": second}))
    assert receipt["timeseries"] == {"heartrate": counts(created=2, changed=2, unchanged=2, refused=1)}
    assert [value for _, _, value, _, _ in held(team, user)] == [60.0, 70.0, 60.0, 60.0, 55.0]


def test_both_names_of_a_resource_are_taken(api: ApiClient, user: User) -> None:
    weight = [{"timestamp": f"{DAY}T08:00:00Z", "value": 80.0}]
    assert receipt_of(api, user, body_of({"weight": weight}))["timeseries"] == {"weight": counts(created=1)}
    assert receipt_of(api, user, body_of({"body_weight": weight}))["timeseries"] == {"body_weight": counts(unchanged=1)}
    both = push(api, user, body_of({"weight": weight, "body_weight": weight}))
    assert both.json()["detail"][0]["loc"] == ["body", "timeseries", "body_weight"]


def test_units_are_converted_at_the_edge(api: ApiClient, user: User, team: factories.Tenant) -> None:
    at = [f"{DAY}T08:0{minute}:00Z" for minute in range(4)]
    given = [heartbeat(at[0], 1.0, unit="Hz"), heartbeat(at[1], 61.0, unit="bpm"), heartbeat(at[2], 62.0)]
    receipt = receipt_of(api, user, body_of({"heartrate": [*given, heartbeat(at[3], 63.0, unit="furlong")]}))
    assert receipt["timeseries"] == {"heartrate": counts(created=3, refused=1)}
    assert receipt["refused"] == [
        {
            "kind": "timeseries",
            "resource": "heartrate",
            "index": 3,
            "reason": "unit_unknown",
            "loc": ["unit"],
            "count": 1,
        }
    ]
    assert [value for _, _, value, _, _ in held(team, user)] == [60.0, 61.0, 62.0]


def test_a_unit_that_depends_on_the_type_is_converted_by_it(api: ApiClient, user: User, team: factories.Tenant) -> None:
    at = [f"{DAY}T08:0{minute}:00Z" for minute in range(3)]
    given = [
        heartbeat(at[0], 100.0, unit="mg/dL", type="ldl"),
        heartbeat(at[1], 100.0, unit="mg/dL", type="triglycerides"),
        heartbeat(at[2], 2.0, type="hdl"),
    ]
    receipt = receipt_of(api, user, body_of({"cholesterol": given}))
    assert receipt["timeseries"] == {"cholesterol": counts(created=3)}
    values = [round(value, 2) for _, _, value, _, _ in held(team, user, "cholesterol")]
    assert values == [2.59, 1.13, 2.0]


def test_fields_of_a_resource_are_its_own(api: ApiClient, user: User) -> None:
    at = f"{DAY}T08:00:00Z"
    given = {
        "blood_pressure": [
            {"timestamp": at, "systolic": 120, "diastolic": 80},
            {"timestamp": f"{DAY}T09:00:00Z", "systolic": 16, "diastolic": 10, "unit": "kPa"},
            {"timestamp": f"{DAY}T10:00:00Z", "systolic": 120},
            {"timestamp": f"{DAY}T11:00:00Z", "systolic": 120, "diastolic": 80, "value": 1},
        ],
        "note": [
            {"start": at, "end": at, "content": "slept badly", "tags": ["food", "exercise"]},
            {"start": f"{DAY}T09:00:00Z", "value": "better"},
            {"start": f"{DAY}T10:00:00Z", "tags": ["food"]},
        ],
    }
    receipt = receipt_of(api, user, body_of(given))
    assert receipt["timeseries"] == {
        "blood_pressure": counts(created=2, refused=2),
        "note": counts(created=2, refused=1),
    }
    named = [(one["resource"], one["index"], one["reason"]) for one in receipt["refused"]]
    assert named == [
        ("blood_pressure", 2, "missing_field"),
        ("blood_pressure", 3, "unknown_field"),
        ("note", 2, "missing_field"),
    ]


WRONG: list[tuple[Any, str, list[Any]]] = [
    (heartbeat("yesterday"), "bad_date", ["timestamp"]),
    (heartbeat("2026-02-30T08:00:00Z"), "bad_date", ["timestamp"]),
    (heartbeat("2026-03-01T08:00:00"), "bad_date", ["timestamp"]),
    (heartbeat("1700-01-01T08:00:00Z"), "bad_date", ["timestamp"]),
    ({"timestamp": 1_772_352_000, "value": 60}, "bad_date", ["timestamp"]),
    ({"value": 60}, "missing_field", ["timestamp"]),
    ({"timestamp": "2026-03-01T08:00:00Z"}, "missing_field", ["value"]),
    ({"timestamp": "2026-03-01T08:00:00Z", "value": None}, "missing_field", ["value"]),
    ({"timestamp": "2026-03-01T08:00:00Z", "value": "60"}, "bad_value", ["value"]),
    ({"timestamp": "2026-03-01T08:00:00Z", "value": True}, "bad_value", ["value"]),
    (heartbeat("2026-03-01T08:00:00Z", 4_000.0), "out_of_range", ["value"]),
    (heartbeat("2026-03-01T08:00:00Z", pulse=3), "unknown_field", ["pulse"]),
    (heartbeat("2026-03-01T08:00:00Z", timezone_offset=100_000), "bad_offset", ["timezone_offset"]),
    (heartbeat("2026-03-01T08:00:00Z", timezone_offset="+01:00"), "bad_offset", ["timezone_offset"]),
    (heartbeat("2026-03-01T08:00:00Z", type="a\u0000b"), "bad_value", ["type"]),
    ("2026-03-01T08:00:00Z", "bad_value", []),
    (None, "bad_value", []),
    ([60], "bad_value", []),
]


def test_every_wrong_sample_is_named_and_its_neighbours_are_stored(
    api: ApiClient, user: User, team: factories.Tenant
) -> None:
    records: list[Any] = []
    for number, (wrong, _, _) in enumerate(WRONG):
        records += [heartbeat(f"{DAY}T10:00:{number:02}Z"), wrong]
    receipt = receipt_of(api, user, body_of({"heartrate": records}))
    assert receipt["timeseries"] == {"heartrate": counts(created=len(WRONG), refused=len(WRONG))}
    named = [(one["index"], one["reason"], one["loc"]) for one in receipt["refused"]]
    assert named == [(2 * number + 1, reason, loc) for number, (_, reason, loc) in enumerate(WRONG)]
    assert receipt["refused_total"] == len(WRONG)
    assert len(held(team, user)) == len(WRONG)


def test_what_breaks_one_record_breaks_no_other(api: ApiClient, user: User) -> None:
    """Damage inside a record that only shows when the record itself is read."""
    good = b'{"timestamp":"2026-03-01T08:00:00Z","value":60}'
    for number, wrong in enumerate(
        [b'{"timestamp":"\xff\xfe","value":60}', b'{"timestamp":"2026-03-01T08:00:01Z","value":1e999}', b"{}"]
    ):
        body = b'{"provider":"manual","timeseries":{"heartrate":[' + wrong + b"," + good + b"]}}"
        answer = api.request("POST", f"/v2/user/{user.id}/data", data=body)
        assert answer.status_code == 200, (number, answer.content)
        assert answer.json()["timeseries"]["heartrate"]["refused"] == 1
        assert answer.json()["refused"][0]["index"] == 0


def test_a_thousand_are_named_and_all_are_counted(api: ApiClient, user: User) -> None:
    wrong = [heartbeat(f"{DAY}T08:00:00Z", -1.0) for _ in range(REFUSED_NAMED_MAXIMUM + 5)]
    receipt = receipt_of(api, user, body_of({"heartrate": wrong, "steps": [{"value": 1}]}))
    assert receipt["timeseries"]["heartrate"] == counts(refused=REFUSED_NAMED_MAXIMUM + 5)
    assert receipt["timeseries"]["steps"] == counts(refused=1)
    assert (len(receipt["refused"]), receipt["refused_total"]) == (REFUSED_NAMED_MAXIMUM, REFUSED_NAMED_MAXIMUM + 6)
    assert [one["index"] for one in receipt["refused"] if one["resource"] == "steps"] == [0]


def test_every_list_has_its_share_of_the_names(api: ApiClient, user: User) -> None:
    wrong = heartbeat(f"{DAY}T08:00:00Z", -1.0)
    sizes = {"heartrate": 2_000, "glucose": 1_500, "steps": 150, "hrv": 3}
    receipt = receipt_of(api, user, body_of({name: [wrong] * size for name, size in sizes.items()}))
    named = Counter(one["resource"] for one in receipt["refused"])
    assert named == {"hrv": 3, "steps": 150, "glucose": 424, "heartrate": 423}
    assert receipt["refused_total"] == sum(sizes.values())


def test_a_resource_that_is_unknown_in_one_half_stores_nothing_there(api: ApiClient, user: User) -> None:
    receipt = receipt_of(api, user, body_of({"sleep": [{"value": 1}]}, {"sleep": [NIGHT], "steps": [{}]}))
    assert receipt["timeseries"] == {"sleep": counts(refused=1)}
    assert receipt["summaries"] == {"sleep": counts(created=1), "steps": counts(refused=1)}


def test_an_unknown_resource_takes_nothing_down(api: ApiClient, user: User) -> None:
    given = {"mood": [{"value": 1}, {"value": 2}], "heartrate": [heartbeat(f"{DAY}T08:00:00Z")]}
    receipt = receipt_of(api, user, body_of(given, {"horoscope": [{}]}))
    assert receipt["timeseries"] == {"mood": counts(refused=2), "heartrate": counts(created=1)}
    assert receipt["summaries"] == {"horoscope": counts(refused=1)}
    assert [(one["resource"], one["index"], one["reason"]) for one in receipt["refused"]] == [
        ("mood", 0, "unknown_resource"),
        ("mood", 1, "unknown_resource"),
        ("horoscope", 0, "unknown_resource"),
    ]


def test_days_the_customer_does_not_want_are_refused(api: ApiClient, team: factories.Tenant) -> None:
    user = factories.user_make(team, ingestion_start=datetime(2026, 3, 2, tzinfo=UTC).date())
    given = [
        heartbeat("2026-03-01T23:30:00Z"),
        heartbeat("2026-03-01T23:30:00+01:00"),
        heartbeat("2026-03-02T00:00:00Z"),
    ]
    given.append(heartbeat("2026-03-01T23:30:00Z", timezone_offset=3_600))
    receipt = receipt_of(api, user, body_of({"heartrate": given}, {"activity": [{"calendar_date": DAY, "steps": 1}]}))
    assert receipt["timeseries"] == {"heartrate": counts(created=2, refused=2)}
    assert receipt["summaries"] == {"activity": counts(refused=1)}
    assert {one["reason"] for one in receipt["refused"]} == {"outside_ingestion_bounds"}


def test_stretches_have_a_start_and_an_end(api: ApiClient, user: User, team: factories.Tenant) -> None:
    given = [
        {"start": f"{DAY}T08:00:00Z", "end": f"{DAY}T08:01:00Z", "value": 10},
        {"timestamp": f"{DAY}T08:01:00Z", "value": 20},
        {"start": f"{DAY}T08:02:00Z", "end": f"{DAY}T08:01:00Z", "value": 30},
        {"start": f"{DAY}T09:03:00", "end": f"{DAY}T09:04:00", "timezone_offset": 3_600, "value": 40},
        {"start": f"{DAY}T09:05:00+01:00", "end": f"{DAY}T09:06:00", "value": 50},
        {"start": f"{DAY}T08:07:00Z", "end": "never", "value": 60},
    ]
    receipt = receipt_of(api, user, body_of({"steps": given}))
    assert receipt["timeseries"] == {"steps": counts(created=4, refused=2)}
    assert [(one["index"], one["reason"]) for one in receipt["refused"]] == [(2, "end_before_start"), (5, "bad_date")]
    assert [(start, end, offset) for start, end, _, offset, _ in held(team, user, "steps")] == [
        (us(2026, 3, 1, 8, 0), us(2026, 3, 1, 8, 1), OFFSET_UNKNOWN),
        (us(2026, 3, 1, 8, 1), us(2026, 3, 1, 8, 1), OFFSET_UNKNOWN),
        (us(2026, 3, 1, 8, 3), us(2026, 3, 1, 8, 4), 3_600),
        (us(2026, 3, 1, 8, 5), us(2026, 3, 1, 8, 6), 3_600),
    ]


def test_a_time_zone_places_what_names_no_offset(api: ApiClient, user: User, team: factories.Tenant) -> None:
    """The night of the spring gap and the night of the hour that comes twice."""
    given = ["2026-03-29T01:30:00", "2026-03-29T03:30:00", "2026-10-25T02:30:00", "2026-10-25T01:30:00Z"]
    body = body_of({"heartrate": [heartbeat(at) for at in given]}, time_zone="Europe/Berlin")
    receipt_of(api, user, body)
    assert [(start, offset) for start, _, _, offset, _ in held(team, user)] == [
        (us(2026, 3, 29, 0, 30), 3_600),
        (us(2026, 3, 29, 1, 30), 7_200),
        (us(2026, 10, 25, 0, 30), 7_200),
        (us(2026, 10, 25, 1, 30), 3_600),
    ]


def test_ten_thousand_samples_in_one_push(api: ApiClient, user: User, team: factories.Tenant) -> None:
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    given = [
        heartbeat((begin + timedelta(seconds=5 * number)).isoformat(), 50 + number % 60) for number in range(10_000)
    ]
    receipt = receipt_of(api, user, body_of({"heartrate": given}, batch_id="many"))
    assert receipt["timeseries"] == {"heartrate": counts(created=10_000)}
    assert [value for _, _, value, _, _ in held(team, user)] == [float(50 + number % 60) for number in range(10_000)]


def test_summaries_are_kept_by_their_senders_name_or_by_what_they_are_of(
    api: ApiClient, user: User, team: factories.Tenant
) -> None:
    first = {
        "sleep": [{**NIGHT, "id": "night-1", "score": 80}, NIGHT],
        "activity": [{"calendar_date": DAY, "steps": 9_000}, {"calendar_date": "2026-03-02", "steps": 1}],
    }
    receipt = receipt_of(api, user, body_of(None, first))
    assert receipt["summaries"] == {"sleep": counts(created=2), "activity": counts(created=2)}
    again = {
        "sleep": [{**NIGHT, "id": "night-1", "score": 81}, NIGHT, {**NIGHT, "score": 70}],
        "activity": [{"calendar_date": DAY, "steps": 9_500}],
    }
    receipt = receipt_of(api, user, body_of(None, again))
    assert receipt["summaries"] == {"sleep": counts(changed=2, unchanged=1), "activity": counts(changed=1)}
    with team_scope(team.context):
        night = Summary.objects.get(external_id="night-1")
        assert night.raw == {**NIGHT, "id": "night-1", "score": 81}
        assert (night.provider, night.source_type, night.calendar_date.isoformat()) == ("manual", "watch", DAY)
        assert Summary.objects.count() == 4


def test_the_day_of_a_summary_is_the_persons(api: ApiClient, user: User, team: factories.Tenant) -> None:
    late = {"time_start": "2026-03-01T23:30:00Z", "time_end": "2026-03-02T00:30:00Z", "sport": "running"}
    given = [
        {**late, "id": "utc"},
        {**late, "id": "offset", "timezone_offset": 3_600},
        {**late, "id": "own", "time_start": "2026-03-02T00:30:00+01:00"},
        {**late, "id": "named", "calendar_date": "2026-03-05"},
    ]
    assert receipt_of(api, user, body_of(None, {"workouts": given}))["summaries"] == {"workouts": counts(created=4)}
    zoned = body_of(None, {"workouts": [{**late, "id": "zone"}]}, time_zone="America/New_York")
    receipt_of(api, user, zoned)
    with team_scope(team.context):
        rows = {row.external_id: row for row in Summary.objects.all()}
    days = {name: row.calendar_date.isoformat()[-2:] for name, row in rows.items()}
    assert days == {"utc": "01", "offset": "02", "own": "02", "named": "05", "zone": "01"}
    offsets = {name: row.timezone_offset_seconds for name, row in rows.items()}
    assert offsets == {"utc": None, "offset": 3_600, "own": 3_600, "named": None, "zone": -18_000}


def test_a_night_is_of_the_day_on_the_clock_where_it_ends(api: ApiClient, user: User, team: factories.Tenant) -> None:
    def night(name: str, start: str, stop: str, **more: Any) -> Any:
        return {**NIGHT, "id": name, "bedtime_start": start, "bedtime_stop": stop, **more}

    travel = ("2026-03-01T22:00:00+01:00", "2026-03-01T23:30:00-05:00")
    given = [
        night("travel", *travel),
        night("told", *travel, timezone_offset=3_600),
        night("half", "2026-03-01T22:00:00+01:00", "2026-03-01T23:30:00Z"),
    ]
    summer = body_of(
        None, {"sleep": [night("summer", "2026-03-28T23:00:00", "2026-03-29T07:00:00")]}, time_zone="Europe/Berlin"
    )
    assert receipt_of(api, user, body_of(None, {"sleep": given}))["refused"] == []
    assert receipt_of(api, user, summer)["refused"] == []
    with team_scope(team.context):
        rows = {row.external_id: row for row in Summary.objects.all()}
    found = {
        name: (row.calendar_date.isoformat(), row.timezone_offset_seconds, row.ends_at) for name, row in rows.items()
    }
    assert found == {
        "travel": ("2026-03-01", -18_000, datetime(2026, 3, 2, 4, 30, tzinfo=UTC)),
        "told": ("2026-03-02", 3_600, datetime(2026, 3, 2, 4, 30, tzinfo=UTC)),
        "half": ("2026-03-02", 3_600, datetime(2026, 3, 1, 23, 30, tzinfo=UTC)),
        "summer": ("2026-03-29", 7_200, datetime(2026, 3, 29, 5, tzinfo=UTC)),
    }


def test_a_wrong_summary_is_named_and_its_neighbours_are_stored(api: ApiClient, user: User) -> None:
    wrong: list[tuple[Any, str]] = [
        ({**NIGHT, "bedtime_start": "22:00"}, "bad_date"),
        ({name: value for name, value in NIGHT.items() if name != "bedtime_stop"}, "missing_field"),
        ({**NIGHT, "calendar_date": "2026-02-30"}, "bad_date"),
        ({**NIGHT, "calendar_date": "2026-W01-1"}, "bad_date"),
        ({**NIGHT, "timezone_offset": 1e9}, "bad_offset"),
        ({**NIGHT, "timezone_offset": True}, "bad_offset"),
        ({**NIGHT, "id": ["a"]}, "bad_value"),
        ({**NIGHT, "id": "a" * 300}, "bad_value"),
        ({**NIGHT, "dreams": 3}, "unknown_field"),
        ({**NIGHT, "score": 1_000}, "out_of_range"),
        ({**NIGHT, "state": "a\u0000b"}, "bad_value"),
        ("night", "bad_value"),
        (7, "bad_value"),
    ]
    receipt = receipt_of(api, user, body_of(None, {"sleep": [NIGHT, *(record for record, _ in wrong)]}))
    assert receipt["summaries"] == {"sleep": counts(created=1, refused=len(wrong))}
    assert [(one["index"], one["reason"]) for one in receipt["refused"]] == [
        (number, reason) for number, (_, reason) in enumerate(wrong, start=1)
    ]


def test_compressed_bodies_are_taken(api: ApiClient, user: User) -> None:
    body = orjson.dumps(body_of({"heartrate": [heartbeat(f"{DAY}T08:00:00Z")]}, batch_id="once"))
    sent = {"gzip": gzip.compress(body), "zstd": pa.Codec("zstd").compress(body, asbytes=True), "identity": body}
    answers = [
        api.request("POST", f"/v2/user/{user.id}/data", data=data, headers={"Content-Encoding": encoding})
        for encoding, data in sent.items()
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert answers[0].json() == answers[1].json() == answers[2].json()
    assert [answer.headers.get("Idempotent-Replayed") for answer in answers] == [None, "true", "true"]


def test_other_encodings_types_and_sizes_are_refused(api: ApiClient, user: User, team: factories.Tenant) -> None:
    path = f"/v2/user/{user.id}/data"
    body = orjson.dumps(body_of({"heartrate": [heartbeat(f"{DAY}T08:00:00Z")]}))
    bomb = gzip.compress(b" " * 100_000_001, compresslevel=1)
    answers = [
        api.request("POST", path, data=body, headers={"Content-Encoding": "br"}),
        api.request("POST", path, data=body, content_type="text/csv"),
        api.request("POST", path, data=body, headers={"Content-Encoding": "gzip"}),
        api.request("POST", path, data=bomb, headers={"Content-Encoding": "gzip"}),
        api.request("POST", path, data=b" " * 10_000_001),
    ]
    assert [answer.status_code for answer in answers] == [415, 415, 422, 413, 413]
    assert nothing_is_stored(team)


UNREADABLE: list[tuple[bytes, list[Any]]] = [
    (b"", ["body"]),
    (b"{", ["body"]),
    (b"[]", ["body"]),
    (b"null", ["body"]),
    (b"[" * 100_000, ["body"]),
    (b'{"provider":"manual","timeseries":{"heartrate":[{"timestamp":"\\ud800"}]}}', ["body"]),
    (b'{"timeseries":{}}', ["body", "provider"]),
    (b'{"provider":"manual"}', ["body"]),
    (b'{"provider":"nobody","timeseries":{}}', ["body", "provider"]),
    (b'{"provider":1,"timeseries":{}}', ["body", "provider"]),
    (b'{"provider":"manual","timeseries":[]}', ["body", "timeseries"]),
    (b'{"provider":"manual","timeseries":{"heartrate":{}}}', ["body", "timeseries", "heartrate"]),
    (b'{"provider":"manual","timeseries":{"Heart Rate":[]}}', ["body", "timeseries"]),
    (b'{"provider":"manual","timeseries":{},"more":1}', ["body", "more"]),
    (b'{"provider":"manual","timeseries":{},"source":"watch"}', ["body", "source"]),
    (b'{"provider":"manual","timeseries":{},"source":{"type":"toaster"}}', ["body", "source", "type"]),
    (b'{"provider":"manual","timeseries":{},"source":{"app_id":"a\\u0000"}}', ["body", "source", "app_id"]),
    (b'{"provider":"manual","timeseries":{},"time_zone":"Mars/Base"}', ["body", "time_zone"]),
    (b'{"provider":"manual","timeseries":{},"batch_id":""}', ["body", "batch_id"]),
    (b'{"provider":"manual","timeseries":{},"provider":"manual"}', ["body", "provider"]),
    (b'{"provider":"manual","summaries":{},"timeseries":{"steps":[]},"summaries":{}}', ["body", "summaries"]),
    (b'{"provider":"manual","timeseries":null , "timeseries" : {}}', ["body", "timeseries"]),
    (b'{"provider":"manual","timeseries":{},"source":{"type":"ring","type":"watch"}}', ["body", "source", "type"]),
    (b'{"provider":"manual","timeseries":{"steps":[1],"steps":[1]}}', ["body", "timeseries", "steps"]),
    (b'{"provider":"manual","timeseries":{"steps":[1],"note":[],"st\\u0065ps":[]}}', ["body", "timeseries", "steps"]),
    (b'{"provider":"manual","summaries":{"sleep":12,"sleep":1}}', ["body", "summaries", "sleep"]),
]


@pytest.mark.parametrize(("body", "loc"), UNREADABLE)
def test_an_outside_that_is_wrong_is_refused_whole(
    api: ApiClient, user: User, team: factories.Tenant, body: bytes, loc: list[Any]
) -> None:
    answer = api.request("POST", f"/v2/user/{user.id}/data", data=body)
    assert answer.status_code == 422
    assert [problem["loc"] for problem in answer.json()["detail"]] == [loc]
    assert nothing_is_stored(team)


def test_a_team_key_pushes_for_manual_only(api: ApiClient, user: User, team: factories.Tenant) -> None:
    body = {**body_of({"heartrate": [heartbeat(f"{DAY}T08:00:00Z")]}), "provider": "oura"}
    answer = push(api, user, body)
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
    assert "manual" in answer.json()["detail"]
    assert nothing_is_stored(team)


def test_another_teams_user_is_no_user(other_api: ApiClient, user: User, team: factories.Tenant) -> None:
    body = body_of({"heartrate": [heartbeat(f"{DAY}T08:00:00Z")]})
    missing = other_api.post(f"/v2/user/{uuid4()}/data", body)
    answer = push(other_api, user, body)
    assert answer.status_code == missing.status_code == 404
    assert {**answer.json(), "request_id": ""} == {**missing.json(), "request_id": ""}
    assert nothing_is_stored(team)


def test_events_tell_of_a_push(api: ApiClient, user: User, team: factories.Tenant) -> None:
    at = f"{DAY}T08:00:00Z"
    receipt_of(api, user, body_of({"heartrate": [heartbeat(at)]}, {"sleep": [NIGHT]}))
    receipt_of(api, user, body_of({"heartrate": [heartbeat(at, 70.0)]}, {"sleep": [NIGHT]}))
    with team_scope(team.context):
        types = sorted(Event.objects.values_list("event_type", flat=True))
    assert types == ["daily.data.heartrate.created", "daily.data.heartrate.updated", "daily.data.sleep.created"]
