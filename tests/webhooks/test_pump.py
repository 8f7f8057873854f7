"""Delivery to a real receiver on this machine."""

from datetime import timedelta

import orjson
import pytest
from pytest_django import Settings
from standardwebhooks import Webhook

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from tests.factories import Tenant
from tests.name_server import names_resolving
from tests.webhooks.conftest import attempts, claims_take, deliveries, emit, endpoint_make, make_due, pump
from tests.webhooks.receiving import Answer, Receiver
from webhooks import selectors, services, walker
from webhooks.models import Attempt, Delivery, Endpoint, Event
from webhooks.outgoing import Outgoings
from webhooks.pump import PumpOptions
from webhooks.sender import Sender


def test_an_event_arrives_signed_and_is_told_as_delivered(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    event_id = emit(team)
    report = pump()
    assert (report.fanned_out, report.attempted, report.delivered) == (1, 1, 1)
    (request,) = hook.received
    payload = Webhook(endpoint.secret).verify(request.body, dict(request.headers))
    assert payload == {
        "event_type": "daily.data.sleep.created",
        "data": {"score": 81, "name": "Zoë"},
        "team_id": str(team.team.id),
        "user_id": None,
        "client_user_id": "customer-1",
    }
    assert (request.method, request.path) == ("POST", "/hook")
    assert request.headers["content-type"] == "application/json"
    assert request.headers["webhook-id"] == request.headers["svix-id"] == f"msg_{event_id}"
    (row,), (attempt,) = deliveries(), attempts()
    assert (row.status, row.failures, row.next_attempt_at) == ("delivered", 0, None)
    assert (attempt.number, attempt.status_code, attempt.error, attempt.answer_excerpt) == (1, 204, "", None)
    assert pump().attempted == 0


def test_custom_headers_are_sent_and_ours_win(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    with team_scope(team.context):
        headers = {"Authorization": "Bearer abc", "X-Tenant": "7"}
        services.endpoint_headers_put(team=team.context, endpoint_id=endpoint.id, headers=headers)
    emit(team)
    pump()
    (request,) = hook.received
    assert (request.headers["authorization"], request.headers["x-tenant"]) == ("Bearer abc", "7")


def test_a_failure_is_tried_again_with_the_same_id_and_bytes(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    hook.answers = [Answer(500, {}, b"No such table for ada@example.com")]
    emit(team)
    before = clock.now()
    pump()
    (row,), (attempt,) = deliveries(), attempts()
    assert (row.status, row.failures, row.ended_at) == ("pending", 1, None)
    assert row.next_attempt_at is not None
    assert timedelta(seconds=4) <= row.next_attempt_at - before <= timedelta(seconds=60)
    assert (attempt.status_code, attempt.answer_excerpt) == (500, "No such table for [address]")
    assert pump().attempted == 0, "not before its time"
    make_due()
    assert pump().delivered == 1
    first, second = hook.received
    assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])
    assert [item.number for item in attempts()] == [1, 2]


@pytest.mark.slow
def test_eight_failures_end_it_and_the_team_is_told_once(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    hook.otherwise = Answer(503)
    event_id = emit(team)
    for _ in range(7):
        assert pump().attempted == 1
        make_due()
    assert pump().attempted == 2, "the last one, and the first of the notice"
    row, notice = deliveries()
    assert (row.status, row.failures, row.next_attempt_at, notice.status) == ("failed", 8, None, "pending")
    body = orjson.loads(notice.event.body or "")
    assert (body["event_type"], body["client_user_id"]) == ("message.attempt.exhausted", "customer-1")
    assert body["data"]["last_attempt"].pop("attempted_at")
    assert body["data"] == {
        "message_id": f"msg_{event_id}",
        "event_type": "daily.data.sleep.created",
        "endpoint_id": str(endpoint.id),
        "attempts": 8,
        "last_attempt": {"status_code": 503, "error": None},
    }
    for _ in range(7):
        make_due()
        assert pump().attempted == 1
    make_due()
    assert (pump().attempted, len(hook.received)) == (0, 16)
    assert [item.status for item in deliveries()] == ["failed", "failed"], "and no notice of a notice"


def test_a_receiver_that_hangs(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    hook.answers = [Answer(hangs=True)]
    emit(team)
    pump(timeout_seconds=0.2)
    (row,), (attempt,) = deliveries(), attempts()
    assert (row.status, attempt.status_code, attempt.error) == ("pending", None, "timeout")


def test_a_redirect_is_a_failure_and_is_not_followed(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    hook.answers = [Answer(307, {"Location": f"{hook.url}/elsewhere"})]
    emit(team)
    pump()
    assert [request.path for request in hook.received] == ["/hook"]
    assert (deliveries()[0].status, attempts()[0].status_code) == ("pending", 307)


def test_gone_disables_the_endpoint_and_cancels_what_it_is_owed(
    team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    hook.answers = [Answer(500)]
    emit(team)
    pump()
    hook.answers = [Answer(410)]
    emit(team)
    pump()
    with team_scope(team.context):
        found = selectors.endpoint_get(team.context, endpoint.id)
    assert (found.disabled, found.disabled_reason) == (True, "gone")
    assert [row.status for row in deliveries()] == ["cancelled", "cancelled"]
    assert [item.status_code for item in attempts()] == [500, 410]
    emit(team)
    assert (pump().attempted, len(deliveries()), len(hook.received)) == (0, 2, 2)


def test_a_reply_that_cant_be_read_does_not_stop_the_pump(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    hook.answers = [Answer(503, {"Retry-After": "Mon, 01 Jan 2026 00:00:00 +9999999999999999"})]
    emit(team)
    pump()
    (delivery,) = deliveries()
    assert (delivery.status, delivery.failures) == ("pending", 1)


def test_retry_after_is_honoured(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    hook.answers = [Answer(429, {"Retry-After": "7200"})]
    emit(team)
    before = clock.now()
    pump()
    (row,) = deliveries()
    assert row.next_attempt_at is not None
    assert timedelta(seconds=7200) <= row.next_attempt_at - before <= timedelta(seconds=7260)


def test_an_address_that_became_private_is_refused_when_it_is_dialled(
    team: Tenant, endpoint: Endpoint, hook: Receiver, settings: Settings
) -> None:
    emit(team)
    settings.LOOPBACK_ORIGINS = []
    pump()
    assert (attempts()[0].error, deliveries()[0].status, hook.received) == ("refused_address", "pending", [])


def test_during_a_rotation_both_secrets_sign_and_afterwards_one(
    team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    old = endpoint.secret
    with team_scope(team.context):
        services.endpoint_secret_rotate(team=team.context, endpoint_id=endpoint.id, key=None)
        new = selectors.endpoint_get(team.context, endpoint.id).secret
    emit(team)
    pump()
    (request,) = hook.received
    assert len(request.headers["webhook-signature"].split(" ")) == 2
    for secret in (old, new):
        Webhook(secret).verify(request.body, dict(request.headers))
    with team_scope(team.context):
        later = selectors.endpoint_get(team.context, endpoint.id)
        day = timedelta(hours=24, seconds=1)
        assert selectors.secrets_signing(later, clock.now() + day) == [new]
        assert selectors.secrets_signing(later, clock.now()) == [new, old]


def test_crash_between_send_and_acknowledgement_sends_the_same_id_twice(
    team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    """What a worker does that dies after its request was sent: it claims, sends, and is heard of no more."""
    emit(team)
    with system_scope(SystemScope.DELIVERY), Sender(timeout_seconds=5) as sender:
        services.events_fan_out()
        sender.submit(Outgoings().of_claims(claims_take()))
        assert [outcome.status_code for outcome in sender.collect(wait_seconds=5)] == [204]
    assert pump().attempted == 0, "the lease holds"
    make_due()
    assert pump().delivered == 1
    assert len({request.headers["webhook-id"] for request in hook.received}) == 1
    assert len(hook.received) == 2
    (row,), (attempt,) = deliveries(), attempts()
    assert (row.status, row.claims, attempt.number, row.failures) == ("delivered", 2, 2, 0)


def test_a_payload_that_is_gone_is_not_sent(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    emit(team)
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        Event.objects.update(body=None)
    pump()
    assert (deliveries()[0].status, attempts(), hook.received) == ("cancelled", [], [])


def test_disabling_and_deleting_cancel_what_is_owed(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    other = endpoint_make(team, f"{hook.url}/other")
    emit(team)
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
    with team_scope(team.context):
        services.endpoint_patch(team=team.context, endpoint_id=endpoint.id, changes={"disabled": True})
        services.endpoint_delete(team=team.context, endpoint_id=other.id)
    assert [row.status for row in deliveries()] == ["cancelled", "cancelled"]
    assert (pump().attempted, hook.received) == (0, [])
    assert deliveries()[1].endpoint.secret == ""


def test_sending_again(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    emit(team)
    pump()
    with team_scope(team.context):
        assert walker.deliveries_resend(Delivery.objects.for_team(team.context)) == 1
    assert pump().delivered == 1
    first, second = hook.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert [item.number for item in attempts()] == [1, 2]


def test_claiming_is_fair_between_endpoints(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    other = endpoint_make(team, f"{hook.url}/other", filter_types=["provider"])
    for _ in range(6):
        emit(team)
    emit(team, "provider.connection.created")
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        first = claims_take(3)
        second = walker.deliveries_claim({other.id: 10}, 60)
        third = walker.deliveries_claim({endpoint.id: 10}, 60, limit=2)
        fourth = claims_take(10)
    counts = [sum(claim.endpoint_id == item.id for claim in first) for item in (endpoint, other)]
    assert (counts, len(second), len(third), len(fourth)) == ([3, 1], 0, 2, 2)


def test_a_lease_must_outlast_the_request() -> None:
    with pytest.raises(ValueError, match="lease"):
        PumpOptions(timeout_seconds=15, lease_seconds=15)


def test_attempts_are_never_changed_or_removed_but_by_the_purge(team: Tenant, endpoint: Endpoint) -> None:
    emit(team)
    pump()
    with system_scope(SystemScope.DELIVERY):
        assert Attempt.objects.update(status_code=200) == 0
    with team_scope(team.context):
        assert Attempt.objects.all()._raw_delete("default") == 0
    assert len(attempts()) == 1


@pytest.mark.parametrize(("due_seconds", "linger_seconds", "attempts_made"), [(0.4, 0, 0), (0.4, 10, 1), (60, 10, 0)])
def test_a_pump_stays_for_what_is_due_soon(
    team: Tenant, endpoint: Endpoint, hook: Receiver, due_seconds: float, linger_seconds: float, attempts_made: int
) -> None:
    hook.answers = [Answer(500)]
    emit(team)
    pump()
    with system_scope(SystemScope.DELIVERY):
        Delivery.objects.update(next_attempt_at=clock.now() + timedelta(seconds=due_seconds))
    assert pump(linger_seconds=linger_seconds).attempted == attempts_made


def test_it_does_not_stay_for_an_endpoint_that_is_paused(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    hook.answers = [Answer(429)]
    emit(team)
    pump()
    with system_scope(SystemScope.DELIVERY):
        Delivery.objects.update(next_attempt_at=clock.now() + timedelta(seconds=0.3))
    assert pump(linger_seconds=10).attempted == 0


@pytest.mark.slow
def test_names_whose_servers_never_answer_stop_no_other_delivery_and_no_pump(
    team: Tenant, hook: Receiver, settings: Settings
) -> None:
    """More of them than a loop has threads; their time is the request's."""
    alive = f"http://alive.example.com:{hook.url.rpartition(':')[2]}"
    settings.LOOPBACK_ORIGINS = [alive]
    silent = {endpoint_make(team, f"https://silent-{number}.example.com/hook").id for number in range(30)}
    well = endpoint_make(team, f"{alive}/hook")
    emit(team)
    with names_resolving(lambda host: "127.0.0.1" if host == "alive.example.com" else None):
        report = pump(timeout_seconds=1.5)
    assert (report.attempted, report.delivered, len(hook.received)) == (31, 1, 1)
    assert {(item.endpoint_id in silent, item.error) for item in attempts()} == {(True, "timeout"), (False, "")}
    assert [row.endpoint_id for row in deliveries() if row.status == "delivered"] == [well.id]
