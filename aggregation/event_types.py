"""The catalogue of health events: each with what it tells in a receiver's words, and an example."""

from collections.abc import Iterator
from typing import Final

from aggregation.catalogue import (
    DEVICE,
    SERIES,
    STREAMS,
    SUMMARIES,
    ResourceSpec,
    SeriesSpec,
    StreamSpec,
)
from aggregation.event_samples import sample_created, sample_historical, sample_updated
from aggregation.events import DEVICE_CREATED, DEVICE_UPDATED, daily_created, daily_updated, historical_created
from aggregation.serializers import HistoricalDataEvent, daily_shape
from webhooks.registry import PROVIDER_CHANNEL, EventGroup, EventType

_CHANNELS: Final = (PROVIDER_CHANNEL,)
#: How meanings in the catalogue end where they name the unit, which the samples of an event name too.
_UNITS: Final = frozenset(
    {
        "percent", "minutes", "beats a minute", "ms", "mL", "L a minute", "mL a minute and kg of body weight",
        "fluorescence signal units", "international units", "UV index", "kg/m²",
    }
)  # fmt: skip


def event_types() -> Iterator[EventType]:
    """Every event of every resource."""
    specs: tuple[ResourceSpec, ...] = (*SERIES, *SUMMARIES, *STREAMS)
    for spec in specs:
        if spec is DEVICE:
            yield from _device_events()
        elif not (isinstance(spec, SeriesSpec) and spec.is_older):
            yield from _daily_events(spec)
            yield _historical(spec)


def _daily_events(spec: ResourceSpec) -> Iterator[EventType]:
    subject = _subject(spec)
    group = EventGroup.SERIES if isinstance(spec, SeriesSpec) else EventGroup.SUMMARIES
    created, updated = _news(spec)
    yield EventType(
        daily_created(spec.slug),
        f"{subject}: {created}.",
        sample_created(spec),
        daily_shape(spec),
        _CHANNELS,
        group,
        f"{subject}.",
    )
    yield EventType(
        daily_updated(spec.slug),
        f"{subject}: {updated}.",
        sample_updated(spec),
        daily_shape(spec),
        _CHANNELS,
        group,
        f"{subject}.",
    )


def _news(spec: ResourceSpec) -> tuple[str, str]:
    """What is told of new data, and of data that have another content."""
    if isinstance(spec, SeriesSpec):
        return "new values", "values that are different now"
    if isinstance(spec, StreamSpec):
        return "a new one can be read", "one is different now and can be read again"
    return "a new summary", "a summary that is different now"


def _historical(spec: ResourceSpec) -> EventType:
    subject = _subject(spec)
    return EventType(
        historical_created(spec.slug),
        f"{subject}: the first backfill has ended, and what it brought can be read.",
        sample_historical(spec),
        HistoricalDataEvent,
        _CHANNELS,
        EventGroup.HISTORICAL,
        f"{subject}.",
    )


def _device_events() -> Iterator[EventType]:
    subject, schema, group = "A device of a user", daily_shape(DEVICE), EventGroup.CONNECTIONS
    for name, meaning, sample in (
        (DEVICE_CREATED, f"{subject}: seen for the first time.", sample_created(DEVICE)),
        (DEVICE_UPDATED, f"{subject}: what is known of it is different now.", sample_updated(DEVICE)),
    ):
        yield EventType(name, meaning, sample, schema, _CHANNELS, group, f"{subject}.")


def _subject(spec: ResourceSpec) -> str:
    """The catalogue's meaning without its details and the unit: `Body weight, kg.` is `Body weight`."""
    words = spec.meaning.partition(";")[0].removesuffix(".")
    if not isinstance(spec, SeriesSpec):
        return words
    begin, _, last = words.rpartition(", ")
    return begin if begin and (last in _UNITS or last == spec.unit) else words
