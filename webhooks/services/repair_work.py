"""The work of recoveries and replays: so many rows a transaction, in the order of ids.

The checkpoint is written in the transaction of its rows, so a worker that dies leaves nothing half done and nothing
done twice. Deliveries are only owed here; which is sent when is the pump's fairness.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Q

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.ids import uuid_floor
from healthsvc.kernel.jobs import enqueue
from healthsvc.kernel.principal import PrincipalKind, TeamContext
from healthsvc.kernel.rows import TeamQuerySet, team_values
from healthsvc.kernel.scope import team_scope
from healthsvc.kernel.typing import JSONObject
from management.audit import access_record
from management.jobs import ATTEMPTS_MAXIMUM, job_claim, job_finish, job_renew, job_team, jobs_left_behind
from management.models import BackgroundJob, TeamSettings
from users.closed import of_no_deleted_user
from webhooks import selectors, walker
from webhooks.constants import RECOVER_JOB, REPAIR_ROWS, REPAIR_TASK, REPLAY_JOB, WAITING_COUNT_MAXIMUM
from webhooks.filters import is_wanted, names_type
from webhooks.models import Delivery, Endpoint, Event
from webhooks.services.wakes import pump_wake
from webhooks.states import OPEN, DeliveryStatus

log = structlog.get_logger(__name__)

#: Given up, or failed and waiting for the next attempt; as the partial index says it. What waits for a pause or a rate
#: limit alone has not failed.
_FAILED: Final = Q(status=DeliveryStatus.FAILED.value) | Q(status=DeliveryStatus.PENDING.value, failures__gt=0)


class LeaseLostError(Exception):
    """Another worker has taken the job over; what this one has in hand must be undone."""


@dataclass(frozen=True, slots=True)
class _Portion:
    """What one transaction did: the last id it looked at (None: there was nothing left), how many it owes anew, and
    whom these are about.
    """

    last_id: UUID | None
    owed: int
    user_ids: Collection[UUID] = ()


def repair_run(*, job_id: UUID) -> None:
    """Work a repair, unless it has ended or another worker is at it."""
    job = job_claim(job_id=job_id)
    if job is None:
        return
    with team_scope(job_team(job)):
        if job.attempts > ATTEMPTS_MAXIMUM:
            job_finish(job, receipt=job.checkpoint, error_code="given_up")
            return
        try:
            while _portion_do(job):
                pass
        except LeaseLostError:
            log.warning("repair_taken_over", job_id=str(job.pk))


def repairs_sweep() -> list[UUID]:
    """Wake the repairs that nobody works on: their message was lost, or their worker died."""
    left = [job_id for kind in (RECOVER_JOB, REPLAY_JOB) for job_id in jobs_left_behind(kind)]
    for job_id in left:
        enqueue(REPAIR_TASK, job_id=job_id)
    return left


def _portion_do(job: BackgroundJob) -> bool:
    """One portion in one transaction; whether there may be more."""
    team = job_team(job)
    with transaction.atomic():
        endpoint = _endpoint_held(team, UUID(job.parameters["endpoint_id"]))
        if endpoint is None or endpoint.disabled:
            error_code = "endpoint_gone" if endpoint is None else "endpoint_disabled"
            _require(job_finish(job, receipt=job.checkpoint, error_code=error_code))
            return False
        waiting = _waiting(job, team, endpoint)
        portion = _WORK[job.kind](team, endpoint, job.parameters, _last_id(job))
        checkpoint: JSONObject = {
            "last_id": str(portion.last_id or _last_id(job)),
            "owed": job.checkpoint.get("owed", 0) + portion.owed,
            "waiting": waiting,
        }
        done = job.progress_total if portion.last_id is None else _progress_seconds(job, portion.last_id)
        _require(job_renew(job, progress_done=done, checkpoint=checkpoint))
        if portion.last_id is None:
            _require(job_finish(job, receipt={"owed": checkpoint["owed"], "waiting": waiting}))
        if portion.owed:
            pump_wake()
        if portion.user_ids:
            _record(job, portion.user_ids)
    job.checkpoint = checkpoint
    return portion.last_id is not None


def _record(job: BackgroundJob, user_ids: Collection[UUID]) -> None:
    """Write whose data is sent again, and at whose wish: the request that began the job has its id in the trail."""
    access_record(
        team=job_team(job),
        actor_kind=PrincipalKind.WORKER,
        actor_id=str(job.pk),
        action="send webhook messages again",
        ids={"job_id": str(job.pk), "webhook_id": job.parameters["endpoint_id"]},
        user_ids=list(user_ids),
    )


def _require(ours: bool) -> None:
    if not ours:
        raise LeaseLostError


def _endpoint_held(team: TeamContext, endpoint_id: UUID) -> Endpoint | None:
    """The endpoint, held before its deliveries are; None where it was deleted."""
    try:
        return selectors.endpoint_get(team, endpoint_id, lock=True)
    except ServiceError as error:
        if error.code is not ErrorCode.NOT_FOUND:
            raise
        return None


def _last_id(job: BackgroundJob) -> UUID:
    last_id = job.checkpoint.get("last_id")
    return UUID(last_id) if last_id else UUID(int=uuid_floor(datetime.fromisoformat(job.parameters["since"])).int - 1)


def _progress_seconds(job: BackgroundJob, last_id: UUID) -> int:
    """How much of the time is covered; ids begin with their millisecond."""
    reached = datetime.fromtimestamp((last_id.int >> 80) / 1000, UTC)
    seconds = int((reached - datetime.fromisoformat(job.parameters["since"])).total_seconds())
    return max(0, min(seconds, job.progress_total))


def _until_id(parameters: Mapping[str, object]) -> UUID:
    return uuid_floor(datetime.fromisoformat(str(parameters["until"])))


def _waiting(job: BackgroundJob, team: TeamContext, endpoint: Endpoint) -> int | None:
    """How much of a recovery's time waits for its attempt by itself, counted once, up to a bound; None for a replay."""
    if job.kind != RECOVER_JOB:
        return None
    if "waiting" in job.checkpoint:
        return int(job.checkpoint["waiting"])
    covered = _in_time(team, endpoint, job.parameters, _last_id(job)).filter(status__in=OPEN).exclude(_FAILED)
    return covered.order_by()[:WAITING_COUNT_MAXIMUM].count()


