"""Repairs: send one message again, recover what failed, replay what an endpoint never received, send a sample."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid, not_found
from healthsvc.kernel.jobs import enqueue
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import TeamQuerySet, team_values
from management.constants import JobStatus
from management.jobs import job_create
from management.models import BackgroundJob, Team
from users.closed import of_no_deleted_user
from webhooks import selectors, walker
from webhooks.constants import (
    RECOVER_JOB,
    REPAIR_AGE_SLACK_SECONDS,
    REPAIR_TASK,
    REPAIRS_OPEN_MAXIMUM,
    REPAIRS_SHOWN,
    REPLAY_JOB,
)
from webhooks.events import WEBHOOK_TEST
from webhooks.models import Delivery, Endpoint, Event
from webhooks.registry import event_types as catalogue
from webhooks.services.events import event_emit_to
from webhooks.services.filter_checks import filter_types_check
from webhooks.services.wakes import pump_wake

_RUNNING = (JobStatus.QUEUED, JobStatus.RUNNING)


@dataclass(frozen=True, slots=True)
class RepairShown:
    """Where a recovery or a replay stands. Progress is in seconds of the time it covers; `owed` counts messages.

    `waiting` counts messages of a recovery's time that had not failed when it began and wait for their attempt by
    themselves, up to `WAITING_COUNT_MAXIMUM`; None for a replay, and before it has begun.
    `error_code` says why it ended early: `endpoint_disabled`, `endpoint_gone`, `given_up`; empty otherwise.
    """

    job_id: UUID
    kind: str
    endpoint_id: UUID
    status: JobStatus
    since: datetime
    until: datetime
    event_types: tuple[str, ...] | None
    include_cancelled: bool
    done_seconds: int
    total_seconds: int
    owed: int
    waiting: int | None
    error_code: str
    created_at: datetime
    ended_at: datetime | None

    @property
    def is_running(self) -> bool:
        """Whether it goes on."""
        return self.status in _RUNNING


def delivery_resend(*, team: TeamContext, endpoint_id: UUID, message_id: UUID) -> UUID | None:
    """Owe a message to an endpoint now, under its own id, whatever the endpoint filters and whatever came of it before.
    Whom it is about, if anybody.

    404 where the team has no such endpoint or message, or it is about a deleted person; 409 where the endpoint is
    disabled, the payload is gone, or the message is being sent to it now.
    """
    with transaction.atomic():
        endpoint = _endpoint_enabled(team, endpoint_id)
        events = Event.objects.for_team(team).defer("body").select_for_update(no_key=True)
        event = events.filter(of_no_deleted_user(), pk=message_id).first()
        if event is None:
            raise not_found()
        if Event.objects.for_team(team).filter(pk=message_id, body=None).exists():
            raise ServiceError(ErrorCode.CONFLICT, "The payload of this message is gone; it can't be sent any more.")
        now = clock.now()
        made = Delivery(**team_values(team), event=event, endpoint=endpoint, next_attempt_at=now, created_at=now)
        Delivery.objects.bulk_create([made], ignore_conflicts=True)
        # A delivery just made is owed already, and owing it anew changes nothing.
        if not walker.deliveries_resend(Delivery.objects.for_team(team).filter(event=event, endpoint=endpoint)):
            raise ServiceError(ErrorCode.CONFLICT, "The message is being sent to this endpoint now.")
        pump_wake()
    return event.user_id


def recover_begin(
    *,
    team: TeamContext,
    endpoint_id: UUID,
    since: datetime,
    until: datetime | None = None,
    include_cancelled: bool = False,
) -> BackgroundJob:
    """Owe again, now and with all attempts, every message since `since` that has failed.

    Those that were given up, and those that wait for their next attempt after one that failed; with
    `include_cancelled` cancelled ones too. None about a deleted person. A pause or a rate limit of the endpoint still
    holds.
    422 for a time that can't be recovered, 404 for the endpoint, 409 where it is disabled or is being recovered now.
    """
    return _begin(RECOVER_JOB, team, endpoint_id, since, until, {"include_cancelled": include_cancelled})


def replay_begin(
    *,
    team: TeamContext,
    endpoint_id: UUID,
    since: datetime,
    until: datetime | None = None,
    event_types: Sequence[str] | None = None,
) -> BackgroundJob:
    """Owe every message since `since` that the endpoint wants and was never sent: not yet there, disabled, filtered.
    None about a deleted person.

    `event_types` narrows it to some, or their first words. 422, 404 and 409 as `recover_begin`.
    """
    filter_types_check(event_types, ("body", "event_types"))
    only = None if event_types is None else list(event_types)
    return _begin(REPLAY_JOB, team, endpoint_id, since, until, {"event_types": only})


def repair_get(team: TeamContext, job_id: UUID) -> RepairShown:
    """A recovery or replay of the team; 404 where there is none."""
    job = _repairs(team).filter(pk=job_id).first()
    if job is None:
        raise not_found()
    return _shown(job)


def repairs_recent(team: TeamContext, endpoint_id: UUID) -> list[RepairShown]:
    """The last repairs of an endpoint, newest first."""
    jobs = _repairs(team).filter(parameters__endpoint_id=str(endpoint_id)).order_by("-created_at", "-id")
    return [_shown(job) for job in jobs[:REPAIRS_SHOWN]]


def event_send_now(*, team: TeamContext, endpoint_id: UUID, event_type: str = WEBHOOK_TEST) -> UUID:
    """Send an event's sample to this endpoint alone, whatever it filters; the event's id.

    The body names the sample's user, who is nobody; the event itself is of no user. 422 for an event that is not in the
    catalogue, 404 for the endpoint, 409 where it is disabled.
    """
    known = catalogue().get(event_type)
    if known is None:
        raise invalid([Problem(("body", "event_type"), "Not an event of the catalogue.", "event_type_unknown")])
    with transaction.atomic():
        endpoint = _endpoint_enabled(team, endpoint_id)
        data = known.sample
        if event_type == WEBHOOK_TEST:
            data = {"endpoint_id": str(endpoint.id), "message": "This is a test."}
        return event_emit_to(endpoint, team=team, event_type=event_type, data=data, is_example=True)


def _begin(
    kind: str,
    team: TeamContext,
    endpoint_id: UUID,
    since: datetime,
    until: datetime | None,
    parameters: dict[str, Any],
) -> BackgroundJob:
    until = _check_times(since, until)
    with transaction.atomic():
        endpoint = _endpoint_enabled(team, endpoint_id)  # held, so that of two at once one sees the other
        running = _repairs(team).filter(kind=kind, status__in=_RUNNING, parameters__endpoint_id=str(endpoint.id))
        if running.exists():
            raise ServiceError(ErrorCode.CONFLICT, "Such a repair of this endpoint is running now.")
        _check_open(team)
        named = {"endpoint_id": str(endpoint.id), "since": since.isoformat(), "until": until.isoformat(), **parameters}
        seconds = max(1, round((until - since).total_seconds()))
        job = job_create(team=team, kind=kind, user_id=None, parameters=named, progress_total=seconds)
        enqueue(REPAIR_TASK, job_id=job.pk)
    return job


def _check_open(team: TeamContext) -> None:
    """409 above so many at once; the team's row is held, so that of several at once each counts the others."""
    Team.objects.select_for_update(no_key=True).get(pk=team.team_id)
    if _repairs(team).filter(status__in=_RUNNING).count() >= REPAIRS_OPEN_MAXIMUM:
        detail = f"At most {REPAIRS_OPEN_MAXIMUM} repairs of a team run at once; wait for one to end."
        raise ServiceError(ErrorCode.CONFLICT, detail)


