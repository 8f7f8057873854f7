"""The audit trail's months: made ahead, dropped when they are over, and closed to all but the parent table.

The service's role owns nothing; two functions of migration 0005 make and drop months as the owner, within bounds.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper
from psycopg import sql

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_floor, uuid_instant
from healthsvc.kernel.scope import SystemScope, system_scope
from management.models import AccessRecord, AccessSeal

MONTHS_AHEAD: Final = 3
#: What the service's role may call.
_FUNCTIONS: Final = ("management_trail_ensure(integer)", "management_trail_drop(timestamptz)")
_SEALS_AT_ONCE: Final = 500

_UNSEALED: Final = """
SELECT EXISTS (
    SELECT FROM (SELECT DISTINCT team_id, environment FROM management_access_record WHERE id < %s) AS old
      LEFT JOIN LATERAL (
        SELECT to_position, to_id FROM management_access_seal AS seal
         WHERE seal.team_id = old.team_id AND seal.environment = old.environment ORDER BY number DESC LIMIT 1
      ) AS head ON true
     WHERE EXISTS (
        SELECT FROM management_access_record AS record
         WHERE record.team_id = old.team_id AND record.environment = old.environment AND record.id < %s
           AND (head.to_id IS NULL OR (record.position, record.id) > (head.to_position, head.to_id)))
)
"""


@dataclass(frozen=True, slots=True)
class Months:
    """How the partitions stand. From `until` on there is none but the default one; so many rows are in it already."""

    partitions: int
    until: datetime | None
    in_default: int


def months_ensure() -> int:
    """Make the months that are missing, up to three ahead; how many were made."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT management_trail_ensure(%s)", [MONTHS_AHEAD])
        return int(cursor.fetchone()[0])


def months_drop() -> int:
    """Drop the months that are older than the retention; how many. None while something in them is not sealed."""
    bound = kept_from()
    with system_scope(SystemScope.PURGE):
        with connection.cursor() as cursor:
            cursor.execute(_UNSEALED, [uuid_floor(bound)] * 2)
            if cursor.fetchone()[0]:
                return 0
            cursor.execute("SELECT management_trail_drop(%s)", [bound])
            dropped = int(cursor.fetchone()[0])
        _lists_drop(bound)
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
    if ends is None:
        return Months(partitions=count, until=None, in_default=0)
    with system_scope(SystemScope.STAFF):
        late = AccessRecord.objects.filter(pk__gte=UUID(ends)).count()
    return Months(partitions=count, until=uuid_instant(UUID(ends)), in_default=late)


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
