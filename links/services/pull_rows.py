"""Pulls as rows: what is owed, who works on it, and how it ended."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce

from healthsvc.kernel import clock
from healthsvc.kernel.jobs import enqueue
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope
from links import selectors
from links.connection_selectors import Coverage, coverage_of
from links.constants import (
    BACKFILL_AGAIN_MAXIMUM_SECONDS,
    BACKFILL_AGAIN_SECONDS,
    PULL_ATTEMPTS_MAXIMUM,
    PULL_BACKOFF_SECONDS,
    PULL_LEASE_SECONDS,
    PULL_WAIT_MAXIMUM_SECONDS,
    PULL_WOKEN_SECONDS,
    PULLS_A_SWEEP,
    PULLS_WOKEN_OF_A_TEAM,
    REFRESH_DAYS_MAXIMUM,
    PullKind,
)
from links.models import Connection, Pull
from links.services.pull_days import backfill_days, last_day, oldest_gap, refresh_days
from links.services.pull_purge import pulls_forget
from links.services.pull_turns import (
    allowed,
    due_find,
    full_find,
    in_turn,
    turn_lock,
    under_way_find,
    woken,
    woken_maximum,
)
from links.services.refusals import LeaseLost
from links.services.walk import walk
from links.states import PULL_OPEN, PULL_TRANSITIONS, PullCommand, PullStatus
from management.closed import of_living_team
from users.models import User

_WAITING: Final = (PullStatus.SCHEDULED, PullStatus.RETRYING)


def pulls_schedule(
    *,
    connections: Sequence[Connection],
    kind: PullKind,
    user: User,
    resources: Collection[str] | None = None,
    start_on: date | None = None,
    end_on: date | None = None,
    is_told: bool = True,
    is_urgent: bool = True,
) -> list[Pull]:
    """One open pull for each resource the connections can give; one that is open already is extended.

    `resources` None: all of them. Days are those of the kind where they are not given, and never outside the user's
    ingestion bounds. A refresh reaches back to the last good pull; where that is further than a refresh may reach, or
    the last backfill was given up, the days in between are owed as a backfill too. A backfill is owed where somebody
    has just logged in, so one that rests after a failure need not rest longer. A refresh that is read already is read
    again, unless nobody has told of a change (`is_told`). Workers hear of few at once, and of none that is not urgent:
    these wait for their turn in the sweep. Runs in the caller's transaction, which holds the user. Gives back the open
    pulls of this kind and these resources.
    """
    coverage = coverage_of(connections) if kind == PullKind.REFRESH else {}
    wanted: list[Pull] = []
    for connection in connections:
        for resource in _resources(connection, resources):
            known = coverage.get((connection.pk, resource), Coverage())
            days = backfill_days(connection) if kind == PullKind.BACKFILL else refresh_days(user, known, start_on)
            first = start_on if kind == PullKind.BACKFILL and start_on else days[0]
            wanted += _pull(connection, user, resource, kind, (first, end_on or days[1]))
    if kind == PullKind.REFRESH:
        _owe(_gaps(connections, user, coverage, resources, now=clock.now()), connections, PullKind.BACKFILL)
    return _owe(wanted, connections, kind, is_told=is_told and kind == PullKind.REFRESH, is_urgent=is_urgent)


def gaps_schedule(*, connections: Sequence[Connection], user: User, is_urgent: bool = True) -> None:
    """Owe a backfill of the days since each resource's last good pull, where somebody has connected again.

    A resource that was never pulled is owed whole. As `pulls_schedule` otherwise.
    """
    coverage = coverage_of(connections)
    wanted: list[Pull] = []
    for connection in connections:
        for resource in _resources(connection, None):
            first, last = backfill_days(connection)
            until = coverage.get((connection.pk, resource), Coverage()).complete_until_on
            days = (first if until is None else max(until, oldest_gap()), last)
            wanted += _pull(connection, user, resource, PullKind.BACKFILL, days)
    _owe(wanted, connections, PullKind.BACKFILL, is_urgent=is_urgent)


def pull_claim(*, pull_id: UUID) -> Pull | None:
    """Take a pull that is due for this worker; None where it has ended, must wait, or another's lease runs.

    Also None where it is not its turn (`pull_turns`): it is woken when that has come. A pull whose worker died is taken
    up with one more failure on its count. One that was asked for again is read from its first day.
    """
    with system_scope(SystemScope.DELIVERY), transaction.atomic():
        turn_lock()
        now = clock.now()
        rows = Pull.objects.filter(pk=pull_id)
        due = allowed(due_find(now).filter(pk=pull_id), full_find(now))
        pull = due.select_for_update(skip_locked=True, of=("self",)).first()
        if pull is None:
            _woken_forget(pull_id)
            return None
        failed = pull.status == PullStatus.IN_PROGRESS
        if failed and pull.attempts + 1 >= PULL_ATTEMPTS_MAXIMUM:
            if pulls_give_up(rows, error_code="retry_quota_exhausted"):
                pulls_forget(pull)
            return None
        lease = {"lease_until": now + timedelta(seconds=PULL_LEASE_SECONDS), "attempts": pull.attempts + failed}
        begun = {"claim": F("claim") + 1, "started_at": Coalesce(F("started_at"), now), "asked_again": False}
        begun["woken_at"] = None
        anew = {"done_until_on": None} if pull.asked_again else {}
        walk(rows, PULL_TRANSITIONS, PullCommand.CLAIM, **lease, **begun, **anew)
        return rows.get()


def pull_keep(pull: Pull) -> None:
    """Keep the lease; LeaseLost where another worker has taken the pull over."""
    _hold(pull)


def pull_advance(pull: Pull, *, done_until_on: date) -> None:
    """Note a stored window and keep the lease; LeaseLost where another worker has taken the pull over."""
    _hold(pull, done_until_on=done_until_on, attempts=0)


def pull_end_reread(pull: Pull) -> None:
    """Learn up to which day the pull is wanted by now; LeaseLost where another worker has taken it over."""
    end_on = _held(pull).values_list("end_on", flat=True).first()
    if end_on is None:
        raise LeaseLost
    pull.end_on = end_on


def pull_complete(pull: Pull) -> bool:
    """End a pull that has stored everything; False where more is wanted by now, or it is no longer ours."""
    return bool(
        walk(
            _held(pull).filter(end_on=pull.end_on, asked_again=False),
            PULL_TRANSITIONS,
            PullCommand.COMPLETE,
            ended_at=clock.now(),
            lease_until=None,
            error_code="",
        )
    )


def pull_begin_again(pull: Pull) -> bool:
    """Put back what was asked for while we read it; False where nobody did, or it is no longer ours.

    Whoever takes it next reads it from its first day: at once, but behind what others wait for.
    """
    asked = _held(pull).filter(asked_again=True)
    if not walk(asked, PULL_TRANSITIONS, PullCommand.RETRY, not_before=clock.now(), lease_until=None):
        return False
    enqueue("links.pull_run", pull_id=pull.pk)
    return True


def pull_postpone(pull: Pull, *, error_code: str, wait_seconds: int) -> None:
    """Let a pull rest without counting a failure."""
    _retry(pull, error_code, wait_seconds, pull.attempts)


def pull_fail(pull: Pull, *, error_code: str, wait_seconds: int = 0) -> None:
    """Count a failure: the pull waits longer each time, and is given up in the end."""
    pull.refresh_from_db(fields=["attempts"])
    attempts = pull.attempts + 1
    if attempts >= PULL_ATTEMPTS_MAXIMUM:
        pull_give_up(pull, error_code=error_code)
        return
    _retry(pull, error_code, max(wait_seconds, backoff_seconds(attempts)), attempts)


def pull_give_up(pull: Pull, *, error_code: str) -> None:
    """End a pull without success, where it is still ours."""
    if pulls_give_up(_held(pull), error_code=error_code):
        pulls_forget(pull)


def pulls_give_up(rows: QuerySet[Pull], *, error_code: str) -> int:
    """End those of `rows` that are open, without success; how many that were."""
    now = clock.now()
    return walk(rows, PULL_TRANSITIONS, PullCommand.GIVE_UP, ended_at=now, lease_until=None, error_code=error_code)


def pulls_due(count: int = PULLS_A_SWEEP, *, is_unheard: bool = False) -> list[UUID]:
    """Pulls of every team that nobody works on and whose time and turn have come, in their turn.

    `is_unheard`: only those that no worker was told of just now.
    """
    now = clock.now()
    with system_scope(SystemScope.DELIVERY):
        due = due_find(now).exclude(woken(now)) if is_unheard else due_find(now)
        found = in_turn(allowed(due, full_find(now)), under_way_find(now))
        return list(found.values_list("pk", flat=True)[:count])


def pulls_wake(count: int = PULLS_A_SWEEP) -> int:
    """Tell workers of due pulls in their turn, of as many as may wait in the broker; how many that were.

    One that a worker takes meanwhile does nothing.
    """
    now = clock.now()
    with system_scope(SystemScope.DELIVERY):
        room = woken_maximum() - Pull.objects.filter(woken(now)).count()
        due = pulls_due(min(count, room), is_unheard=True) if room > 0 else []
        Pull.objects.filter(pk__in=due).update(woken_at=now)
    for pull_id in due:
        enqueue("links.pull_run", pull_id=pull_id)
    return len(due)


def backoff_seconds(attempts: int) -> int:
    """The wait after this many failures in a row."""
    return PULL_BACKOFF_SECONDS[min(max(attempts, 1), len(PULL_BACKOFF_SECONDS)) - 1]


def _retry(pull: Pull, error_code: str, wait_seconds: int, attempts: int) -> None:
    not_before = clock.now() + timedelta(seconds=min(wait_seconds, PULL_WAIT_MAXIMUM_SECONDS))
    walk(
        _held(pull),
        PULL_TRANSITIONS,
        PullCommand.RETRY,
        attempts=attempts,
        not_before=not_before,
        lease_until=None,
        error_code=error_code,
    )


def _hold(pull: Pull, **values: date | int) -> None:
    lease_until = clock.now() + timedelta(seconds=PULL_LEASE_SECONDS)
    # Where its team was deleted meanwhile the worker stops, and whoever takes it up then goes on from here.
    if not _held(pull).filter(of_living_team()).update(lease_until=lease_until, **values):
        raise LeaseLost


def _held(pull: Pull) -> QuerySet[Pull]:
    return Pull.objects.filter(pk=pull.pk, status=PullStatus.IN_PROGRESS, claim=pull.claim)


def _resources(connection: Connection, wanted: Collection[str] | None) -> list[str]:
    if not selectors.is_pullable(connection):
        return []
    environment = Environment(connection.environment)
    given = selectors.resources_available(connection.provider, connection.scopes_granted, environment)
    return [resource for resource in given if wanted is None or resource in wanted]


def _pull(
    connection: Connection,
    user: User,
    resource: str,
    kind: PullKind,
    days: tuple[date, date],
    *,
    given_up_before: int = 0,
) -> list[Pull]:
    """The pull of these days within the user's ingestion bounds; nothing where none are left."""
    now = clock.now()
    start_on = max(days[0], user.ingestion_start_on or days[0])
    end_on = min(days[1], user.ingestion_end_on or days[1])
    if start_on > end_on:
        return []
    row = Pull(
        **team_values(connection.context),
        connection=connection,
        user=user,
        resource=resource,
        kind=kind,
        start_on=start_on,
        end_on=end_on,
        given_up_before=given_up_before,
        not_before=now,
        created_at=now,
    )
    return [row]


