"""Erasing a user with millions of samples and thousands of events: seconds, memory, transactions, log.

The user has something in every table that can hold anything of a person. Another user of the same team has a tenth of
it, which must be the same afterwards.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, LiteralString
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Model
from django.test import override_settings

from aggregation.models import Push, Summary
from aggregation.records import DataSource, SeriesBatch
from aggregation.services import health_data_store
from bench.answers import WrongAnswerError
from bench.heart import MINUTES_A_DAY, RESOURCE, HeartRate, heart_rate
from bench.options import ERASED_SAMPLES, Options, options_read
from bench.stage import database_name, load_note, stage
from bench.targets import Targets
from healthsvc.kernel import clock
from healthsvc.kernel.crypto import seal
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.models import Pull
from management.files import file_store
from management.models import AccessRecord
from tests.databases import ROOT, url_with_database
from tests.factories import Tenant, user_make
from tests.invariants.person_filling import Person, person_fill
from tests.invariants.person_tables import our_models, personal_models
from users.models import Erasure, User
from users.services import deletion
from users.states import ErasureStatus
from webhooks.models import Endpoint
from webhooks.services import events_emit
from webhooks.signatures import secret_make

#: The same minutes from each, as somebody with two devices has them.
_SERIES: Final = (
    (RESOURCE, DataSource("oura", "ring")),
    (RESOURCE, DataSource("garmin", "watch")),
    ("hrv", DataSource("oura", "ring")),
    ("hrv", DataSource("garmin", "watch")),
)
_POST_SAMPLES: Final = 50_000
#: Small posts, which wait in tails.
_LIVE_POSTS: Final = 200
_FILES: Final = 300
_FILE_BYTES: Final = 20_000
#: Rows of tables that grow with a person's years, and what tells each from the others.
_COPIES: Final[tuple[tuple[type[Model], int, Callable[[int], dict[str, str]]], ...]] = (
    (Pull, 5_000, lambda _number: {"status": "success"}),
    (Summary, 5_000, lambda number: {"external_id": f"copy-{number}"}),
    (Push, 5_000, lambda number: {"batch_id": f"copy-{number}"}),
    (AccessRecord, 20_000, lambda _number: {}),
)
_EVENT: Final = "daily.data.heartrate.updated"
_DATA: Final = {"note": "x" * 1_500}
_ENDPOINTS: Final = 2
_OTHERS_SHARE: Final = 10
_TABLES_TOLD: Final = 10
#: Bounds of ours: a portion takes a second or two, and what a user has is never in memory.
_LONGEST_SECONDS: Final = 2
_MEMORY_MEGABYTES: Final = 64

#: One in ten waits still, which erasing cancels; the others have ended.
_DELIVERIES: Final[LiteralString] = """
INSERT INTO webhooks_delivery (
    id, team_id, environment, event_id, endpoint_id, status, claims, failures, next_attempt_at, created_at, ended_at
)
SELECT gen_random_uuid(), e.team_id, e.environment, e.id, w.id,
       CASE WHEN row_number() OVER () %% 10 = 0 THEN 'pending' ELSE 'delivered' END, 2, 1,
       CASE WHEN row_number() OVER () %% 10 = 0 THEN e.created_at + interval '1 day' END, e.created_at,
       CASE WHEN row_number() OVER () %% 10 <> 0 THEN e.created_at END
FROM webhooks_event AS e JOIN webhooks_endpoint AS w ON w.team_id = e.team_id WHERE e.user_id = %(user_id)s
"""
#: A failure with what the receiver said, then a success.
_ATTEMPTS: Final[LiteralString] = """
INSERT INTO webhooks_attempt (
    id, team_id, environment, delivery_id, endpoint_id, event_type, number, attempted_at, duration_milliseconds,
    status_code, error, answer_excerpt
)
SELECT gen_random_uuid(), d.team_id, d.environment, d.id, d.endpoint_id, e.event_type, n, d.created_at, 20,
       CASE n WHEN 1 THEN 500 ELSE 204 END, '', CASE n WHEN 1 THEN %(answer)s END
