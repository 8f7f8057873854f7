"""The alternative: one row a sample in the same PostgreSQL, with the key it needs and the best SQL over it."""

import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID

import numpy as np
import psycopg
from django.db import connection, connections

from bench.answers import Hours
from bench.heart import HeartRate
from bench.stage import vacuumed

#: Microseconds from 1970 to 2000, where PostgreSQL's binary timestamps begin.
_POSTGRES_EPOCH_US = 946_684_800 * 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COPY_HEADER = b"PGCOPY\n\xff\r\n\x00" + struct.pack(">ii", 0, 0)
_COPY_END = struct.pack(">h", -1)
#: Rows a COPY while the table is filled; people take turns, as in the store.
_COPY_ROWS = 10_000
TABLE = "bench_rows"
HEAP = "bench_heap"
_SERIES_ID = 1

_CREATE = """
CREATE TABLE bench_rows (
    user_id uuid NOT NULL, series_id bigint NOT NULL, at timestamptz NOT NULL, offset_seconds int NOT NULL,
    value float8 NOT NULL, PRIMARY KEY (user_id, series_id, at)
);
CREATE TABLE bench_heap (
    user_id uuid NOT NULL, series_id bigint NOT NULL, at timestamptz NOT NULL, offset_seconds int NOT NULL,
    value float8 NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON bench_rows, bench_heap TO PUBLIC
"""

_COPY_INTO_ROWS = "COPY bench_rows FROM STDIN (FORMAT binary)"
_COPY_INTO_HEAP = "COPY bench_heap FROM STDIN (FORMAT binary)"

_SIZE = "SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(%s::text[]) AS name"

UPSERT = """
INSERT INTO bench_rows (user_id, series_id, at, offset_seconds, value)
VALUES (%(user_id)b, %(series_id)b, %(at)b, 0, %(value)b)
ON CONFLICT (user_id, series_id, at) DO UPDATE SET offset_seconds = EXCLUDED.offset_seconds, value = EXCLUDED.value
"""

#: Two ways to the newest value; whichever is faster stands for SQL.
_BY_ARRAY = """
SELECT date_bin('1 hour', at, 'epoch') AS bucket, avg(value), min(value), max(value),
    (array_agg(value ORDER BY at DESC))[1]
FROM bench_rows
WHERE user_id = %(user_id)b AND series_id = %(series_id)b AND at >= %(first)b AND at < %(last)b
GROUP BY bucket
ORDER BY bucket
"""
_BY_JOIN = """
WITH hour AS (
    SELECT date_bin('1 hour', at, 'epoch') AS bucket, avg(value) AS mean, min(value) AS low, max(value) AS high,
        max(at) AS newest_at
    FROM bench_rows
    WHERE user_id = %(user_id)b AND series_id = %(series_id)b AND at >= %(first)b AND at < %(last)b
    GROUP BY bucket
)
SELECT hour.bucket, hour.mean, hour.low, hour.high, newest.value
FROM hour
JOIN bench_rows AS newest
    ON newest.user_id = %(user_id)b AND newest.series_id = %(series_id)b AND newest.at = hour.newest_at
ORDER BY hour.bucket
"""
STATEMENTS: dict[str, LiteralString] = {"array_agg": _BY_ARRAY, "join on max(at)": _BY_JOIN}


@dataclass(frozen=True, slots=True)
class RowTable:
    """The table as it was filled; its size before anything else was written to it."""

    rows: int
    total_bytes: int


def row_table(people: Sequence[tuple[UUID, HeartRate]]) -> RowTable:
    """Make the table and fill it, people in turns; told as rows a second."""
    with connections["owner"].cursor() as cursor:
        cursor.execute(_CREATE)
    started = time.perf_counter()
    for first in range(0, max(len(rate) for _, rate in people), _COPY_ROWS):
        for user_id, rate in people:
            picked = slice(first, first + _COPY_ROWS)
            copy_run(_COPY_INTO_ROWS, copy_bytes(user_id, rate.start_us[picked], rate.value[picked]))
    seconds = time.perf_counter() - started
    rows = sum(len(rate) for _, rate in people)
    print(f"  rows: {rows:,} of the same samples in {seconds:.1f} s, {rows / seconds:,.0f} rows/s", flush=True)
    vacuumed(TABLE)
    return RowTable(rows, relation_bytes(TABLE))