def _owe(
    wanted: Sequence[Pull],
    connections: Sequence[Connection],
    kind: PullKind,
    *,
    is_told: bool = False,
    is_urgent: bool = True,
) -> list[Pull]:
    """Make what is not open yet, and extend what is. The open rows are held, so that none ends meanwhile."""
    rows = Pull.objects.filter(connection__in=[one.pk for one in connections], kind=kind, status__in=PULL_OPEN)
    rows = rows.filter(resource__in={one.resource for one in wanted})
    standing = {(one.connection_id, one.resource): one for one in rows.order_by("id").select_for_update()}
    Pull.objects.bulk_create(
        [one for one in wanted if (one.connection_id, one.resource) not in standing], ignore_conflicts=True
    )
    for one in wanted:
        found = standing.get((one.connection_id, one.resource))
        if found is not None:
            _extend(found, one)
            if is_told:
                _ask_again(found)
    open_rows = list(rows.order_by("id"))
    if is_urgent:
        _wake(open_rows)
    return open_rows


def _wake(pulls: Sequence[Pull]) -> None:
    """Tell workers of a team's pulls, unless they have as many of that team to come to; the sweep tells of the rest."""
    now = clock.now()
    since = now - timedelta(seconds=PULL_WOKEN_SECONDS)
    due = [
        pull
        for pull in pulls
        if pull.status in _WAITING and pull.not_before <= now and (pull.woken_at is None or pull.woken_at <= since)
    ]
    if not due:
        return
    room = PULLS_WOKEN_OF_A_TEAM - Pull.objects.filter(woken(now), team_id=due[0].team_id).count()
    told_of = [pull.pk for pull in due[: max(room, 0)]]
    Pull.objects.filter(pk__in=told_of).update(woken_at=now)
    for pull_id in told_of:
        enqueue("links.pull_run", pull_id=pull_id)


