"""What samples must be to be stored; the others are counted by reason and never take their neighbours down."""

from collections import Counter
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from aggregation.catalogue import SeriesKind, SeriesSpec
from aggregation.constants import (
    EARLIEST_US,
    LATEST_US,
    OFFSET_MAXIMUM_SECONDS,
    SOURCE_TEXT_MAXIMUM_CHARACTERS,
    SOURCE_TYPES,
)
from aggregation.records import OFFSET_UNKNOWN, DataSource, Refusal, SampleColumns
from aggregation.store.days import DAY_US, local_us, us_of_day

UNKNOWN_RESOURCE = "unknown_resource"
UNKNOWN_FIELD = "unknown_field"
MISSING_FIELD = "missing_field"
BAD_SOURCE = "bad_source"
BAD_VALUE = "bad_value"
BAD_DATE = "bad_date"
BAD_OFFSET = "bad_offset"
OUT_OF_RANGE = "out_of_range"
END_BEFORE_START = "end_before_start"
OUTSIDE_INGESTION_BOUNDS = "outside_ingestion_bounds"

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Ingestion:
    """What of a person's data the customer wants: local days, inclusive, None where unbounded."""

    start_on: date | None = None
    end_on: date | None = None
    fallback_time_zone: str | None = None

    def keeps_day(self, day: date) -> bool:
        """Whether a summary of this day is wanted."""
        return not (self.start_on and day < self.start_on) and not (self.end_on and day > self.end_on)


class Refusals:
    """Counts what was not stored, by resource and reason."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, kind: str, reason: str, count: int = 1) -> None:
        """Count some."""
        if count:
            self._counts[kind, reason] += count

    def listed(self) -> tuple[Refusal, ...]:
        """In the order of kind and reason."""
        return tuple(Refusal(kind, reason, count) for (kind, reason), count in sorted(self._counts.items()))


def source_good(source: DataSource) -> bool:
    """Whether a source can be kept: a provider, a type of the API's, short texts without NUL."""
    texts = (source.provider, source.app_id or "", source.device_id or "")
    return (
        0 < len(source.provider) <= 60
        and source.type in SOURCE_TYPES
        and all(len(text) <= SOURCE_TEXT_MAXIMUM_CHARACTERS and text_good(text) for text in texts)
    )


def text_good(text: str) -> bool:
    """Whether the database can hold the text: no NUL, no half of a surrogate pair."""
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def samples_good(spec: SeriesSpec, samples: SampleColumns, ingestion: Ingestion, refusals: Refusals) -> Mask:
    """Which samples can be stored; each of the others is refused for the first reason that holds."""
    start_us, value = np.asarray(samples.start_us), np.asarray(samples.value)
    offsets = np.asarray(samples.offset_seconds)
    finite: Mask = np.isfinite(value)
    reasons: list[tuple[str, Mask]] = [
        (BAD_VALUE, ~finite),
        (BAD_DATE, (start_us < EARLIEST_US) | (start_us >= LATEST_US)),
        (BAD_OFFSET, (offsets != OFFSET_UNKNOWN) & (np.abs(offsets.astype(np.int64)) > OFFSET_MAXIMUM_SECONDS)),
        (OUT_OF_RANGE, (value < spec.lowest) | (value > spec.highest)),
    ]
    if samples.end_us is not None and spec.kind is SeriesKind.INTERVAL:
        end_us = np.asarray(samples.end_us)
        reasons += [(BAD_DATE, end_us >= LATEST_US), (END_BEFORE_START, end_us < start_us)]
    if samples.type is not None:
        texts = [text is not None and not (len(text) <= 60 and text_good(text)) for text in samples.type]
        reasons.append((BAD_VALUE, np.array(texts, np.bool_)))
    good = _sieved(reasons, np.ones(len(start_us), np.bool_), spec.slug, refusals)
    if good.any() and (ingestion.start_on or ingestion.end_on):
        inside = _inside(samples, ingestion)
        good = _sieved([(OUTSIDE_INGESTION_BOUNDS, ~inside)], good, spec.slug, refusals)
    return good


def _sieved(reasons: list[tuple[str, Mask]], good: Mask, kind: str, refusals: Refusals) -> Mask:
    for reason, bad in reasons:
        refusals.add(kind, reason, int((good & bad).sum()))
        good = good & ~bad
    return good


def _inside(samples: SampleColumns, ingestion: Ingestion) -> Mask:
    # Times that were refused already must not overflow here; what they give is not looked at.
    start_us = np.clip(samples.start_us, EARLIEST_US, LATEST_US - 1)
    local = local_us(start_us, np.asarray(samples.offset_seconds), ingestion.fallback_time_zone)
    inside = np.ones(len(local), np.bool_)
    if ingestion.start_on:
        inside &= local >= us_of_day(ingestion.start_on)
    if ingestion.end_on:
        inside &= local < us_of_day(ingestion.end_on) + DAY_US
    return inside
