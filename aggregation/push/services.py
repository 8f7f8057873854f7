"""Storing a push: all of it and its receipt in one transaction, once for each batch id."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final, cast
from uuid import UUID

import numpy as np
from django.db import transaction

from aggregation.catalogue import SUMMARY_BY_SLUG, WORKOUTS, SeriesSpec, StreamSpec, SummarySpec
from aggregation.constants import EARLIEST_US, LATEST_US, PUSH_RECEIPT_DAYS
from aggregation.learning import person_learn
from aggregation.models import Push
from aggregation.push.envelope import Envelope, envelope_read
from aggregation.push.parents import known_names, orphans_of
from aggregation.push.receipts import Place, RefusedList, receipt_json
from aggregation.push.records import records_split
from aggregation.push.samples import Piece, samples_read, samples_take
from aggregation.push.streams import ReadStream, streams_read
from aggregation.push.summaries import ReadSummary, Zones, summaries_read
from aggregation.records import UNDATED, SeriesBatch, StoreResult, StreamRecord, SummaryRecord
from aggregation.services import health_data_store
from aggregation.store import checking
from aggregation.store.checking import Ingestion
from aggregation.store.days import instant_of_us
from aggregation.store.streams import UNKNOWN_WORKOUT
from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid
from healthsvc.kernel.principal import Principal, PrincipalKind, TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope
from healthsvc.kernel.typing import JSONObject
from users.models import User

#: The provider of data that a customer's own server sends.
MANUAL_PROVIDER: Final = "manual"
_PURGED_AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Pushed:
    """The answer to a push. `replayed`: it was stored before, and the receipt is the one of then."""

    receipt: JSONObject
    replayed: bool = False


@dataclass(slots=True)
class _Read:
    """What of a body could be read, and what could not."""

    slugs: dict[Place, str] = field(default_factory=dict)
    samples: list[Piece] = field(default_factory=list)
    summaries: list[ReadSummary] = field(default_factory=list)
    streams: list[ReadStream] = field(default_factory=list)
    refused: RefusedList = field(default_factory=RefusedList)


def push_store(*, principal: Principal, team: TeamContext, user: User, body: bytes) -> Pushed:
    """Store a pushed body of a living user; synchronous, and all that is good in it or, after an error, nothing.

    422 where the outside of the body is wrong or its batch id stands for another body; 403 for a provider that this
    caller may not push for. With a batch id the same body sent again, or at the same moment, gets the same receipt.
    """
    envelope = envelope_read(body)
    provider_permit(principal, envelope.source.provider)
    read = _read(envelope, Zones(envelope.time_zone, user.fallback_time_zone))
    now = clock.now()
    with transaction.atomic():
        push: Push | None = None
        if envelope.batch_id is not None:
            push = _claim(team, user.pk, envelope.batch_id, hashlib.sha256(body).digest(), now)
            if push.receipt:
                return Pushed(cast("JSONObject", push.receipt), replayed=True)
        person_learn(
            team=team,
            user_id=user.pk,
            provider=envelope.source.provider,
            time_zone=envelope.time_zone,
            summaries=[one.record for one in read.summaries],
            known_at=_latest(read, now),
        )
        stored = _store(team, user, read)
        receipt = receipt_json(
            batch_id=envelope.batch_id,
            stored_at=clock.utc_text(now),
            slugs=read.slugs,
            stored=stored,
            refused=read.refused,
        )
        if push is not None:
            Push.objects.for_team(team).filter(pk=push.pk).update(receipt=receipt)
    return Pushed(receipt)


def provider_permit(principal: Principal, provider: str) -> None:
    """403 unless the caller may push data of this provider. A team's key may for `manual` only."""
    if principal.kind is PrincipalKind.TEAM_KEY and provider != MANUAL_PROVIDER:
        message = (
            f"A team key pushes data of the provider `{MANUAL_PROVIDER}` only. Data of other providers are sent by the "
            "person's device with a signed-in session, or pulled from the provider once the person has connected it."
        )
        raise ServiceError(ErrorCode.NOT_ALLOWED, message)


def pushes_purge() -> int:
    """Remove receipts that are older than they are kept; how many."""
    before = clock.now() - timedelta(days=PUSH_RECEIPT_DAYS)
    removed = 0
    with system_scope(SystemScope.PURGE):
        while ids := list(Push.objects.filter(created_at__lt=before).values_list("pk", flat=True)[:_PURGED_AT_ONCE]):
            removed += Push.objects.filter(pk__in=ids).delete()[0]
    return removed


