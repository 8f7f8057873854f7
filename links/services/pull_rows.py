"""Pulls as rows: what is owed, who works on it, and how it ended."""

from collections.abc import Sequence
from datetime import date, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.jobs import enqueue
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope
from links import selectors
from links.catalogue import provider_find
from links.constants import (
    PULL_ATTEMPTS_MAXIMUM,
    PULL_BACKOFF_SECONDS,
    PULL_LEASE_SECONDS,
    PULL_WAIT_MAXIMUM_SECONDS,
    PULLS_A_SWEEP,
    REFRESH_DAYS,
    REFRESH_DAYS_MAXIMUM,
    PullKind,
)
from links.models import Connection, Pull
from links.services.refusals import LeaseLost
from links.services.walk import walk
from links.states import PULL_OPEN, PULL_TRANSITIONS, PullCommand, PullStatus
from users.models import User


def pulls_schedule(*, connections: Sequence[Connection], kind: PullKind, user: User) -> list[Pull]:
    """One open pull for each resource the connections can give; one that is open already is extended.

    Days outside the user's ingestion bounds are not asked for. A backfill is owed where somebody has just logged in,
    so one that rests after a failure need not rest longer. Runs in the caller's transaction, which holds the user.
    """
    now = clock.now()
    until = selectors.pulled_until(connections) if kind == PullKind.REFRESH else {}
    wanted: list[Pull] = []
    for connection in connections:
        for resource in selectors.resources_available(connection.provider, connection.scopes_granted):
            days = _days(connection, kind, until.get((connection.pk, resource)))
            start_on = max(days[0], user.ingestion_start_on or days[0])
            end_on = min(days[1], user.ingestion_end_on or days[1])
            if start_on <= end_on:
                row = Pull(
                    **team_values(connection.context),
                    connection=connection,
                    user=user,
                    resource=resource,
                    kind=kind,
                    start_on=start_on,
                    end_on=end_on,
                    not_before=now,
                    created_at=now,
                )
                wanted.append(row)
    Pull.objects.bulk_create(wanted, ignore_conflicts=True)
    open_rows = Pull.objects.filter(connection__in=[one.pk for one in connections], kind=kind, status__in=PULL_OPEN)
    for row in wanted[:1]:
        # They all end on the same day.
        resources = [one.resource for one in wanted]
        open_rows.filter(resource__in=resources, end_on__lt=row.end_on).update(end_on=row.end_on)
    if kind == PullKind.BACKFILL:
        open_rows.filter(status=PullStatus.RETRYING).update(not_before=now)
    found = list(open_rows.order_by("id"))
    for pull in found:
        enqueue("links.pull_run", pull_id=pull.pk)
    return found


def pull_claim(*, pull_id: UUID) -> Pull | None:
    """Take a pull that is due for this worker; None where it has ended, must wait, or another's lease runs.

    A pull whose worker died is taken up with one more failure on its count.
    """
    now = clock.now()
    due = Q(status__in=[PullStatus.SCHEDULED, PullStatus.RETRYING], not_before__lte=now)
    dead = Q(status=PullStatus.IN_PROGRESS, lease_until__lt=now)
    lease = {"lease_until": now + timedelta(seconds=PULL_LEASE_SECONDS), "claim": F("claim") + 1}
    with system_scope(SystemScope.DELIVERY), transaction.atomic():
        rows = Pull.objects.filter(pk=pull_id)
        pull = rows.filter(due | dead).select_for_update(skip_locked=True).first()
        if pull is None:
            return None
        failed = pull.status == PullStatus.IN_PROGRESS
        if failed and pull.attempts + 1 >= PULL_ATTEMPTS_MAXIMUM:
            pulls_give_up(rows, error_code="retry_quota_exhausted")
            return None
        walk(rows, PULL_TRANSITIONS, PullCommand.CLAIM, attempts=pull.attempts + failed, **lease)
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
    """End a pull that has stored everything; False where more days are wanted by now, or it is no longer ours."""
    return bool(
        walk(
            _held(pull).filter(end_on=pull.end_on),
            PULL_TRANSITIONS,
            PullCommand.COMPLETE,
            ended_at=clock.now(),
            lease_until=None,
            error_code="",
        )
    )


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
    pulls_give_up(_held(pull), error_code=error_code)


def pulls_give_up(rows: QuerySet[Pull], *, error_code: str) -> int:
    """End those of `rows` that are open, without success; how many that were."""
    now = clock.now()
    return walk(rows, PULL_TRANSITIONS, PullCommand.GIVE_UP, ended_at=now, lease_until=None, error_code=error_code)


def pulls_due() -> list[UUID]:
    """Pulls of every team that nobody works on and whose time has come, the oldest first."""
    now = clock.now()
    waiting = Q(status__in=[PullStatus.SCHEDULED, PullStatus.RETRYING], not_before__lte=now)
    dead = Q(status=PullStatus.IN_PROGRESS, lease_until__lt=now)
    with system_scope(SystemScope.DELIVERY):
        due = Pull.objects.filter(waiting | dead).order_by("not_before").values_list("pk", flat=True)
        return list(due[:PULLS_A_SWEEP])


def pulls_wake() -> int:
    """Send every due pull to a worker; how many that were. One that a worker takes meanwhile does nothing."""
    due = pulls_due()
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
    if not _held(pull).update(lease_until=lease_until, **values):
        raise LeaseLost


def _held(pull: Pull) -> QuerySet[Pull]:
    return Pull.objects.filter(pk=pull.pk, status=PullStatus.IN_PROGRESS, claim=pull.claim)


def _days(connection: Connection, kind: PullKind, pulled_until_on: date | None) -> tuple[date, date]:
    today = clock.now().date()
    # East of Greenwich the person's day can be tomorrow's already.
    last = today + timedelta(days=1)
    if kind == PullKind.BACKFILL:
        return today - timedelta(days=provider_find(connection.provider).backfill_days), last
    oldest = today - timedelta(days=REFRESH_DAYS_MAXIMUM)
    recent = today - timedelta(days=REFRESH_DAYS)
    return max(oldest, min(recent, pulled_until_on or recent)), last
