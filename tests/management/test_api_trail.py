"""The audit trail at both addresses: filters, pages, exports, seals and what each request leaves of itself."""

import csv
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from healthsvc.kernel.principal import PrincipalKind
from healthsvc.kernel.scope import team_scope
from management import audit, trail_selectors
from management.audit import access_record
from management.models import AccessRecord
from management.trail_export import COLUMNS
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.management.organising import base, bound_client, team_path
from tests.management.trailing import recorded, sealed_here


def path(tenant: Tenant, rest: str = "") -> str:
    """A team's trail at the management address."""
    return f"{team_path(tenant)}/sandbox/access_record{rest}"


def listed(client: ApiClient, tenant: Tenant, **query: Any) -> list[UUID]:
    """The ids of a page."""
    response = client.get(path(tenant), query)
    assert response.status_code == 200, response.content
    return [UUID(one["id"]) for one in response.json()["data"]]


def newest(tenant: Tenant) -> AccessRecord:
    """The last record of a team."""
    with team_scope(tenant.context):
        return AccessRecord.objects.for_team(tenant.context).order_by("-pk")[0]


def test_filters_combine_and_each_alone_finds_its_own(
    team: Tenant, other_team: Tenant, management_api: ApiClient
) -> None:
    user_id = uuid4()
    values: dict[str, Any] = {
        "actor_kind": PrincipalKind.DEVICE_SESSION,
        "actor_id": "one",
        "action": "GET /one",
        "request_id": "request-one",
        "address": "192.0.2.1",
        "status_code": 200,
    }
    (wanted,) = recorded(team, **values, ids={"user_id": str(user_id)})
    recorded(team, 2)
    recorded(other_team, **values, ids={"user_id": str(user_id)})
    filters = {**values, "user_id": user_id}
    for name, value in filters.items():
        assert wanted in listed(management_api, team, **{name: value}), name
    assert listed(management_api, team, **filters) == [wanted]
    for name, value in {"actor_id": "two", "action": "GET", "user_id": uuid4(), "status_code": 404}.items():
        assert wanted not in listed(management_api, team, **{**filters, name: value}), name


