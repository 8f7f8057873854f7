"""Reading samples over HTTP: shapes, windows in the person's days, pages, and nobody else's data."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import numpy as np
import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from aggregation import constants, selectors
from aggregation.catalogue import HEARTRATE, SERIES_BY_SLUG
from aggregation.models import Block, Tail
from aggregation.records import OFFSET_UNKNOWN, DataSource, SampleColumns, SeriesBatch
from aggregation.registry import provider_name
from aggregation.services import health_data_store
from aggregation.shapes import device_uuid
from aggregation.store import read
from aggregation.store.days import FOREVER, Moment, Window
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.samples import PHONE, WATCH, batch, heartrates, us
from tests.clients import ApiClient
from users.models import User
from webhooks.models import Event

BASE_US = us(2026, 3, 1)
HOUR_US = 3_600_000_000
HRV = SERIES_BY_SLUG["hrv"]

Store = Callable[..., None]


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team, fallback_time_zone="Europe/Berlin")


@pytest.fixture
def store(team: factories.Tenant, user: User) -> Store:
    def stored(*series: SeriesBatch) -> None:
        with team_scope(team.context):
            health_data_store(team=team.context, user_id=user.id, series=series)

    return stored


def grouped(api: ApiClient, user: User, resource: str = "heartrate", **query: str) -> dict[str, Any]:
    response = api.get(f"/v2/timeseries/{user.id}/{resource}/grouped", {"start_date": "2026-03-01", **query})
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def values(answer: dict[str, Any], provider: str = "oura") -> list[float]:
    return [sample["value"] for group in answer["groups"].get(provider, []) for sample in group["data"]]


def test_samples_come_by_provider_and_source(api: ApiClient, user: User, store: Store) -> None:
    store(
        heartrates({BASE_US: 60.0, BASE_US + 1: 61.5}, source=WATCH, offset_seconds=3_600),
        heartrates({BASE_US: 70.0}, source=PHONE, offset_seconds=OFFSET_UNKNOWN),
        heartrates({BASE_US: 80.0}, source=DataSource("garmin", "watch", device_id="left")),
    )
    ours, theirs = provider_name("oura"), provider_name("garmin")
    none: dict[str, Any] = {"app_id": None, "device_id": None, "workout_id": None, "sport": None}
    oura = {**none, "provider": "oura", "name": ours.name, "slug": "oura", "logo": ours.logo}
    sample: dict[str, Any] = {"type": None, "unit": "bpm", "timezone_offset": 3_600}
    expected: dict[str, Any] = {
        "groups": {
            "garmin": [
                {
                    "source": {
                        **none, "provider": "garmin", "type": "watch",
                        "device_id": str(device_uuid(user.id, "garmin", "left")),
                        "name": theirs.name, "slug": "garmin", "logo": theirs.logo,
                    },
                    "data": [{**sample, "timestamp": "2026-03-01T00:00:00+00:00", "value": 80.0, "timezone_offset": 0}],
                }
            ],
            "oura": [
                {
                    "source": {**oura, "type": "phone", "app_id": "com.example"},
                    "data": [
                        {**sample, "timestamp": "2026-03-01T00:00:00+00:00", "value": 70.0, "timezone_offset": None}
                    ],
                },
                {
                    "source": {**oura, "type": "watch"},
                    "data": [
                        {**sample, "timestamp": "2026-03-01T00:00:00+00:00", "value": 60.0},
                        {**sample, "timestamp": "2026-03-01T00:00:00.000001+00:00", "value": 61.5},
                    ],
                },
            ],
        },
        "next_cursor": None,
        "next": None,
    }  # fmt: skip
    assert grouped(api, user) == expected
    assert list(grouped(api, user, provider="garmin")["groups"]) == ["garmin"]
    assert grouped(api, user, provider="fitbit")["groups"] == {}


def test_a_device_keeps_the_uuid_that_its_sender_gave_it(api: ApiClient, user: User, store: Store) -> None:
    known = str(uuid4())
    names = ["left", known, known.upper()]
    store(*(heartrates({BASE_US: 80.0}, source=DataSource("garmin", "watch", device_id=name)) for name in names))
    shown = {group["source"]["device_id"] for group in grouped(api, user)["groups"]["garmin"]}
    assert shown == {known, str(device_uuid(user.id, "garmin", "left"))}
    assert device_uuid(user.id, "oura", "left") != device_uuid(user.id, "garmin", "left")


def test_an_interval_has_a_start_and_an_end(api: ApiClient, user: User, store: Store) -> None:
    store(batch([(BASE_US, BASE_US + 60_000_000, 12.0, 0, "walking")]))
    assert grouped(api, user, "steps")["groups"]["oura"][0]["data"] == [
        {
            "timestamp": "2026-03-01T00:00:00+00:00",
            "start": "2026-03-01T00:00:00+00:00",
            "end": "2026-03-01T00:01:00+00:00",
            "timezone_offset": 0,
            "type": "walking",
            "unit": "count",
            "value": 12.0,
        }
    ]


def test_variability_is_shown_in_the_unit_of_the_way_it_was_measured(
    api: ApiClient, team: factories.Tenant, user: User, store: Store
) -> None:
    kinds = ("sdnn", None, "rmssd", "sdnn")
    store(batch([(BASE_US + number, 0, 40.0, 0, kind) for number, kind in enumerate(kinds)], resource="hrv"))
    expected = [(kind, "sdnn" if kind == "sdnn" else "rmssd") for kind in kinds]
    (group,) = grouped(api, user, "hrv")["groups"]["oura"]
    flat = api.get(f"/v2/timeseries/{user.id}/hrv", {"start_date": "2026-03-01"}).json()
    with team_scope(team.context):
        told = orjson.loads(Event.objects.get().body)["data"]["data"]
    for samples in (group["data"], flat, told):
        assert [(sample["type"], sample["unit"]) for sample in samples] == expected


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        # 14 hours east of UTC, Berlin by the fallback, and 8 hours west: three instants that are all 1 March somewhere.
        ({"start_date": "2026-03-01", "end_date": "2026-03-01"}, [1.0, 2.0, 3.0]),
        ({"start_date": "2026-03-01"}, [1.0, 2.0, 3.0, 4.0]),
        ({"start_date": "2026-02-27", "end_date": "2026-02-28"}, []),
        ({"start_date": "2026-03-02", "end_date": "2026-03-02"}, [4.0]),
        ({"start_date": "2026-03-01T00:00:00", "end_date": "2026-03-01T00:30:00"}, [1.0, 2.0]),
        ({"start_date": "2026-02-28T10:30:00Z", "end_date": "2026-02-28T23:30:00Z"}, [1.0, 2.0]),
        ({"start_date": "2026-02-28T23:30:00.000001+00:00"}, [3.0, 4.0]),
        ({"start_date": "2026-03-02T00:30:00+01:00", "end_date": "2026-03-02T07:59:59+00:00"}, [3.0]),
        # Ends that are the start, and ends of another clock than the start.
        ({"start_date": "2026-02-28T23:30:00Z", "end_date": "2026-02-28T23:30:00+00:00"}, [2.0]),
        ({"start_date": "2026-03-01T00:30:00", "end_date": "2026-03-01T00:30:00"}, [1.0, 2.0]),
        ({"start_date": "2026-03-01", "end_date": "2026-02-28T23:30:00Z"}, [1.0, 2.0]),
        ({"start_date": "2026-03-02T07:30:00Z", "end_date": "2026-03-01"}, [3.0]),
    ],
)
def test_a_date_is_the_persons_day_and_an_offset_makes_an_instant(
    api: ApiClient, user: User, store: Store, window: dict[str, str], expected: list[float]
) -> None:
    kiritimati = heartrates({us(2026, 2, 28, 10, 30): 1.0}, offset_seconds=50_400)
    berlin = heartrates({us(2026, 2, 28, 23, 30): 2.0}, offset_seconds=OFFSET_UNKNOWN)
    pacific = heartrates({us(2026, 3, 2, 7, 30): 3.0, us(2026, 3, 2, 8): 4.0}, offset_seconds=-28_800)
    store(kiritimati, berlin, pacific)
    response = api.get(f"/v2/timeseries/{user.id}/heartrate/grouped", window)
    assert values(response.json()) == expected


def days(source: DataSource, *, first: int, last: int, seconds: int, offset_seconds: int = 0) -> SeriesBatch:
    """Evenly measured from the beginning of one day of March to the end of another, counting on from 50 to 149."""
    size = (last - first + 1) * 86_400 // seconds
    start_us = BASE_US + (first - 1) * 24 * HOUR_US + np.arange(size, dtype=np.int64) * seconds * 1_000_000
    values = 50.0 + np.arange(size, dtype=np.float64) % 100
    return SeriesBatch("heartrate", source, SampleColumns(start_us, values, np.full(size, offset_seconds, np.int32)))


@pytest.mark.slow
def test_a_day_of_five_second_heart_rate_comes_in_one_call(api: ApiClient, user: User, store: Store) -> None:
    store(days(WATCH, first=1, last=1, seconds=5), days(PHONE, first=1, last=1, seconds=5))
    answer = grouped(api, user, end_date="2026-03-01")
    assert [len(group["data"]) for group in answer["groups"]["oura"]] == [17_280, 17_280]
    assert answer["next_cursor"] is None
    assert [sample["value"] for sample in answer["groups"]["oura"][1]["data"][-3:]] == [127.0, 128.0, 129.0]


@pytest.mark.slow
def test_so_does_one_among_others_on_the_persons_own_clock(
    api: ApiClient, team: factories.Tenant, user: User, store: Store
) -> None:
    five_seconds = [
        days(source, first=1, last=8, seconds=5, offset_seconds=offset)
        for source, offset in ((WATCH, -28_800), (PHONE, 50_400))
    ]
    minutes = days(DataSource("garmin", "watch"), first=1, last=8, seconds=60)
    store(*five_seconds, minutes)
    for at_us in (us(2026, 3, 4, 8), us(2026, 3, 5, 7, 59)):
        store(heartrates({at_us: 42.0}, offset_seconds=-28_800))
    with team_scope(team.context):
        assert Tail.objects.count() == 2
    answer = grouped(api, user, start_date="2026-03-04", end_date="2026-03-04")
    assert answer["next_cursor"] is None
    phone, watch = answer["groups"]["oura"]
    assert [len(group["data"]) for group in (phone, watch, *answer["groups"]["garmin"])] == [17_280, 17_280, 1_440]
    ends = [(group["data"][0]["timestamp"], group["data"][-1]["timestamp"]) for group in (phone, watch)]
    assert ends == [
        ("2026-03-03T10:00:00+00:00", "2026-03-04T09:59:55+00:00"),
        ("2026-03-04T08:00:00+00:00", "2026-03-05T07:59:55+00:00"),
    ]
    assert [sample["timestamp"] for sample in watch["data"] if sample["value"] == 42.0] == [
        "2026-03-04T08:00:00+00:00",
        "2026-03-05T07:59:00+00:00",
    ]


@pytest.mark.slow
def test_the_flat_read_has_a_day_of_two_sources_measuring_every_second(
    team: factories.Tenant, user: User, store: Store
) -> None:
    for source in (WATCH, PHONE):
        store(days(source, first=3, last=6, seconds=1))
    day = Window(Moment(us(2026, 3, 4), local=True), Moment(us(2026, 3, 5) - 1, local=True))
    with team_scope(team.context):
        block = selectors.samples_flat(team.context, selectors.SampleQuery(user, HEARTRATE, day))
    assert block is not None
    assert block.start_us.tolist() == np.repeat(us(2026, 3, 4) + np.arange(86_400) * 1_000_000, 2).tolist()


@pytest.mark.parametrize("limit", [1, 3, 10, 11, 100])
def test_pages_of_a_rare_type_hold_everything_once_and_end_early(
    team: factories.Tenant, user: User, store: Store, limit: int
) -> None:
    """Pages may be short, for they go through so many samples at most; together they hold every one."""
    begun = BASE_US + 12 * HOUR_US
    hours = [begun + hour * HOUR_US for hour in range(24 * 30)]
    listed = [(at, at, float(number), 0, "sdnn" if number % 90 == 7 else "rmssd") for number, at in enumerate(hours)]
    store(batch(listed, resource="hrv", source=WATCH), batch(listed[100:], resource="hrv", source=PHONE))
    query = selectors.SampleQuery(user, HRV, Window(Moment(BASE_US, local=True), FOREVER), type="sdnn")
    found: dict[DataSource, list[float]] = {}
    after, pages = None, 0
    with team_scope(team.context):
        while pages < 100:
            page = selectors.sample_page(team.context, query, after=after, limit=limit)
            pages += 1
            for source, block in page.groups:
                assert block.value is not None
                found.setdefault(source, []).extend(block.value.tolist())
            if page.next is None:
                break
            after = page.next
        flat = selectors.samples_flat(team.context, query)
    expected = [float(number) for number in range(720) if number % 90 == 7]
    assert found == {WATCH: expected, PHONE: [number for number in expected if number >= 100]}
    assert flat is not None
    assert len(flat) == len(expected) * 2 - 2
    assert pages <= 2 + 1_340 // (20 * limit) + 15 // limit


@pytest.mark.parametrize("limit", [23, 24, 25])
def test_a_page_that_is_just_full_is_the_last_one(team: factories.Tenant, user: User, store: Store, limit: int) -> None:
    hours = {BASE_US + hour * HOUR_US: 60.0 for hour in range(24 * 5)}
    store(heartrates(hours, offset_seconds=3_600))
    day = Window(Moment(us(2026, 3, 3), local=True), Moment(us(2026, 3, 4) - 1, local=True))
    with team_scope(team.context):
        page = selectors.sample_page(team.context, selectors.SampleQuery(user, HEARTRATE, day), after=None, limit=limit)
    assert sum(len(block) for _, block in page.groups) == min(24, limit)
    assert (page.next is None) == (limit >= 24)


def test_what_changes_while_a_page_is_read_fails_nothing(
    team: factories.Tenant, user: User, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the blocks' sizes and the one at their content another writer ends."""
    hours = {BASE_US + hour * HOUR_US: 60.0 for hour in range(48)}
    store(heartrates(hours, source=WATCH), heartrates(hours, source=PHONE))
    query = selectors.SampleQuery(user, HEARTRATE, Window(Moment(BASE_US, local=False), FOREVER))
    samples_of = read.samples_of

    def read_after(change: Callable[[], object], limit: int) -> selectors.SamplePage:
        def changed(*arguments: Any) -> Any:
            monkeypatch.setattr(read, "samples_of", samples_of)
            change()
            return samples_of(*arguments)

        monkeypatch.setattr(read, "samples_of", changed)
        with team_scope(team.context):
            return selectors.sample_page(team.context, query, after=None, limit=limit)

    minutes = {BASE_US + minute * 60_000_000: 70.0 for minute in range(48 * 60)}
    grown = read_after(lambda: store(heartrates(minutes, source=PHONE), heartrates(minutes, source=WATCH)), 100)
    assert sum(len(block) for _, block in grown.groups) == 100
    assert grown.next is not None
    with team_scope(team.context):
        first, second = read.series_of(team.context, user.id, "heartrate")
    gone = read_after(lambda: Block.objects.filter(series_id=first.series_id).delete(), 10_000)
    assert [(source, len(block)) for source, block in gone.groups] == [(second.source, 48 * 60)]
    assert gone.next is None


