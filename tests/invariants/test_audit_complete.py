"""Whoever reads or changes something of a team's people leaves one record: every route, and every kind of work."""

import re
from typing import Any
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
from tests.invariants.closed_bodies import BODIES, RAW_BODIES
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
#: Views without a key that know whose data it is, and write for themselves.
WRITES_ITSELF = {"SessionTokenViewSet": "the token in the body says who it is"}


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


def test_public_views_that_know_a_person_write_for_themselves() -> None:
    public = {one.view.__name__ for one in ROUTES if one.view.access is Access.PUBLIC and one.urlconf == TEAM_URLCONF}
    assert set(WRITES_ITSELF) <= public
