"""When a delivery is tried again, and when it is given up: from an outcome to an acknowledgement, nothing else."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from webhooks.constants import RETRY_AFTER_MAXIMUM_SECONDS, RETRY_DELAYS_SECONDS, RETRY_JITTER
from webhooks.records import Acknowledgement, Outcome
from webhooks.states import DeliveryCommand

#: Answers whose Retry-After is honoured.
STATUSES_WITH_RETRY_AFTER: Final = frozenset({429, 503})


def acknowledgement_of(outcome: Outcome, now: datetime, chance: float) -> Acknowledgement:
    """What an outcome means for its delivery. `chance` in 0..1 places the wait within its jitter."""
    claim = outcome.claim
    if outcome.succeeded:
        return Acknowledgement(claim, DeliveryCommand.SUCCEED, claim.failures)
    failures = claim.failures + 1
    if outcome.gone:
        return Acknowledgement(claim, DeliveryCommand.CANCEL, failures)
    if failures > len(RETRY_DELAYS_SECONDS):
        return Acknowledgement(claim, DeliveryCommand.EXHAUST, failures)
    wait = wait_seconds(failures, chance)
    if outcome.retry_after_seconds is not None:
        wait = max(wait, outcome.retry_after_seconds)
    return Acknowledgement(claim, DeliveryCommand.RETRY, failures, now + timedelta(seconds=wait))


def wait_seconds(failures: int, chance: float) -> float:
    """The wait after the given number of failures."""
    return RETRY_DELAYS_SECONDS[failures - 1] * (1 + RETRY_JITTER * (2 * chance - 1))


def retry_after_read(text: str, now: datetime) -> int | None:
    """The seconds a Retry-After asks for, as a number or a date, at most a day; None where it says neither."""
    text = text.strip()
    if text.isdecimal():
        return min(int(text[:9]), RETRY_AFTER_MAXIMUM_SECONDS)
    try:
        moment = parsedate_to_datetime(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        wait = round((moment - now).total_seconds())
    except (ValueError, OverflowError):
        return None
    return min(max(0, wait), RETRY_AFTER_MAXIMUM_SECONDS)
