"""An event now says what it is: its envelope names the sample's user, who is nobody; the event itself is of none."""

from typing import Any
from uuid import UUID

import orjson
import pytest

from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from tests.documents import event_problems
from tests.factories import Tenant, user_make
from tests.webhooks.conftest import endpoint_make, pump
from tests.webhooks.receiving import Receiver
from webhooks import services
from webhooks.log_selectors import MessageFilters, message_page
from webhooks.models import Event
from webhooks.openapi import envelope_sample
from webhooks.registry import EXAMPLE_USER_ID, event_types

#: One of each shape of data, and one about no user.
NAMES = (
    "daily.data.sleep.created",
    "daily.data.glucose.updated",
    "historical.data.steps.created",
    "provider.connection.created",
    "provider.device.updated",
    "webhook.endpoint.failing",
)


def send(team: Tenant, endpoint_id: UUID, event_type: str) -> UUID:
    """Send an event now."""
    with team_scope(team.context):
        return services.event_send_now(team=team.context, endpoint_id=endpoint_id, event_type=event_type)


@pytest.mark.parametrize("name", NAMES)
def test_the_envelope_is_the_documented_example(team: Tenant, hook: Receiver, name: str) -> None:
    chosen = endpoint_make(team, f"{hook.url}/chosen", filter_types=["webhook.test"], channels=["provider.oura"])
    endpoint_make(team, f"{hook.url}/other")
    event_id = send(team, chosen.id, name)
    pump()
    (request,) = hook.received
    assert request.path == "/chosen"
    body: Any = orjson.loads(request.body)
    assert body == {**envelope_sample(event_types()[name]), "team_id": str(team.team.id)}
    is_of_user = name.startswith(("daily.", "historical.", "provider."))
    assert body["user_id"] == body["data"].get("user_id") == (str(EXAMPLE_USER_ID) if is_of_user else None)
    assert body["client_user_id"] == ("example-user" if is_of_user else None)
    assert event_problems(body) == []
    with system_scope(SystemScope.DELIVERY):
        event = Event.objects.get(pk=event_id)
    assert (event.user_id, event.channels) == (None, [])


def test_an_example_is_nobodys_in_the_log_and_to_others(team: Tenant, hook: Receiver) -> None:
    chosen = endpoint_make(team, f"{hook.url}/chosen")
    endpoint_make(team, f"{hook.url}/by-user", channels=[f"user.{EXAMPLE_USER_ID}"])
    send(team, chosen.id, NAMES[0])
    pump()
    assert [request.path for request in hook.received] == ["/chosen"]
    with team_scope(team.context):
        user_make(team)
        found = message_page(team.context, cursor=None, limit=10, filters=MessageFilters(user_id=EXAMPLE_USER_ID))
    assert list(found.messages) == []
