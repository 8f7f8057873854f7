"""Whoever reads or changes something of a team's people leaves one record: every route, and every kind of work."""

import re
from copy import deepcopy
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel.api import Access
from healthsvc.kernel.scope import team_scope
from management.models import AccessRecord
from tests.clients import ApiClient
from tests.documents import MANAGEMENT_URLCONF, TEAM_URLCONF
from tests.factories import Tenant, user_make
from tests.invariants.closed_bodies import BODIES, PLACES, QUERIES, RAW_BODIES
from tests.invariants.closed_slots import Slot, placed, query_names, sample_body, slots_of
from tests.invariants.test_routes import ROUTES, Route

#: Bodies by route, of which some name a user.
SENT = {**BODIES, "POST /v2/link/token": {"user_id": "{user_id}"}}
NAMED = [
    route
    for route in ROUTES
    if route.urlconf == TEAM_URLCONF and (re.search(r"<\w+_id>", route.route) or str(route) in SENT)
]
MANAGED = [route for route in ROUTES if route.urlconf == MANAGEMENT_URLCONF and "<org_id>" in route.route]
#: Views that write nothing, each for a reason.
NOTHING_PERSONAL = {
    "HealthViewSet": "whether the service works",
    "PayorViewSet": "the list of insurers",
    "DiagnosisViewSet": "the list of diagnoses",
}
#: Views without a key that tell and change nothing of a person, each for a reason.
NOBODY_KNOWN = {
    "HealthViewSet": "whether the service works",
    "LinkTokenCheckViewSet": "whether a link token is good",
    "LinkStartViewSet": "where a link token's login begins",
}
#: Places that name a user, other than the `user_id` of a path.
USER_SLOTS = [
    (route, slot)
    for route in ROUTES
    if route.urlconf == TEAM_URLCONF and route.view.audited and route.view.access is not Access.PUBLIC
    for slot in slots_of(route)
    if slot.kind.endswith("user") and (slot.place, slot.kind) != ("path", "user")
]


def records(tenant: Tenant) -> list[AccessRecord]:
    """A team's trail, oldest first."""
    with team_scope(tenant.context):
        return list(AccessRecord.objects.for_team(tenant.context).order_by("pk"))


def inserts(captured: CaptureQueriesContext) -> int:
    """Statements that wrote to the trail."""
    return sum(query["sql"].startswith('INSERT INTO "management_access_record"') for query in captured)


def test_views_that_leave_nothing_are_those_with_a_reason() -> None:
    silent = {route.view.__name__ for route in ROUTES if not route.view.audited}
    assert silent == set(NOTHING_PERSONAL)


def status(client: ApiClient, route: Route, ids: dict[str, Any]) -> int:
    """What a call of the route is answered."""
    path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda match: str(ids.get(match[1], uuid4())), route.route)
    path += "?start_date=2026-01-01" if re.search("/(timeseries|summary)/", path) else ""
    _, raw = RAW_BODIES.get(str(route), ("", None))
    body = orjson.loads(orjson.dumps(SENT.get(str(route))).replace(b"{user_id}", str(ids.get("user_id")).encode()))
    kind = "application/xml" if raw else "application/json"
    return client.request(route.method, path, json=body, data=raw, content_type=kind).status_code


def leaves(answer: int) -> bool:
    """What was answered is told of, and what was refused to a known caller; not what could not be understood."""
    return answer < 400 or answer in (403, 404)


def different() -> list[Route]:
    """Those that name somebody; of the routes of all series, which are one view, the first."""
    found = {re.sub(r"/timeseries/<user_id>/[a-z0-9_]+(/[a-z0-9_]+)?$", "/timeseries", str(one)): one for one in NAMED}
    return list(found.values())


@pytest.mark.slow
def test_every_route_that_names_somebody_leaves_one_record(api: ApiClient, team: Tenant) -> None:
    """One statement each. All in one test, which shares what it stands on."""
    answered = set()
    for route in different():
        user = user_make(team)
        before = {one.pk for one in records(team)}
        with CaptureQueriesContext(connection) as captured:
            answer = status(api, route, {"user_id": user.id, "team_id": team.team.pk})
        made = [(one.action, one.status_code) for one in records(team) if one.pk not in before]
        expected = [(str(route), answer)] if leaves(answer) and route.view.audited else []
        assert (made, inserts(captured)) == (expected, len(expected)), route
        if made and "<user_id>" in route.route:
            assert records(team)[-1].user_id == user.id, route
        if answer < 400:
            answered.add(str(route))
    # So that this is about answers, and not about refusals alone.
    assert len(answered) > len(different()) / 2
    assert {"GET /v2/user/<user_id>", "POST /v2/link/token", "DELETE /v2/user/<user_id>"} <= answered