def _woken_forget(pull_id: UUID) -> None:
    """Nobody comes for a pull that must wait: it is told of again in its turn. Never waits for who holds the row."""
    rows = Pull.objects.filter(pk=pull_id)
    if rows.exclude(woken_at=None).select_for_update(skip_locked=True).first() is not None:
        rows.update(woken_at=None)


def _extend(found: Pull, wanted: Pull) -> None:
    rows = Pull.objects.filter(pk=found.pk)
    if wanted.end_on > found.end_on:
        rows.update(end_on=wanted.end_on)
    if wanted.start_on < found.start_on:
        # A worker that is at it loses its lease and stops; the pull begins again with the earlier day.
        begin = {"start_on": wanted.start_on, "done_until_on": None, "claim": F("claim") + 1}
        walk(rows, PULL_TRANSITIONS, PullCommand.RETRY, not_before=clock.now(), lease_until=None, **begin)
        rows.filter(start_on=found.start_on).update(**begin)
    if wanted.kind == PullKind.BACKFILL:
        rows.filter(status=PullStatus.RETRYING).update(not_before=clock.now())


def _ask_again(found: Pull) -> None:
    """What was read so far may be older than what has just changed: it is read again from the first day."""
    rows = Pull.objects.filter(pk=found.pk, status__in=PULL_OPEN)
    rows.filter(status=PullStatus.IN_PROGRESS).update(asked_again=True)
    rows.exclude(status=PullStatus.IN_PROGRESS).exclude(done_until_on=None).update(done_until_on=None)


