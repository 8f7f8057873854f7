"""The store's SQL.

Every statement names `user_id`, which leads every key, and runs on the connection of the current transaction, so
that row-level security holds here as everywhere.
"""

from typing import Final

#: Holds the person's row against an erasure, which changes it, until the transaction ends. Writers of the same
#: person do not wait for each other. No row: there is no such living user.
USER_HOLD: Final = """
SELECT client_user_id, fallback_time_zone, ingestion_start_on, ingestion_end_on
FROM users_user
WHERE id = %(user_id)b AND team_id = %(team_id)b AND environment = %(environment)b AND deleted_at IS NULL
FOR SHARE
"""

#: Takes the lock of each series, in the order of the arrays, and makes those that are not there.
SERIES_LOCK: Final = """
INSERT INTO aggregation_series AS held (
    user_id, series_id, team_id, environment, resource, provider, source_type, app_id, device_id, workout_id,
    bucket_seconds, rev
)
SELECT %(user_id)b::uuid, given.series_id, %(team_id)b::uuid, %(environment)b::text, given.resource, given.provider,
    given.source_type, given.app_id, given.device_id, given.workout_id, given.bucket_seconds, 1
FROM unnest(
    %(series_ids)b::bigint[], %(resources)b::text[], %(providers)b::text[], %(source_types)b::text[],
    %(app_ids)b::text[], %(device_ids)b::text[], %(workout_ids)b::uuid[], %(bucket_seconds)b::int[]
) WITH ORDINALITY AS given (
    series_id, resource, provider, source_type, app_id, device_id, workout_id, bucket_seconds, place
)
ORDER BY given.place
ON CONFLICT (user_id, resource, provider, source_type, app_id, device_id, workout_id)
DO UPDATE SET rev = held.rev + 1, live_bucket = NULL
RETURNING resource, provider, source_type, app_id, device_id, workout_id, series_id, bucket_seconds, rev
"""

#: Takes the lock of one series that is there.
SERIES_RAISE: Final = """
UPDATE aggregation_series SET rev = rev + 1, live_bucket = NULL
WHERE user_id = %(user_id)b AND series_id = %(series_id)b
    AND team_id = %(team_id)b AND environment = %(environment)b
RETURNING rev
"""

#: Blocks and tails of some places, a block as number 0. One statement, so that both are of the same moment; each
#: place is looked up by its key, whatever the planner thinks of the tables' sizes (OFFSET 0, LIMIT).
BLOCKS_FETCH: Final = """
SELECT wanted.series_id, wanted.bucket, 0::bigint AS seq, block.data
FROM unnest(%(series_ids)b::bigint[], %(buckets)b::int[]) AS wanted (series_id, bucket)
CROSS JOIN LATERAL (
    SELECT kept.data FROM aggregation_block AS kept
    WHERE kept.user_id = %(user_id)b AND kept.series_id = wanted.series_id AND kept.bucket = wanted.bucket
    LIMIT 1
) AS block
UNION ALL
SELECT wanted.series_id, wanted.bucket, tail.seq, tail.data
FROM unnest(%(series_ids)b::bigint[], %(buckets)b::int[]) AS wanted (series_id, bucket)
CROSS JOIN LATERAL (
    SELECT kept.seq, kept.data FROM aggregation_tail AS kept
    WHERE kept.user_id = %(user_id)b AND kept.series_id = wanted.series_id AND kept.bucket = wanted.bucket
    OFFSET 0
) AS tail
"""

BLOCKS_WRITE: Final = """
INSERT INTO aggregation_block (user_id, series_id, bucket, team_id, environment, n, data)
SELECT %(user_id)b::uuid, given.series_id, given.bucket, %(team_id)b::uuid, %(environment)b::text, given.n, given.data
FROM unnest(%(series_ids)b::bigint[], %(buckets)b::int[], %(sizes)b::int[], %(datas)b::bytea[])
    AS given (series_id, bucket, n, data)
ON CONFLICT (user_id, series_id, bucket) DO UPDATE SET n = EXCLUDED.n, data = EXCLUDED.data
"""

TAILS_WRITE: Final = """
INSERT INTO aggregation_tail (user_id, series_id, bucket, seq, team_id, environment, n, data, created_at)
SELECT %(user_id)b::uuid, given.series_id, given.bucket, given.seq, %(team_id)b::uuid, %(environment)b::text, given.n,
    given.data, %(now)b
FROM unnest(%(series_ids)b::bigint[], %(buckets)b::int[], %(seqs)b::bigint[], %(sizes)b::int[], %(datas)b::bytea[])
    AS given (series_id, bucket, seq, n, data)
"""