def test_times_are_held_against_when_it_happened(
    team: Tenant, management_api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = recorded(team)
    (second,) = recorded(team)
    with team_scope(team.context):
        at = AccessRecord.objects.get(pk=second).occurred_at
    assert listed(management_api, team, before=at.isoformat()) == [first]
    assert listed(management_api, team, after=at.isoformat(), action="GET /x") == [second]
    assert listed(management_api, team, before=(at - timedelta(days=400)).isoformat()) == []


def test_pages_are_newest_first_and_meet(team: Tenant, management_api: ApiClient) -> None:
    ids = recorded(team, 5, actor_id="paged")
    first = management_api.get(path(team), {"actor_id": "paged", "limit": 3}).json()
    cursor = first["next_cursor"]
    second = management_api.get(path(team), {"actor_id": "paged", "limit": 3, "next_cursor": cursor}).json()
    assert [UUID(one["id"]) for one in first["data"] + second["data"]] == ids[::-1]
    assert second["next_cursor"] is None


def test_a_rare_action_is_looked_for_a_bounded_way_and_found_by_going_on(
    team: Tenant, management_api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail_selectors, "LOOKED_AT_MAXIMUM", 3)
    (rare,) = recorded(team, action="rare")
    recorded(team, 4)
    first = management_api.get(path(team), {"action": "rare"}).json()
    assert first["data"] == []
    second = management_api.get(path(team), {"action": "rare", "next_cursor": first["next_cursor"]}).json()
    assert [one["id"] for one in second["data"]] == [str(rare)]


@pytest.mark.parametrize("query", [{}, {"action": "GET /x"}])
def test_a_page_is_the_same_number_of_queries_for_any_number_of_rows(team: Tenant, query: dict[str, str]) -> None:
    counts = []
    for more in (1, 30):
        recorded(team, more)
        with team_scope(team.context), CaptureQueriesContext(connection) as captured:
            filters = trail_selectors.AccessFilters(**query)  # type: ignore[arg-type]  # texts alone
            trail_selectors.access_page(team.context, filters=filters, limit=100)
        counts.append(len(captured))
    assert counts == [2, 2] if query else counts == [1, 1]


def test_a_team_admin_key_sees_its_teams_trail_and_no_other(team: Tenant, other_team: Tenant) -> None:
    recorded(team)
    bound = bound_client(team.team.organisation, team.team.pk)
    assert len(listed(bound, team)) == 1
    assert bound.get(path(other_team)).status_code == 404
    assert bound.get(path(team, "/export")).status_code == 200
    assert bound.get(path(other_team, "/export")).status_code == 404


def test_looking_at_the_trail_is_in_the_trail(team: Tenant, management_api: ApiClient) -> None:
    user_id = uuid4()
    listed(management_api, team, user_id=user_id)
    seen = newest(team)
    assert (seen.action, seen.actor_kind, seen.user_id, seen.status_code) == (
        "GET /v1/org/<org_id>/team/<team_id>/<environment>/access_record",
        "management_key",
        user_id,
        200,
    )


def test_an_export_has_every_record_and_leaves_one(
    team: Tenant, management_api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail_selectors, "EXPORT_PAGE", 2)
    ids = recorded(team, 5, request_id="=formula()")
    response = management_api.get(path(team, "/export"))
    assert response.headers["Content-Type"] == "application/x-ndjson"
    lines = [orjson.loads(line) for line in response.getvalue().splitlines()]
    assert [UUID(line["id"]) for line in lines] == ids[::-1]
    assert newest(team).action.endswith("access_record/export")
    response = management_api.get(path(team, "/export"), {"form": "csv", "actor_id": "a-key"})
    rows = list(csv.DictReader(StringIO(response.getvalue().decode())))
    assert (list(rows[0]), len(rows)) == (list(COLUMNS), 5)
    assert {row["request_id"] for row in rows} == {"'=formula()"}


def test_seals_are_listed_and_verified(team: Tenant, management_api: ApiClient) -> None:
    recorded(team, 2)
    sealed_here()
    address = f"{team_path(team)}/sandbox/access_seal"
    answer = management_api.get(address).json()
    assert [(seal["number"], seal["row_count"]) for seal in answer["data"]] == [(1, 2)]
    found = management_api.get(f"{address}/verification").json()
    assert found == {
        "whole": True,
        "records": 2,
        "dropped": 0,
        "unsealed": 1,
        "head": answer["data"][0]["digest"],
        "faults": 0,
        "findings": [],
        "next_number": None,
    }


def test_the_organisations_trail_is_for_its_admins(team: Tenant, management_api: ApiClient) -> None:
    management_api.patch(base(team.team.organisation), {"name": "Another name"})
    address = f"{base(team.team.organisation)}/organisation_record"
    answer = management_api.get(address).json()
    assert [one["action"] for one in answer["data"]] == ["PATCH /v1/org/<org_id>"]
    assert answer["next_cursor"] is None
    assert bound_client(team.team.organisation, team.team.pk).get(address).status_code == 403


def test_a_team_sees_who_looked_at_a_user(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    api.get(f"/v2/user/{user.id}")
    recorded(team)
    answer = api.get(f"/v2/user/{user.id}/access_record").json()
    assert [one["action"] for one in answer["data"]] == ["GET /v2/user/<user_id>"]
    assert api.get(f"/v2/user/{uuid4()}/access_record").status_code == 404
    api.patch(f"/v2/user/{user.id}", {"fallback_time_zone": "UTC"})
    query = {"action": "PATCH /v2/user/<user_id>", "actor_kind": "team_key", "status_code": 204}
    for changes, count in (({}, 1), ({"status_code": 404}, 0), ({"actor_kind": "worker"}, 0)):
        found = api.get(f"/v2/user/{user.id}/access_record", {**query, **changes}).json()
        assert len(found["data"]) == count, changes
    assert api.get(f"/v2/user/{user.id}/access_record", {"actor_kind": "zzz"}).status_code == 422


def test_a_user_who_was_named_among_others_is_found(
    team: Tenant, other_team: Tenant, api: ApiClient, management_api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail_selectors, "LOOKED_AT_MAXIMUM", 2)
    user, somebody = user_make(team), uuid4()
    (among,) = recorded(team, user_ids=[somebody, user.id], actor_id="among")
    (own,) = recorded(team, ids={"user_id": str(user.id)}, user_ids=[user.id])
    recorded(team, user_ids=[somebody])
    recorded(other_team, user_ids=[user.id])
    answer = api.get(f"/v2/user/{user.id}/access_record").json()
    assert [UUID(one["id"]) for one in answer["data"]] == [own, among]
    first = api.get(f"/v2/user/{user.id}/access_record", {"limit": 1}).json()
    # By now the first page is a record too.
    assert first["data"][0]["action"] == "GET /v2/user/<user_id>/access_record"
    rest = api.get(f"/v2/user/{user.id}/access_record", {"next_cursor": answer["data"][0]["id"]}).json()
    assert ([UUID(one["id"]) for one in rest["data"]], rest["next_cursor"]) == ([among], None)
    assert listed(management_api, team, user_id=somebody)[1:] == [among]
    found: list[UUID] = []
    query = {"user_id": user.id, "actor_id": "among"}
    while True:
        page = management_api.get(path(team), query).json()
        found += [UUID(one["id"]) for one in page["data"]]
        if page["next_cursor"] is None:
            break
        query["next_cursor"] = page["next_cursor"]
    assert found == [among]
    with team_scope(team.context):
        at = AccessRecord.objects.get(pk=among).occurred_at
    times = {"after": at.isoformat(), "before": (at + timedelta(microseconds=1)).isoformat()}
    assert among in listed(management_api, team, user_id=user.id, next_cursor=own, **times)


def test_a_page_of_one_user_is_two_queries(team: Tenant) -> None:
    user_id, counts = uuid4(), []
    for more in (1, 20):
        recorded(team, more, user_ids=[user_id], ids={"user_id": str(user_id)})
        with team_scope(team.context), CaptureQueriesContext(connection) as captured:
            filters = trail_selectors.AccessFilters(user_id=user_id)
            trail_selectors.access_page(team.context, filters=filters, limit=100)
        counts.append(len(captured))
    assert counts == [2, 2]


def test_more_users_than_one_record_names_are_in_the_next_and_it_is_one_statement(
    team: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_USERS_NAMED_MAXIMUM", 2)
    users = [uuid4() for _ in range(3)]
    with team_scope(team.context), CaptureQueriesContext(connection) as captured:
        values: dict[str, Any] = {"actor_kind": PrincipalKind.TEAM_KEY, "actor_id": "x", "action": "y", "ids": {}}
        access_record(team=team.context, **values, user_ids=[*users, users[0]])
        found = [row.object_ids["user_ids"] for row in AccessRecord.objects.order_by("pk")]
    assert found == [[str(users[0]), str(users[1])], [str(users[2])]]
    assert [query["sql"].split()[0] for query in captured] == ["INSERT", "SELECT"]


def test_a_page_of_users_names_them(api: ApiClient, team: Tenant) -> None:
    users = [user_make(team) for _ in range(3)]
    api.get("/v2/user", {"limit": 2})
    assert newest(team).object_ids == {"user_ids": [str(user.id) for user in users[:0:-1]]}


def test_a_refusal_to_a_known_caller_is_written_down(api: ApiClient, team: Tenant, other_team: Tenant) -> None:
    theirs = user_make(other_team)
    assert api.get(f"/v2/user/{theirs.id}").status_code == 404
    seen = newest(team)
    assert (seen.action, seen.user_id, seen.status_code) == ("GET /v2/user/<user_id>", theirs.id, 404)
    with team_scope(other_team.context):
        assert not AccessRecord.objects.exists()


def test_a_user_named_in_the_body_is_in_the_record(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    assert api.post("/v2/link/token", {"user_id": str(user.id)}).status_code == 200
    assert newest(team).user_id == user.id


def test_a_record_is_one_insert(team: Tenant) -> None:
    with team_scope(team.context), CaptureQueriesContext(connection) as captured:
        access_record(team=team.context, actor_kind=PrincipalKind.STAFF, actor_id="x", action="y", ids={})
    assert [query["sql"].split()[0] for query in captured] == ["INSERT"]
    assert newest(team).occurred_at > clock.now() - timedelta(minutes=1)
