"""On how many days there are data, of many users and resources at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from uuid import UUID

import numpy as np

from aggregation.codec import block_decode
from aggregation.store.days import DAY_US, us_of_instant
from aggregation.store.statements import rows_of
from healthsvc.kernel.principal import TeamContext

#: Blocks that are no wider than a day tell of a day without being opened; wider ones are few and are opened.
_BLOCKS: Final = """
SELECT wanted.place, block.bucket::bigint * series.bucket_seconds * 1000000,
    CASE WHEN series.bucket_seconds > 86400 THEN block.data END
FROM unnest(
    %(user_ids)b::uuid[], %(providers)b::text[], %(resources)b::text[], %(firsts)b::bigint[], %(lasts)b::bigint[]
) WITH ORDINALITY AS wanted (user_id, provider, resource, first_second, last_second, place)
JOIN aggregation_series AS series
    ON series.user_id = wanted.user_id AND series.team_id = %(team_id)b AND series.environment = %(environment)b
    AND series.provider = wanted.provider AND series.resource = wanted.resource
JOIN (
    SELECT user_id, series_id, bucket, data FROM aggregation_block
    UNION ALL
    SELECT user_id, series_id, bucket, data FROM aggregation_tail
) AS block ON block.user_id = series.user_id AND block.series_id = series.series_id
    AND block.bucket >= wanted.first_second / series.bucket_seconds
    AND block.bucket <= wanted.last_second / series.bucket_seconds
"""

_SUMMARIES: Final = """
SELECT wanted.place, count(DISTINCT summary.calendar_date)
FROM unnest(
    %(user_ids)b::uuid[], %(providers)b::text[], %(resources)b::text[], %(first_days)b::date[], %(last_days)b::date[]
) WITH ORDINALITY AS wanted (user_id, provider, resource, first_day, last_day, place)
JOIN aggregation_summary AS summary
    ON summary.user_id = wanted.user_id AND summary.team_id = %(team_id)b AND summary.environment = %(environment)b
    AND summary.provider = wanted.provider AND summary.resource = wanted.resource
    AND summary.calendar_date >= wanted.first_day AND summary.calendar_date <= wanted.last_day
GROUP BY wanted.place
"""


@dataclass(frozen=True, slots=True)
class DaysWanted:
    """A resource of a provider's, from one day to another, both included."""

    user_id: UUID
    provider: str
    resource: str
    start_on: date
    end_on: date


def days_with_data(team: TeamContext, wanted: Sequence[DaysWanted]) -> list[int]:
    """On how many days each has data: the person's days of summaries, UTC days of samples. Two statements."""
    parameters = {
        "team_id": team.team_id,
        "environment": str(team.environment),
        "user_ids": [one.user_id for one in wanted],
        "providers": [one.provider for one in wanted],
        "resources": [one.resource for one in wanted],
    }
    firsts = [_seconds(one.start_on) for one in wanted]
    lasts = [_seconds(one.end_on + timedelta(days=1)) - 1 for one in wanted]
    days: list[set[int]] = [set() for _ in wanted]
    for place, begin_us, data in rows_of(_BLOCKS, {**parameters, "firsts": firsts, "lasts": lasts}):
        starts_us = np.array([begin_us]) if data is None else block_decode(data).start_us
        days[place - 1].update(np.unique(starts_us // DAY_US).tolist())
    bounds = [range(first // 86_400, last // 86_400 + 1) for first, last in zip(firsts, lasts, strict=True)]
    counts = [sum(day in bound for day in found) for found, bound in zip(days, bounds, strict=True)]
    more = {"first_days": [one.start_on for one in wanted], "last_days": [one.end_on for one in wanted]}
    for place, count in rows_of(_SUMMARIES, {**parameters, **more}):
        counts[place - 1] = count
    return counts


def _seconds(day: date) -> int:
    return us_of_instant(datetime.combine(day, time(), UTC)) // 1_000_000
