"""An event now: a sample of the catalogue to one endpoint, and its attempt as it comes in."""

import orjson
import pytest
from django.test import Client

from tests.factories import Tenant
from tests.webhooks.conftest import attempts, deliveries, endpoint_make, pump
from tests.webhooks.portal_visiting import text_of, visitor
from tests.webhooks.receiving import Receiver
from webhooks.registry import event_types

SLEEP = "daily.data.sleep.created"


@pytest.fixture
def portal(team: Tenant) -> Client:
    """A visit of our team's."""
    return visitor(team)


def test_a_sample_is_shown_sent_and_seen_to_arrive(portal: Client, team: Tenant, hook: Receiver) -> None:
    endpoint = endpoint_make(team, f"{hook.url}/hook", filter_types=["provider"])
    endpoint_make(team, f"{hook.url}/other")
    at = f"/portal/endpoint/{endpoint.id}/send"
    assert event_types()[SLEEP].meaning in text_of(portal, f"{at}?event_type={SLEEP}")
    sent = portal.post(at, {"event_type": SLEEP})
    assert sent.status_code == 303
    waiting = portal.get(sent["Location"])
    assert waiting["Refresh"] == f"2; url={sent['Location']}&look=1"
    assert "On its way" in waiting.content.decode()
    pump()
    assert [(one.path, orjson.loads(one.body)["event_type"]) for one in hook.received] == [("/hook", SLEEP)]
    arrived = portal.get(sent["Location"])
    assert not arrived.has_header("Refresh")
    assert "It was sent" in arrived.content.decode()
    assert f"/portal/attempt/{attempts()[0].id}" in arrived.content.decode()


def test_looking_ends_by_itself_and_when_asked(portal: Client, team: Tenant, hook: Receiver) -> None:
    endpoint = endpoint_make(team, f"{hook.url}/hook")
    sent = portal.post(f"/portal/endpoint/{endpoint.id}/send", {"event_type": SLEEP})["Location"]
    assert portal.get(f"{sent}&look=14")["Refresh"] == f"2; url={sent}&look=15"
    for look in ("15", "999", "-1", "x"):
        page = portal.get(f"{sent}&look={look}")
        assert not page.has_header("Refresh"), look
        assert "No attempt was made yet" in page.content.decode()
    assert f'href="{sent}&amp;look=15">Stop looking' in text_of(portal, sent).replace("&amp;sent", "&sent")


def test_an_unknown_type_sends_the_test_event(portal: Client, team: Tenant, hook: Receiver) -> None:
    endpoint = endpoint_make(team, f"{hook.url}/hook")
    portal.post(f"/portal/endpoint/{endpoint.id}/send", {"event_type": "no.such.type"})
    pump()
    assert [orjson.loads(one.body)["event_type"] for one in hook.received] == ["webhook.test"]


def test_a_disabled_endpoint_is_sent_nothing(portal: Client, team: Tenant, hook: Receiver) -> None:
    endpoint = endpoint_make(team, f"{hook.url}/hook", disabled=True)
    at = f"/portal/endpoint/{endpoint.id}/send"
    assert "This endpoint is disabled" in text_of(portal, at)
    answer = portal.post(at, {"event_type": SLEEP})
    assert (answer.status_code, "disabled" in answer.content.decode()) == (409, True)
    assert deliveries() == []


def test_anothers_message_is_not_watched(portal: Client, team: Tenant, other_team: Tenant, hook: Receiver) -> None:
    ours, theirs = endpoint_make(team, f"{hook.url}/ours"), endpoint_make(other_team, f"{hook.url}/theirs")
    sent = visitor(other_team).post(f"/portal/endpoint/{theirs.id}/send", {"event_type": SLEEP})["Location"]
    pump()
    page = portal.get(sent.replace(str(theirs.id), str(ours.id)))
    assert "It was sent" not in page.content.decode()
