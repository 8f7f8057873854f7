"""Google Health's samples and intervals as the service's series, units converted here and nowhere else.

Shapes: the reference of Google's Health API v4. Read, not exercised against a live account. Each source is a series of
its own: what a watch and a telephone counted in the same minutes is told apart, never added up.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from aggregation.records import DataSource
from healthsvc.kernel.typing import JSONValue
from healthsvc.kernel.units import kilograms_from_grams, metres_from_millimetres
from links.connectors.google_health.points import (
    int64,
    interval_moments,
    member,
    optional_positive,
    sample_moment,
    source_of,
)
from links.connectors.payload import (
    MalformedError,
    Sample,
    Series,
    batch_of,
    batches_of,
    counted,
    document,
    microseconds,
    number,
)

#: Reads the amount in the service's unit; None for "not measured".
Amount: TypeAlias = Callable[[Mapping[str, JSONValue]], float | None]


@dataclass(frozen=True, slots=True)
class SeriesType:
    """One of Google's data types that is a series here.

    data_type: its name in addresses. field: its name in a point. filter_field: the time by the person's own clock that
    a listing is filtered by. device_type: what kind of thing measures it where Google does not say.
    """

    resource: str
    data_type: str
    field: str
    filter_field: str
    amount: Amount
    device_type: str = "watch"


_SAMPLED: Final = "sample_time.civil_time"
_LASTING: Final = "interval.civil_start_time"


def _count(value: Mapping[str, JSONValue]) -> float:
    return float(int64(value, "count"))


def _metres(value: Mapping[str, JSONValue]) -> float:
    return metres_from_millimetres(float(int64(value, "millimeters")))


def _kilocalories(value: Mapping[str, JSONValue]) -> float:
    return number(value, "kcal")


def _beats(value: Mapping[str, JSONValue]) -> float:
    return float(int64(value, "beatsPerMinute"))


def _percent(value: Mapping[str, JSONValue]) -> float | None:
    return optional_positive(value, "percentage")


def _breaths(value: Mapping[str, JSONValue]) -> float | None:
    """Of the whole sleep; its stages have values of their own, which may be missing."""
    return optional_positive(member(value, "fullSleepStats"), "breathsPerMinute")


def _kilograms(value: Mapping[str, JSONValue]) -> float:
    return kilograms_from_grams(number(value, "weightGrams"))


def _millilitres(value: Mapping[str, JSONValue]) -> float:
    return number(member(value, "amountConsumed"), "milliliters")


def _rmssd_milliseconds(value: Mapping[str, JSONValue]) -> float | None:
    return optional_positive(value, "rootMeanSquareOfSuccessiveDifferencesMilliseconds")


def _sdnn_milliseconds(value: Mapping[str, JSONValue]) -> float | None:
    return optional_positive(value, "standardDeviationMilliseconds")


#: Resource → the data type it is read from.
SERIES: Final[Mapping[str, SeriesType]] = {
    one.resource: one
    for one in (
        SeriesType("steps", "steps", "steps", _LASTING, _count),
        SeriesType("distance", "distance", "distance", _LASTING, _metres),
        SeriesType("calories_active", "active-energy-burned", "activeEnergyBurned", _LASTING, _kilocalories),
        SeriesType("floors_climbed", "floors", "floors", _LASTING, _count),
        SeriesType("heartrate", "heart-rate", "heartRate", _SAMPLED, _beats),
        SeriesType("hrv", "heart-rate-variability", "heartRateVariability", _SAMPLED, _rmssd_milliseconds),
        SeriesType("blood_oxygen", "oxygen-saturation", "oxygenSaturation", _SAMPLED, _percent),
        SeriesType(
            "respiratory_rate", "respiratory-rate-sleep-summary", "respiratoryRateSleepSummary", _SAMPLED, _breaths
        ),
        SeriesType("weight", "weight", "weight", _SAMPLED, _kilograms, device_type="scale"),
        SeriesType("fat", "body-fat", "bodyFat", _SAMPLED, _percent, device_type="scale"),
        SeriesType("water", "hydration-log", "hydrationLog", _LASTING, _millilitres),
    )
}


def series_from_points(points: Iterable[JSONValue], kind: SeriesType) -> Series:
    """The points of one data type, by who recorded them.

    Heart rate variability is RMSSD; a point that has only the standard deviation becomes a sample of type `sdnn`.
    """
    samples: dict[tuple[str, DataSource], list[Sample]] = {}
    deviations: dict[DataSource, list[Sample]] = {}
    reasons: list[str] = []
    for payload in points:
        try:
            point = document(payload)
            value = member(point, kind.field)
            amount = kind.amount(value)
            source = source_of(point, device_type=kind.device_type)
            if amount is not None:
                samples.setdefault((kind.resource, source), []).append(_sample(value, amount, kind))
                continue
            deviation = _sdnn_milliseconds(value) if kind.resource == "hrv" else None
            if deviation is not None:
                deviations.setdefault(source, []).append(_sample(value, deviation, kind))
        except MalformedError as error:
            reasons.append(error.reason)
    batches = batches_of(samples)
    for source, found in deviations.items():
        batch = batch_of(kind.resource, source, found)
        batches += (replace(batch, samples=replace(batch.samples, type=["sdnn"] * len(found))),)
    return Series(batches, counted(kind.data_type, reasons))


def _sample(value: Mapping[str, JSONValue], amount: float, kind: SeriesType) -> Sample:
    if kind.filter_field == _SAMPLED:
        moment = sample_moment(value)
        return Sample(microseconds(moment.at), amount, offset_seconds=moment.offset_seconds)
    start, end = interval_moments(value)
    return Sample(microseconds(start.at), amount, microseconds(end.at), start.offset_seconds)