TAILS_REMOVE: Final = """
DELETE FROM aggregation_tail AS tail
USING unnest(%(series_ids)b::bigint[], %(buckets)b::int[]) AS folded (series_id, bucket)
WHERE tail.user_id = %(user_id)b AND tail.series_id = folded.series_id AND tail.bucket = folded.bucket
"""

#: Notes of series, whose locks are held, what they hold more than before, and where live posts may go.
SERIES_NOTE: Final = """
UPDATE aggregation_series AS series
SET samples = series.samples + given.created, oldest_us = least(series.oldest_us, given.first_us),
    newest_us = greatest(series.newest_us, given.last_us),
    live_bucket = CASE WHEN given.is_live THEN given.live_bucket END,
    live_last_us = CASE WHEN given.is_live THEN given.live_last_us END,
    live_rows = CASE WHEN given.is_live THEN given.live_rows END
FROM unnest(
    %(series_ids)b::bigint[], %(created)b::bigint[], %(firsts_us)b::bigint[], %(lasts_us)b::bigint[],
    %(are_live)b::bool[], %(live_buckets)b::int[], %(live_lasts_us)b::bigint[], %(live_rows)b::int[]
) AS given (series_id, created, first_us, last_us, is_live, live_bucket, live_last_us, live_rows)
WHERE series.user_id = %(user_id)b AND series.series_id = given.series_id
"""

#: A whole live post in one statement: holds the person, locks the series and appends to the tail of its live block,
#: where every sample is newer than all that block and tail hold. No row where that is not so, or is not known (see
#: SERIES_NOTE), or where the person has ingestion bounds. What is compared lies in the row that is locked, so a writer
#: that came between is seen.
TAIL_APPEND: Final = """
WITH person AS MATERIALIZED (
    SELECT client_user_id
    FROM users_user
    WHERE id = %(user_id)b AND team_id = %(team_id)b AND environment = %(environment)b AND deleted_at IS NULL
        AND ingestion_start_on IS NULL AND ingestion_end_on IS NULL
    FOR SHARE
), held AS (
    UPDATE aggregation_series AS series
    SET rev = series.rev + 1, live_last_us = %(last_us)b, live_rows = series.live_rows + 1,
        samples = series.samples + %(size)b, newest_us = greatest(series.newest_us, %(last_us)b)
    WHERE series.user_id = %(user_id)b AND series.resource = %(resource)b AND series.provider = %(provider)b
        AND series.source_type = %(source_type)b AND series.app_id = %(app_id)b AND series.device_id = %(device_id)b
        AND series.workout_id = %(workout_id)b AND series.bucket_seconds = %(bucket_seconds)b
        AND series.live_bucket = %(bucket)b AND series.live_last_us < %(first_us)b
        AND series.live_rows < %(tail_rows)b AND EXISTS (SELECT FROM person)
    RETURNING series.series_id, series.rev
)
INSERT INTO aggregation_tail (user_id, series_id, bucket, seq, team_id, environment, n, data, created_at)
SELECT %(user_id)b, held.series_id, %(bucket)b, held.rev, %(team_id)b, %(environment)b, %(size)b, %(data)b, %(now)b
FROM held
RETURNING (SELECT client_user_id FROM person)
"""

#: Series whose tails have waited since before `before`: the oldest of each team first, the teams in turn. Of a long
#: queue only its oldest `rows` are looked at; those of people on the way out, which are not folded, are no part of it.
#: Needs the scope of delivery.
TAILS_DUE: Final = """
SELECT due.team_id, due.environment, due.user_id, due.series_id
FROM (
    SELECT old.team_id, old.environment, old.user_id, old.series_id, min(old.created_at) AS begun_at,
        row_number() OVER (PARTITION BY old.team_id, old.environment ORDER BY min(old.created_at)) AS turn
    FROM (
        SELECT team_id, environment, user_id, series_id, created_at
        FROM aggregation_tail AS tail
        WHERE created_at < %(before)b
            AND EXISTS (SELECT FROM users_user AS person WHERE person.id = tail.user_id AND person.deleted_at IS NULL)
        ORDER BY created_at
        LIMIT %(rows)b
    ) AS old
    GROUP BY old.team_id, old.environment, old.user_id, old.series_id
) AS due
ORDER BY due.turn, due.begun_at
LIMIT %(limit)b
"""

TAIL_BUCKETS: Final = """
SELECT DISTINCT bucket
FROM aggregation_tail
WHERE user_id = %(user_id)b AND series_id = %(series_id)b
ORDER BY bucket
LIMIT %(limit)b
"""

SERIES_OF_USER: Final = """
SELECT series_id, provider, source_type, app_id, device_id, bucket_seconds
FROM aggregation_series
WHERE user_id = %(user_id)b AND team_id = %(team_id)b AND environment = %(environment)b AND resource = %(resource)b
    AND workout_id = %(workout_id)b AND (%(provider)b = '' OR provider = %(provider)b)
ORDER BY series_id
"""

