"""Erasing users whose time is over: portion by portion, by whichever worker has the lease, to a signed receipt.

Each portion is one transaction, in which its counts and the lease are written too: a worker that is killed loses a
portion at most and counts nothing twice, and one whose lease ran out undoes what it has in hand. Whoever takes over
begins with the first eraser again, which finds nothing left. Once every eraser has found nothing in one and the same
round, the user's own row goes, together with what names them here.
"""

import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import F, Q, QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.jobs import enqueue, is_interruption
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope
from management.audit import worker_record
from users import registry
from users.constants import (
    ERASURE_BACKOFF_SECONDS,
    ERASURE_ERROR_MAXIMUM_CHARACTERS,
    ERASURE_LEASE_SECONDS,
    ERASURE_RUN_SECONDS,
    ERASURE_WAIT_SECONDS,
    ERASURE_WOKEN_SECONDS,
    ERASURES_A_SWEEP,
)
from users.models import Erasure, User
from users.receipts import receipt_make
from users.states import ErasureCommand, status_after, statuses_before

log = structlog.get_logger(__name__)

TASK: Final = "users.erasure_run"
WAITS: Final = "waits"


class LeaseLostError(Exception):
    """Another worker has taken the erasure over; what this one has in hand must be undone."""


def erasure_walk(rows: QuerySet[Erasure], command: ErasureCommand, **values: Any) -> int:
    """Carry out `command` on those of `rows` whose status allows it; how many that were.

    The status is part of the update's condition, so of two that race one finds nothing to change.
    """
    return rows.filter(status__in=statuses_before(command)).update(status=status_after(command), **values)


def erasures_wake() -> int:
    """Send every erasure that is due, and that nobody works on, to a worker; how many those were."""
    now = clock.now()
    untold = Q(woken_at=None) | Q(woken_at__lte=now - timedelta(seconds=ERASURE_WOKEN_SECONDS))
    with system_scope(SystemScope.PURGE):
        due = _due(now).filter(untold).order_by("not_before")
        found = list(due.values_list("pk", flat=True)[:ERASURES_A_SWEEP])
        Erasure.objects.filter(pk__in=found).update(woken_at=now)
    for erasure_id in found:
        enqueue(TASK, erasure_id=erasure_id)
    return len(found)


def erasures_make_due(*, team: TeamContext) -> None:
    """A team is erased now, and with it those of its people who were deleted: nobody can undo that any more."""
    now = clock.now()
    waiting = Erasure.objects.for_team(team).filter(status__in=statuses_before(ErasureCommand.UNDO), due_at__gt=now)
    waiting.update(due_at=now, not_before=now)


def erasure_run(*, erasure_id: UUID, run_seconds: float = ERASURE_RUN_SECONDS) -> None:
    """Erase a user whose time is over, or a part of what there is. Safe to call at any time, by anyone."""
    ends_at = time.monotonic() + run_seconds
    with system_scope(SystemScope.PURGE):
        erasure = _claim(erasure_id)
        if erasure is None:
            return
        try:
            _work(erasure, ends_at)
        except LeaseLostError:
            log.warning("erasure_taken_over", erasure_id=str(erasure_id))
        except registry.ErasureWaits:
            _rest(erasure, clock.now() + timedelta(seconds=ERASURE_WAIT_SECONDS), WAITS)
        except Exception as error:
            if not is_interruption(error):
                _failed(erasure, error)
            raise


def _due(now: datetime) -> QuerySet[Erasure]:
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    open_ones = Erasure.objects.filter(status__in=statuses_before(ErasureCommand.CLAIM))
    return open_ones.filter(free, not_before__lte=now, due_at__lte=now)


def _claim(erasure_id: UUID) -> Erasure | None:
    """Take one that is due; None where it must wait, was undone, or another has it in hand at this moment."""
    now = clock.now()
    with transaction.atomic():
        found = _due(now).filter(pk=erasure_id).select_for_update(skip_locked=True).first()
        if found is None:
            return None
        rows = Erasure.objects.filter(pk=found.pk)
        erasure_walk(
            rows,
            ErasureCommand.CLAIM,
            claim=F("claim") + 1,
            woken_at=None,
            lease_until=_lease_end(now),
            started_at=found.started_at or now,
        )
        return rows.get()


def _work(erasure: Erasure, ends_at: float) -> None:
    rounds = _rounds(erasure)
    for _portion in rounds:
        if time.monotonic() >= ends_at:
            _rest(erasure, clock.now(), "")
            enqueue(TASK, erasure_id=erasure.pk)
            return
    _finish(erasure)


