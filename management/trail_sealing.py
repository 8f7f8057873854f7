"""Seals what was written to the audit trail: every team's records of transactions that are all over.

The horizon is the lowest transaction that still runs in this database. Every record below it is there, or never will
be; so what is sealed is whole, whatever clocks say. A stretch is a transaction: a killed task loses one at most, and of
two that seal the same stretch the second finds the number taken.
"""

import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias
from uuid import UUID

import structlog
from django.db import connection

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_floor
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope
from management import trail_seals
from management.models import AccessRecord, AccessSeal, TrailMark

log = structlog.get_logger(__name__)

#: Records that one seal covers at most: what is held in memory, and read to find one that was changed.
ROWS_A_SEAL: Final = 1_000
#: A run ends after this, and the next goes on.
RUN_SECONDS: Final = 120.0
#: An id is made so long before its transaction gets a number, at most: clocks differ, and requests take their time.
LOOK_BACK: Final = timedelta(hours=1)
MARK: Final = "sealed"
_LOOKED: Final = "looked"
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
#: A record's place in the order of sealing: its position and its id.
Place: TypeAlias = tuple[int, UUID]

#: Transactions of other databases of the same server don't matter, where they can be told.
_HORIZON: Final = """
WITH now AS MATERIALIZED (SELECT pg_current_snapshot() AS snapshot),
running AS (
    SELECT xid FROM now, pg_snapshot_xip(now.snapshot) AS xid
     WHERE NOT EXISTS (
        SELECT FROM pg_locks JOIN pg_stat_activity AS activity ON activity.pid = pg_locks.pid
         WHERE locktype = 'transactionid' AND granted AND mode = 'ExclusiveLock' AND transactionid = xid::xid
           AND activity.datname <> current_database())
)
SELECT management_trail_offset() + least(
    (SELECT min(xid::text::bigint) FROM running),
    pg_snapshot_xmax(now.snapshot)::text::bigint,
    pg_current_xact_id_if_assigned()::text::bigint) FROM now
"""

#: The number of a transaction of its own: what has a higher one begins to write later.
_FOLLOWING: Final = "SELECT management_trail_offset() + pg_current_xact_id()::text::bigint"

_TEAMS: Final = """
SELECT DISTINCT team_id, environment FROM management_access_record
 WHERE id >= %s AND position >= %s AND position < %s ORDER BY team_id, environment
"""


def trail_seal(*, run_seconds: float = RUN_SECONDS) -> int:
    """Seal every team's finished records; how many those were."""
    with system_scope(SystemScope.PURGE):
        following = _position(_FOLLOWING)
        return trail_seal_below(horizon(), following=following, run_seconds=run_seconds)


def teams_seal(teams: Iterable[TeamContext]) -> int:
    """Seal the finished records of these teams, however old those are; how many. In the purge scope."""
    position = horizon()
    return sum(rows for team in teams for rows in _stretches(team, position))


def horizon() -> int:
    """Below this position no record can appear any more."""
    return _position(_HORIZON)


def _position(statement: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return int(cursor.fetchone()[0])


def trail_seal_below(position: int, *, following: int | None = None, run_seconds: float = RUN_SECONDS) -> int:
    """Seal every team's records below a position that is a horizon. In the purge scope.

    `following`: no transaction from there on has begun to write; `position` itself where nothing else runs.
    """
    ends_at, looked_at = time.monotonic() + run_seconds, clock.now()
    marks = TrailMark.objects.in_bulk([MARK, _LOOKED])
    mark, looked = marks.get(MARK), marks.get(_LOOKED)
    if mark is not None and position < mark.position:
        log.error("audit_positions_are_behind", position=position, sealed=mark.position)
        return 0
    sealed = 0
    # Without both, an older release may have passed records: then all are looked at.
    sealed_below, seen_at = (-1, _EPOCH) if mark is None or looked is None else (mark.position, mark.seen_at)
    for team in _teams(sealed_below, position, seen_at):
        for rows in _stretches(team, position):
            sealed += rows
            if time.monotonic() >= ends_at:
                return sealed
    if looked is None or position >= looked.position:
        # All that ran at that look is over. Moved any earlier, the look would pass what a long transaction wrote.
        seen_at = seen_at if looked is None else looked.seen_at
        _mark(_LOOKED, position if following is None else following, looked_at)
    _mark(MARK, position, seen_at)
    return sealed


def _mark(name: str, position: int, seen_at: datetime) -> None:
    TrailMark.objects.update_or_create(pk=name, defaults={"position": position, "seen_at": seen_at})


def head_of(team: TeamContext) -> AccessSeal | None:
    """The last seal of a team's chain, without its list."""
    return AccessSeal.objects.for_team(team).defer("entries").order_by("-number").first()


def _teams(sealed: int, position: int, seen_at: datetime) -> list[TeamContext]:
    with connection.cursor() as cursor:
        cursor.execute(_TEAMS, [uuid_floor(seen_at - LOOK_BACK), sealed, position])
        return [TeamContext(team_id, Environment(environment)) for team_id, environment in cursor.fetchall()]


def records_following(team: TeamContext, after: Place, *, below: int, limit: int) -> list[AccessRecord]:
    """A team's next records in the order of sealing: after a place, of positions lower than `below`.

    Two queries, each a range of one index: many records may have one position.
    """
    position, record_id = after
    rows = AccessRecord.objects.for_team(team).filter(position__lt=below)
    found = list(rows.filter(position=position, pk__gt=record_id).order_by("pk")[:limit])
    later = rows.filter(position__gt=position).order_by("position", "pk")
    return found + list(later[: limit - len(found)])


def _stretches(team: TeamContext, position: int) -> Iterator[int]:
    """Seal a team's records stretch by stretch; how many each time, 0 where another task was first."""
    while True:
        head = head_of(team)
        after = trail_seals.BEFORE_ALL if head is None else (head.to_position, head.to_id)
        rows = records_following(team, after, below=position, limit=ROWS_A_SEAL)
        if not rows:
            return
        yield len(rows) if _seal_write(team, head, rows) else 0


def _seal_write(team: TeamContext, head: AccessSeal | None, rows: list[AccessRecord]) -> bool:
    entries = b"".join(map(trail_seals.entry, rows))
    ids = [row.pk for row in rows]
    seal = AccessSeal(
        **team_values(team),
        number=1 if head is None else head.number + 1,
        to_position=rows[-1].position,
        to_id=rows[-1].pk,
        row_count=len(rows),
        first_id=min(ids),
        last_id=max(ids),
        entries=entries,
        entries_digest=trail_seals.entries_digest(entries),
        previous_digest=trail_seals.BEGINNING if head is None else bytes(head.digest),
        sealed_at=clock.now(),
    )
    seal.digest = trail_seals.seal_digest(seal)
    seal.signature = trail_seals.seal_sign(seal.digest)
    # Where another task was first, its seal stands, and the next turn goes on from there.
    AccessSeal.objects.bulk_create([seal], ignore_conflicts=True)
    return AccessSeal.objects.filter(pk=seal.pk).exists()
