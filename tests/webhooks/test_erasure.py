"""An erased user's payloads are gone, what was not sent is never sent, and nothing brings them back."""

from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from tests import factories
from tests.factories import Tenant
from tests.webhooks.conftest import SOME_EVENT, attempts, deliveries, emit, endpoint_make, make_due, pump
from tests.webhooks.receiving import Answer, Receiver
from tests.webhooks.waiting import beside, wait_until
from users.registry import erasers
from webhooks import walker
from webhooks.constants import ERASE_ROWS, RETRY_DELAYS_SECONDS
from webhooks.erasure import user_erase
from webhooks.events import MESSAGE_ATTEMPT_EXHAUSTED
from webhooks.models import Delivery, Endpoint, Event

_ALL_ATTEMPTS = len(RETRY_DELAYS_SECONDS) + 1
_WRONG = Answer(500, {}, b"out of order")


def events() -> list[Event]:
    """Every event, oldest first."""
    with system_scope(SystemScope.DELIVERY):
        return list(Event.objects.order_by("id"))


def emit_about(tenant: Tenant, user_id: UUID) -> UUID:
    """An event of a user, with a channel that many share."""
    return emit(tenant, user_id=user_id, channels=["provider.oura"])


def test_the_app_erases_what_it_keeps() -> None:
    assert erasers.count(user_erase) == 1


def test_payloads_answers_and_names_go_and_the_log_stays(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    hook.answers = [_WRONG, _WRONG]
    erased, other = uuid4(), uuid4()
    emit_about(team, erased)
    emit_about(team, other)
    pump()
    counts = user_erase(team.context, erased)
    assert counts == {"webhooks_event": 1, "webhooks_delivery": 1, "webhooks_attempt": 1}
    gone, kept = events()
    assert (gone.body, gone.user_id, gone.channels) == (None, None, ["provider.oura"])
    assert gone.event_type == SOME_EVENT
    assert kept.body is not None
    assert (kept.user_id, kept.channels) == (other, ["provider.oura", f"user.{other}"])
    # The two were sent at once, so either may have been answered first.
    excerpts = {row.delivery_id: row.answer_excerpt for row in attempts()}
    assert {row.event_id: excerpts[row.pk] for row in deliveries()} == {gone.pk: None, kept.pk: "out of order"}
    assert [row.status for row in deliveries()] == ["cancelled", "pending"]
    assert user_erase(team.context, erased) == {}


def test_what_waits_is_never_sent(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    user_id = uuid4()
    hook.answers = [_WRONG]
    emit_about(team, user_id)
    pump()
    emit_about(team, user_id)
    counts = user_erase(team.context, user_id)
    assert counts == {"webhooks_event": 2, "webhooks_delivery": 1, "webhooks_attempt": 1}
    assert pump().attempted == 0
    assert len(hook.received) == 1
    assert [row.status for row in deliveries()] == ["cancelled"]


def test_sending_again_brings_nothing_back(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    user_id = uuid4()
    emit_about(team, user_id)
    pump()
    user_erase(team.context, user_id)
    with team_scope(team.context):
        walker.deliveries_resend(Delivery.objects.all())
    assert pump().attempted == 0
    assert (len(hook.received), [row.status for row in deliveries()]) == (1, ["cancelled"])


def test_the_notice_of_a_given_up_message_is_erased_too(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    user_id = uuid4()
    hook.answers = [_WRONG] * _ALL_ATTEMPTS
    emit_about(team, user_id)
    for _ in range(_ALL_ATTEMPTS):
        pump()
        make_due()
    assert [event.event_type for event in events()] == [SOME_EVENT, MESSAGE_ATTEMPT_EXHAUSTED]
    assert user_erase(team.context, user_id)["webhooks_event"] == 2
    assert [(event.body, event.user_id) for event in events()] == [(None, None)] * 2


def test_another_team_with_the_same_id_loses_nothing(team: Tenant, other_team: Tenant, production: Tenant) -> None:
    user_id = uuid4()
    for tenant in (team, other_team, production):
        emit_about(tenant, user_id)
    assert user_erase(team.context, user_id) == {
        "webhooks_event": 1,
        "webhooks_delivery": 0,
        "webhooks_attempt": 0,
    }
    assert [event.body is None for event in events()] == [True, False, False]


def test_many_events_go_by_portions(team: Tenant, endpoint: Endpoint) -> None:
    user_id, now = uuid4(), clock.now()
    with team_scope(team.context):
        Event.objects.bulk_create(
            Event(**team_values(team.context), event_type=SOME_EVENT, user_id=user_id, body="{}", created_at=now)
            for _ in range(2 * ERASE_ROWS + 1)
        )
    with CaptureQueriesContext(connection) as captured:
        assert user_erase(team.context, user_id)["webhooks_event"] == 2 * ERASE_ROWS + 1
    assert [query["sql"] for query in captured if "SELECT" in query["sql"] and "body" in query["sql"]] == []
    assert {(event.body, event.user_id) for event in events()} == {(None, None)}


@pytest.mark.django_db(transaction=True)
def test_what_is_in_flight_leaves_no_answer_behind(hook: Receiver) -> None:
    tenant, user_id = factories.tenant_make(), uuid4()
    endpoint_make(tenant, f"{hook.url}/slow")
    hook.slow_paths = {"/slow"}
    hook.otherwise = _WRONG
    emit_about(tenant, user_id)
    with beside(pump):
        wait_until("it is in flight", lambda: hook.received)
        assert user_erase(tenant.context, user_id)["webhooks_delivery"] == 1
        hook.let_go.set()
    assert [(row.status_code, row.answer_excerpt) for row in attempts()] == [(500, None)]
    assert [row.status for row in deliveries()] == ["cancelled"]
    assert [event.event_type for event in events()] == [SOME_EVENT]
