"""Every kind of event, as it is delivered, satisfies the published library and the document."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.documents import event_problems
from tests.factories import Tenant
from tests.webhooks.conftest import emit, endpoint_make, make_due, pump
from tests.webhooks.receiving import Answer, Receiver, Request
from webhooks import services
from webhooks.constants import RETRY_DELAYS_SECONDS
from webhooks.models import Endpoint
from webhooks.registry import event_types
from webhooks.signatures import secret_make

FAMILIES = ("webhook", "svix")


def only(family: str, headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of one family, under the names that the library knows."""
    return {f"webhook-{name}": headers[f"{family}-{name}"] for name in ("id", "timestamp", "signature")}


def verified(request: Request, secret: str) -> Any:
    """A body that the library accepts by the headers of either family, and of which the document says all."""
    first, second = (Webhook(secret).verify(request.body, only(family, request.headers)) for family in FAMILIES)
    assert first == second == orjson.loads(request.body)
    assert event_problems(first) == []
    return first


def test_the_library_verifies_every_event_of_the_catalogue(team: Tenant, hook: Receiver, endpoint: Endpoint) -> None:
    user = factories.user_make(team, client_user_id="Zoë Ångström / 17 😀")
    for event in event_types().values():
        about = {"user_id": user.id, "client_user_id": user.client_user_id}
        emit(team, event.name, data=event.sample, **(about if "user_id" in str(event.sample) else {}))
    pump()
    bodies = [verified(request, endpoint.secret) for request in hook.received]
    assert sorted(body["event_type"] for body in bodies) == list(event_types())
    assert {body["event_type"]: body["data"] for body in bodies} == {
        name: event.sample for name, event in event_types().items()
    }
    assert {body["client_user_id"] for body in bodies if body["user_id"]} == {user.client_user_id}


def test_the_library_verifies_each_attempt_and_the_notice_of_the_last(team: Tenant, hook: Receiver) -> None:
    failing = endpoint_make(team, f"{hook.url}/failing", filter_types=["daily.data.steps"])
    told = endpoint_make(team, f"{hook.url}/told", filter_types=["message.attempt.exhausted"])
    user = factories.user_make(team)
    steps = event_types()["daily.data.steps.created"]
    hook.otherwise = Answer(status=500)
    emit(team, steps.name, data=steps.sample, user_id=user.id, client_user_id=user.client_user_id)
    for _ in RETRY_DELAYS_SECONDS:
        pump()
        make_due()
    assert {request.path for request in hook.received} == {"/failing"}
    hook.otherwise = Answer()
    hook.answers = [Answer(status=500)]
    pump()
    attempts = [verified(request, failing.secret) for request in hook.received if request.path == "/failing"]
    assert attempts == [attempts[0]] * (len(RETRY_DELAYS_SECONDS) + 1)
    assert len({request.headers["webhook-id"] for request in hook.received if request.path == "/failing"}) == 1
    (notice,) = [verified(request, told.secret) for request in hook.received if request.path == "/told"]
    assert notice["event_type"] == "message.attempt.exhausted"
    assert (notice["data"]["attempts"], notice["data"]["event_type"]) == (len(attempts), steps.name)


def test_the_library_verifies_by_either_secret_during_a_rotation(
    team: Tenant, hook: Receiver, endpoint: Endpoint
) -> None:
    before, after = endpoint.secret, secret_make()
    with team_scope(team.context):
        services.endpoint_secret_rotate(team=team.context, endpoint_id=endpoint.id, key=after)
    emit(team, "webhook.test", data=event_types()["webhook.test"].sample, client_user_id=None)
    pump()
    (request,) = hook.received
    assert verified(request, before) == verified(request, after)
    with pytest.raises(WebhookVerificationError):
        verified(request, secret_make())
