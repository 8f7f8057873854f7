"""Pages of users: whole, in order and cheap from the first to the last; and what bounds say of what is kept."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from tests.aggregation.pushing import body_of, heartbeat, receipt_of
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.granting import stored
from users import selectors
from users.models import User


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 9])
def test_pages_of_any_size_hold_everybody_once_newest_first(api: ApiClient, team: Tenant, limit: int) -> None:
    made = [str(user_make(team).id) for _ in range(7)]
    pages = [api.get("/v2/user", {"offset": offset, "limit": limit}).json() for offset in range(0, 12, limit)]
    assert [user["user_id"] for page in pages for user in page["users"]] == made[::-1]
    assert {page["total"] for page in pages} == {7}


@pytest.mark.parametrize("offset", [7, 8, 100, 100_000_000])
def test_behind_the_last_one_there_is_nobody(api: ApiClient, team: Tenant, offset: int) -> None:
    for _ in range(7):
        user_make(team)
    page = api.get("/v2/user", {"offset": offset}).json()
    assert page == {"users": [], "total": 7, "offset": offset, "limit": 100}


def test_users_of_one_moment_keep_their_order_from_both_ends(api: ApiClient, team: Tenant) -> None:
    now = clock.now()
    for _ in range(6):
        user_make(team)
    with team_scope(team.context):
        User.objects.update(created_at=now)
    whole = [user["user_id"] for user in api.get("/v2/user").json()["users"]]
    assert whole == sorted(whole, reverse=True)
    single = [api.get("/v2/user", {"offset": offset, "limit": 1}).json()["users"][0]["user_id"] for offset in range(6)]
    assert single == whole


def test_who_is_on_the_way_out_is_not_listed_counted_or_resolved(api: ApiClient, team: Tenant) -> None:
    gone, there = user_make(team, client_user_id="gone"), user_make(team)
    with team_scope(team.context):
        User.objects.filter(pk=gone.pk).update(deleted_at=clock.now())
    page = api.get("/v2/user").json()
    assert ([user["user_id"] for user in page["users"]], page["total"]) == ([str(there.id)], 1)
    missing = api.get("/v2/user/resolve/gone")
    assert (missing.status_code, missing.json()["detail"]) == (404, "Not found")


@pytest.mark.parametrize(("offset", "end"), [(1, "Index Only Scan using"), (4, "Index Only Scan Backward using")])
def test_what_is_skipped_is_skipped_in_the_index_from_the_nearer_end(in_team: Tenant, offset: int, end: str) -> None:
    for _ in range(6):
        user_make(in_team)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        with CaptureQueriesContext(connection) as captured:
            selectors.user_page(in_team.context, offset=offset, limit=1)
        page = next(query["sql"] for query in captured if "OFFSET" in query["sql"])
        cursor.execute("EXPLAIN " + page)
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert f"{end} users_user_newest_first" in plan


@pytest.mark.parametrize("path", ["/v2/user", "/v2/user/"])
def test_users_are_made_with_and_without_last_slash(api: ApiClient, path: str) -> None:
    made = api.post(path, {"client_user_id": "anna"})
    assert (made.status_code, made.json()["client_user_id"]) == (200, "anna")


def test_a_user_is_shown_with_every_field_of_the_interface(api: ApiClient, team: Tenant) -> None:
    user = user_make(team, client_user_id="anna", fallback_time_zone="Europe/Rome")
    api.patch(f"/v2/user/{user.id}", {"fallback_birth_date": "1990-05-17", "ingestion_start": "2026-01-01"})
    made = stored(team, user)
    (shown,) = api.get("/v2/user").json()["users"]
    source = {"name": "Oura", "slug": "oura", "logo": shown["connected_sources"][0]["source"]["logo"]}
    assert shown == {
        "user_id": str(user.id),
        "team_id": str(team.team.id),
        "client_user_id": "anna",
        "created_on": clock.utc_text(user.created_at),
        "connected_sources": [
            {"provider": source, "source": source, "created_on": clock.utc_text(made.created_at)},
        ],
        "fallback_time_zone": {
            "id": "Europe/Rome",
            "source_slug": "manual",
            "updated_at": shown["fallback_time_zone"]["updated_at"],
        },
        "fallback_birth_date": {
            "value": "1990-05-17",
            "source_slug": "manual",
            "updated_at": shown["fallback_birth_date"]["updated_at"],
        },
        "ingestion_start": "2026-01-01",
        "ingestion_end": None,
    }


def test_bounds_that_are_set_later_hold_for_what_comes_after(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)

    def days_kept(*days: str) -> list[str]:
        beats = [heartbeat(f"{day}T08:00:00Z") for day in days]
        receipt_of(api, user, body_of({"heartrate": beats}))
        query = {"start_date": "2026-01-01", "end_date": "2026-12-31"}
        return [one["timestamp"][:10] for one in api.get(f"/v2/timeseries/{user.id}/heartrate", query).json()]

    assert days_kept("2026-01-01") == ["2026-01-01"]
    api.patch(f"/v2/user/{user.id}", {"ingestion_start": "2026-03-02", "ingestion_end": "2026-03-03"})
    within = ["2026-01-01", "2026-03-02", "2026-03-03"]
    assert days_kept("2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04") == within
    api.patch(f"/v2/user/{user.id}", {"ingestion_start": None, "ingestion_end": None})
    assert days_kept("2026-03-04") == [*within, "2026-03-04"]


def test_a_bound_may_not_come_to_lie_before_the_other(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    path = f"/v2/user/{user.id}"
    assert api.patch(path, {"ingestion_start": "2026-03-02", "ingestion_end": "2026-03-02"}).status_code == 204
    refused = api.patch(path, {"ingestion_end": "2026-03-01"})
    assert [one["loc"] for one in refused.json()["detail"]] == [["body", "ingestion_end"]]
    shown = api.get(path).json()
    assert (shown["ingestion_start"], shown["ingestion_end"]) == ("2026-03-02", "2026-03-02")