def relation_bytes(*tables: str) -> int:
    """With indexes and what is stored out of line."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(%s::text[]) AS name", [list(tables)]
        )
        (total,) = cursor.fetchone() or (0,)
    return int(total)


def copy_bytes(user_id: UUID, start_us: np.ndarray[Any, Any], value: np.ndarray[Any, Any]) -> bytes:
    """The rows in PostgreSQL's binary COPY form: uuid, series id, timestamp, offset, value."""
    row = np.dtype(
        [("n", ">i2"), ("l1", ">i4"), ("user", "S16"), ("l2", ">i4"), ("series", ">i8"), ("l3", ">i4"),
         ("at", ">i8"), ("l4", ">i4"), ("offset", ">i4"), ("l5", ">i4"), ("value", ">f8")]
    )  # fmt: skip
    rows = np.zeros(len(start_us), dtype=row)
    rows["n"] = 5
    rows["l1"], rows["user"] = 16, user_id.bytes
    rows["l2"], rows["series"] = 8, _SERIES_ID
    rows["l3"], rows["at"] = 8, start_us - _POSTGRES_EPOCH_US
    rows["l4"], rows["offset"] = 4, 0
    rows["l5"], rows["value"] = 8, value
    return _COPY_HEADER + rows.tobytes() + _COPY_END


def copy_run(statement: LiteralString, rows: bytes) -> None:
    """One COPY, committed."""
    with psycopg.Cursor(_raw()) as cursor, cursor.copy(statement) as copy:
        copy.write(rows)


def heap_copy(rows: bytes) -> None:
    """COPY into a table without any index: the most a server can take."""
    copy_run(_COPY_INTO_HEAP, rows)


def heap_empty() -> None:
    """Forget what was copied."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("TRUNCATE bench_heap")


def upsert(user_id: UUID, at: datetime, value: float) -> None:
    """One row, one statement, committed."""
    with psycopg.Cursor(_raw()) as cursor:
        cursor.execute(UPSERT, {"user_id": user_id, "series_id": _SERIES_ID, "at": at, "value": value})


def rows_query(statement: LiteralString, user_id: UUID, bounds_us: tuple[int, int]) -> list[tuple[Any, ...]]:
    """The rows of one of the statements, in binary."""
    first, last = (moment_of(bound) for bound in bounds_us)
    with psycopg.Cursor(_raw()) as cursor:
        parameters = {"user_id": user_id, "series_id": _SERIES_ID, "first": first, "last": last}
        cursor.execute(statement, parameters, binary=True)
        return cursor.fetchall()


def hours_of(rows: Sequence[tuple[Any, ...]]) -> Hours:
    """The answer of `rows_query`."""
    bucket, mean, low, high, newest = zip(*rows, strict=True)
    stamps = np.array([moment.replace(tzinfo=None) for moment in bucket], "M8[us]").astype(np.int64)
    return Hours(stamps, *(np.array(column, np.float64) for column in (mean, low, high, newest)))


def rows_querier(user_id: UUID, bounds_us: tuple[int, int], name: str) -> Callable[[], list[tuple[Any, ...]]]:
    """The query as something to time."""
    statement = STATEMENTS[name]
    return lambda: rows_query(statement, user_id, bounds_us)


def moment_of(at_us: int) -> datetime:
    """Microseconds since 1970 as PostgreSQL takes them."""
    return _EPOCH + timedelta(microseconds=at_us)


def _raw() -> psycopg.Connection[Any]:
    connection.ensure_connection()
    raw: psycopg.Connection[Any] = connection.connection
    return raw
