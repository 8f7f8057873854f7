"""What of a push can be stored: the store's own checks, made before it so that every refused record has its place."""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from aggregation.catalogue import STREAM_BY_SLUG, SUMMARY_BY_SLUG, WORKOUTS, SeriesSpec
from aggregation.push.bounds import blocks_bound_check
from aggregation.push.parents import known_names, orphans_of
from aggregation.push.reading import ReadPush
from aggregation.push.receipts import TOO_MANY_LABELS, Note, Place, RefusedList
from aggregation.push.samples import Piece, samples_take
from aggregation.push.summaries import ReadSummary
from aggregation.records import UNDATED, SeriesBatch, StreamRecord, SummaryRecord
from aggregation.store import checking
from aggregation.store.checking import Ingestion
from aggregation.store.days import SECOND_US, instant_of_us
from aggregation.store.streams import UNKNOWN_WORKOUT
from healthsvc.kernel.principal import TeamContext
from users.models import User

#: Distinct texts that the samples of one list may hold in `type`, and in each field of text: a block keeps them in a
#: dictionary. Of what notes say, which are no labels, more; they may be long.
LABELS_MAXIMUM: Final = 1_000
NOTES_MAXIMUM: Final = 10_000

#: The labels seen so far in a list, by field.
_Labels: TypeAlias = dict[tuple[Place, str], set[str]]


@dataclass(frozen=True, slots=True)
class Checked:
    """What of a push can be stored."""

    series: Sequence[SeriesBatch]
    summaries: Sequence[SummaryRecord]
    streams: Sequence[StreamRecord]
    notes: Sequence[Note]

    def latest(self, now: datetime) -> datetime | None:
        """The last moment that the records tell of, no later than now; None where they tell of none."""
        latest_us = [int(batch.samples.start_us.max()) for batch in self.series]
        latest_us += [int(one.time_us.max()) for one in self.streams if len(one.time_us)]
        moments = [instant_of_us(at_us) for at_us in latest_us]
        for one in self.summaries:
            day = one.calendar_date
            if day != UNDATED:
                moments.append(one.starts_at or datetime(day.year, day.month, day.day, tzinfo=UTC))
        return min(max(moments), now) if moments else None


def push_check(team: TeamContext, user: User, provider: str, read: ReadPush) -> Checked:
    """What can be stored; the rest joins the refused, each by its place.

    The store looks at everything again. What it alone refuses, for something changed meanwhile, has no place.
    """
    ingestion = Ingestion(user.ingestion_start_on, user.ingestion_end_on, user.fallback_time_zone)
    labels: _Labels = {}
    pieces = [good for piece in read.samples if (good := _good_samples(piece, ingestion, labels, read.refused))]
    summaries = _good_summaries(team, user.pk, provider, read, ingestion)
    workouts = {one.record.workout for one in read.streams} | {one.batch.workout for one in pieces if one.batch.workout}
    known = known_names(team, user.pk, provider, WORKOUTS.slug, workouts, summaries)
    series, streams = [piece.batch for piece in pieces], _good_streams(read, known)
    blocks_bound_check(
        sum(_blocks(piece.batch.samples.start_us, piece.spec.bucket_seconds) for piece in pieces)
        + sum(_blocks(one.time_us, STREAM_BY_SLUG[one.resource].bucket_seconds) for one in streams)
    )
    return Checked(series, summaries, streams, _notes(pieces, known))


