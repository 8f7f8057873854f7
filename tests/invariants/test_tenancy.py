"""Another team's object answers exactly as a missing one, on every route that names one."""

import re
from datetime import date
from typing import Any
from uuid import uuid4

import orjson
import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from healthsvc.kernel.scope import team_scope
from management.jobs import job_create
from tests.clients import ApiClient
from tests.documents import MANAGEMENT_URLCONF, TEAM_URLCONF, check_documented
from tests.factories import Tenant, user_make
from tests.invariants.test_routes import ROUTES, Route
from tests.users.insuring import insurance_body
from tests.users.patients import patient_body

#: Bodies and queries that get past validation, by route and method; without them a 422 would hide the question.
BODIES: dict[str, Any] = {
    "PATCH /v2/user/<user_id>": {"fallback_time_zone": "UTC"},
    "PATCH /v2/user/<user_id>/info": patient_body(),
    "POST /v2/user/<user_id>/insurance": insurance_body(),
    "POST /v2/link/token": {"user_id": "{user_id}"},
    "POST /v2/user/<user_id>/sync_complete": {
        "provider": "apple_health_kit",
        "resources": ["steps"],
        "stage": "historical",
        "start": "2026-01-01T00:00:00Z",
        "end": "2026-03-01T00:00:00Z",
    },
    "POST /aggregate/v1/user/<user_id>/query": {
        "timeframe": {"type": "relative", "anchor": "2026-01-01", "past": {"unit": "day", "value": 1}},
        "queries": [{"select": [{"func": "mean", "arg": {"heartrate": "value"}}]}],
    },
}
QUERIES = {"timeseries": "?start_date=2026-01-01", "summary": "?start_date=2026-01-01"}
RAW_BODIES = {"POST /v2/user/<user_id>/import/apple_health": b'<?xml version="1.0"?><HealthData></HealthData>'}

NAMED = [
    route
    for route in ROUTES
    if route.urlconf == TEAM_URLCONF and (re.search(r"<\w+_id>", route.route) or str(route) in BODIES)
]
MANAGED = [route for route in ROUTES if route.urlconf == MANAGEMENT_URLCONF and "<org_id>" in route.route]


def ask(client: ApiClient, route: Route, ids: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Status and body, without what differs between any two requests."""
    path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda match: str(ids.get(match[1], uuid4())), route.route)
    path += next((query for word, query in QUERIES.items() if f"/{word}/" in path), "")
    raw = RAW_BODIES.get(str(route))
    body = orjson.loads(orjson.dumps(BODIES.get(str(route))).replace(b"{user_id}", str(ids.get("user_id")).encode()))
    kind = "application/xml" if raw else "application/json"
    response = client.request(route.method, path, json=body, data=raw, content_type=kind)
    answer = response.json() if response.content else {}
    return response.status_code, {**answer, "request_id": ""}


@pytest.mark.parametrize("route", NAMED, ids=str)
def test_anothers_object_is_as_a_missing_one(
    api: ApiClient, other_team: Tenant, production: Tenant, route: Route
) -> None:
    missing = ask(api, route, {"user_id": uuid4(), "job_id": uuid4(), "client_user_id": "nobody"})
    assert missing[0] in (400, 404), missing
    for tenant in (other_team, production):
        user = user_make(tenant, client_user_id="theirs", fallback_birth_date=date(1980, 1, 1))
        with team_scope(tenant.context):
            job = job_create(team=tenant.context, kind="apple_health_import", user_id=user.id, parameters={})
        assert ask(api, route, {"user_id": user.id, "job_id": job.id, "client_user_id": "theirs"}) == missing


@pytest.mark.parametrize("route", MANAGED, ids=str)
def test_anothers_organisation_and_team_are_as_missing_ones(
    management_api: ApiClient, team: Tenant, other_team: Tenant, route: Route
) -> None:
    ours, theirs = team.team, other_team.team
    base = {"environment": "sandbox", "webhook_id": uuid4()}
    missing = ask(management_api, route, {**base, "org_id": uuid4(), "team_id": uuid4()})
    assert missing[0] in (404, 422), missing
    for ids in (
        {"org_id": theirs.organisation_id, "team_id": theirs.id},
        {"org_id": theirs.organisation_id, "team_id": ours.id},
    ):
        assert ask(management_api, route, {**base, **ids}) == missing
    if "<team_id>" in route.route:
        assert ask(management_api, route, {**base, "org_id": ours.organisation_id, "team_id": theirs.id}) == missing


def test_an_undocumented_answer_fails_the_test_that_gets_it() -> None:
    request = RequestFactory().get("/v2/user")
    for status, body in ((418, b"{}"), (200, b'{"users": "none"}')):
        response: Any = HttpResponse(body, status=status, content_type="application/json")
        response.wsgi_request = request
        request.resolver_match = type("Match", (), {"route": "v2/user"})()
        with pytest.raises(AssertionError):
            check_documented(response, "GET", at_management=False)


def test_the_routes_checked_here_are_those_that_name_something() -> None:
    named = {str(route) for route in NAMED}
    assert {"GET /v2/user/<user_id>", "POST /v2/user/refresh/<user_id>", "POST /v2/link/token"} <= named
    assert set(BODIES) <= named
