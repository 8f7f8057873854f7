"""The portal's list of event types: in groups, and what is told of one resource on one line."""

import re

import pytest
from django.test import Client

from tests.factories import Tenant
from tests.webhooks.portal_visiting import text_of, visitor
from webhooks.portal.event_groups import Told, groups_of
from webhooks.registry import EventType, event_types

SLEEP = "daily.data.sleep"


@pytest.fixture
def portal(team: Tenant) -> Client:
    """A visit of our team's."""
    return visitor(team)


def test_all_events_stand_in_their_groups_once() -> None:
    groups = groups_of(event_types().values())
    assert [(group.name, len(group.lines), group.count) for group in groups] == [
        ("Daily summaries", 10, 20),
        ("Daily timeseries", 50, 100),
        ("Historical backfills", 60, 60),
        ("Connections and devices", 3, 4),
        ("Webhooks", 4, 4),
    ]
    told = [one.type for group in groups for line in group.lines for one in line.events]
    assert sorted(told) == list(event_types())


def test_created_and_updated_of_a_resource_share_a_line() -> None:
    groups = groups_of(event_types().values())
    (sleep,) = [line for group in groups for line in group.lines if line.name == SLEEP]
    assert sleep.words == "A night or a nap."
    assert sleep.events == (Told(f"{SLEEP}.created", "created"), Told(f"{SLEEP}.updated", "updated"))
    connections = groups[3]
    assert [(line.name, [one.word for one in line.events]) for line in connections.lines] == [
        ("provider.connection.created", [""]),
        ("provider.connection.error", [""]),
        ("provider.device", ["created", "updated"]),
    ]


def test_a_group_of_nothing_is_not_there_and_a_sole_event_says_what_it_means() -> None:
    (group,) = groups_of([EventType("order.shipped", "It is on its way.", {}, {})])
    ((line,), count) = group.lines, group.count
    assert (line.name, line.words, line.events, count) == (
        "order.shipped", "It is on its way.", (Told("order.shipped", ""),), 1,
    )  # fmt: skip


def test_groups_are_closed_until_something_is_looked_for(portal: Client) -> None:
    text = text_of(portal, "/portal/event_types")
    assert len(re.findall(r"<details\b[^>]*>", text)) == 5
    assert not re.search(r"<details\b[^>]*\bopen\b", text)
    text = text_of(portal, "/portal/event_types?q=atrial")
    assert len(re.findall(r"<details\b[^>]*\bopen\b", text)) == 2
    assert text.count("Share of the time in which the heart was in atrial fibrillation.") == 2
    assert set(re.findall(r'href="/portal/event_type/([^"]+)"', text)) == {
        "daily.data.afib_burden.created",
        "daily.data.afib_burden.updated",
        "historical.data.afib_burden.created",
    }


def test_the_page_of_an_event_says_that_its_example_is_of_nobody(portal: Client, endpoint: object) -> None:
    text = text_of(portal, f"/portal/event_type/{SLEEP}.created")
    assert "its user is nobody: <code>client_user_id</code> is <code>example-user</code>" in text
    assert "its user is nobody" not in text_of(portal, "/portal/event_type/webhook.test")