#: A page of all series of a person, for walks.
SERIES_PAGE: Final = """
SELECT series_id, bucket_seconds
FROM aggregation_series
WHERE user_id = %(user_id)b AND series_id > %(after_series_id)b
ORDER BY series_id
LIMIT %(limit)b
"""

#: Blocks and tails of one series after a place, for walks.
BLOCKS_PAGE: Final = """
SELECT kept.bucket, kept.seq, kept.n, kept.data
FROM (
    SELECT bucket, 0::bigint AS seq, n, data
    FROM aggregation_block
    WHERE user_id = %(user_id)b AND series_id = %(series_id)b AND bucket > %(after_bucket)b
    UNION ALL
    SELECT bucket, seq, n, data
    FROM aggregation_tail
    WHERE user_id = %(user_id)b AND series_id = %(series_id)b AND (bucket, seq) > (%(after_bucket)b, %(after_seq)b)
) AS kept
ORDER BY kept.bucket, kept.seq
LIMIT %(limit)b
"""

BLOCK_SIZES: Final = """
SELECT kept.series_id, kept.bucket, sum(kept.n)::bigint
FROM (
    SELECT wanted.series_id, block.bucket, block.n
    FROM unnest(%(series_ids)b::bigint[], %(first_buckets)b::int[], %(last_buckets)b::int[])
        AS wanted (series_id, first_bucket, last_bucket)
    CROSS JOIN LATERAL (
        SELECT bucket, n FROM aggregation_block
        WHERE user_id = %(user_id)b AND series_id = wanted.series_id
            AND bucket >= wanted.first_bucket AND bucket <= wanted.last_bucket
        ORDER BY bucket
        LIMIT %(limit)b
    ) AS block
    UNION ALL
    SELECT wanted.series_id, tail.bucket, tail.n
    FROM unnest(%(series_ids)b::bigint[], %(first_buckets)b::int[], %(last_buckets)b::int[])
        AS wanted (series_id, first_bucket, last_bucket)
    CROSS JOIN LATERAL (
        SELECT bucket, n FROM aggregation_tail
        WHERE user_id = %(user_id)b AND series_id = wanted.series_id
            AND bucket >= wanted.first_bucket AND bucket <= wanted.last_bucket
        OFFSET 0
    ) AS tail
) AS kept
GROUP BY kept.series_id, kept.bucket
ORDER BY kept.series_id, kept.bucket
LIMIT %(limit)b
"""

#: Blocks (number 0) and tails of some stretches, of one moment, in no order.
BLOCKS_BETWEEN: Final = """
SELECT wanted.series_id, block.bucket, 0::bigint AS seq, block.data
FROM unnest(%(series_ids)b::bigint[], %(first_buckets)b::int[], %(last_buckets)b::int[])
    AS wanted (series_id, first_bucket, last_bucket)
CROSS JOIN LATERAL (
    SELECT bucket, data FROM aggregation_block
    WHERE user_id = %(user_id)b AND series_id = wanted.series_id
        AND bucket >= wanted.first_bucket AND bucket <= wanted.last_bucket
    OFFSET 0
) AS block
UNION ALL
SELECT wanted.series_id, tail.bucket, tail.seq, tail.data
FROM unnest(%(series_ids)b::bigint[], %(first_buckets)b::int[], %(last_buckets)b::int[])
    AS wanted (series_id, first_bucket, last_bucket)
CROSS JOIN LATERAL (
    SELECT bucket, seq, data FROM aggregation_tail
    WHERE user_id = %(user_id)b AND series_id = wanted.series_id
        AND bucket >= wanted.first_bucket AND bucket <= wanted.last_bucket
    OFFSET 0
) AS tail
"""

BLOCKS_TOTAL: Final = """
SELECT coalesce(sum(kept.n), 0)::bigint
FROM (
    SELECT block.n
    FROM unnest(%(series_ids)b::bigint[], %(first_buckets)b::int[], %(last_buckets)b::int[])
        AS wanted (series_id, first_bucket, last_bucket)
    CROSS JOIN LATERAL (
        SELECT n FROM aggregation_block
        WHERE user_id = %(user_id)b AND series_id = wanted.series_id
            AND bucket >= wanted.first_bucket AND bucket <= wanted.last_bucket
        OFFSET 0
    ) AS block
    UNION ALL
    SELECT tail.n
    FROM unnest(%(series_ids)b::bigint[], %(first_buckets)b::int[], %(last_buckets)b::int[])
        AS wanted (series_id, first_bucket, last_bucket)
    CROSS JOIN LATERAL (
        SELECT n FROM aggregation_tail
        WHERE user_id = %(user_id)b AND series_id = wanted.series_id
            AND bucket >= wanted.first_bucket AND bucket <= wanted.last_bucket
        OFFSET 0
    ) AS tail
) AS kept
"""