@pytest.mark.parametrize("limit", [1, 7, 24, 25, 1_000])
def test_pages_hold_everything_once_and_in_order(team: factories.Tenant, user: User, store: Store, limit: int) -> None:
    hours = {BASE_US + hour * HOUR_US: 40.0 + hour for hour in range(100)}
    store(heartrates(hours, source=WATCH), heartrates(hours, source=PHONE))
    query = selectors.SampleQuery(user, HEARTRATE, Window(Moment(BASE_US + 5 * HOUR_US, local=False), FOREVER))
    found: dict[DataSource, list[int]] = {}
    after, pages = None, 0
    with team_scope(team.context):
        while pages < 250:
            page = selectors.sample_page(team.context, query, after=after, limit=limit)
            pages += 1
            assert sum(len(block) for _, block in page.groups) <= limit
            for source, block in page.groups:
                found.setdefault(source, []).extend(block.start_us.tolist())
            if page.next is None:
                break
            after = selectors.cursor_read(query, selectors.cursor_make(query, page.next))
    assert found == {source: list(hours)[5:] for source in (WATCH, PHONE)}
    assert pages <= 190 // limit + 9


def test_a_client_pages_through_with_the_cursor(
    api: ApiClient, user: User, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aggregation.api.timeseries.PAGE_SAMPLES_MAXIMUM", 3)
    store(heartrates({BASE_US + minute * 60_000_000: 60.0 + minute for minute in range(8)}))
    first = grouped(api, user)
    second = grouped(api, user, next_cursor=first["next_cursor"])
    third = grouped(api, user, cursor=second["next"])
    assert [values(page) for page in (first, second, third)] == [[60, 61, 62], [63, 64, 65], [66, 67]]
    assert third["next_cursor"] is None
    other_query = api.get(
        f"/v2/timeseries/{user.id}/heartrate/grouped",
        {"start_date": "2026-03-02", "next_cursor": first["next_cursor"]},
    )
    assert other_query.status_code == 422
    assert other_query.json()["detail"][0]["type"] == "cursor_invalid"


def test_a_cursor_ends_with_the_fallback_zone_it_was_made_in(
    api: ApiClient, team: factories.Tenant, user: User, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another zone makes other days of samples without an offset: pages of both do not fit together."""
    monkeypatch.setattr("aggregation.api.timeseries.PAGE_SAMPLES_MAXIMUM", 1)
    store(heartrates({BASE_US + hour * HOUR_US: 60.0 for hour in range(3)}, offset_seconds=OFFSET_UNKNOWN))
    cursor = grouped(api, user)["next_cursor"]
    with team_scope(team.context):
        User.objects.filter(pk=user.pk).update(fallback_time_zone="Asia/Tokyo")
    query = {"start_date": "2026-03-01", "next_cursor": cursor}
    refused = api.get(f"/v2/timeseries/{user.id}/heartrate/grouped", query)
    assert (refused.status_code, refused.json()["detail"][0]["type"]) == (422, "cursor_invalid")


def test_the_ungrouped_read_is_deprecated_and_in_order_of_time(api: ApiClient, user: User, store: Store) -> None:
    store(heartrates({BASE_US: 1.0, BASE_US + 2: 3.0}, source=WATCH), heartrates({BASE_US + 1: 2.0}, source=PHONE))
    response = api.get(f"/v2/timeseries/{user.id}/heartrate", {"start_date": "2026-03-01"})
    assert [sample["value"] for sample in response.json()] == [1.0, 2.0, 3.0]
    assert response["Deprecation"] == "@1767225600"
    empty = api.get(f"/v2/timeseries/{user.id}/glucose", {"start_date": "2026-03-01"})
    assert empty.json() == []


def test_too_many_samples_for_one_answer_are_refused_with_a_hint(
    api: ApiClient, user: User, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aggregation.selectors.samples.UNGROUPED_SAMPLES_MAXIMUM", 2)
    store(heartrates({BASE_US + minute: 60.0 for minute in range(3)}))
    response = api.get(f"/v2/timeseries/{user.id}/heartrate", {"start_date": "2026-03-01"})
    assert response.status_code == 422
    assert response.json()["code"] == "query_budget_exceeded"
    as_many = {"start_date": "2026-03-01T00:00:00Z", "end_date": "2026-03-01T00:00:00.000001Z"}
    assert len(api.get(f"/v2/timeseries/{user.id}/heartrate", as_many).json()) == 2
    assert constants.UNGROUPED_SAMPLES_MAXIMUM == 200_000


@pytest.mark.parametrize(
    ("query", "loc", "kind"),
    [
        ({}, "start_date", "missing"),
        ({"start_date": "yesterday"}, "start_date", "date_type"),
        ({"start_date": "2026-02-30"}, "start_date", "date_type"),
        ({"start_date": "0001-01-01"}, "start_date", "date_type"),
        ({"start_date": "2026-03-02", "end_date": "2026-03-01"}, "end_date", "value_error"),
        ({"start_date": "2026-03-02T10:00:00", "end_date": "2026-03-01"}, "end_date", "value_error"),
        ({"start_date": "2026-03-02T00:00:01Z", "end_date": "2026-03-02T00:00:00Z"}, "end_date", "value_error"),
        ({"start_date": "2026-03-02T00:30:00Z", "end_date": "2026-03-02T01:00:00+01:00"}, "end_date", "value_error"),
        ({"start_date": "2026-03-02T00:00:01", "end_date": "2026-03-02T00:00:00"}, "end_date", "value_error"),
        ({"start_date": "2026-03-02", "provider": "OURA!"}, "provider", "value_error"),
        ({"start_date": "2026-03-02", "next_cursor": "zzz"}, "next_cursor", "cursor_invalid"),
    ],
)
def test_a_wrong_query_is_named(api: ApiClient, user: User, query: dict[str, str], loc: str, kind: str) -> None:
    response = api.get(f"/v2/timeseries/{user.id}/heartrate/grouped", query)
    assert response.status_code == 422
    assert [(one["loc"], one["type"]) for one in response.json()["detail"]] == [(["query", loc], kind)]


def test_another_teams_user_is_no_user(
    api: ApiClient, other_api: ApiClient, production: factories.Tenant, user: User, store: Store
) -> None:
    store(heartrates({BASE_US: 60.0}))
    for resource in ("heartrate/grouped", "heartrate"):
        path, query = f"/v2/timeseries/{user.id}/{resource}", {"start_date": "2026-03-01"}
        missing = other_api.get(f"/v2/timeseries/{uuid4()}/{resource}", query)
        for stranger in (other_api, ApiClient(team_key=production.key)):
            response = stranger.get(path, query)
            assert response.status_code == missing.status_code == 404
            assert {**response.json(), "request_id": ""} == {**missing.json(), "request_id": ""}
    assert values(grouped(api, user)) == [60.0]


def test_a_read_costs_the_same_number_of_queries_for_one_and_many_series(
    api: ApiClient, user: User, store: Store
) -> None:
    store(heartrates({BASE_US: 60.0}))
    grouped(api, user)
    with CaptureQueriesContext(connection) as one:
        grouped(api, user)
    on = {BASE_US + day * 24 * HOUR_US: 60.0 for day in range(40)}
    store(*(heartrates(on, source=DataSource("oura", kind)) for kind in ("ring", "watch", "phone", "app")))
    with CaptureQueriesContext(connection) as many:
        grouped(api, user)
    assert len(many) == len(one)
