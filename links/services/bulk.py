"""Bulk operations: many users' connections imported from tokens, or pulled from the beginning again.

An operation is a row with an item for each user; a worker takes it under a lease and goes through the items one
transaction at a time, so that whoever takes over goes on where the last one stopped. After a few seconds it makes way
for whatever else waits. A team has few operations open, and what they owe to pull takes its turn with other teams'.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog
from django.db import connection as database
from django.db import transaction
from django.db.models import F, Q, QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.jobs import enqueue, is_interruption
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links import selectors
from links.applications import application_find
from links.catalogue import Provider, provider_find
from links.connectors.oauth import Tokens
from links.constants import (
    BULK_ATTEMPTS_MAXIMUM,
    BULK_ITEMS_AT_ONCE,
    BULK_KEPT_SECONDS,
    BULK_LEASE_SECONDS,
    BULK_OPS_OPEN_MAXIMUM,
    BULK_OPS_RETRY_SECONDS,
    BULK_TURN_SECONDS,
    BulkOpType,
    LinkErrorType,
    PullKind,
)
from links.models import BulkOp, BulkOpItem, Connection
from links.scope_requirements import requirement_of
from links.services.connections import Grant, connection_store, connections_pause
from links.services.pull_rows import pulls_schedule
from links.services.purging import rows_purge
from links.services.refusals import LinkRefused
from links.services.walk import walk
from links.states import (
    BULK_ITEM_TRANSITIONS,
    BULK_OP_TRANSITIONS,
    BulkItemCommand,
    BulkItemStatus,
    BulkOpCommand,
    BulkOpStatus,
    ConnectionStatus,
)
from management.closed import of_living_team
from users import selectors as user_selectors
from users.models import User

log = structlog.get_logger(__name__)

#: How often an operation is looked at while a caller waits.
_LOOK_SECONDS: Final = 0.2
_OPS_A_SWEEP: Final = 100
_BEGIN_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_USER_NOT_FOUND: Final = "user_not_found"
#: Users whose rows one transaction of a pause holds.
_PAUSED_AT_ONCE: Final = 100
#: Tokens are not kept in an item whose user is done.
_NO_TOKENS: Final[dict[str, None]] = {"access_token": None, "refresh_token": None}


@dataclass(frozen=True, slots=True)
class Recipe:
    """A connection as another system had it. `scopes` None: everything that would be asked for."""

    user_id: UUID
    access_token: str
    refresh_token: str
    external_user_id: str
    access_expires_at: datetime
    scopes: tuple[str, ...] | None


class _ItemRefused(Exception):  # noqa: N818 - reads as what happened
    """One user of an operation can't be done; the operation goes on."""

    def __init__(self, error_code: str) -> None:
        super().__init__(error_code)
        self.error_code = error_code


def bulk_import_begin(*, team: TeamContext, provider: Provider, recipes: Sequence[Recipe]) -> BulkOp:
    """Owe the import of these connections; one user once."""
    asked = provider.scopes
    items = [
        BulkOpItem(
            **team_values(team),
            user_id=one.user_id,
            access_token=one.access_token,
            refresh_token=one.refresh_token,
            external_user_id=one.external_user_id,
            access_expires_at=one.access_expires_at,
            scopes=list(asked if one.scopes is None else one.scopes),
        )
        for one in recipes
    ]
    return _begin(team, BulkOpType.IMPORT, provider, items)


def bulk_trigger_begin(*, team: TeamContext, provider: Provider, user_ids: Sequence[UUID]) -> BulkOp:
    """Owe a backfill of each of these users' connections with a provider."""
    items = [BulkOpItem(**team_values(team), user_id=user_id) for user_id in dict.fromkeys(user_ids)]
    return _begin(team, BulkOpType.HISTORICAL_TRIGGER, provider, items)


def bulk_pause(*, team: TeamContext, provider: Provider, user_ids: Sequence[UUID]) -> int:
    """Let these users' connections rest, a portion at a time; how many that were."""
    portions = [user_ids[start : start + _PAUSED_AT_ONCE] for start in range(0, len(user_ids), _PAUSED_AT_ONCE)]
    return sum(connections_pause(team=team, user_ids=one, provider=provider.slug) for one in portions)


def bulk_op_wait(op: BulkOp, *, seconds: float) -> BulkOp:
    """The operation once it has ended or the time is over."""
    deadline = time.monotonic() + seconds
    while op.status == BulkOpStatus.IN_PROGRESS and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
        op.refresh_from_db()
    return op


