"""The catalogue of events: every app names here, in `AppConfig.ready()`, what it emits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, TypeAlias
from uuid import UUID

from rest_framework.serializers import Serializer

from healthsvc.kernel.typing import JSONObject, JSONValue
from webhooks.constants import EVENT_TYPE_MAXIMUM_CHARACTERS, FILTER_TYPE_PATTERN
from webhooks.filters import names_type

#: The channel of what comes from a provider, as the documentation writes it.
PROVIDER_CHANNEL: Final = "provider.<slug>"

#: The user that examples name, who is nobody: no user has this id, and receivers can know examples by the reference.
EXAMPLE_USER_ID: Final = UUID("01934c7e-2b1d-7d04-8a7e-51d2f9b7c6aa")
EXAMPLE_CLIENT_USER_ID: Final = "example-user"

#: What `data` looks like: the serializer that describes the same thing in an answer of the API, or a JSON Schema
#: (2020-12) of a thing that only events carry.
EventSchema: TypeAlias = type[Serializer[Any]] | JSONObject


class EventGroup(StrEnum):
    """What kinds of events there are, as lists of them are divided and headed, in this order."""

    SUMMARIES = "Daily summaries"
    SERIES = "Daily timeseries"
    HISTORICAL = "Historical backfills"
    CONNECTIONS = "Connections and devices"
    WEBHOOKS = "Webhooks"


@dataclass(frozen=True, slots=True)
class EventType:
    """An event that receivers can be sent: its name, what has happened, an example of its `data`, and its shape.

    A sample about a user names EXAMPLE_USER_ID. `channels` are those that its events have beside their user's, as the
    documentation writes them. `subject` says what the event is about where several are about the same thing: it is
    created, and updated.
    """

    name: str
    meaning: str
    sample: JSONValue
    schema: EventSchema
    channels: tuple[str, ...] = ()
    group: EventGroup = EventGroup.WEBHOOKS
    subject: str = ""


def provider_channel(slug: str) -> str:
    """The channel of what comes from a provider."""
    return PROVIDER_CHANNEL.replace("<slug>", slug)


_types: dict[str, EventType] = {}


def event_types_register(types: Iterable[EventType]) -> None:
    """Add to the catalogue. A family, as `daily.data.<resource>.created`, is registered name by name.

    ValueError for a malformed name, and for one that is taken by something else.
    """
    for event_type in types:
        if not FILTER_TYPE_PATTERN.fullmatch(event_type.name) or len(event_type.name) > EVENT_TYPE_MAXIMUM_CHARACTERS:
            raise ValueError(f"Not a name for an event: {event_type.name}")
        if _types.setdefault(event_type.name, event_type) != event_type:
            raise ValueError(f"Two events are called {event_type.name}.")


def event_types() -> Mapping[str, EventType]:
    """The catalogue, by name."""
    return MappingProxyType(dict(sorted(_types.items())))


def is_registered(name: str) -> bool:
    """Whether an event is in the catalogue."""
    return name in _types


def is_event_prefix(text: str) -> bool:
    """Whether `text` is an event of the catalogue, or the first words of some, with or without `.*` behind."""
    return any(names_type(text, name) for name in _types)
