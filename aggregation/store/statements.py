"""The store's SQL, and how it reaches the server: in binary, which Django's own cursor can't.

Every statement names `user_id`, which leads every key, and runs on the connection of the current transaction, so
that row-level security holds here as everywhere.
"""

import time
from collections.abc import Mapping
from typing import Any, Final, LiteralString

import psycopg
from django.db import connection

#: Holds the person's row against an erasure, which changes it, until the transaction ends. Writers of the same
#: person do not wait for each other. No row: there is no such living user.
USER_HOLD: Final = """
SELECT 1
FROM users_user
WHERE id = %(user_id)b AND team_id = %(team_id)b AND environment = %(environment)b AND deleted_at IS NULL
FOR SHARE
"""

#: Takes the lock of each series, in the order of the arrays, and makes those that are not there.
SERIES_LOCK: Final = """
INSERT INTO aggregation_series AS held (
    user_id, series_id, team_id, environment, resource, provider, source_type, app_id, device_id, bucket_seconds, rev
)
SELECT %(user_id)b::uuid, given.series_id, %(team_id)b::uuid, %(environment)b::text, given.resource, given.provider,
    given.source_type, given.app_id, given.device_id, given.bucket_seconds, 1
FROM unnest(
    %(series_ids)b::bigint[], %(resources)b::text[], %(providers)b::text[], %(source_types)b::text[],
    %(app_ids)b::text[], %(device_ids)b::text[], %(bucket_seconds)b::int[]
) WITH ORDINALITY AS given (
    series_id, resource, provider, source_type, app_id, device_id, bucket_seconds, place
)
ORDER BY given.place
ON CONFLICT (user_id, resource, provider, source_type, app_id, device_id) DO UPDATE SET rev = held.rev + 1
RETURNING resource, provider, source_type, app_id, device_id, series_id, bucket_seconds
"""

BLOCKS_FETCH: Final = """
SELECT block.series_id, block.bucket, block.data
FROM unnest(%(series_ids)b::bigint[], %(buckets)b::int[]) AS wanted (series_id, bucket)
JOIN aggregation_block AS block
    ON block.user_id = %(user_id)b AND block.series_id = wanted.series_id AND block.bucket = wanted.bucket
"""

BLOCKS_WRITE: Final = """
INSERT INTO aggregation_block (user_id, series_id, bucket, team_id, environment, n, data)
SELECT %(user_id)b::uuid, given.series_id, given.bucket, %(team_id)b::uuid, %(environment)b::text, given.n, given.data
FROM unnest(%(series_ids)b::bigint[], %(buckets)b::int[], %(sizes)b::int[], %(datas)b::bytea[])
    AS given (series_id, bucket, n, data)
ON CONFLICT (user_id, series_id, bucket) DO UPDATE SET n = EXCLUDED.n, data = EXCLUDED.data
"""

SERIES_OF_USER: Final = """
SELECT series_id, provider, source_type, app_id, device_id, bucket_seconds
FROM aggregation_series
WHERE user_id = %(user_id)b AND team_id = %(team_id)b AND environment = %(environment)b AND resource = %(resource)b
    AND (%(provider)b = '' OR provider = %(provider)b)
ORDER BY series_id
"""

BLOCK_SIZES: Final = """
SELECT block.series_id, block.bucket, block.n
FROM unnest(%(series_ids)b::bigint[], %(first_buckets)b::int[], %(last_buckets)b::int[])
    AS wanted (series_id, first_bucket, last_bucket)
JOIN aggregation_block AS block
    ON block.user_id = %(user_id)b AND block.series_id = wanted.series_id
    AND block.bucket >= wanted.first_bucket AND block.bucket <= wanted.last_bucket
ORDER BY block.series_id, block.bucket
LIMIT %(limit)b
"""

BLOCKS_BETWEEN: Final = """
SELECT block.series_id, block.bucket, block.data
FROM unnest(%(series_ids)b::bigint[], %(first_buckets)b::int[], %(last_buckets)b::int[])
    AS wanted (series_id, first_bucket, last_bucket)
JOIN aggregation_block AS block
    ON block.user_id = %(user_id)b AND block.series_id = wanted.series_id
    AND block.bucket >= wanted.first_bucket AND block.bucket <= wanted.last_bucket
ORDER BY block.series_id, block.bucket
"""

BLOCKS_TOTAL: Final = """
SELECT coalesce(sum(block.n), 0)::bigint
FROM unnest(%(series_ids)b::bigint[], %(first_buckets)b::int[], %(last_buckets)b::int[])
    AS wanted (series_id, first_bucket, last_bucket)
JOIN aggregation_block AS block
    ON block.user_id = %(user_id)b AND block.series_id = wanted.series_id
    AND block.bucket >= wanted.first_bucket AND block.bucket <= wanted.last_bucket
"""

#: A row comes back where it was made or changed: made where it has the id that was proposed.
SUMMARIES_WRITE: Final = """
INSERT INTO aggregation_summary AS kept (
    user_id, id, team_id, environment, resource, provider, source_type, app_id, device_id, external_id,
    calendar_date, starts_at, ends_at, timezone_offset_seconds, payload, created_at, updated_at
)
SELECT %(user_id)b::uuid, given.id, %(team_id)b::uuid, %(environment)b::text, given.resource, given.provider,
    given.source_type, given.app_id, given.device_id, given.external_id, given.calendar_date, given.starts_at,
    given.ends_at, given.timezone_offset_seconds, given.payload::jsonb, %(now)b, %(now)b
FROM unnest(
    %(ids)b::uuid[], %(resources)b::text[], %(providers)b::text[], %(source_types)b::text[], %(app_ids)b::text[],
    %(device_ids)b::text[], %(external_ids)b::text[], %(calendar_dates)b::date[], %(starts)b::timestamptz[],
    %(ends)b::timestamptz[], %(offsets)b::int[], %(payloads)b::text[]
) WITH ORDINALITY AS given (
    id, resource, provider, source_type, app_id, device_id, external_id, calendar_date, starts_at, ends_at,
    timezone_offset_seconds, payload, place
)
ORDER BY given.place
ON CONFLICT (user_id, resource, provider, external_id) DO UPDATE SET
    source_type = EXCLUDED.source_type, app_id = EXCLUDED.app_id, device_id = EXCLUDED.device_id,
    calendar_date = EXCLUDED.calendar_date, starts_at = EXCLUDED.starts_at, ends_at = EXCLUDED.ends_at,
    timezone_offset_seconds = EXCLUDED.timezone_offset_seconds, payload = EXCLUDED.payload,
    updated_at = EXCLUDED.updated_at
WHERE (
    kept.source_type, kept.app_id, kept.device_id, kept.calendar_date, kept.starts_at, kept.ends_at,
    kept.timezone_offset_seconds, kept.payload
) IS DISTINCT FROM (
    EXCLUDED.source_type, EXCLUDED.app_id, EXCLUDED.device_id, EXCLUDED.calendar_date, EXCLUDED.starts_at,
    EXCLUDED.ends_at, EXCLUDED.timezone_offset_seconds, EXCLUDED.payload
)
RETURNING resource, provider, external_id, id, created_at, updated_at
"""


def rows_of(statement: LiteralString, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run a statement in the current transaction; its rows, none where it answers none."""
    connection.ensure_connection()
    started = time.monotonic()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(statement, parameters, binary=True)
        rows = cursor.fetchall() if cursor.description else []
    if connection.queries_logged:
        # Django counts what passes its own cursor; a test that counts queries must see these too.
        connection.queries_log.append({"sql": statement, "time": f"{time.monotonic() - started:.3f}"})
    return rows
