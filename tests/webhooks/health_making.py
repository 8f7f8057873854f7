"""Outcomes as a test needs them: of which endpoint, how many hours after the beginning, and how it went."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from healthsvc.kernel.http import OutboundFailure
from healthsvc.kernel.principal import Environment, TeamContext
from webhooks.models import Delivery
from webhooks.records import Claim, Outcome

BEGIN = datetime(2026, 11, 1, 6, 0, tzinfo=UTC)
SOME = UUID(int=1)


def at(hours: float) -> datetime:
    """The instant so many hours after the beginning."""
    return BEGIN + timedelta(hours=hours)


def outcome(
    hours: float,
    status: int | None = None,
    *,
    error: OutboundFailure | None = None,
    retry_after: int | None = None,
    endpoint_id: UUID = SOME,
    milliseconds: int = 0,
) -> Outcome:
    """An outcome of nobody's delivery; without a status or an error a time-out."""
    team = TeamContext(SOME, Environment.SANDBOX)
    claim = Claim(SOME, 1, 0, endpoint_id, SOME, "webhook.test", team)
    if status is None and error is None:
        error = OutboundFailure.TIMEOUT
    return Outcome(claim, at(hours), milliseconds, status, error, retry_after)


def outcome_of(
    delivery: Delivery,
    moment: datetime,
    status: int | None = 500,
    *,
    noted: bool = True,
    retry_after: int | None = None,
) -> Outcome:
    """An outcome of a delivery that is there; without a status a time-out."""
    team = TeamContext(delivery.team_id, Environment(delivery.environment))
    claim = Claim(delivery.pk, delivery.claims, 0, delivery.endpoint_id, delivery.event_id, "webhook.test", team, noted)
    return Outcome(claim, moment, 0, status, None if status else OutboundFailure.TIMEOUT, retry_after)
