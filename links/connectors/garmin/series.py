"""Garmin's maps by offset, quarters of an hour and single readings as samples: pure functions, units converted here.

Shapes: Garmin's Health API specification. Read, not exercised against a live account.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from aggregation.records import OFFSET_UNKNOWN, DataSource
from healthsvc.kernel.typing import JSONValue
from healthsvc.kernel.units import kilograms_from_grams
from links.connectors.garmin.reading import CUFF, SCALE, WATCH, offset_seconds_in, samples_in
from links.connectors.payload import (
    CuffReading,
    MalformedError,
    Sample,
    Series,
    batches_of,
    counted,
    cuff_batch_of,
    document,
    epoch_instant,
    microseconds,
    number,
    optional_number,
    optional_text,
    whole,
)

#: Resource → the map of a summary that holds its samples, in the store's unit.
MAPS: Final[Mapping[str, str]] = {
    "heartrate": "timeOffsetHeartRateSamples",
    "hrv": "hrvValues",
    "stress_level": "timeOffsetStressLevelValues",
    "blood_oxygen": "timeOffsetSpo2Values",
    "respiratory_rate": "timeOffsetEpochToBreaths",
}
#: Resource → the field of an epoch.
EPOCHS: Final[Mapping[str, str]] = {"steps": "steps", "distance": "distanceInMeters"}
_EPOCH_SECONDS: Final = 900


def series_from_maps(resource: str, kind: str, rows: Iterable[JSONValue]) -> Series:
    """A resource's samples. Of an instant that two summaries tell, the later told counts."""
    samples: dict[int, Sample] = {}
    reasons: list[str] = []
    for row in rows:
        try:
            found = list(samples_in(document(row), MAPS[resource]))
        except MalformedError as error:
            reasons.append(error.reason)
            continue
        samples |= {one.start_us: one for one in found}
    return Series(batches_of({(resource, WATCH): _ordered(samples)}), counted(kind, reasons))


def series_from_epochs(resource: str, rows: Iterable[JSONValue]) -> Series:
    """Quarters of an hour, each the sum over what the person did in it.

    One under way is told short and later again, longer: the longer counts, and the quarter is a quarter all along.
    """
    longest: dict[tuple[int, str], tuple[float, float, int]] = {}
    reasons: list[str] = []
    for row in rows:
        try:
            item = document(row)
            start_us = microseconds(epoch_instant(item, "startTimeInSeconds"))
            value = optional_number(item, EPOCHS[resource])
            seconds, offset_seconds = number(item, "durationInSeconds"), offset_seconds_in(item)
        except MalformedError as error:
            reasons.append(error.reason)
            continue
        key = (start_us, optional_text(item, "activityType") or "")
        if value is not None and seconds >= longest.get(key, (0.0,))[0]:
            longest[key] = (seconds, value, OFFSET_UNKNOWN if offset_seconds is None else offset_seconds)
    samples: dict[int, Sample] = {}
    for (start_us, _), (_, value, shown) in longest.items():
        before = samples[start_us].value if start_us in samples else 0.0
        samples[start_us] = Sample(start_us, before + value, start_us + _EPOCH_SECONDS * 1_000_000, shown)
    return Series(batches_of({(resource, WATCH): _ordered(samples)}), counted("epochs", reasons))


def series_from_body_compositions(rows: Iterable[JSONValue]) -> Series:
    """Weight in kilograms and body fat in percent, as each weighing gave them."""
    samples: dict[tuple[str, DataSource], list[Sample]] = {("weight", SCALE): [], ("fat", SCALE): []}
    reasons: list[str] = []
    for row in rows:
        try:
            item = document(row)
            at_us, shown = _measured(item)
            grams, fat = optional_number(item, "weightInGrams"), optional_number(item, "bodyFatInPercent")
        except MalformedError as error:
            reasons.append(error.reason)
            continue
        if grams is not None and grams > 0:
            samples["weight", SCALE].append(Sample(at_us, kilograms_from_grams(grams), offset_seconds=shown))
        if fat is not None and fat > 0:
            samples["fat", SCALE].append(Sample(at_us, fat, offset_seconds=shown))
    return Series(batches_of(samples), counted("bodyComps", reasons))


def series_from_blood_pressures(rows: Iterable[JSONValue]) -> Series:
    """Readings of a cuff, mmHg."""
    readings: list[CuffReading] = []
    reasons: list[str] = []
    for row in rows:
        try:
            item = document(row)
            at_us, shown = _measured(item)
            systolic, diastolic = float(whole(item, "systolic")), float(whole(item, "diastolic"))
        except MalformedError as error:
            reasons.append(error.reason)
            continue
        readings.append(CuffReading(at_us, systolic, diastolic, shown))
    batches = (cuff_batch_of("blood_pressure", CUFF, readings),) if readings else ()
    return Series(batches, counted("bloodPressures", reasons))


def _measured(item: Mapping[str, JSONValue]) -> tuple[int, int]:
    at = epoch_instant(item, "measurementTimeInSeconds")
    offset_seconds = offset_seconds_in(item, "measurementTimeOffsetInSeconds")
    return microseconds(at), OFFSET_UNKNOWN if offset_seconds is None else offset_seconds


def _ordered(samples: Mapping[int, Sample]) -> list[Sample]:
    return [samples[start_us] for start_us in sorted(samples)]