FROM webhooks_delivery AS d JOIN webhooks_event AS e ON e.id = d.event_id CROSS JOIN generate_series(1, 2) AS n
WHERE e.user_id = %(user_id)s
"""
_EVENTS_DONE: Final[LiteralString] = "UPDATE webhooks_event SET fanned_out_at = created_at WHERE user_id = %(user_id)s"
#: What can be counted of whoever stays.
_LEFT: Final[LiteralString] = """
SELECT (SELECT count(*) FROM aggregation_block WHERE user_id = %(user_id)s),
       (SELECT count(*) FROM aggregation_tail WHERE user_id = %(user_id)s),
       (SELECT count(*) FROM webhooks_event WHERE user_id = %(user_id)s AND body IS NOT NULL),
       (SELECT count(*) FROM webhooks_attempt AS a JOIN webhooks_delivery AS d ON d.id = a.delivery_id
        JOIN webhooks_event AS e ON e.id = d.event_id WHERE e.user_id = %(user_id)s AND a.answer_excerpt IS NOT NULL),
       (SELECT count(*) FROM management_stored_file WHERE user_id = %(user_id)s)
"""


@dataclass(frozen=True, slots=True)
class _Erased:
    """What the program told, and what the receipt says."""

    told: Mapping[str, Any]
    rows: Mapping[str, int]
    wal_bytes: int


def measure(options: Options, targets: Targets) -> None:
    """Print it; on a database of its own."""
    with tempfile.TemporaryDirectory() as folder, stage() as tenant, _files_in(Path(folder)):
        print(f"\nErasure: {options.erased_samples:,} samples, {options.erased_events:,} events", flush=True)
        started = time.perf_counter()
        gone, stays = user_make(tenant), user_make(tenant)
        _endpoints(tenant)
        # A small run has little of everything.
        part = min(1, options.erased_samples / ERASED_SAMPLES)
        for user, share in ((gone, 1), (stays, _OTHERS_SHARE)):
            _samples(tenant, user, options.erased_samples // share, int(part * _LIVE_POSTS))
            _events(tenant, user, options.erased_events // share)
            _files(tenant, user, int(part * _FILES) // share)
        with team_scope(tenant.context):
            erasure = deletion.user_delete(team=tenant.context, user_id=gone.pk)
        for user in (gone, stays):
            person_fill(Person(tenant, user, user.client_user_id), personal_models(our_models()))
        _copies(tenant, gone.pk, part)
        print(f"  filled in {time.perf_counter() - started:.1f} s", flush=True)
        before = _left(stays.pk)
        erased = _erase(erasure, Path(folder))
        if _left(stays.pk) != before or any(_left(gone.pk)):
            raise WrongAnswerError("Something of the erased is left, or something of another is gone.")
        _told(erased, targets)


def _files_in(folder: Path) -> override_settings:
    """Where the program looks for them."""
    storages: dict[str, Any] = settings.STORAGES
    kept = {**storages["default"], "OPTIONS": {"location": folder / "files"}}
    return override_settings(STORAGES={**storages, "default": kept})


def _endpoints(tenant: Tenant) -> None:
    now = clock.now()
    with team_scope(tenant.context):
        Endpoint.objects.bulk_create(
            Endpoint(
                **team_values(tenant.context),
                url=f"https://example.com/{number}",
                secret=secret_make(),
                created_at=now,
                updated_at=now,
            )
            for number in range(_ENDPOINTS)
        )


def _samples(tenant: Tenant, user: User, count: int, live_posts: int) -> None:
    """Posts in turns through the store; then some live ones."""
    days = max(1, count // len(_SERIES) // MINUTES_A_DAY)
    rate = heart_rate(0, days + 1)
    end = days * MINUTES_A_DAY
    with team_scope(tenant.context):
        for first in range(0, end, _POST_SAMPLES):
            _post(tenant, user, rate, first, min(end, first + _POST_SAMPLES))
        for number in range(live_posts // len(_SERIES)):
            _post(tenant, user, rate, end + number, end + number + 1, together=False)


def _post(tenant: Tenant, user: User, rate: HeartRate, first: int, last: int, *, together: bool = True) -> None:
    batches = [SeriesBatch(resource, source, rate.columns(first, last)) for resource, source in _SERIES]
    for series in [batches] if together else [[batch] for batch in batches]:
        health_data_store(team=tenant.context, user_id=user.pk, series=series, emit=False)


def _events(tenant: Tenant, user: User, count: int) -> None:
    """Events with a delivery to each endpoint, most of them over; each failed once, and was answered something."""
    answer = seal(b"x" * 1_000, place="webhooks_attempt.answer_excerpt")
    with team_scope(tenant.context), transaction.atomic(), connection.cursor() as cursor:
        events = ((_EVENT, _DATA) for _ in range(count))
        events_emit(team=tenant.context, events=events, user_id=user.pk, client_user_id=user.client_user_id)
        for statement in (_EVENTS_DONE, _DELIVERIES, _ATTEMPTS):
            cursor.execute(statement, {"user_id": user.pk, "answer": answer})


def _files(tenant: Tenant, user: User, count: int) -> None:
    with team_scope(tenant.context):
        for _ in range(count):
            file_store(team=tenant.context, user_id=user.pk, purpose="bench", chunks=iter([os.urandom(_FILE_BYTES)]))


def _copies(tenant: Tenant, user_id: UUID, part: float) -> None:
    """More rows like the one there is, where a person has many."""
    with team_scope(tenant.context):
        for model, count, own in _COPIES:
            (row,) = model._default_manager.filter(user_id=user_id).values()
            row.pop("id")
            row.pop("position", None)
            model._default_manager.bulk_create(
                (model(**{**row, **own(number)}) for number in range(int(part * count))), batch_size=1_000
            )


def _left(user_id: UUID) -> tuple[int, ...]:
    """Blocks, tails, bodies of events, answers and files of a user."""
    with system_scope(SystemScope.PURGE), connection.cursor() as cursor:
        cursor.execute(_LEFT, {"user_id": user_id})
        found: tuple[int, ...] = cursor.fetchone()
    return found


def _erase(erasure: Erasure, folder: Path) -> _Erased:
    """As a worker would, in a process of its own, once the days of grace are over."""
    with system_scope(SystemScope.PURGE):
        Erasure.objects.filter(pk=erasure.pk).update(due_at=clock.now(), not_before=clock.now())
    before = _wal_position()
    environment = {
        **os.environ,
        "DATABASE_URL": url_with_database(os.environ["DATABASE_URL"], database_name()),
        "HEALTHSVC_DATA_DIR": str(folder),
    }
    command = [sys.executable, "-m", "bench.erasure_program", str(erasure.pk)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-2_000:])
    wal_bytes = _wal_position() - before
    with system_scope(SystemScope.PURGE):
        row = Erasure.objects.get(pk=erasure.pk)
    if row.status != ErasureStatus.ERASED:
        raise WrongAnswerError(f"The erasure is {row.status}: {row.error_code}")
    return _Erased(json.loads(done.stdout), row.rows_erased, wal_bytes)


def _wal_position() -> int:
    connection.ensure_connection()
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
        (position,) = cursor.fetchone() or (0,)
    return int(position)


def _told(erased: _Erased, targets: Targets) -> None:
    told, rows = erased.told, sum(erased.rows.values())
    memory = (told["peak_bytes"] - told["base_bytes"]) / 1e6
    print(f"  {told['seconds']:.2f} s to the receipt, {told['cpu_seconds']:.2f} s of CPU in the worker's process")
    print(f"  {rows:,} rows, {rows / told['seconds']:,.0f}/s, {erased.rows['management_stored_file']:,} of them files")
    print(f"  {memory:.1f} MB at the peak above {told['base_bytes'] / 1e6:.0f} MB that an idle worker has")
    print(
        f"  {told['transactions']:,} transactions, the longest {told['longest_seconds']:.3f} s ({told['longest_of']})"
    )
    print(f"  {erased.wal_bytes / 1e6:.1f} MB of write-ahead log, the whole server's")
    for table, seconds in sorted(told["by_table"].items(), key=lambda one: -one[1])[:_TABLES_TOLD]:
        print(f"    {table:<32}{seconds:8.2f} s {erased.rows.get(table, 0):>10,} rows", flush=True)
    targets.at_most("erasure, longest transaction, s", told["longest_seconds"], _LONGEST_SECONDS)
    targets.at_most("erasure, memory above an idle worker's, MB", memory, _MEMORY_MEGABYTES)


if __name__ == "__main__":
    reached = Targets()
    print(f"Before: {load_note()}")
    measure(options_read(), reached)
    reached.told()
    print(f"After: {load_note()}")
