"""Polar's samples as the service's: what a watch measured through day, night and exercise.

Shapes: Polar's AccessLink API v3, schemas `continuous-heartrate`, `activity-day-with-samples`, `nightly-recharge` and
`exerciseHashId` with its samples and its route. Read, not exercised against a live account.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Final

import numpy as np

from aggregation.records import Refusal, StreamRecord
from healthsvc.kernel.typing import JSONValue
from healthsvc.kernel.units import metres_per_second_from_kilometres_per_hour
from links.connectors.payload import (
    MalformedError,
    Sample,
    Series,
    batches_of,
    calendar_day,
    counted,
    document,
    local_instant,
    microseconds,
    number,
    offset_seconds_of,
    optional_number,
    text,
    whole,
)
from links.connectors.polar.clock import (
    KnownOffset,
    duration_seconds,
    exercise_start,
    named,
    night_moment,
    placed,
    shown_time,
)
from links.connectors.polar.convert import SOURCE, day_of_activity

_NIGHT_SERIES: Final[Mapping[str, str]] = {"hrv": "hrv_samples", "respiratory_rate": "breathing_samples"}
_DAY: Final = timedelta(days=1)
#: A step sample of less than this is none.
_INTERVAL_SMALLEST: Final = timedelta(seconds=1)
#: No exercise lasts longer.
_EXERCISE_MAXIMUM_SECONDS: Final = 7 * 86_400


def _copied(value: float) -> float:
    """A number that comes in the unit it is kept in."""
    return value


#: `sample-type` → the channel, and what makes its unit of Polar's. Pedalling, air pressure and RR have no channel.
_CHANNELS: Final[Mapping[str, tuple[str, Callable[[float], float]]]] = {
    "0": ("heartrate", _copied),
    "1": ("velocity_smooth", metres_per_second_from_kilometres_per_hour),
    "2": ("cadence", _copied),
    "3": ("altitude", _copied),
    "4": ("power", _copied),
    "8": ("cadence", _copied),
    "9": ("temperature", _copied),
    "10": ("distance", _copied),
}


def heartrate_from_days(days: Iterable[JSONValue], offsets: Sequence[KnownOffset]) -> Series:
    """Averages of five minutes, bpm, as the watch recorded them outside of exercises."""
    samples: list[Sample] = []
    reasons: list[str] = []
    for payload in days:
        after: datetime | None = None
        try:
            item = named(payload)
            day = calendar_day(item, "date")
            listed = _listed(item, "heart_rate_samples")
        except MalformedError as error:
            reasons.append(error.reason)
            continue
        for one in listed:
            try:
                told = named(one)
                after = placed(_time_of_day(told, "sample_time", day), offsets, after)
                samples.append(_sample(after, _positive(told, "heart_rate")))
            except MalformedError as error:
                reasons.append(error.reason)
    return Series(batches_of({("heartrate", SOURCE): samples}), counted("continuous_heart_rate", reasons))


def steps_from_summaries(summaries: Iterable[JSONValue], offsets: Sequence[KnownOffset]) -> Series:
    """Steps of each interval that has some. Polar leaves out what repeats: an entry holds until the next one."""
    samples: list[Sample] = []
    reasons: list[str] = []
    for payload in summaries:
        try:
            samples += _day_steps(payload, offsets)
        except MalformedError as error:
            reasons.append(error.reason)
    return Series(batches_of({("steps", SOURCE): samples}), counted("activity", reasons))


def _day_steps(payload: JSONValue, offsets: Sequence[KnownOffset]) -> list[Sample]:
    told = named(payload).get("samples")
    steps = told.get("steps") if isinstance(told, Mapping) else None
    if steps is None:
        return []
    item, midnight = named(steps), datetime.combine(day_of_activity(payload), time()) + _DAY
    interval = timedelta(milliseconds=_positive(item, "interval_ms"))
    if interval < _INTERVAL_SMALLEST:
        raise MalformedError("out_of_range:interval_ms")
    entries = [named(one) for one in _listed(item, "samples")]
    shown = [shown_time(one, "timestamp") for one in entries]
    moments: list[datetime] = []
    for moment in shown:
        moments.append(placed(moment, offsets, moments[-1] if moments else None))
    total = optional_number(item, "total_steps") or 0.0
    found: list[Sample] = []
    for place, one in enumerate(entries):
        count = number(one, "steps")
        if count < 0:
            raise MalformedError("out_of_range:steps")
        if not midnight - _DAY <= shown[place] < midnight:
            raise MalformedError("bad_time:timestamp")
        if place + 1 < len(entries):
            by_watch = shown[place + 1] - shown[place]
            lasts = moments[place + 1] - moments[place]
            # A change of clocks in between is no time that was walked.
            lasts = min(lasts, by_watch) if by_watch > timedelta() else lasts
        else:
            # How often the last one repeats, the day's total tells.
            left = total - sum(sample.value for sample in found)
            lasts = min(midnight - shown[place], interval * max(1, round(left / count))) if count else interval
        times = round(lasts / interval) if count else 0
        found += [_sample(moments[place] + interval * repeat, count, lasts=interval) for repeat in range(times)]
    return found


def series_from_recharges(resource: str, recharges: Iterable[JSONValue], nights: Mapping[date, JSONValue]) -> Series:
    """Averages of five minutes of the night: RMSSD in ms (`hrv`), or breaths a minute (`respiratory_rate`).

    Their times are the night's, which is looked up by its date: without it nobody knows on which evening they began.
    """
    name = _NIGHT_SERIES[resource]
    samples: list[Sample] = []
    reasons: list[str] = []
    for payload in recharges:
        try:
            item = named(payload)
            night = nights.get(calendar_day(item, "date"))
            told = item.get(name)
            if told is None:
                continue
            values = document(told)
            if night is None:
                raise MalformedError("night_unknown")
            started = local_instant(named(night), "sleep_start_time")
        except MalformedError as error:
            reasons.append(error.reason)
            continue
        for shown in values:
            try:
                samples.append(_sample(night_moment(started, shown, name), _positive({name: values[shown]}, name)))
            except MalformedError as error:
                reasons.append(error.reason)
    return Series(batches_of({(resource, SOURCE): samples}), counted("nightly_recharge", reasons))


def stream_from_exercise(payload: JSONValue) -> StreamRecord | Refusal | None:
    """The course of an exercise: its samples, and its route where it has one; None where it tells neither."""
    try:
        item = named(payload)
        start_us, identity = microseconds(exercise_start(item)), text(item, "id")
        channels: dict[str, dict[float, float]] = {}
        for one in _listed(item, "samples") if item.get("samples") is not None else ():
            _add_samples(channels, named(one))
        for one in _listed(item, "route") if item.get("route") is not None else ():
            _add_place(channels, named(one))
    except MalformedError as error:
        return Refusal(kind="exercise_samples", reason=error.reason)
    seconds = sorted({second for told in channels.values() for second in told})
    if not seconds:
        return None
    return StreamRecord(
        resource="workout_stream",
        source=SOURCE,
        workout=identity,
        time_us=start_us + np.round(np.array(seconds) * 1_000_000).astype(np.int64),
        channels={
            name: np.array([told.get(second, np.nan) for second in seconds], dtype=np.float64)
            for name, told in channels.items()
            if told
        },
    )


def _add_samples(channels: dict[str, dict[float, float]], item: Mapping[str, JSONValue]) -> None:
    """One kind of sample: values in a text, at a rate in seconds; `null` while the sensor was away."""
    known = _CHANNELS.get(str(item.get("sample_type")))
    if known is None:
        return
    rate, values = whole(item, "recording_rate"), text(item, "data").split(",")
    if rate <= 0 or len(values) * rate > _EXERCISE_MAXIMUM_SECONDS:
        raise MalformedError("out_of_range:recording_rate")
    channel = channels.setdefault(known[0], {})
    for place, written in enumerate(values):
        if written.strip() in ("null", ""):
            continue
        try:
            value = number({"data": float(written)}, "data")
        except ValueError:
            raise MalformedError("wrong_type:data") from None
        channel[float(place * rate)] = known[1](value)


def _add_place(channels: dict[str, dict[float, float]], item: Mapping[str, JSONValue]) -> None:
    """A point of the route, at the second it was passed, so that it falls together with the samples."""
    second = float(round(duration_seconds(item, "time")))
    channels.setdefault("lat", {})[second] = number(item, "latitude")
    channels.setdefault("lng", {})[second] = number(item, "longitude")


def _sample(at: datetime, value: float, *, lasts: timedelta | None = None) -> Sample:
    end_us = None if lasts is None else microseconds(at + lasts)
    return Sample(microseconds(at), value, end_us, offset_seconds_of(at))


def _time_of_day(item: Mapping[str, JSONValue], name: str, day: date) -> datetime:
    try:
        return datetime.combine(day, time.fromisoformat(text(item, name)).replace(tzinfo=None))
    except ValueError as error:
        raise MalformedError(f"bad_time:{name}") from error


def _listed(item: Mapping[str, JSONValue], name: str) -> Sequence[JSONValue]:
    values = item.get(name)
    if not isinstance(values, list | tuple):
        raise MalformedError(f"wrong_type:{name}")
    return values


def _positive(item: Mapping[str, JSONValue], name: str) -> float:
    value = number(item, name)
    if value <= 0:
        raise MalformedError(f"out_of_range:{name}")
    return value
