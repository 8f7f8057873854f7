"""The audit trail's months: made ahead, dropped when they are over, and closed to all but the parent table.

The service's role owns nothing; two functions of migrations 0005 and 0009 make and drop months as the owner, within
bounds.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper
from psycopg import sql

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_floor, uuid_instant
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.rows import TeamQuerySet
from healthsvc.kernel.scope import SystemScope, system_scope
from management.models import AccessNamed, AccessRecord, AccessSeal
from management.trail_sealing import teams_seal

log = structlog.get_logger(__name__)

MONTHS_AHEAD: Final = 3
#: What the service's role may call.
_FUNCTIONS: Final = ("management_trail_ensure(integer)", "management_trail_drop(timestamptz)")
_SEALS_AT_ONCE: Final = 500

_UNSEALED: Final = """
SELECT old.team_id, old.environment, waiting.records
  FROM (SELECT DISTINCT team_id, environment FROM management_access_record WHERE id < %s) AS old
  LEFT JOIN LATERAL (
    SELECT to_position, to_id FROM management_access_seal AS seal
     WHERE seal.team_id = old.team_id AND seal.environment = old.environment ORDER BY number DESC LIMIT 1
  ) AS head ON true
 CROSS JOIN LATERAL (
    SELECT count(*) AS records FROM management_access_record AS record
     WHERE record.team_id = old.team_id AND record.environment = old.environment AND record.id < %s
       AND (head.to_id IS NULL OR (record.position, record.id) > (head.to_position, head.to_id))
  ) AS waiting
 WHERE waiting.records > 0
"""


@dataclass(frozen=True, slots=True)
class Months:
    """How the partitions stand. From `until` on there is none but the default one; so many rows are in that."""

    partitions: int
    until: datetime | None
    in_default: int


def months_ensure() -> int:
    """Make the months that are missing, up to three ahead; how many were made."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT management_trail_ensure(%s)", [MONTHS_AHEAD])
        return int(cursor.fetchone()[0])


def months_drop() -> int:
    """Drop the months that are older than the retention; how many.

    One with a record that is not sealed stays. Whose records those are is sealed now, so that the next run drops it.
    """
    bound = kept_from()
    with system_scope(SystemScope.PURGE):
        with connection.cursor() as cursor:
            cursor.execute(_UNSEALED, [uuid_floor(bound)] * 2)
            waiting = cursor.fetchall()
            cursor.execute("SELECT management_trail_drop(%s)", [bound])
            dropped = int(cursor.fetchone()[0])
        if waiting:
            sealed = teams_seal(TeamContext(team_id, Environment(name)) for team_id, name, _records in waiting)
            log.warning("audit_months_wait", count=sum(row[2] for row in waiting), teams=len(waiting), sealed=sealed)
        else:
            _lists_drop(bound)
            AccessNamed.objects.filter(record_id__lt=uuid_floor(bound)).delete()
    return dropped


def kept_from() -> datetime:
    """Months that begin before this may be gone: the first of a month, AUDIT_RETENTION_MONTHS ago."""
    now = clock.now()
    months = now.year * 12 + now.month - 1 - settings.AUDIT_RETENTION_MONTHS
    return now.replace(year=months // 12, month=months % 12 + 1, day=1, hour=0, minute=0, second=0, microsecond=0)


def months_state() -> Months:
    """What partitions there are."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*), max(ends_before::text) FROM management_trail_months()")
        count, ends = cursor.fetchone()
        cursor.execute("SELECT begins, ends FROM management_trail_gaps()")
        gaps = cursor.fetchall()
    with system_scope(SystemScope.STAFF):
        outside = sum(_between(begins, ends_before).count() for begins, ends_before in gaps)
    return Months(partitions=count, until=None if ends is None else uuid_instant(UUID(ends)), in_default=outside)


def _between(begins: UUID | None, ends: UUID | None) -> TeamQuerySet[AccessRecord]:
    rows = AccessRecord.objects.all()
    rows = rows if begins is None else rows.filter(pk__gte=begins)
    return rows if ends is None else rows.filter(pk__lt=ends)


def _lists_drop(bound: datetime) -> None:
    """Empty the lists of seals whose records are all gone; the digest of each list stays."""
    rows = AccessSeal.objects.filter(last_id__lt=uuid_floor(bound)).exclude(entries=b"")
    while ids := list(rows.values_list("pk", flat=True)[:_SEALS_AT_ONCE]):
        AccessSeal.objects.filter(pk__in=ids).update(entries=b"")


def doors_close(cursor: CursorWrapper, role: str) -> None:
    """After a migration granted `role` every table: take back the partitions, and let it call what it may.

    As the owner. Positions go on above those that are sealed, where transactions are counted anew since a restore.
    """
    cursor.execute("SELECT to_regproc('management_trail_months') IS NOT NULL")
    if not cursor.fetchone()[0]:
        return
    cursor.execute("SELECT name FROM management_trail_months()")
    for (name,) in cursor.fetchall():
        cursor.execute(sql.SQL("REVOKE ALL ON {} FROM {}").format(sql.Identifier(name), sql.Identifier(role)))
    for function in _FUNCTIONS:
        statement = sql.SQL("GRANT EXECUTE ON FUNCTION {} TO {}")
        cursor.execute(statement.format(sql.SQL(function), sql.Identifier(role)))
    cursor.execute("SELECT management_trail_rebase()")