def _blocks(start_us: NDArray[np.int64], bucket_seconds: int) -> int:
    """How many blocks of the store samples fall into."""
    return len(np.unique(start_us // (bucket_seconds * SECOND_US)))


def _good_samples(piece: Piece, ingestion: Ingestion, labels: _Labels, refused: RefusedList) -> Piece | None:
    samples = piece.batch.samples
    good = np.ones(len(samples), np.bool_)
    for row, cause in checking.sample_problems(piece.spec, samples, ingestion):
        refused.add(piece.place, [int(piece.indexes[row])], cause.reason, _sent_loc(piece.spec, cause.loc))
        good[row] = False
    for name, column, maximum in _open_labels(piece):
        beyond = _labels_beyond(column, good, labels.setdefault((piece.place, name), set()), maximum)
        if beyond:
            refused.add(piece.place, piece.indexes[beyond].tolist(), TOO_MANY_LABELS, (name,))
            good[beyond] = False
    if good.all():
        return piece
    if not good.any():
        return None
    batch = replace(piece.batch, samples=samples_take(samples, np.flatnonzero(good)))
    return replace(piece, batch=batch, indexes=piece.indexes[good])


def _sent_loc(spec: SeriesSpec, loc: Sequence[str | int]) -> tuple[str | int, ...]:
    """The place by the name that was sent: what a note says is sent as its value."""
    texts = {field.name for field in spec.fields if field.is_text_value}
    return ("value", *loc[1:]) if loc and loc[0] in texts else tuple(loc)


def _open_labels(piece: Piece) -> Iterator[tuple[str, Sequence[str | None], int]]:
    """The columns of texts that senders choose themselves, and how many distinct ones a list may have."""
    samples = piece.batch.samples
    if samples.type is not None and not piece.spec.types:
        yield "type", samples.type, LABELS_MAXIMUM
    for field in piece.spec.fields:
        column = samples.fields.get(field.name)
        if column is not None and not isinstance(column, np.ndarray) and not field.choices:
            yield field.name, column, NOTES_MAXIMUM if field.is_text_value else LABELS_MAXIMUM


def _labels_beyond(column: Sequence[str | None], good: NDArray[np.bool_], known: set[str], maximum: int) -> list[int]:
    """The good rows whose label is one too many; the other labels of good rows become known."""
    rows = np.flatnonzero(good).tolist()
    distinct = {label for row in rows if (label := column[row]) is not None}
    if len(known | distinct) <= maximum:
        known |= distinct
        return []
    beyond: list[int] = []
    for row in rows:
        label = column[row]
        if label is None or label in known:
            continue
        if len(known) < maximum:
            known.add(label)
        else:
            beyond.append(row)
    return beyond


def _good_summaries(
    team: TeamContext, user_id: UUID, provider: str, read: ReadPush, ingestion: Ingestion
) -> list[SummaryRecord]:
    good = []
    for one in read.summaries:
        cause = checking.summary_problem(one.record, ingestion)
        if cause is None:
            good.append(one)
        else:
            read.refused.add(one.place, [one.index], cause.reason, cause.loc)
    pushed = [one.record for one in good if SUMMARY_BY_SLUG[one.record.resource].parent is None]
    orphans = orphans_of(team, user_id, provider, [one for one in good if one.parent is not None], pushed)
    for one in orphans:
        read.refused.add(one.place, [one.index], checking.UNKNOWN_PARENT, _parent_loc(one))
    places = {(one.place, one.index) for one in orphans}
    return [one.record for one in good if (one.place, one.index) not in places]


def _parent_loc(one: ReadSummary) -> tuple[str, ...]:
    """The field that was to tell of what it is part."""
    of = SUMMARY_BY_SLUG[one.record.resource].parent
    if of is None:
        return ()
    raw = one.record.raw or {}
    return (of.external_id_field,) if raw.get(of.external_id_field) is not None else (of.id_field,)


def _notes(pieces: Sequence[Piece], known: Set[str]) -> list[Note]:
    """What is stored, though not all of it: samples without their workout, by list."""
    lost: Counter[Place] = Counter()
    for piece in pieces:
        if piece.batch.workout is not None and piece.batch.workout not in known:
            lost[piece.place] += len(piece.batch.samples)
    return [Note(place, UNKNOWN_WORKOUT, count) for place, count in lost.items()]


def _good_streams(read: ReadPush, known: Set[str]) -> list[StreamRecord]:
    """The streams whose workout is known, or comes with the same push; counted by their moments."""
    good: list[StreamRecord] = []
    for one in read.streams:
        size = len(one.record.time_us)
        if one.record.workout in known:
            good.append(one.record)
        elif size:
            read.refused.add_many(one.place, one.index, size, UNKNOWN_WORKOUT, ("workout_id",))
    return good
