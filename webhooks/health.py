"""How an endpoint fares, as tables of times: what a batch of outcomes changes, and how much may be sent to whom now."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from healthsvc.kernel.http import OutboundFailure
from webhooks.constants import (
    CONNECTION_FAILURES_STRUGGLING,
    FAILING_GAP_SECONDS,
    FAILING_MAXIMUM_SECONDS,
    FAILING_WINDOW_SECONDS,
    OVERLOAD_PAUSE_SECONDS,
    RETRY_AFTER_MAXIMUM_SECONDS,
)
from webhooks.records import Outcome

_GAP: Final = timedelta(seconds=FAILING_GAP_SECONDS)
_WINDOW: Final = timedelta(seconds=FAILING_WINDOW_SECONDS)
_FAILING_MAXIMUM: Final = timedelta(seconds=FAILING_MAXIMUM_SECONDS)
_SECOND: Final = 1_000_000  # microseconds, in which allowances are counted so that they are exact
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Health:
    """What is noted of an endpoint; `webhooks.models.EndpointHealth` says what each means."""

    first_failure_at: datetime | None = None
    last_failure_at: datetime | None = None
    failing_since: datetime | None = None
    struggling_since: datetime | None = None
    connection_failures: int = 0
    paused_until: datetime | None = None


HEALTHY: Final = Health()


def health_after(before: Health, outcomes: Sequence[Outcome]) -> Health:
    """What is noted after a batch of one endpoint's outcomes, taken in the order in which they came about.

    What is older than a note does not undo it: a success clears only what was noted before it.
    """
    health = before
    for outcome in sorted(outcomes, key=ended_at):
        health = _after_success(health, outcome) if outcome.succeeded else _after_failure(health, outcome)
    return health


def is_given_up(after: Health, outcomes: Sequence[Outcome]) -> bool:
    """Whether one of the outcomes is a failure after five days of nothing else."""
    since = after.failing_since
    return since is not None and any(
        not outcome.succeeded and ended_at(outcome) - since >= _FAILING_MAXIMUM for outcome in outcomes
    )


def ended_at(outcome: Outcome) -> datetime:
    """When an attempt's outcome was known."""
    return outcome.attempted_at + timedelta(milliseconds=outcome.duration_milliseconds)


def _after_success(health: Health, outcome: Outcome) -> Health:
    at = ended_at(outcome)
    if health.first_failure_at is not None and health.first_failure_at <= at:
        health = replace(health, first_failure_at=None, last_failure_at=None, failing_since=None)
    if health.struggling_since is not None and health.struggling_since <= at:
        health = replace(health, struggling_since=None)
    if health.paused_until is not None and health.paused_until <= at:
        health = replace(health, paused_until=None)
    return replace(health, connection_failures=0) if health.connection_failures else health


def _after_failure(health: Health, outcome: Outcome) -> Health:
    at = ended_at(outcome)
    if health.failing_since is None:
        health = _after_early_failure(health, at)
    until = _pause_until(outcome, at)
    if until is not None and (health.paused_until is None or health.paused_until < until):
        health = replace(health, paused_until=until)
    return _after_silence(health, outcome, at)


def _after_early_failure(health: Health, at: datetime) -> Health:
    """The clock starts at a failure that comes twelve hours or more after another one within a day.

    The first and the last of the failures before it stand for all: while none of them is so far from another, and each
    within a day of the next, all lie within twelve hours, and one between two that are too near or too far is so too.
    """
    first, last = health.first_failure_at, health.last_failure_at
    if first is None or last is None or at - last > _WINDOW:
        return replace(health, first_failure_at=at, last_failure_at=at)
    if any(_GAP <= at - earlier <= _WINDOW for earlier in (first, last)):
        return replace(health, failing_since=at)
    return replace(health, last_failure_at=max(last, at))


def _after_silence(health: Health, outcome: Outcome, at: datetime) -> Health:
    """What a failure says about an endpoint that does not answer: an answer of any kind ends the row of failures."""
    refused = health.connection_failures + 1 if outcome.error is OutboundFailure.CONNECTION else 0
    refused = min(refused, CONNECTION_FAILURES_STRUGGLING)
    hangs = outcome.error is OutboundFailure.TIMEOUT or refused == CONNECTION_FAILURES_STRUGGLING
    since = at if hangs and health.struggling_since is None else health.struggling_since
    if refused == health.connection_failures and since == health.struggling_since:
        return health
    return replace(health, connection_failures=refused, struggling_since=since)


def _pause_until(outcome: Outcome, at: datetime) -> datetime | None:
    """Until when an overloaded endpoint wishes to be left alone."""
    asked = outcome.retry_after_seconds
    if outcome.status_code == 429 and asked is None:
        asked = OVERLOAD_PAUSE_SECONDS
    if outcome.status_code not in (429, 503) or not asked:
        return None
    return at + timedelta(seconds=min(asked, RETRY_AFTER_MAXIMUM_SECONDS))


def rate_terms(rate_limit: int) -> tuple[int, int]:
    """How many messages may go at once, and how many a second go on: together never more than the limit in a second.

    A tenth may go at once, for a pump looks only twenty times a second and would lose what came due in between.
    """
    burst = -(-rate_limit // 10)
    return burst, max(1, rate_limit - burst + 1)


def rate_allowance(rate_limit: int, rate_free_at: datetime | None, now: datetime) -> int:
    """How many messages a limit in messages a second leaves now.

    The generic cell rate algorithm: each message moves `rate_free_at` on by its share of a second, and it may lie as
    far ahead as the burst reaches. So no second, wherever it begins, has more messages than the limit.
    """
    burst, sustained = rate_terms(rate_limit)
    ahead = max(0, (rate_free_at - now) // _MICROSECOND) if rate_free_at is not None else 0
    return max(0, burst * _SECOND - ahead * sustained) // _SECOND


def rate_free_after(rate_limit: int, rate_free_at: datetime | None, count: int, now: datetime) -> datetime:
    """From when on the allowance is whole again once `count` messages are sent now; rounded up, so that none gains."""
    begin = now if rate_free_at is None else max(rate_free_at, now)
    _burst, sustained = rate_terms(rate_limit)
    return begin - _MICROSECOND * (-count * _SECOND // sustained)