#: The workouts that samples and streams name, by what their providers call them.
WORKOUTS_FIND: Final = """
SELECT summary.provider, summary.external_id, summary.id, summary.payload ->> 'sport'
FROM unnest(%(providers)b::text[], %(external_ids)b::text[]) AS wanted (provider, external_id)
JOIN aggregation_summary AS summary
    ON summary.user_id = %(user_id)b AND summary.resource = %(resource)b AND summary.provider = wanted.provider
    AND summary.external_id = wanted.external_id
"""

#: A row comes back where it was made or changed: made where it has the id that was proposed.
SUMMARIES_WRITE: Final = """
INSERT INTO aggregation_summary AS kept (
    user_id, id, team_id, environment, resource, provider, source_type, app_id, device_id, external_id,
    calendar_date, starts_at, ends_at, timezone_offset_seconds, payload, raw, created_at, updated_at
)
SELECT %(user_id)b::uuid, given.id, %(team_id)b::uuid, %(environment)b::text, given.resource, given.provider,
    given.source_type, given.app_id, given.device_id, given.external_id, given.calendar_date, given.starts_at,
    given.ends_at, given.timezone_offset_seconds, given.payload::jsonb, given.raw::jsonb, %(now)b, %(now)b
FROM unnest(
    %(ids)b::uuid[], %(resources)b::text[], %(providers)b::text[], %(source_types)b::text[], %(app_ids)b::text[],
    %(device_ids)b::text[], %(external_ids)b::text[], %(calendar_dates)b::date[], %(starts)b::timestamptz[],
    %(ends)b::timestamptz[], %(offsets)b::int[], %(payloads)b::text[],
    %(raws)b::text[]
) WITH ORDINALITY AS given (
    id, resource, provider, source_type, app_id, device_id, external_id, calendar_date, starts_at, ends_at,
    timezone_offset_seconds, payload, raw, place
)
ORDER BY given.place
ON CONFLICT (user_id, resource, provider, external_id) DO UPDATE SET
    source_type = EXCLUDED.source_type, app_id = EXCLUDED.app_id, device_id = EXCLUDED.device_id,
    calendar_date = EXCLUDED.calendar_date, starts_at = EXCLUDED.starts_at, ends_at = EXCLUDED.ends_at,
    timezone_offset_seconds = EXCLUDED.timezone_offset_seconds, payload = EXCLUDED.payload,
    raw = EXCLUDED.raw, updated_at = EXCLUDED.updated_at
WHERE (
    kept.source_type, kept.app_id, kept.device_id, kept.calendar_date, kept.starts_at, kept.ends_at,
    kept.timezone_offset_seconds, kept.payload
) IS DISTINCT FROM (
    EXCLUDED.source_type, EXCLUDED.app_id, EXCLUDED.device_id, EXCLUDED.calendar_date, EXCLUDED.starts_at,
    EXCLUDED.ends_at, EXCLUDED.timezone_offset_seconds, EXCLUDED.payload
)
RETURNING resource, provider, external_id, id, created_at, updated_at
"""

#: Puts sources' own forms beside summaries whose content is the same.
SUMMARY_RAWS_WRITE: Final = """
UPDATE aggregation_summary AS kept
SET raw = given.raw::jsonb
FROM unnest(%(resources)b::text[], %(providers)b::text[], %(external_ids)b::text[], %(raws)b::text[])
    AS given (resource, provider, external_id, raw)
WHERE kept.user_id = %(user_id)b AND kept.team_id = %(team_id)b AND kept.environment = %(environment)b
    AND kept.resource = given.resource AND kept.provider = given.provider AND kept.external_id = given.external_id
    AND kept.raw IS DISTINCT FROM given.raw::jsonb
"""

#: Summaries of which others are parts, by id or by what their providers call them.
SUMMARY_PARENTS: Final = """
SELECT kept.resource, kept.provider, kept.external_id, kept.id
FROM unnest(%(resources)b::text[], %(ids)b::uuid[]) AS wanted (resource, id)
JOIN aggregation_summary AS kept
    ON kept.user_id = %(user_id)b AND kept.id = wanted.id AND kept.resource = wanted.resource
WHERE kept.team_id = %(team_id)b AND kept.environment = %(environment)b
UNION
SELECT kept.resource, kept.provider, kept.external_id, kept.id
FROM unnest(%(resources)b::text[], %(providers)b::text[], %(external_ids)b::text[])
    AS wanted (resource, provider, external_id)
JOIN aggregation_summary AS kept
    ON kept.user_id = %(user_id)b AND kept.resource = wanted.resource AND kept.provider = wanted.provider
    AND kept.external_id = wanted.external_id
WHERE kept.team_id = %(team_id)b AND kept.environment = %(environment)b
"""