def _read(envelope: Envelope, zones: Zones) -> _Read:
    read = _Read()
    for one in envelope.lists:
        spec = one.spec
        read.slugs[one.place] = spec.slug if spec else one.place.resource
        match spec:
            case SeriesSpec():
                read.samples += samples_read(one, spec, envelope.source, envelope.time_zone, read.refused)
            case SummarySpec():
                read.summaries += summaries_read(one, spec, envelope.source, zones, read.refused)
            case StreamSpec():
                read.streams += streams_read(one, spec, envelope.source, read.refused)
            case None:
                unread = range(len(records_split(one.place, one.records)))
                read.refused.add(one.place, unread, checking.UNKNOWN_RESOURCE)
    return read


def _claim(team: TeamContext, user_id: UUID, batch_id: str, digest: bytes, now: datetime) -> Push:
    """This batch's row: a new one with an empty receipt, or the one that is there. Waits for a twin that runs now."""
    ours = Push(**team_values(team), user_id=user_id, batch_id=batch_id, digest=digest, receipt={}, created_at=now)
    Push.objects.bulk_create([ours], ignore_conflicts=True)
    row = Push.objects.for_team(team).get(user_id=user_id, batch_id=batch_id)
    if bytes(row.digest) != digest:
        message = "This batch_id was used for this user with another body. Send a new batch_id with new data."
        raise invalid([Problem(("body", "batch_id"), message, "batch_id_reused")], ErrorCode.IDEMPOTENCY_KEY_REUSED)
    return row


def _latest(read: _Read, now: datetime) -> datetime | None:
    """The last moment that a push tells of, no later than now; None where it tells of none."""
    latest_us = [int(piece.batch.samples.start_us.max()) for piece in read.samples]
    moments = [instant_of_us(max(at_us, EARLIEST_US)) for at_us in latest_us if at_us < LATEST_US]
    for one in read.summaries:
        day = one.record.calendar_date
        if day == UNDATED:
            continue
        moments.append(one.record.starts_at or datetime(day.year, day.month, day.day, tzinfo=UTC))
    return min(max(moments), now) if moments else None


def _store(team: TeamContext, user: User, read: _Read) -> StoreResult:
    """Store what can be stored; the rest joins the refused, each by its place.

    The store looks at everything again. What it alone refuses, for something changed meanwhile, has no place.
    """
    ingestion = Ingestion(user.ingestion_start_on, user.ingestion_end_on, user.fallback_time_zone)
    series = [good for piece in read.samples if (good := _good_samples(piece, ingestion, read.refused))]
    summaries = _good_summaries(team, user.pk, read, ingestion)
    stored = health_data_store(
        team=team,
        user_id=user.pk,
        series=series,
        summaries=summaries,
        streams=_good_streams(team, user.pk, read, summaries),
    )
    places = {slug: place for place, slug in read.slugs.items()}
    for refusal in stored.refused:
        read.refused.add(places[refusal.kind], [None] * refusal.count, refusal.reason)
    return stored


def _good_samples(piece: Piece, ingestion: Ingestion, refused: RefusedList) -> SeriesBatch | None:
    samples = piece.batch.samples
    wrong = checking.sample_reasons(piece.spec, samples, ingestion)
    if not wrong:
        return piece.batch
    for row, reason in wrong:
        refused.add(piece.place, [int(piece.indexes[row])], reason)
    good = np.ones(len(samples), np.bool_)
    good[[row for row, _ in wrong]] = False
    if not good.any():
        return None
    return replace(piece.batch, samples=samples_take(samples, np.flatnonzero(good)))


def _good_summaries(team: TeamContext, user_id: UUID, read: _Read, ingestion: Ingestion) -> list[SummaryRecord]:
    good: list[ReadSummary] = []
    for one in read.summaries:
        reason = checking.summary_reason(one.record, ingestion)
        if reason is None:
            good.append(one)
        else:
            read.refused.add(one.place, [one.index], reason)
    pushed = [one.record for one in good if SUMMARY_BY_SLUG[one.record.resource].parent is None]
    orphans = orphans_of(team, user_id, [one for one in good if one.parent is not None], pushed)
    for one in orphans:
        read.refused.add(one.place, [one.index], checking.UNKNOWN_PARENT)
    places = {(one.place, one.index) for one in orphans}
    return [one.record for one in good if (one.place, one.index) not in places]


def _good_streams(
    team: TeamContext, user_id: UUID, read: _Read, summaries: Sequence[SummaryRecord]
) -> list[StreamRecord]:
    """The streams whose workout is known, or comes with the same push; counted by their moments."""
    known = known_names(team, user_id, WORKOUTS.slug, {one.record.workout for one in read.streams}, summaries)
    good: list[StreamRecord] = []
    for one in read.streams:
        if one.record.workout in known:
            good.append(one.record)
        else:
            moments = [one.index] * len(one.record.time_us)
            read.refused.add(one.place, moments, UNKNOWN_WORKOUT, ("workout_id",))
    return good
