"""The life of a delivery: every state with every command, on the database."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope
from tests.factories import Tenant
from tests.webhooks.conftest import claims_take, deliveries, emit
from webhooks import services, walker
from webhooks.models import Delivery, Endpoint
from webhooks.records import Acknowledgement, Claim
from webhooks.states import OPEN, TRANSITIONS, DeliveryCommand, DeliveryStatus, status_after


def _claim(_row: Delivery) -> None:
    claims_take()


def _acknowledge(command: DeliveryCommand) -> Callable[[Delivery], None]:
    def walk(row: Delivery) -> None:
        claim = Claim(
            row.id, row.claims, row.failures, row.endpoint_id, row.event_id, row.event.event_type, row.event.context
        )
        walker.deliveries_acknowledge([Acknowledgement(claim, command, row.failures + 1, clock.now())])

    return walk


WALKS: dict[DeliveryCommand, Callable[[Delivery], object]] = {
    DeliveryCommand.CLAIM: _claim,
    DeliveryCommand.SUCCEED: _acknowledge(DeliveryCommand.SUCCEED),
    DeliveryCommand.RETRY: _acknowledge(DeliveryCommand.RETRY),
    DeliveryCommand.EXHAUST: _acknowledge(DeliveryCommand.EXHAUST),
    DeliveryCommand.CANCEL: lambda row: walker.deliveries_cancel(Delivery.objects.filter(pk=row.pk)),
    DeliveryCommand.RESEND: lambda row: walker.deliveries_resend(Delivery.objects.filter(pk=row.pk)),
}
COLUMNS = ("status", "claims", "failures", "next_attempt_at", "ended_at")


@pytest.mark.parametrize("command", list(DeliveryCommand))
@pytest.mark.parametrize("status", list(DeliveryStatus))
def test_every_state_with_every_command(
    team: Tenant, endpoint: Endpoint, status: DeliveryStatus, command: DeliveryCommand
) -> None:
    emit(team)
    before = clock.now() - timedelta(minutes=1)
    moments = {"next_attempt_at": before} if status in OPEN else {"next_attempt_at": None, "ended_at": before}
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        Delivery.objects.update(status=status, claims=3, failures=2, **moments)
        (row,) = deliveries()
        WALKS[command](row)
        after = Delivery.objects.get()
    expected = TRANSITIONS.get((status, command))
    if expected is None:
        assert {name: getattr(after, name) for name in COLUMNS} == {name: getattr(row, name) for name in COLUMNS}
    else:
        assert after.status == expected
        assert (after.next_attempt_at is not None, after.ended_at is None) == (expected in OPEN,) * 2


def test_each_command_leads_to_one_state() -> None:
    assert [str(status_after(command)) for command in DeliveryCommand] == [
        "sending", "delivered", "pending", "failed", "cancelled", "pending",
    ]  # fmt: skip


def test_an_acknowledgement_without_the_claim_changes_nothing(team: Tenant, endpoint: Endpoint) -> None:
    emit(team)
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        (first,) = claims_take(lease_seconds=0)
        (second,) = claims_take()
        late = walker.deliveries_acknowledge([Acknowledgement(first, DeliveryCommand.SUCCEED, 0)])
        assert (late, Delivery.objects.get().status) == (set(), "sending")
        ours = walker.deliveries_acknowledge([Acknowledgement(second, DeliveryCommand.SUCCEED, 0)])
        assert (ours, Delivery.objects.get().status) == ({second.delivery_id}, "delivered")
    assert (first.number, second.number) == (1, 2)
