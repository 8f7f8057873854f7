"""Storing samples through the service function, against a raw binary COPY of the same rows into a bare table."""

import struct
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
import psycopg
from django.db import connection

from aggregation.records import DataSource, SampleColumns, SeriesBatch
from aggregation.services import health_data_store
from bench.stage import medians, stage
from healthsvc.kernel.scope import team_scope
from tests.factories import Tenant, user_make

_SECOND_US = 1_000_000
_FIRST_US = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * _SECOND_US
#: Microseconds from 1970 to 2000, where PostgreSQL's binary timestamps begin.
_POSTGRES_EPOCH_US = 946_684_800 * _SECOND_US
_ROUNDS = 20


def _columns(count: int, first_us: int, every_seconds: int) -> SampleColumns:
    chance = np.random.default_rng(count)
    start = first_us + np.arange(count, dtype=np.int64) * every_seconds * _SECOND_US
    return SampleColumns(
        start_us=start,
        value=np.round(70 + chance.normal(0, 12, count).clip(-30, 90), 1),
        offset_seconds=np.zeros(count, dtype=np.int32),
    )


def _copy_rows(user_id: UUID, columns: SampleColumns) -> bytes:
    """The rows in PostgreSQL's binary COPY form: uuid, series id, timestamp, offset, value."""
    row = np.dtype(
        [("n", ">i2"), ("l1", ">i4"), ("user", "S16"), ("l2", ">i4"), ("series", ">i8"), ("l3", ">i4"),
         ("at", ">i8"), ("l4", ">i4"), ("offset", ">i4"), ("l5", ">i4"), ("value", ">f8")]
    )  # fmt: skip
    rows = np.zeros(len(columns), dtype=row)
    rows["n"] = 5
    rows["l1"], rows["user"] = 16, user_id.bytes
    rows["l2"], rows["series"] = 8, 1
    rows["l3"], rows["at"] = 8, columns.start_us - _POSTGRES_EPOCH_US
    rows["l4"], rows["offset"] = 4, columns.offset_seconds
    rows["l5"], rows["value"] = 8, columns.value
    return b"PGCOPY\n\xff\r\n\x00" + struct.pack(">ii", 0, 0) + rows.tobytes() + struct.pack(">h", -1)


def _raw_copy(user_id: UUID, columns: SampleColumns) -> None:
    connection.ensure_connection()
    raw = connection.connection
    with psycopg.Cursor(raw) as cursor, cursor.copy("COPY bench_rows FROM STDIN (FORMAT binary)") as copy:
        copy.write(_copy_rows(user_id, columns))


def _table_make() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMPORARY TABLE bench_rows"
            " (user_id uuid, series_id bigint, at timestamptz, offset_seconds int, value float8)"
        )


def _writer(tenant: Tenant, count: int) -> Callable[[], object]:
    """Each call stores the next `count` new samples, so that nothing is ever unchanged."""
    user = user_make(tenant)
    calls = iter(range(1_000_000))

    def write() -> object:
        first_us = _FIRST_US + next(calls) * count * 5 * _SECOND_US
        batch = SeriesBatch("heartrate", DataSource("oura", "ring"), _columns(count, first_us, 5))
        return health_data_store(team=tenant.context, user_id=user.id, series=[batch], emit=False)

    return write


def measure(tenant: Tenant) -> None:
    """Print samples a second for batches of several sizes, and the ratio to raw COPY."""
    _table_make()
    print("\nStoring new samples of one series, one commit a batch")
    user_id = user_make(tenant).id
    with team_scope(tenant.context):
        for count in (60, 1_440, 10_000):
            columns = _columns(count, _FIRST_US, 5)
            found = medians(
                {"raw COPY": lambda: _raw_copy(user_id, columns), "healthsvc": _writer(tenant, count)},  # noqa: B023
                rounds=_ROUNDS,
            )
            raw, ours = count / found["raw COPY"], count / found["healthsvc"]
            print(f"  {count:>6} a batch   raw COPY {raw:>12,.0f}/s   healthsvc {ours:>12,.0f}/s   {ours / raw:5.2f} x")


if __name__ == "__main__":
    with stage() as team:
        measure(team)