def bulk_op_run(*, op_id: UUID, claim: int | None = None) -> None:
    """Work an operation for a few seconds, or to its end. Safe to call at any time, by anyone.

    `claim`: whose turn this goes on, so that an operation has one turn in the queue however often it is sent.
    Users that failed for a reason nobody foresaw are left for later: the operation then rests until its lease is over,
    and is taken up again.
    """
    op = _claim(op_id, claim)
    if op is None:
        return
    left: list[UUID] = []
    make_way_at = time.monotonic() + BULK_TURN_SECONDS
    with team_scope(op.context):
        while True:
            pending = op.items.filter(status=BulkItemStatus.PENDING).exclude(pk__in=left).order_by("attempts", "id")
            items = list(pending[:BULK_ITEMS_AT_ONCE])
            if not items:
                if not left:
                    _end(op)
                return
            left += [item.pk for item in _strangers_refused(op, items) if not _work(op, item)]
            if not _held(op).update(lease_until=_lease_end()):
                log.info("bulk_op_lease_lost", op_id=str(op.pk))
                return
            if time.monotonic() >= make_way_at:
                # Behind whatever else waits for a worker; the lease is kept for whoever gets this.
                enqueue("links.bulk_op_run", op_id=op.pk, claim=op.claim)
                return


def bulk_ops_wake() -> int:
    """Send every operation that nobody works on to a worker; how many that were."""
    with system_scope(SystemScope.DELIVERY):
        left = BulkOp.objects.filter(_free(), of_living_team(), status=BulkOpStatus.IN_PROGRESS).order_by("id")
        found = list(left.values_list("pk", flat=True)[:_OPS_A_SWEEP])
    for op_id in found:
        enqueue("links.bulk_op_run", op_id=op_id)
    return len(found)


def bulk_ops_purge() -> int:
    """Remove operations that ended long ago, with their users; how many rows went."""
    before = clock.now() - timedelta(seconds=BULK_KEPT_SECONDS)
    with system_scope(SystemScope.PURGE):
        return rows_purge(
            BulkOpItem.objects.filter(op__ended_at__lt=before), BulkOp.objects.filter(ended_at__lt=before)
        )


def _begin(team: TeamContext, op_type: BulkOpType, provider: Provider, items: Sequence[BulkOpItem]) -> BulkOp:
    with transaction.atomic():
        _room_hold(team)
        op = BulkOp.objects.create(
            **team_values(team), type=op_type, provider=provider.slug, total=len(items), started_at=clock.now()
        )
        for item in items:
            item.op = op
        BulkOpItem.objects.bulk_create(items, batch_size=200)
        enqueue("links.bulk_op_run", op_id=op.pk)
    return op


def bulk_room_check(team: TeamContext) -> None:
    """429 where the team has as many operations open as it may, before a thousand users are read for nothing."""
    if BulkOp.objects.for_team(team).filter(status=BulkOpStatus.IN_PROGRESS).count() >= BULK_OPS_OPEN_MAXIMUM:
        detail = f"{BULK_OPS_OPEN_MAXIMUM} bulk operations are in progress; begin another when one of them has ended."
        raise ServiceError(ErrorCode.RATE_LIMITED, detail, retry_after_seconds=BULK_OPS_RETRY_SECONDS)


def _room_hold(team: TeamContext) -> None:
    """As `bulk_room_check`, and until the transaction ends the team begins no other."""
    with database.cursor() as cursor:
        cursor.execute(_BEGIN_LOCK, [f"links-bulk:{team.team_id}:{team.environment}"])
    bulk_room_check(team)


def _claim(op_id: UUID, claim: int | None) -> BulkOp | None:
    with system_scope(SystemScope.DELIVERY), transaction.atomic():
        ours = _free() if claim is None else _free() | Q(claim=claim)
        rows = BulkOp.objects.filter(ours, of_living_team(), pk=op_id, status=BulkOpStatus.IN_PROGRESS)
        if not rows.update(lease_until=_lease_end(), claim=F("claim") + 1):
            return None
        return BulkOp.objects.get(pk=op_id)


def _free() -> Q:
    return Q(lease_until=None) | Q(lease_until__lt=clock.now())


def _lease_end() -> datetime:
    return clock.now() + timedelta(seconds=BULK_LEASE_SECONDS)


def _held(op: BulkOp) -> QuerySet[BulkOp]:
    return BulkOp.objects.for_team(op.context).filter(pk=op.pk, claim=op.claim, status=BulkOpStatus.IN_PROGRESS)