def _in_time(
    team: TeamContext, endpoint: Endpoint, parameters: Mapping[str, object], last_id: UUID
) -> TeamQuerySet[Delivery]:
    return Delivery.objects.for_team(team).filter(endpoint=endpoint, pk__gt=last_id, pk__lt=_until_id(parameters))


def _recover(team: TeamContext, endpoint: Endpoint, parameters: Mapping[str, object], last_id: UUID) -> _Portion:
    """Owe failed deliveries again, whose payload is still there; those that wait for their next attempt too."""
    deliveries = _in_time(team, endpoint, parameters, last_id)
    wanted = _FAILED
    if parameters["include_cancelled"]:
        wanted |= Q(status=DeliveryStatus.CANCELLED.value)
    else:
        deliveries = deliveries.filter(_FAILED)
    lines = deliveries.annotate(is_wanted=wanted).order_by("pk").values_list("pk", "event_id", "is_wanted")
    rows = list(lines[:REPAIR_ROWS])
    if not rows:
        return _Portion(None, 0)
    found = {event_id: delivery_id for delivery_id, event_id, is_wanted in rows if is_wanted}
    kept = Event.objects.for_team(team).filter(of_no_deleted_user(), pk__in=found, body__isnull=False)
    people = dict(kept.values_list("pk", "user_id"))
    ids = [found[event_id] for event_id in people]
    again = Delivery.objects.for_team(team).filter(wanted, pk__in=ids)
    return _Portion(rows[-1][0], walker.deliveries_resend(again) if ids else 0, _named(people.values()))


def _replay(team: TeamContext, endpoint: Endpoint, parameters: Mapping[str, object], last_id: UUID) -> _Portion:
    """Owe events that the endpoint wants and has no delivery of, or a cancelled one."""
    events = Event.objects.for_team(team).filter(pk__gt=last_id, pk__lt=_until_id(parameters)).order_by("pk")
    lines = events.annotate(is_kept=of_no_deleted_user() & Q(body__isnull=False)).values_list(
        "pk", "event_type", "channels", "endpoint_id", "is_kept", "user_id"
    )
    rows = list(lines[:REPAIR_ROWS])
    if not rows:
        return _Portion(None, 0)
    only = parameters["event_types"]
    limits = TeamSettings.objects.for_team(team).values_list("event_type_prefixes", flat=True).first()
    wanted = {
        event_id: user_id
        for event_id, event_type, channels, endpoint_id, is_kept, user_id in rows
        # Those that are not fanned out yet too: a fan-out may be at it that saw the endpoint as it was before.
        if is_kept and _wants(endpoint, event_type, channels, endpoint_id)
        and (not isinstance(only, list) or any(names_type(str(one), event_type) for one in only))
        and (not limits or endpoint_id or any(names_type(limit, event_type) for limit in limits))
    }  # fmt: skip
    owed, event_ids = _owe(team, endpoint, list(wanted))
    return _Portion(rows[-1][0], owed, _named(wanted[event_id] for event_id in event_ids))


def _named(user_ids: Iterable[UUID | None]) -> Collection[UUID]:
    """Each person once."""
    return dict.fromkeys(user_id for user_id in user_ids if user_id is not None)


def _wants(endpoint: Endpoint, event_type: str, channels: list[str], only_endpoint_id: UUID | None) -> bool:
    if only_endpoint_id is not None:
        return only_endpoint_id == endpoint.id
    return is_wanted(
        filter_types=endpoint.filter_types,
        channels=endpoint.channels,
        event_type=event_type,
        event_channels=channels,
    )


def _owe(team: TeamContext, endpoint: Endpoint, event_ids: list[UUID]) -> tuple[int, list[UUID]]:
    """Make the deliveries that are missing, and owe cancelled ones again; how many of both, and their events."""
    mine = Delivery.objects.for_team(team).filter(endpoint=endpoint, event_id__in=event_ids)
    there = dict(mine.values_list("event_id", "status"))
    now = clock.now()
    new = [event_id for event_id in event_ids if event_id not in there]
    # Held, so that no purge takes one away before its delivery is there.
    held = Event.objects.for_team(team).filter(pk__in=new).order_by("pk").select_for_update(no_key=True)
    missing = [
        Delivery(**team_values(team), event_id=event_id, endpoint=endpoint, next_attempt_at=now, created_at=now)
        for event_id in held.values_list("pk", flat=True)
    ]
    Delivery.objects.bulk_create(missing, ignore_conflicts=True)
    cancelled = [event_id for event_id, status in there.items() if status == DeliveryStatus.CANCELLED.value]
    again = walker.deliveries_resend(mine.filter(status=DeliveryStatus.CANCELLED.value)) if cancelled else 0
    return len(missing) + again, [delivery.event_id for delivery in missing] + cancelled


_WORK: Final = {RECOVER_JOB: _recover, REPLAY_JOB: _replay}