def _rounds(erasure: Erasure) -> Iterator[None]:
    """Go through all erasers until a whole round finds nothing; a step is a transaction that erased something.

    Ends without an error only where nothing is left.
    """
    while True:
        erased, waits = 0, False
        for eraser in reversed(registry.erasers):
            try:
                while rows := _portion_erase(erasure, eraser):
                    erased += rows
                    yield
            except registry.ErasureWaits:
                waits = True
        if not erased and waits:
            raise registry.ErasureWaits
        if not erased:
            return


def _portion_erase(erasure: Erasure, eraser: registry.Eraser) -> int:
    """Erase a portion and count it; how many rows. What was noted for later stays where that is waited for."""
    portion, waits = eraser.portion, False
    if eraser.begin is not None:
        portion = eraser.begin(erasure.context, _user_id(erasure))
    with transaction.atomic():
        try:
            counts = Counter(portion(erasure.context, _user_id(erasure)))
        except registry.ErasureWaits:
            counts, waits = Counter(), True
        if counts.total():
            _count(erasure, counts)
    if waits:
        raise registry.ErasureWaits
    return counts.total()


def _count(erasure: Erasure, counts: Counter[str]) -> None:
    erasure.grants_not_revoked += counts.pop(registry.GRANTS_NOT_REVOKED, 0)
    total = counts + Counter(erasure.rows_erased)
    _held_walk(
        erasure,
        ErasureCommand.CONTINUE,
        rows_erased=dict(total),
        grants_not_revoked=erasure.grants_not_revoked,
        lease_until=_lease_end(clock.now()),
        failures=0,
        error_code="",
    )
    erasure.rows_erased = dict(total)


def _finish(erasure: Erasure) -> None:
    """Remove the user's row, forget whose it was, and keep the receipt. What came after all undoes it."""
    user_id = _user_id(erasure)
    with transaction.atomic():
        removed, _by_table = User.objects.for_team(erasure.context).filter(pk=user_id).only("pk").delete()
        if removed:
            erasure.rows_erased = dict(Counter(erasure.rows_erased) + Counter({User._meta.db_table: removed}))
        erased_at = clock.now()
        receipt = receipt_make(erasure, user_id=user_id, erased_at=erased_at)
        _held_walk(
            erasure,
            ErasureCommand.FINISH,
            user_id=None,
            erased_at=erased_at,
            lease_until=None,
            error_code="",
            rows_erased=erasure.rows_erased,
            receipt=receipt.text,
            receipt_signature=receipt.signature,
            receipt_public_key=receipt.public_key,
        )
        worker_record(team=erasure.context, user_id=user_id, action="erase user", work_id=erasure.pk)
        # Deletions of the same user that were undone.
        Erasure.objects.for_team(erasure.context).filter(user_id=user_id).update(user_id=None)
    log.info("user_erased", erasure_id=str(erasure.pk), rows=sum(erasure.rows_erased.values()))


def _held_walk(erasure: Erasure, command: ErasureCommand, **values: Any) -> None:
    # The number of claims tells this worker's from a later one's.
    if not erasure_walk(Erasure.objects.filter(pk=erasure.pk, claim=erasure.claim), command, **values):
        raise LeaseLostError


def _rest(erasure: Erasure, not_before: datetime, error_code: str, *, failures: int = 0) -> None:
    """Give the lease back until a time; nothing where another has the erasure by now."""
    rows = Erasure.objects.filter(pk=erasure.pk, claim=erasure.claim)
    erasure_walk(
        rows,
        ErasureCommand.CONTINUE,
        lease_until=None,
        not_before=not_before,
        error_code=error_code,
        failures=failures,
    )


def _failed(erasure: Erasure, error: Exception) -> None:
    """Try again later, for as long as it takes: what was asked to be erased is never given up."""
    failures = Erasure.objects.filter(pk=erasure.pk).values_list("failures", flat=True).get() + 1
    backoff = ERASURE_BACKOFF_SECONDS[min(failures, len(ERASURE_BACKOFF_SECONDS)) - 1]
    error_code = type(error).__name__[:ERASURE_ERROR_MAXIMUM_CHARACTERS]
    log.error("erasure_failed", erasure_id=str(erasure.pk), failures=failures, error_code=error_code)
    _rest(erasure, clock.now() + timedelta(seconds=backoff), error_code, failures=failures)


def _lease_end(now: datetime) -> datetime:
    return now + timedelta(seconds=ERASURE_LEASE_SECONDS)


def _user_id(erasure: Erasure) -> UUID:
    if erasure.user_id is None:
        raise LeaseLostError
    return erasure.user_id
