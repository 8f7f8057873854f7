"""On how many days there are data, of many users and resources at once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final
from uuid import UUID

import numpy as np

from aggregation.codec import BlockColumns
from aggregation.constants import OFFSET_MAXIMUM_SECONDS
from aggregation.store.days import DAY_US, SECOND_US, local_us, us_of_day
from aggregation.store.read import blocks_layered
from healthsvc.kernel.postgres.statements import rows_of
from healthsvc.kernel.principal import TeamContext

#: Blocks that are in memory at once: some 10 MB of them, if they hold a sample every 15 seconds.
_OPENED_AT_ONCE: Final = 2_000

#: The blocks in which samples of the days may lie, and the person's fallback zone. A tail has its block.
_BLOCKS: Final = """
SELECT wanted.place, person.fallback_time_zone, block.user_id, block.series_id, block.bucket
FROM unnest(
    %(user_ids)b::uuid[], %(providers)b::text[], %(resources)b::text[], %(firsts)b::bigint[], %(lasts)b::bigint[]
) WITH ORDINALITY AS wanted (user_id, provider, resource, first_second, last_second, place)
JOIN users_user AS person
    ON person.id = wanted.user_id AND person.team_id = %(team_id)b AND person.environment = %(environment)b
JOIN aggregation_series AS series
    ON series.user_id = wanted.user_id AND series.team_id = %(team_id)b AND series.environment = %(environment)b
    AND series.provider = wanted.provider AND series.resource = wanted.resource
CROSS JOIN LATERAL (
    SELECT user_id, series_id, bucket FROM aggregation_block
    WHERE user_id = series.user_id AND series_id = series.series_id
        AND bucket >= floor(wanted.first_second / series.bucket_seconds::float8)::int
        AND bucket <= floor(wanted.last_second / series.bucket_seconds::float8)::int
    OFFSET 0
) AS block
"""

#: Blocks (number 0) and tails of some places, of one moment; each is looked up by its key (OFFSET 0).
_OPENED: Final = """
SELECT wanted.place, wanted.number, 0::bigint AS seq, block.data
FROM unnest(%(places)b::bigint[], %(user_ids)b::uuid[], %(series_ids)b::bigint[], %(buckets)b::int[])
    WITH ORDINALITY AS wanted (place, user_id, series_id, bucket, number)
CROSS JOIN LATERAL (
    SELECT data FROM aggregation_block
    WHERE user_id = wanted.user_id AND series_id = wanted.series_id AND bucket = wanted.bucket
    OFFSET 0
) AS block
UNION ALL
SELECT wanted.place, wanted.number, tail.seq, tail.data
FROM unnest(%(places)b::bigint[], %(user_ids)b::uuid[], %(series_ids)b::bigint[], %(buckets)b::int[])
    WITH ORDINALITY AS wanted (place, user_id, series_id, bucket, number)
CROSS JOIN LATERAL (
    SELECT seq, data FROM aggregation_tail
    WHERE user_id = wanted.user_id AND series_id = wanted.series_id AND bucket = wanted.bucket
    OFFSET 0
) AS tail
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
    """On how many of the person's own days each has data.

    Two statements and one for every 2,000 blocks, which are opened: only samples know of which day they are, at about
    40 microseconds a block.
    """
    parameters = {
        "team_id": team.team_id,
        "environment": str(team.environment),
        "user_ids": [one.user_id for one in wanted],
        "providers": [one.provider for one in wanted],
        "resources": [one.resource for one in wanted],
    }
    counts = _sample_days(wanted, parameters)
    bounds = {"first_days": [one.start_on for one in wanted], "last_days": [one.end_on for one in wanted]}
    for place, count in rows_of(_SUMMARIES, {**parameters, **bounds}):
        counts[place - 1] = count
    return counts


def _sample_days(wanted: Sequence[DaysWanted], parameters: Mapping[str, object]) -> list[int]:
    firsts_us = [us_of_day(one.start_on) for one in wanted]
    ends_us = [us_of_day(one.end_on + timedelta(days=1)) for one in wanted]
    slack_us = OFFSET_MAXIMUM_SECONDS * SECOND_US
    bounds = {
        "firsts": [(first_us - slack_us) // SECOND_US for first_us in firsts_us],
        "lasts": [(end_us + slack_us) // SECOND_US for end_us in ends_us],
    }
    rows = rows_of(_BLOCKS, {**parameters, **bounds})
    zones = {place: zone for place, zone, *_ in rows}
    days: list[set[int]] = [set() for _ in wanted]
    for place, block in _opened(rows):
        local = local_us(block.start_us, block.offset_seconds, zones[place])
        inside = local[(local >= firsts_us[place - 1]) & (local < ends_us[place - 1])]
        days[place - 1].update(np.unique(inside // DAY_US).tolist())
    return [len(found) for found in days]


def _opened(rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, BlockColumns]]:
    """The samples of blocks and their tails, with the place they are for."""
    for begin in range(0, len(rows), _OPENED_AT_ONCE):
        places, _, user_ids, series_ids, buckets = zip(*rows[begin : begin + _OPENED_AT_ONCE], strict=True)
        parameters = {
            "places": list(places),
            "user_ids": list(user_ids),
            "series_ids": list(series_ids),
            "buckets": list(buckets),
        }
        yield from blocks_layered(rows_of(_OPENED, parameters)).items()
