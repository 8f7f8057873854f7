"""Which events an endpoint wants: by beginnings of event types, and by channels. Reads nothing."""

from collections.abc import Collection, Iterable


def names_type(wanted: str, event_type: str) -> bool:
    """Whether `wanted`, an event type or the first words of some (`daily.data`, `daily.data.*`), names this one."""
    return event_type == wanted or event_type.startswith(wanted.removesuffix(".*") + ".")


def is_wanted(
    *,
    filter_types: Collection[str] | None,
    channels: Collection[str] | None,
    event_type: str,
    event_channels: Iterable[str],
) -> bool:
    """Whether an endpoint with these filters is sent such an event; None for either: whatever comes."""
    if channels is not None and set(channels).isdisjoint(event_channels):
        return False
    return filter_types is None or any(names_type(wanted, event_type) for wanted in filter_types)
