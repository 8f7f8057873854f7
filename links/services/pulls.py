"""Running a pull: window by window from the provider, through the connector, into the store."""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

import structlog
from django.db import transaction

from aggregation import services as aggregation_services
from aggregation.catalogue import DEVICE
from aggregation.learning import person_learn
from aggregation.records import SummaryRecord
from aggregation.selectors.summaries import summaries_known
from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.scope import team_scope
from links.connectors.base import Connector, Pulled
from links.connectors.failures import LASTING, FailureKind, ProviderFailure
from links.connectors.future import future_left_out
from links.connectors.registry import connector_of
from links.connectors.wire import Access
from links.constants import TOKEN_LEASE_WAIT_SECONDS, PullKind
from links.models import Pull
from links.services.accounts import account_learn
from links.services.pull_purge import pulls_forget
from links.services.pull_rows import (
    pull_advance,
    pull_begin_again,
    pull_claim,
    pull_complete,
    pull_end_reread,
    pull_fail,
    pull_give_up,
    pull_keep,
    pull_postpone,
    pulls_wake,
)
from links.services.refusals import ConnectionBroken, LeaseLost, TokensBusy
from links.services.renewal import access_get
from links.services.scope_losses import scope_refused
from management.audit import worker_record
from users import selectors as user_selectors

log = structlog.get_logger(__name__)

#: Devices are no data of a time and have events of their own, which a backfill does not send.
_UNTOLD = ("device",)


def pull_run(*, pull_id: UUID) -> None:
    """Work a pull to its end, or leave it with the time of its next try. Safe to call at any time, by anyone."""
    pull = pull_claim(pull_id=pull_id)
    if pull is None:
        return
    with team_scope(pull.context):
        _work(pull)
    # Whose turn it was not yet, it may be now.
    pulls_wake(1)


def _work(pull: Pull) -> None:
    try:
        account_learn(pull)
        _windows(pull)
    except LeaseLost:
        log.info("pull_lease_lost", pull_id=str(pull.pk), resource=pull.resource)
    except TokensBusy as busy:
        # Refused tokens are asked about again once, not by every pull every few seconds.
        refused = busy.refused_for_seconds
        error_code = FailureKind.TOKEN_REJECTED if refused else "resource_contention"
        pull_postpone(pull, error_code=error_code, wait_seconds=max(refused, TOKEN_LEASE_WAIT_SECONDS))
    except ConnectionBroken:
        pull_give_up(pull, error_code="connection_broken")
    except ProviderFailure as failure:
        _failed(pull, failure)
    except Exception as error:
        if isinstance(error, ServiceError) and error.code is ErrorCode.NOT_FOUND:
            # The store keeps nothing of a user who is gone.
            pull_give_up(pull, error_code="user_gone")
            return
        pull_fail(pull, error_code="unexpected_error")
        raise


def _failed(pull: Pull, failure: ProviderFailure) -> None:
    log.info("pull_failed", pull_id=str(pull.pk), resource=pull.resource, kind=str(failure.kind))
    if failure.kind in LASTING:
        pull_give_up(pull, error_code=failure.kind)
        if failure.kind is FailureKind.SCOPE_MISSING:
            scope_refused(connection_id=pull.connection_id)
    elif failure.kind is FailureKind.RATE_LIMITED:
        # The provider's own pace is no failure.
        pull_postpone(pull, error_code=failure.kind, wait_seconds=failure.retry_after_seconds)
    else:
        pull_fail(pull, error_code=failure.kind, wait_seconds=failure.retry_after_seconds)


def _windows(pull: Pull) -> None:
    connector = _connector(pull)
    days = connector.window_days[pull.resource]
    start_on = pull.done_until_on + timedelta(days=1) if pull.done_until_on else pull.start_on
    recorded = False
    while True:
        while start_on <= pull.end_on:
            end_on = min(start_on + timedelta(days=days - 1), pull.end_on)
            pulled = future_left_out(_window(pull, start_on, end_on), clock.now())
            _store(pull, pulled, done_until_on=end_on, recorded=recorded)
            recorded = True
            start_on = end_on + timedelta(days=1)
        if _completed(pull) or pull_begin_again(pull):
            return
        # More days of a backfill were asked for meanwhile.
        pull_end_reread(pull)