def _gaps(
    connections: Sequence[Connection],
    user: User,
    coverage: Mapping[tuple[UUID, str], Coverage],
    resources: Collection[str] | None,
    now: datetime,
) -> list[Pull]:
    """Backfills of what no refresh reaches any more; one that was given up is tried again later each time."""
    reach_on = now.date() - timedelta(days=REFRESH_DAYS_MAXIMUM)
    wanted: list[Pull] = []
    for connection in connections:
        for resource in _resources(connection, resources):
            known = coverage.get((connection.pk, resource), Coverage())
            until, ended_at = known.complete_until_on, known.backfill_ended_at
            missing = until is None or until < reach_on or until != known.refreshed_until_on
            if missing and (ended_at is None or ended_at <= now - _backfill_rest(known.backfills_given_up)):
                # What was never pulled, such as a resource that a later release reads, is owed whole.
                since = backfill_days(connection)[0] if until is None else max(until, oldest_gap())
                days, given_up = (since, last_day()), known.backfills_given_up
                wanted += _pull(connection, user, resource, PullKind.BACKFILL, days, given_up_before=given_up)
    return wanted


def _backfill_rest(given_up: int) -> timedelta:
    """How long after its end a backfill is owed again: a day, and twice as long each time that it was given up."""
    doubled = BACKFILL_AGAIN_SECONDS * 2 ** min(max(given_up - 1, 0), 16)
    return timedelta(seconds=min(doubled, BACKFILL_AGAIN_MAXIMUM_SECONDS))