def _strangers_refused(op: BulkOp, items: Sequence[BulkOpItem]) -> list[BulkOpItem]:
    """Refuse all users that there are not, together; the items of the others."""
    ids = [item.user_id for item in items]
    living = User.objects.for_team(op.context).filter(pk__in=ids, deleted_at=None)
    known = set(living.values_list("pk", flat=True))
    strangers = [item.pk for item in items if item.user_id not in known]
    if strangers:
        with transaction.atomic():
            _counted(op, strangers, BulkItemCommand.FAIL, _USER_NOT_FOUND)
    return [item for item in items if item.user_id in known]


def _work(op: BulkOp, item: BulkOpItem) -> bool:
    """One user: done and counted in one transaction, or refused and counted in another. False where it has to be tried
    again, with all that it has.
    """
    try:
        with transaction.atomic():
            _counted(op, [item.pk], BulkItemCommand.PROCESS, "")
            _ACTIONS[BulkOpType(op.type)](op, item)
    except _ItemRefused as refused:
        error_code = refused.error_code
    except Exception as error:
        if is_interruption(error):
            raise
        # One user that fails for a reason nobody foresaw must not hold up the others.
        log.exception("bulk_item_failed", op_id=str(op.pk), user_id=str(item.user_id))
        if item.attempts + 1 < BULK_ATTEMPTS_MAXIMUM:
            BulkOpItem.objects.for_team(op.context).filter(pk=item.pk).update(attempts=F("attempts") + 1)
            return False
        error_code = "unexpected_error"
    else:
        return True
    with transaction.atomic():
        _counted(op, [item.pk], BulkItemCommand.FAIL, error_code)
    return True


def _counted(op: BulkOp, item_ids: Sequence[UUID], command: BulkItemCommand, error_code: str) -> None:
    rows = BulkOpItem.objects.for_team(op.context).filter(pk__in=item_ids)
    if walked := walk(rows, BULK_ITEM_TRANSITIONS, command, error_code=error_code, **_NO_TOKENS):
        failed = walked if command is BulkItemCommand.FAIL else 0
        BulkOp.objects.for_team(op.context).filter(pk=op.pk).update(
            processed=F("processed") + walked, failed=F("failed") + failed
        )


def _end(op: BulkOp) -> None:
    """A success where anybody came through; a failure where nobody did."""
    now = clock.now()
    nobody = _held(op).filter(failed=F("total"))
    if not walk(nobody, BULK_OP_TRANSITIONS, BulkOpCommand.FAIL, ended_at=now, lease_until=None):
        walk(_held(op), BULK_OP_TRANSITIONS, BulkOpCommand.COMPLETE, ended_at=now, lease_until=None)


def _import(op: BulkOp, item: BulkOpItem) -> None:
    provider = provider_find(op.provider)
    application = application_find(op.context, provider)
    if application is None:
        raise _ItemRefused("provider_not_set_up")
    met = requirement_of(op.context, provider).is_met(item.scopes)
    if not met or not selectors.scopes_useful(provider, item.scopes, op.context.environment):
        raise _ItemRefused(str(LinkErrorType.REQUIRED_SCOPES_NOT_GRANTED))
    asked = provider.scopes
    tokens = Tokens(
        access_token=item.access_token or "",
        refresh_token=item.refresh_token or "",
        expires_at=item.access_expires_at or clock.now(),
        scopes=tuple(item.scopes),
        external_user_id=item.external_user_id,
    )
    grant = Grant(
        provider=op.provider,
        tokens=tokens,
        scopes_granted=tuple(item.scopes),
        scopes_denied=tuple(scope for scope in asked if scope not in item.scopes),
        external_user_id=item.external_user_id,
        application_id=application.application_id,
        is_urgent=False,
    )
    try:
        connection_store(team=op.context, user_id=item.user_id, grant=grant)
    except LinkRefused as refused:
        raise _ItemRefused(str(refused.error_type)) from None
    except ServiceError as error:
        raise _ItemRefused(error.code.code) from None


def _trigger(op: BulkOp, item: BulkOpItem) -> None:
    try:
        user = user_selectors.user_get(op.context, item.user_id, lock=True)
    except ServiceError:
        raise _ItemRefused(_USER_NOT_FOUND) from None
    living = Connection.objects.for_team(op.context).filter(user_id=user.pk, provider=op.provider, disconnected_at=None)
    connection = living.filter(status=ConnectionStatus.CONNECTED).first()
    if connection is None:
        raise _ItemRefused("not_connected")
    pulls_schedule(connections=[connection], kind=PullKind.BACKFILL, user=user, is_urgent=False)


_ACTIONS: Final = {BulkOpType.IMPORT: _import, BulkOpType.HISTORICAL_TRIGGER: _trigger}
