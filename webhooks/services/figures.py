"""What is counted while delivering: by endpoint and span for pictures, and in all for the operator's metrics."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.postgres.statements import rows_of
from webhooks.constants import (
    TALLY_SECONDS,
    TOTAL_ATTEMPT_MILLISECONDS,
    TOTAL_ATTEMPTS_DELIVERED,
    TOTAL_ATTEMPTS_FAILED,
    TOTAL_DELIVERIES_EXHAUSTED,
)
from webhooks.records import Outcome

#: In the order of the endpoints, as everyone does, so that two batches never wait for each other.
_TALLIES: Final = """
INSERT INTO webhooks_tally AS kept
    (id, team_id, environment, endpoint_id, span_at, delivered, failed, exhausted, duration_milliseconds)
SELECT * FROM unnest(
    %(ids)b::uuid[], %(teams)b::uuid[], %(environments)b::text[], %(endpoints)b::uuid[], %(spans)b::timestamptz[],
    %(delivered)b::bigint[], %(failed)b::bigint[], %(exhausted)b::bigint[], %(milliseconds)b::bigint[])
ON CONFLICT (endpoint_id, span_at) DO UPDATE
   SET delivered = kept.delivered + excluded.delivered, failed = kept.failed + excluded.failed,
       exhausted = kept.exhausted + excluded.exhausted,
       duration_milliseconds = kept.duration_milliseconds + excluded.duration_milliseconds
"""
_TOTALS: Final = """
INSERT INTO webhooks_total AS kept (name, value)
SELECT * FROM unnest(%(names)b::text[], %(values)b::bigint[])
ON CONFLICT (name) DO UPDATE SET value = kept.value + excluded.value
"""


class _Tally:
    """What one endpoint's outcomes of a batch add up to."""

    __slots__ = ("delivered", "exhausted", "failed", "milliseconds")

    def __init__(self) -> None:
        self.delivered = self.failed = self.exhausted = self.milliseconds = 0


def span_of(moment: datetime) -> datetime:
    """The beginning of the span that a moment is counted in."""
    seconds = int(moment.timestamp())
    return datetime.fromtimestamp(seconds - seconds % TALLY_SECONDS, UTC)


def outcomes_count(outcomes: Sequence[Outcome], exhausted: Collection[UUID], now: datetime) -> None:
    """Add a batch to the tallies and totals; `exhausted` are deliveries that were given up by it. Two statements.

    In the transaction of the acknowledgement and last in it: every pump counts in the rows of the totals.
    """
    tallies: dict[tuple[UUID, UUID, str], _Tally] = {}
    for outcome in outcomes:
        claim = outcome.claim
        tally = tallies.setdefault((claim.endpoint_id, claim.team.team_id, str(claim.team.environment)), _Tally())
        tally.delivered += outcome.succeeded
        tally.failed += not outcome.succeeded
        tally.exhausted += claim.delivery_id in exhausted
        tally.milliseconds += outcome.duration_milliseconds
    if not tallies:
        return
    keys = sorted(tallies)
    rows = [tallies[key] for key in keys]
    span = span_of(now)
    parameters = {
        "ids": [uuid_ordered() for _ in keys],
        "endpoints": [endpoint_id for endpoint_id, _, _ in keys],
        "teams": [team_id for _, team_id, _ in keys],
        "environments": [environment for _, _, environment in keys],
        "spans": [span for _ in keys],
        "delivered": [row.delivered for row in rows],
        "failed": [row.failed for row in rows],
        "exhausted": [row.exhausted for row in rows],
        "milliseconds": [row.milliseconds for row in rows],
    }
    rows_of(_TALLIES, parameters)
    totals_add(
        {
            TOTAL_ATTEMPTS_DELIVERED: sum(row.delivered for row in rows),
            TOTAL_ATTEMPTS_FAILED: sum(row.failed for row in rows),
            TOTAL_DELIVERIES_EXHAUSTED: len(exhausted),
            TOTAL_ATTEMPT_MILLISECONDS: sum(row.milliseconds for row in rows),
        }
    )


def totals_add(added: Mapping[str, int]) -> None:
    """Add to totals by name; those that nothing is added to are left alone."""
    given = sorted((name, value) for name, value in added.items() if value)
    if given:
        rows_of(_TOTALS, {"names": [name for name, _ in given], "values": [value for _, value in given]})
