"""Google Health over HTTP: pages, the person's own days, parts of a consent, errors by reason, and its notices."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import orjson
import pytest
from pytest_django import Settings

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.store.checking import Ingestion, sample_reasons, summary_reason
from healthsvc.kernel.principal import Environment
from links.catalogue import catalogue
from links.connectors.base import Pulled
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.google_health.client import GoogleHealthConnector
from links.connectors.google_health.hooks import RESOURCES, authorization_of
from links.connectors.hooks import HookCall, HookRefused, HookSecrets, Notice, Revokes, TakesHooks
from links.connectors.oauth import authorize_address
from links.connectors.registry import connector_of
from links.connectors.wire import Access
from simulator.day import day_of, local
from simulator.google_health_documents import user_id
from simulator.person import Person, person_of
from tests.links.payloads import load
from tests.links.stub_server import Asked, stub_running
from tests.links.vendors import application_make
from tests.simulator.running import RunningSimulator
from tests.webhooks.receiving import receiver

GOOGLE = GoogleHealthConnector()
_SCOPES = "https://www.googleapis.com/auth/googlehealth."
ACTIVITY, METRICS, SLEEP, NUTRITION = (
    f"{_SCOPES}{name}.readonly"
    for name in ("activity_and_fitness", "health_metrics_and_measurements", "sleep", "nutrition")
)
ALL = (ACTIVITY, METRICS, SLEEP, NUTRITION)
SECRETS = HookSecrets(verify_token="hush", client_secret="shared")
FIRST, LAST = date(2026, 10, 10), date(2026, 11, 9)
#: Los Angeles, Helsinki and London, whose clocks change within the month, on both sides of UTC and at it.
PEOPLE = ("ada", "grace", "alice")


@pytest.fixture
def simulator(tmp_path: Path, settings: Settings) -> Iterator[RunningSimulator]:
    """A simulator that the service may call, its clock stopped at 2026-11-15 12:00 UTC."""
    with RunningSimulator(tmp_path / "simulator.sqlite3") as running:
        running.stop_clock("2026-11-15T12:00:00+00:00")
        settings.LOOPBACK_ORIGINS = [running.url]
        yield running


def access(simulator: RunningSimulator, person: str = "ada", scopes: tuple[str, ...] = ALL) -> Access:
    """What opens the data of one simulated person."""
    token = simulator.access_token("google_health", scope=" ".join(scopes), person=person)
    return Access(f"{simulator.url}/google_health", token, frozenset(scopes))


def days(start_on: date, end_on: date) -> list[date]:
    return [start_on + timedelta(days=number) for number in range((end_on - start_on).days + 1)]


def windowed(opened: Access, resource: str, days_each: int, overlap_days: int = 0) -> list[Pulled]:
    """The month in windows."""
    found, start_on = [], FIRST
    while start_on <= LAST:
        end_on = min(start_on + timedelta(days=days_each - 1), LAST)
        found.append(GOOGLE.pull(opened, resource, start_on, end_on))
        start_on += timedelta(days=days_each - overlap_days)
    assert all(one.refusals == () for one in found)
    return found


def rows_of(found: list[Pulled]) -> list[tuple[Any, ...]]:
    """Everything that came, one row a record or sample."""
    rows: list[tuple[Any, ...]] = [
        (one.resource, one.external_id, repr(one)) for pulled in found for one in pulled.summaries
    ]
    for batch in (batch for pulled in found for batch in pulled.series):
        values = zip(batch.samples.start_us.tolist(), batch.samples.values.tolist(), strict=True)
        rows += [(batch.source, start, value) for start, value in values]
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("name", PEOPLE)
def test_a_month_comes_once_in_windows_that_touch_and_in_one(simulator: RunningSimulator, name: str) -> None:
    opened, wide = access(simulator, name), 99
    for resource, width in GOOGLE.window_days.items():
        touching = windowed(opened, resource, width if resource == "heartrate" else min(width, 7))
        rows = rows_of(touching)
        assert len(rows) == len(set(rows)) > 0, resource
        if resource != "activity":
            assert sorted(map(repr, rows)) == sorted(map(repr, rows_of(windowed(opened, resource, wide)))), resource
        for pulled in touching:
            assert [one for one in pulled.summaries if summary_reason(one, Ingestion()) is not None] == []
            wrong = [sample_reasons(SERIES_BY_SLUG[one.resource], one.samples, Ingestion()) for one in pulled.series]
            assert [one for one in wrong if one] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", PEOPLE)
def test_what_comes_is_what_the_person_did(simulator: RunningSimulator, name: str) -> None:
    opened, person = access(simulator, name), person_of(f"person:{name}")
    lived = [day_of(person, on) for on in days(FIRST, LAST)]
    nights = {one.calendar_date: one for one in _summaries(opened, "sleep") if one.fields["type"] != "acknowledged_nap"}
    assert set(nights) == set(days(FIRST, LAST))
    for day in lived:
        night = nights[day.on]
        assert night.starts_at is not None
        assert int(night.starts_at.timestamp()) == day.night.starts_at
        assert (night.fields["duration"], night.fields["total"]) == (day.night.in_bed_seconds, day.night.asleep_seconds)
        assert night.timezone_offset_seconds == _offset_seconds(person, day.night.ends_at)
    activity = {one.calendar_date: one.fields["steps"] for one in _summaries(opened, "activity")}
    walked = {day.on: sum(slot.steps for slot in day.slots) for day in lived}
    assert activity == walked
    steps = [one for pulled in windowed(opened, "steps", 7) for one in pulled.series if one.source.type == "watch"]
    assert sum(float(one.samples.values.sum()) for one in steps) == sum(walked.values())
    beats = np.concatenate(
        [one.samples.start_us for pulled in windowed(opened, "heartrate", 3) for one in pulled.series]
    )
    worn = [slot.starts_at * 1_000_000 for day in lived for slot in day.slots if slot.bpm is not None]
    assert sorted(beats.tolist()) == worn
    workouts = [day.workout.starts_at for day in lived if day.workout]
    told = [one.starts_at.timestamp() for one in _summaries(opened, "workouts") if one.starts_at]
    assert sorted(told) == workouts


def _summaries(opened: Access, resource: str) -> list[Any]:
    return [one for pulled in windowed(opened, resource, 14) for one in pulled.summaries]


def _offset_seconds(person: Person, at: int) -> int:
    offset = local(person, at).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


def test_the_stages_come_with_their_night(simulator: RunningSimulator) -> None:
    opened = access(simulator)
    nights = {one.external_id: one for one in GOOGLE.pull(opened, "sleep", FIRST, LAST).summaries}
    both = GOOGLE.pull(opened, "sleep_cycle", FIRST, LAST).summaries
    assert {one.external_id: one for one in both if one.resource == "sleep"} == nights
    assert [one.external_id for one in both if one.resource == "sleep_cycle"] == list(nights)


def test_a_day_under_way_is_told_so_far_and_tomorrow_not_at_all(simulator: RunningSimulator) -> None:
    opened = access(simulator)
    today = date(2026, 11, 15)
    pulled = GOOGLE.pull(opened, "activity", today - timedelta(days=1), today + timedelta(days=1))
    assert [one.calendar_date for one in pulled.summaries] == [today - timedelta(days=1), today]
    whole, part = (float(str(one.fields["calories_total"])) for one in pulled.summaries)
    assert part < whole
    assert GOOGLE.pull(opened, "steps", today + timedelta(days=1), today + timedelta(days=2)) == Pulled()


@pytest.mark.parametrize("scope", ALL)
def test_each_part_of_a_consent_opens_its_own(simulator: RunningSimulator, scope: str) -> None:
    opened, start_on, end_on = access(simulator, scopes=(scope,)), date(2026, 10, 24), date(2026, 11, 6)
    for resource, offer in catalogue()["google_health"].resources.items():
        if set(offer.required) <= {scope}:
            assert rows_of([GOOGLE.pull(opened, resource, start_on, end_on)]), resource
            continue
        with pytest.raises(ProviderFailure) as failed:
            GOOGLE.pull(opened, resource, start_on, end_on)
        assert failed.value.kind is FailureKind.SCOPE_MISSING, resource


def test_days_without_the_scope_of_measurements_have_no_heart_rate(simulator: RunningSimulator) -> None:
    (alone,) = GOOGLE.pull(access(simulator, scopes=(ACTIVITY,)), "activity", FIRST, FIRST).summaries
    (both,) = GOOGLE.pull(access(simulator), "activity", FIRST, FIRST).summaries
    assert alone.fields["heart_rate"] is None
    assert alone.fields == {**both.fields, "heart_rate": None}
    assert isinstance(both.fields["heart_rate"], dict)
    assert both.fields["heart_rate"]["resting_bpm"] == person_of("person:ada").resting_bpm


def test_the_account_is_googles_id_where_it_may_be_asked_for(simulator: RunningSimulator) -> None:
    assert GOOGLE.account_id(access(simulator)) == user_id(person_of("person:ada"))
    assert GOOGLE.account_id(access(simulator, scopes=(NUTRITION,))) == ""
    dead = replace(access(simulator), access_token="dead")
    with pytest.raises(ProviderFailure) as failed:
        GOOGLE.account_id(dead)
    assert failed.value.kind is FailureKind.TOKEN_REJECTED


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("http_429", FailureKind.RATE_LIMITED),
        ("http_500", FailureKind.UNAVAILABLE),
        ("truncated_json", FailureKind.TRANSPORT),
        ("token_dead", FailureKind.TOKEN_REJECTED),
    ],
)
def test_failures_half_way_are_told_by_kind(simulator: RunningSimulator, fault: str, kind: FailureKind) -> None:
    opened = access(simulator)
    body = {"slug": "google_health", "kind": fault, "path_prefix": "/v4", "skip": 1, "retry_after_seconds": 17}
    assert simulator.post_json("/_control/faults", body).status < 300
    with pytest.raises(ProviderFailure) as failed:
        GOOGLE.pull(opened, "sleep", FIRST, LAST)
    assert failed.value.kind is kind
    assert failed.value.retry_after_seconds == (17 if kind is FailureKind.RATE_LIMITED else 0)


ERROR = load("google_health/error_scope.json")


def refused(code: int, reason: str, **rest: Any) -> tuple[int, bytes]:
    return code, orjson.dumps({"error": {"code": code, "details": [{"reason": reason}], **rest}})


@pytest.mark.parametrize(
    ("answer", "kind", "wait_seconds"),
    [
        ((403, orjson.dumps(ERROR)), FailureKind.SCOPE_MISSING, 0),
        (refused(403, "RATE_LIMIT_EXCEEDED"), FailureKind.RATE_LIMITED, 60),
        ((403, b'{"error":{"errors":[{"reason":"userRateLimitExceeded"}]}}'), FailureKind.RATE_LIMITED, 60),
        (refused(403, "SERVICE_DISABLED"), FailureKind.REFUSED, 0),
        ((403, b"<html>scope"), FailureKind.FORBIDDEN, 0),
        ((403, b'{"error":"no"}'), FailureKind.FORBIDDEN, 0),
        (refused(400, "ACCOUNT_NOT_LINKED"), FailureKind.REFUSED, 0),
        (refused(429, "RATE_LIMIT_EXCEEDED"), FailureKind.RATE_LIMITED, 60),
        ((401, b"{}"), FailureKind.TOKEN_REJECTED, 0),
        ((503, b""), FailureKind.UNAVAILABLE, 0),
        ((200, b"[]"), FailureKind.TRANSPORT, 0),
        ((200, b'{"dataPoints":{}}'), FailureKind.TRANSPORT, 0),
        ((200, b'{"nextPageToken":7}'), FailureKind.TRANSPORT, 0),
    ],
)
def test_an_error_is_read_by_its_reason(
    settings: Settings, answer: tuple[int, bytes], kind: FailureKind, wait_seconds: int
) -> None:
    with stub_running(lambda asked: answer) as stub:
        settings.LOOPBACK_ORIGINS = [stub.url]
        with pytest.raises(ProviderFailure) as failed:
            GOOGLE.pull(Access(stub.url, "token", frozenset(ALL)), "steps", FIRST, FIRST)
    assert (failed.value.kind, failed.value.retry_after_seconds) == (kind, wait_seconds)


def test_pages_are_followed_and_a_listing_without_end_is_given_up(settings: Settings) -> None:
    asked_for: list[dict[str, list[str]]] = []

    def endless(asked: Asked) -> tuple[int, bytes]:
        asked_for.append(parse_qs(urlsplit(asked.path).query))
        return 200, b'{"nextPageToken":"more"}'

    with stub_running(endless) as stub:
        settings.LOOPBACK_ORIGINS = [stub.url]
        with pytest.raises(ProviderFailure) as failed:
            GOOGLE.pull(Access(stub.url, "token", frozenset(ALL)), "fat", FIRST, LAST)
    assert failed.value.kind is FailureKind.REFUSED
    assert len(asked_for) == 200
    filtered = 'body_fat.sample_time.civil_time >= "2026-10-10" AND body_fat.sample_time.civil_time < "2026-11-10"'
    assert asked_for[0] == {"filter": [filtered], "pageSize": ["5000"], "prettyPrint": ["false"]}
    assert asked_for[1] == {**asked_for[0], "pageToken": ["more"]}


def test_a_login_asks_for_a_refresh_token_and_is_revoked_by_rfc_7009() -> None:
    provider = catalogue()["google_health"]
    assert provider.oauth is not None
    with receiver() as vendor:
        application = application_make(vendor, "google_health")
        address = authorize_address(application, state="s", verifier="v" * 43, scopes=provider.scopes)
    query = parse_qs(urlsplit(address).query)
    assert (query["access_type"], query["prompt"]) == (["offline"], ["consent"])
    # Google would add what other grants of the person already hold.
    assert "include_granted_scopes" not in query
    assert set(query["scope"][0].split()) == set(ALL)
    assert provider.oauth.revoke_url == "https://oauth2.googleapis.com/revoke"
    assert not isinstance(GOOGLE, Revokes)


def test_sandbox_and_production_have_the_connector() -> None:
    assert isinstance(GOOGLE, TakesHooks)
    for environment in Environment:
        assert isinstance(connector_of("google_health", environment), GoogleHealthConnector)
    assert set(catalogue()["google_health"].resources) == set(GOOGLE.window_days)


def told(document: Any, authorization: str | None = authorization_of("hush"), method: str = "POST") -> HookCall:
    """A call as Google makes it."""
    headers = {"content-type": "application/json"}
    if authorization is not None:
        headers["authorization"] = authorization
    return HookCall(method, {}, headers, document if isinstance(document, bytes) else orjson.dumps(document))


def test_the_place_is_shown_to_be_ours() -> None:
    assert GOOGLE.hook_answer(told({"type": "verification"}), SECRETS).status == 201
    for authorization in (None, "", "Bearer hushed", "hush", "Basic hush", "Bearer shared", "Bearer é"):
        with pytest.raises(HookRefused):
            GOOGLE.hook_answer(told({"type": "verification"}, authorization), SECRETS)
    with pytest.raises(HookRefused):
        GOOGLE.hook_answer(told({"type": "verification"}, "Bearer "), replace(SECRETS, verify_token=""))
    with pytest.raises(HookRefused):
        GOOGLE.hook_answer(told(b"", method="GET"), SECRETS)


NOTICE = load("google_health/notice.json")


def test_a_notice_has_the_days_read_again_that_it_may_be_of() -> None:
    found = Notice(
        "111111256096816351", ("steps", "calories_active", "activity"), date(2026, 10, 14), date(2026, 10, 15)
    )
    answer = GOOGLE.hook_answer(told(NOTICE), SECRETS)
    assert (answer.status, answer.body, answer.notices) == (204, b"", (found,))
    assert GOOGLE.hook_answer(told([NOTICE, {"data": {}}, 7]), SECRETS).notices == (found,)


@pytest.mark.parametrize("data_type", sorted(RESOURCES))
def test_each_data_type_has_what_it_is_read_as(data_type: str) -> None:
    call = told({"data": {**_data(), "dataType": data_type, "intervals": []}})
    (notice,) = GOOGLE.hook_answer(call, SECRETS).notices
    assert notice == Notice("111111256096816351", RESOURCES[data_type])
    assert set(notice.resources) <= set(GOOGLE.window_days)


def _data() -> dict[str, Any]:
    data = NOTICE["data"]
    assert isinstance(data, dict)
    return dict(data)


@pytest.mark.parametrize(
    "changes",
    [
        {"operation": "DELETE"},
        {"dataType": "altitude"},
        {"dataType": ["steps"]},
        {"healthUserId": ""},
        {"healthUserId": 7},
    ],
)
def test_a_notice_that_means_nothing_to_us_does_nothing(changes: dict[str, Any]) -> None:
    answer = GOOGLE.hook_answer(told({"data": {**_data(), **changes}}), SECRETS)
    assert (answer.status, answer.notices) == (204, ())


@pytest.mark.parametrize(
    "intervals",
    [None, 7, [7], [{"physicalTimeInterval": "now"}], [{"physicalTimeInterval": {"startTime": "soon", "endTime": 1}}]],
)
def test_a_notice_whose_time_cannot_be_read_is_of_the_last_days(intervals: Any) -> None:
    (notice,) = GOOGLE.hook_answer(told({"data": {**_data(), "intervals": intervals}}), SECRETS).notices
    assert (notice.start_on, notice.end_on) == (None, None)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff"])
def test_a_call_that_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(HookRefused):
        GOOGLE.hook_answer(told(body), SECRETS)