def _completed(pull: Pull) -> bool:
    """End the pull and tell of a backfill; False where more days are wanted by now, or it is no longer ours."""
    with transaction.atomic():
        _user_hold(pull)
        if not pull_complete(pull):
            return False
        pulls_forget(pull)
        if pull.kind == PullKind.BACKFILL and pull.resource not in _UNTOLD:
            aggregation_services.historical_announce(
                team=pull.context,
                user_id=pull.user_id,
                provider=pull.connection.provider,
                resources=[pull.resource],
                start=_midnight(pull.start_on),
                end=_midnight(pull.end_on + timedelta(days=1)),
            )
    return True


def _window(pull: Pull, start_on: date, end_on: date) -> Pulled:
    """One window from the provider; a rejected access token is renewed once."""
    connector = _connector(pull)
    access, version = access_get(connection_id=pull.connection_id)
    try:
        return connector.pull(_leased(access, pull), pull.resource, start_on, end_on)
    except ProviderFailure as failure:
        if failure.kind is not FailureKind.TOKEN_REJECTED:
            raise
    access, version = access_get(connection_id=pull.connection_id, rejected_version=version)
    return connector.pull(_leased(access, pull), pull.resource, start_on, end_on)


def _connector(pull: Pull) -> Connector:
    """Who reads the provider's data; refused for good where a release knows the provider no more."""
    connector = connector_of(pull.connection.provider, pull.context.environment)
    if connector is None or pull.resource not in connector.window_days:
        raise ProviderFailure(FailureKind.REFUSED)
    return connector


def _leased(access: Access, pull: Pull) -> Access:
    """An access whose every call keeps the pull's lease: a window may take many."""
    return replace(access, before_call=lambda: pull_keep(pull))


def _store(pull: Pull, pulled: Pulled, *, done_until_on: date, recorded: bool) -> None:
    """A window's records and the note that they are stored: both, or neither where the pull is no longer ours."""
    with transaction.atomic():
        workouts = _workouts_missing(pull, pulled)
        person_learn(
            team=pull.context,
            user_id=pull.user_id,
            provider=pull.connection.provider,
            time_zone=pulled.time_zone,
            summaries=pulled.summaries,
            known_at=min(clock.now(), _midnight(done_until_on + timedelta(days=1))),
        )
        _user_hold(pull)
        pull_advance(pull, done_until_on=done_until_on)
        stored = aggregation_services.health_data_store(
            team=pull.context,
            user_id=pull.user_id,
            series=pulled.series,
            summaries=(*pulled.summaries, *workouts),
            streams=pulled.streams,
            emit=_told(pull),
        )
        if not recorded:
            # Once a turn, in the transaction of its first window.
            action = f"pull {pull.connection.provider} {pull.resource}"
            worker_record(team=pull.context, user_id=pull.user_id, action=action, work_id=pull.pk)
    for refusal in (*pulled.refusals, *stored.refused):
        log.info("record_refused", pull_id=str(pull.pk), kind=refusal.kind, reason=refusal.reason, count=refusal.count)


def _told(pull: Pull) -> bool | Collection[str]:
    """A backfill is told as a whole when it has ended, but devices have no such notice: each is told when seen."""
    if pull.kind == PullKind.REFRESH:
        return True
    return [DEVICE.slug] if pull.resource == DEVICE.slug else False


def _workouts_missing(pull: Pull, pulled: Pulled) -> list[SummaryRecord]:
    """Workouts that are told in less than full and not kept yet. Holds the user alone, so that none comes meanwhile."""
    if not pulled.workouts:
        return []
    user_selectors.user_get(pull.context, pull.user_id, lock=True)
    names = {(one.source.provider, one.external_id) for one in pulled.workouts}
    known = summaries_known(pull.context, pull.user_id, "workouts", names)
    return [one for one in pulled.workouts if (one.source.provider, one.external_id) not in known]


def _user_hold(pull: Pull) -> None:
    # Before the pull's own row, for whoever owes pulls locks the two in this order.
    aggregation_services.user_hold(pull.context, pull.user_id)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
