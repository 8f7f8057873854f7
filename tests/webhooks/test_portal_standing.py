"""How endpoints stand in the portal's words, and what a message waits for."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.scope import SystemScope, system_scope
from tests.factories import Tenant
from tests.webhooks.conftest import attempts, deliveries, emit, endpoint_make, pump
from tests.webhooks.portal_visiting import text_of, visitor
from tests.webhooks.receiving import Answer, Receiver
from webhooks import services
from webhooks.models import Attempt, Endpoint, EndpointHealth, Tally
from webhooks.templatetags.event_names import breakable_url

URL = "https://example.com/hook"


@pytest.fixture
def portal(team: Tenant) -> Client:
    """A visit of our team's."""
    return visitor(team)


def noted(endpoint: Endpoint, **values: Any) -> None:
    """How an endpoint fares."""
    ours = {"team_id": endpoint.team_id, "environment": endpoint.environment, "updated_at": clock.now(), **values}
    with system_scope(SystemScope.DELIVERY):
        EndpointHealth.objects.update_or_create(endpoint=endpoint, defaults=ours)


def tried(endpoint: Endpoint, hours: int = 1, **values: Any) -> None:
    """How one span some hours ago went."""
    ours = {"endpoint": endpoint, "team_id": endpoint.team_id, "environment": endpoint.environment}
    with system_scope(SystemScope.DELIVERY):
        Tally.objects.create(**ours, span_at=clock.now() - timedelta(hours=hours), **values)


def badges(portal: Client, endpoint: Endpoint) -> tuple[str, str]:
    """What the list and the page call it."""
    (row,) = portal.get("/portal/").context["rows"]
    return row["standing"].badge, portal.get(f"/portal/endpoint/{endpoint.id}").context["standing"].badge


def test_an_enabled_endpoint_to_which_nothing_gets_through_says_so(portal: Client, team: Tenant) -> None:
    endpoint = endpoint_make(team, URL)
    assert badges(portal, endpoint) == ("Enabled", "Enabled")
    tried(endpoint, hours=30, failed=9)
    assert badges(portal, endpoint) == ("Enabled", "Enabled")
    tried(endpoint, failed=1)
    assert badges(portal, endpoint) == ("Nothing arrives", "Nothing arrives")
    page = text_of(portal, f"/portal/endpoint/{endpoint.id}")
    assert "The one attempt of the last 24 hours failed. The last attempts say why." in page
    tried(endpoint, hours=2, failed=1_204)
    assert "All 1,205 attempts of the last 24 hours failed." in text_of(portal, f"/portal/endpoint/{endpoint.id}")
    tried(endpoint, hours=3, delivered=1)
    assert badges(portal, endpoint) == ("Enabled", "Enabled")


def test_what_is_known_to_be_worse_comes_first(portal: Client, team: Tenant) -> None:
    endpoint = endpoint_make(team, URL)
    tried(endpoint, failed=1)
    noted(endpoint, failing_since=clock.now())
    assert badges(portal, endpoint) == ("Failing", "Failing")


def _waits(portal: Client, team: Tenant, endpoint: Endpoint) -> list[str]:
    """What a message that is due says at its own page, and at the page of its attempt."""
    event_id = emit(team)
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        (delivery,) = (row for row in deliveries() if row.event_id == event_id)
        made = Attempt(team_id=team.team.id, environment=delivery.environment, delivery=delivery, endpoint=endpoint)
        made.number, made.attempted_at, made.duration_milliseconds, made.status_code = 1, clock.now(), 1, 500
        made.id, made.event_type = uuid_ordered(), "daily.data.sleep.created"
        made.save(force_insert=True)
    context = portal.get(f"/portal/message/{event_id}").context
    assert context["deliveries"][0].waiting.words in text_of(portal, f"/portal/message/{event_id}")
    page = text_of(portal, f"/portal/attempt/{made.id}")
    waiting = portal.get(f"/portal/attempt/{made.id}").context["waiting"]
    assert f"Waiting. {waiting.words}" in page
    assert waiting == context["deliveries"][0].waiting
    return [waiting.words, *([_text(waiting.at)] if waiting.at else [])]


def _text(moment: datetime) -> str:
    return moment.isoformat()


def test_a_message_that_is_held_says_by_what(portal: Client, team: Tenant) -> None:
    now = clock.now()
    hour = now + timedelta(hours=1)
    endpoint = endpoint_make(team, URL, rate_limit=5)
    assert _waits(portal, team, endpoint) == ["Due now."]
    noted(endpoint)
    for values, said in (
        ({}, ["Due now."]),
        ({"paused_until": hour}, ["Held: the endpoint asked for a pause until", _text(hour)]),
        ({"paused_until": now}, ["Due now."]),
        (
            {"rate_free_at": hour},
            ["Held: the endpoint is sent at most 5 a second, and others come first."],
        ),
        ({"struggling_since": now}, ["Held: the endpoint struggles, so few requests are made to it at once."]),
    ):
        with system_scope(SystemScope.DELIVERY):
            EndpointHealth.objects.update(
                **{"paused_until": None, "rate_free_at": None, "struggling_since": None, **values}
            )
        assert _waits(portal, team, endpoint) == said


def test_a_message_whose_time_has_not_come_says_when(portal: Client, team: Tenant, hook: Receiver) -> None:
    endpoint = endpoint_make(team, f"{hook.url}/hook")
    hook.answers = [Answer(500)]
    event_id = emit(team)
    pump()
    (row,) = deliveries()
    noted(endpoint, struggling_since=clock.now())
    (line,) = portal.get(f"/portal/message/{event_id}").context["deliveries"]
    assert (line.waiting.words, line.waiting.at) == ("Next attempt", row.next_attempt_at)


def test_attempts_are_listed_by_when_they_began(portal: Client, team: Tenant, hook: Receiver) -> None:
    endpoint = endpoint_make(team, f"{hook.url}/hook")
    for _ in range(3):
        emit(team)
        pump()
    first, second, third = (row.id for row in attempts())
    # The second began first, and its answer was long in coming.
    with system_scope(SystemScope.PURGE):
        assert Attempt.objects.filter(pk=second).update(attempted_at=clock.now() - timedelta(seconds=15)) == 1
    lines = portal.get(f"/portal/endpoint/{endpoint.id}/attempts").context["lines"]
    assert [line.attempt.id for line in lines] == [third, first, second]


def test_an_address_breaks_at_what_separates_its_parts_and_nowhere_else(portal: Client, team: Tenant) -> None:
    url = "https://api.example.com/health-service/v2/in_bound?a=b&c=%22"
    parts = "https://|api.|example.|com/|health-|service/|v2/|in_|bound?|a=|b&amp;|c=|%22|"
    assert breakable_url(url) == parts.replace("|", "<wbr>")
    endpoint = endpoint_make(team, url)
    assert f'<h1 class="address">{breakable_url(url)}</h1>' in text_of(portal, f"/portal/endpoint/{endpoint.id}")
    assert f">{breakable_url(url)}</a></h2>" in text_of(portal, "/portal/")