def _check_times(since: datetime, until: datetime | None) -> datetime:
    """The end of the time, which is now at the latest."""
    now = clock.now()
    kept = timedelta(days=settings.WEBHOOK_RETENTION_DAYS)
    found: list[Problem] = []
    if since > now:
        found.append(Problem(("body", "since"), "Must not be in the future.", "datetime_past"))
    elif since < now - kept - timedelta(seconds=REPAIR_AGE_SLACK_SECONDS):
        message = f"Must not be longer ago than messages are kept: {kept.days} days."
        found.append(Problem(("body", "since"), message, "datetime_too_old"))
    if until is not None and until <= since:
        found.append(Problem(("body", "until"), "Must be after since.", "datetime_order"))
    if found:
        raise invalid(found)
    return now if until is None else min(until, now)


def _endpoint_enabled(team: TeamContext, endpoint_id: UUID) -> Endpoint:
    """The endpoint, held until the transaction ends; 409 where nothing is sent to it."""
    endpoint = selectors.endpoint_get(team, endpoint_id, lock=True)
    if endpoint.disabled:
        raise ServiceError(ErrorCode.CONFLICT, "The endpoint is disabled.")
    return endpoint


def _repairs(team: TeamContext) -> TeamQuerySet[BackgroundJob]:
    """Repairs of a team; they are of no user, which the index begins with."""
    return BackgroundJob.objects.for_team(team).filter(user_id=None, kind__in=[RECOVER_JOB, REPLAY_JOB])


def _shown(job: BackgroundJob) -> RepairShown:
    event_types = job.parameters.get("event_types")
    reached = job.receipt or job.checkpoint
    return RepairShown(
        job_id=job.pk,
        kind=job.kind,
        endpoint_id=UUID(job.parameters["endpoint_id"]),
        status=JobStatus(job.status),
        since=datetime.fromisoformat(job.parameters["since"]),
        until=datetime.fromisoformat(job.parameters["until"]),
        event_types=tuple(event_types) if event_types else None,
        include_cancelled=bool(job.parameters.get("include_cancelled")),
        done_seconds=job.progress_done,
        total_seconds=job.progress_total,
        owed=reached.get("owed", 0),
        waiting=reached.get("waiting"),
        error_code=job.error_code,
        created_at=job.created_at,
        ended_at=job.ended_at,
    )
