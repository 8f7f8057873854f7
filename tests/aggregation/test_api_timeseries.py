"""Reading samples over HTTP: shapes, windows in the person's days, pages, and nobody else's data."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from aggregation import constants, selectors
from aggregation.catalogue import HEARTRATE
from aggregation.records import OFFSET_UNKNOWN, DataSource, SampleColumns, SeriesBatch
from aggregation.registry import provider_name
from aggregation.services import health_data_store
from aggregation.shapes import device_uuid
from aggregation.store.days import FOREVER, Moment, Window
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.samples import PHONE, WATCH, batch, heartrates, us
from tests.clients import ApiClient
from users.models import User

BASE_US = us(2026, 3, 1)
HOUR_US = 3_600_000_000

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


def day_of_five_seconds(source: DataSource) -> SeriesBatch:
    start_us = BASE_US + np.arange(17_280, dtype=np.int64) * 5_000_000
    zeros = np.zeros(17_280, np.int32)
    values = 50.0 + np.arange(17_280, dtype=np.float64) % 100
    return SeriesBatch("heartrate", source, SampleColumns(start_us, values, zeros))


@pytest.mark.slow
def test_a_day_of_five_second_heart_rate_comes_in_one_call(api: ApiClient, user: User, store: Store) -> None:
    store(day_of_five_seconds(WATCH), day_of_five_seconds(PHONE))
    answer = grouped(api, user, end_date="2026-03-01")
    assert [len(group["data"]) for group in answer["groups"]["oura"]] == [17_280, 17_280]
    assert answer["next_cursor"] is None
    assert [sample["value"] for sample in answer["groups"]["oura"][1]["data"][-3:]] == [127.0, 128.0, 129.0]


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
    assert constants.UNGROUPED_SAMPLES_MAXIMUM == 200_000


@pytest.mark.parametrize(
    ("query", "loc", "kind"),
    [
        ({}, "start_date", "missing"),
        ({"start_date": "yesterday"}, "start_date", "date_type"),
        ({"start_date": "2026-02-30"}, "start_date", "date_type"),
        ({"start_date": "0001-01-01"}, "start_date", "date_type"),
        ({"start_date": "2026-03-02", "end_date": "2026-03-01"}, "end_date", "value_error"),
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
    days = {BASE_US + day * 24 * HOUR_US: 60.0 for day in range(40)}
    store(*(heartrates(days, source=DataSource("oura", kind)) for kind in ("ring", "watch", "phone", "app")))
    with CaptureQueriesContext(connection) as many:
        grouped(api, user)
    assert len(many) == len(one)
