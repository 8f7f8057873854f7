"""Introspection of resources: what is kept of whom, in pages of users."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from aggregation.constants import INTROSPECTION_USERS_MAXIMUM
from aggregation.models import Summary, Tail
from aggregation.records import UNDATED, DataSource, SeriesBatch, SummaryRecord
from aggregation.services import health_data_store
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.kinds import typed
from tests.aggregation.samples import PHONE, WATCH, heartrates, us
from tests.aggregation.summaries import day, night
from tests.clients import ApiClient
from users.models import User

PATH = "/v2/introspect/resources"
BASE_US = us(2026, 3, 1)
DAY_US = 86_400_000_000

Store = Callable[..., None]


@pytest.fixture
def store(team: factories.Tenant) -> Store:
    def stored(user: User, *series: SeriesBatch, summaries: tuple[SummaryRecord, ...] = ()) -> None:
        with team_scope(team.context):
            health_data_store(team=team.context, user_id=user.id, series=series, summaries=summaries)

    return stored


def get(api: ApiClient, **query: Any) -> dict[str, Any]:
    response = api.get(PATH, {name: str(value) for name, value in query.items()})
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def statistics(oldest: datetime, newest: datetime, count: int) -> dict[str, Any]:
    return {
        "oldest_data": utc_text(oldest),
        "newest_data": utc_text(newest),
        "sent_count": count,
        "last_attempt": None,
    }


def test_a_profile_is_as_old_as_what_came_of_it(api: ApiClient, team: factories.Tenant, store: Store) -> None:
    user = factories.user_make(team)
    profile = SummaryRecord("profile", WATCH, "profile", UNDATED, None, None, None, {"height": 170})
    store(user, summaries=(profile,))
    (told,) = get(api)["data"]
    with team_scope(team.context):
        kept = Summary.objects.get()
    assert told["provider"][WATCH.provider]["profile"] == statistics(kept.created_at, kept.updated_at, 1)


def test_how_far_each_resource_reaches(api: ApiClient, team: factories.Tenant, store: Store) -> None:
    user = factories.user_make(team)
    store(
        user,
        heartrates({BASE_US + 5: 60.0, BASE_US + 30 * DAY_US: 61.0}, source=WATCH),
        heartrates({BASE_US + 2: 60.0, BASE_US + DAY_US: 62.0}, source=PHONE),
        heartrates({BASE_US: 60.0}, source=DataSource("garmin", "watch")),
        typed("fall", WATCH, BASE_US + DAY_US, value=1.0, minutes=1),
        summaries=(night(), day(), day("day-2", on=datetime(2026, 3, 5, tzinfo=UTC).date())),
    )
    march = datetime(2026, 3, 1, tzinfo=UTC)
    assert get(api) == {
        "data": [
            {
                "user_id": str(user.id),
                "provider": {
                    "garmin": {"heartrate": statistics(march, march, 1)},
                    "oura": {
                        "heartrate": statistics(march.replace(microsecond=2), datetime(2026, 3, 31, tzinfo=UTC), 4),
                        "fall": statistics(march.replace(day=2), march.replace(day=2), 1),
                        "sleep": statistics(march.replace(day=2), march.replace(day=2), 1),
                        "activity": statistics(march.replace(day=2), march.replace(day=5), 2),
                    },
                },
            }
        ],
        "next_cursor": None,
        "next": None,
    }
    assert list(get(api, provider="garmin")["data"][0]["provider"]) == ["garmin"]
    assert get(api, provider="fitbit")["data"] == []


def test_a_sample_that_waits_in_the_tail_counts(api: ApiClient, team: factories.Tenant, store: Store) -> None:
    user = factories.user_make(team)
    for minute in range(5):
        store(user, heartrates({BASE_US + minute * 60_000_000: 60.0}))
    (shown,) = get(api)["data"]
    march = datetime(2026, 3, 1, tzinfo=UTC)
    assert shown["provider"]["oura"]["heartrate"] == statistics(march, march.replace(minute=4), 5)


def test_a_sample_that_waits_in_the_tail_to_replace_another_counts_once(
    api: ApiClient, team: factories.Tenant, store: Store
) -> None:
    user = factories.user_make(team)
    minutes = {BASE_US + minute * 60_000_000: 60.0 for minute in range(100)}
    store(user, heartrates(minutes))
    store(user, heartrates({BASE_US: 61.0}))
    with team_scope(team.context):
        assert Tail.objects.count() == 1
    (shown,) = get(api)["data"]
    assert shown["provider"]["oura"]["heartrate"]["sent_count"] == 100


def test_no_block_is_read(api: ApiClient, team: factories.Tenant, store: Store) -> None:
    store(factories.user_make(team), heartrates({BASE_US + day * DAY_US: 60.0 for day in range(50)}))
    with CaptureQueriesContext(connection) as captured:
        (shown,) = get(api)["data"]
    assert shown["provider"]["oura"]["heartrate"]["sent_count"] == 50
    texts = [query["sql"] for query in captured]
    assert [text for text in texts if "aggregation_series" in text] != []
    assert [text for text in texts if "aggregation_block" in text or "aggregation_tail" in text] == []


def test_users_come_by_pages_and_those_without_data_are_left_out(
    api: ApiClient, team: factories.Tenant, store: Store
) -> None:
    users = [factories.user_make(team) for _ in range(5)]
    for user in users[1:]:
        store(user, heartrates({BASE_US: 60.0}))
    pages: list[list[str]] = []
    query: dict[str, Any] = {"user_limit": 2}
    while True:
        page = get(api, **query)
        pages.append([one["user_id"] for one in page["data"]])
        assert page["next"] == page["next_cursor"]
        if page["next_cursor"] is None:
            break
        query["next_cursor"] = page["next_cursor"]
    assert pages == [[str(users[4].id), str(users[3].id)], [str(users[2].id), str(users[1].id)], []]
    older = get(api, user_limit=2, cursor=get(api, user_limit=2)["next"])
    assert [one["user_id"] for one in older["data"]] == pages[1]


def test_one_user_can_be_asked_for(
    api: ApiClient, team: factories.Tenant, other_team: factories.Tenant, production: factories.Tenant, store: Store
) -> None:
    ours, empty = factories.user_make(team), factories.user_make(team)
    store(ours, heartrates({BASE_US: 60.0}))
    assert [one["user_id"] for one in get(api, user_id=ours.id)["data"]] == [str(ours.id)]
    assert get(api, user_id=empty.id)["data"] == []
    missing = api.get(PATH, {"user_id": str(uuid4())})
    for stranger in (factories.user_make(other_team), factories.user_make(production)):
        response = api.get(PATH, {"user_id": str(stranger.id)})
        assert response.status_code == missing.status_code == 404
        assert {**response.json(), "request_id": ""} == {**missing.json(), "request_id": ""}


def test_nobody_elses_users_are_told_of(
    api: ApiClient, other_api: ApiClient, team: factories.Tenant, store: Store
) -> None:
    store(factories.user_make(team), heartrates({BASE_US: 60.0}))
    assert get(other_api)["data"] == []
    assert len(get(api)["data"]) == 1


@pytest.mark.parametrize(
    ("query", "loc"),
    [
        ({"user_id": "nobody"}, "user_id"),
        ({"user_limit": "0"}, "user_limit"),
        ({"user_limit": str(INTROSPECTION_USERS_MAXIMUM + 1)}, "user_limit"),
        ({"user_limit": "many"}, "user_limit"),
        ({"provider": "OURA!"}, "provider"),
        ({"next_cursor": "zzz"}, "next_cursor"),
        ({"next_cursor": "%%%"}, "next_cursor"),
    ],
)
def test_a_wrong_query_is_named(api: ApiClient, query: dict[str, str], loc: str) -> None:
    response = api.get(PATH, query)
    assert response.status_code == 422
    assert [one["loc"] for one in response.json()["detail"]] == [["query", loc]]


def test_a_cursor_is_good_only_for_its_query(api: ApiClient, team: factories.Tenant, store: Store) -> None:
    for _ in range(2):
        store(factories.user_make(team), heartrates({BASE_US: 60.0}))
    cursor = get(api, user_limit=1)["next_cursor"]
    refused = api.get(PATH, {"user_limit": "1", "provider": "oura", "next_cursor": cursor})
    assert (refused.status_code, refused.json()["detail"][0]["type"]) == (422, "cursor_invalid")


def test_a_page_costs_the_same_number_of_queries_for_one_and_five_users(
    api: ApiClient, team: factories.Tenant, store: Store
) -> None:
    def add() -> None:
        sources = [DataSource("oura", kind) for kind in ("ring", "app", "phone")]
        store(
            factories.user_make(team),
            *(heartrates({BASE_US: 60.0, BASE_US + DAY_US: 60.0}, source=source) for source in sources),
            summaries=(night(), day()),
        )

    add()
    get(api)
    with CaptureQueriesContext(connection) as one:
        get(api)
    for _ in range(4):
        add()
    with CaptureQueriesContext(connection) as five:
        assert len(get(api)["data"]) == 5
    assert len(five) == len(one)