@pytest.mark.slow
def test_every_call_that_acts_for_a_team_is_in_its_trail(management_api: ApiClient, team: Tenant) -> None:
    ids = {"org_id": team.team.organisation_id, "team_id": team.team.pk, "environment": "sandbox"}
    for route in MANAGED:
        if "<environment>" not in route.route:
            continue
        before = {one.pk for one in records(team)}
        answer = status(management_api, route, ids)
        made = [(one.actor_kind, one.status_code) for one in records(team) if one.pk not in before]
        assert made == [("management_key", answer)] * leaves(answer), route


def test_a_caller_who_is_nobody_is_in_no_trail(team: Tenant) -> None:
    user = user_make(team)
    for key in (None, "sk_nobody"):
        response = ApiClient(team_key=key, at="team").get(f"/v2/user/{user.id}")
        assert response.status_code == 401
    assert records(team) == []


def asked(client: ApiClient, route: Route, slot: Slot, ids: dict[str, Any], value: str) -> int:
    """What a call that names a user there is answered."""
    body, query = deepcopy(sample_body(route)), {name: QUERIES.get(name, "") for name in query_names(route)}
    if slot.place == "body":
        placed(route, body, slot, value)
    elif slot.place == "query":
        query[slot.name] = value
    places = {**PLACES, **ids, slot.name: value}
    path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda match: str(places.get(match[1], uuid4())), route.route)
    return client.request(route.method, f"{path}?{urlencode(query)}", json=body).status_code


@pytest.mark.slow
def test_whoever_is_named_in_a_body_or_a_query_is_in_the_record(api: ApiClient, team: Tenant) -> None:
    """In whichever way a request says whose data it is about. All in one test, which shares what it stands on."""
    done = set()
    for number, (route, slot) in enumerate(USER_SLOTS):
        user = user_make(team, client_user_id=f"named-{number:03}")
        if slot.kind.startswith("deleted"):
            api.delete(f"/v2/user/{user.id}")
        before = {one.pk for one in records(team)}
        by_name = slot.kind.endswith("client_user")
        answer = asked(api, route, slot, {"user_id": user.id}, f"named-{number:03}" if by_name else str(user.id))
        made = [one for one in records(team) if one.pk not in before and one.action == str(route)]
        assert len(made) == leaves(answer), (route, slot, answer)
        for one in made:
            assert str(user.id) in {str(one.user_id), *one.object_ids.get("user_ids", ())}, (route, slot)
        if made:
            done.add(f"{route} {slot}")
    assert {
        "POST /v2/link/bulk_import body connections.user_id",
        "POST /v2/link/bulk_pause body user_ids",
        "POST /v2/link/bulk_trigger_historical_pull body user_ids",
        "POST /v2/link/token body user_id",
        "POST /v2/user/undo_delete query client_user_id",
        "POST /v2/user/undo_delete query user_id",
        "GET /v2/team/users/search query query_id",
        "GET /v2/user/resolve/<path:client_user_id> path client_user_id",
    } <= done, done


def test_views_without_a_key_that_know_a_person_write_for_themselves(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    code = api.post(f"/v2/link/code/create?user_id={user.id}").json()["code"]
    nobody = ApiClient()
    token = nobody.post("/v2/link/code/exchange", {"code": code}).json()["sign_in_token"]
    pair = nobody.post("/v2/session/exchange", {"sign_in_token": token}).json()
    pair = nobody.post("/v2/session/refresh", {"refresh_token": pair["refresh_token"]}).json()
    nobody.post("/v2/session/revoke", {"refresh_token": pair["refresh_token"]})
    nobody.post("/v2/session/revoke", {"refresh_token": "unknown"})
    public = {
        str(one)
        for one in ROUTES
        if one.urlconf == TEAM_URLCONF and one.view.access is Access.PUBLIC and one.view.__name__ not in NOBODY_KNOWN
    }
    told = [(one.action, one.actor_kind, one.user_id) for one in records(team) if one.actor_kind != "team_key"]
    assert told == [
        ("POST /v2/link/code/exchange", "link_token", user.id),
        *((f"POST /v2/session/{what}", "device_session", user.id) for what in ("exchange", "refresh", "revoke")),
    ]
    assert {action for action, _kind, _user_id in told} == public
