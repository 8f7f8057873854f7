"""The generated page of events: the envelope, every event, and what each carries, from the OpenAPI document."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import orjson
from django.conf import settings

from healthsvc.documents import openapi_document
from healthsvc.kernel.typing import JSONValue
from webhooks.constants import BODY_MAXIMUM_BYTES
from webhooks.registry import EXAMPLE_CLIENT_USER_ID, EXAMPLE_USER_ID, EventGroup, EventType, event_types

Schema: TypeAlias = Mapping[str, Any]

_INTRO: Final = """# Events

How deliveries are signed and retried: [webhooks.md](webhooks.md). The schemas are in the `webhooks` section of
`/openapi.json`; fields may be added to `data`, so let through what you do not know.

## Envelope

Every delivery has this body:

| field | type | meaning |
|---|---|---|
| `event_type` | string | what has happened; it decides what `data` looks like |
| `data` | object | what the event is about: below |
| `team_id` | uuid | your team |
| `user_id` | uuid or null | the user that the event is about; null where it is about none |
| `client_user_id` | string or null | your own reference of that user, as you gave it: any text |

**Examples.** The samples below are what is sent when somebody asks for an event now, in the portal, in the admin or at
`…/test`: with your `team_id`, and to one endpoint only. They name nobody: `client_user_id` is
`{example_client_user_id}`, and no user has the id `{example_user_id}`. Their values are of one
invented person's day.

**Created and updated.** `.created` tells of samples and summaries that were not there, `.updated` of those that have
another content now; what comes again unchanged is no event. A sample is known by its resource, source (provider, type,
app, device) and timestamp, a summary by its `id`; the newest version replaces the others.

**Size.** Samples come in batches of one source, in order of time, cut so that a body stays below {maximum} KiB. A
summary is never cut. Most have a few kilobytes; a sleep's cycles up to 65 kB, a menstrual cycle 330 kB, a workout with
both routes 400 kB, a meal of 500 foods 2 MB; more where texts are not plain ASCII.

**First backfill.** `provider.connection.created`, then one `historical.data.<resource>.created` without data for each
resource that can be read now; what comes later are daily events.

**Channels.** An endpoint may choose events by channel: `user.<user_id>` has all of a user's; others are in the tables.

## All events
"""
_INDEX_HEAD: Final = """
### {group}

| event | when | channels | data |
|---|---|---|---|
"""


def events_page(notice: str) -> str:
    """`docs/events.md`."""
    sections: dict[str, list[EventType]] = {}
    document = _Document()
    for event in event_types().values():
        sections.setdefault(document.shape_name(event), []).append(event)
    shared = document.shared_shapes([events[0] for events in sections.values()])
    intro = _INTRO.format(
        maximum=BODY_MAXIMUM_BYTES // 1024,
        example_user_id=EXAMPLE_USER_ID,
        example_client_user_id=EXAMPLE_CLIENT_USER_ID,
    )
    parts = [notice, intro, *_index(sections.values())]
    parts += [_section(events, document, shared) for events in sections.values()]
    parts += [_shared_section(name, document, shared) for name in shared]
    return "".join(parts)


def _index(sections: Collection[Sequence[EventType]]) -> Iterator[str]:
    """The tables of all events, one for each group."""
    for group in EventGroup:
        yield _INDEX_HEAD.format(group=group)
        yield from (_index_row(one, _title(events)) for events in sections for one in events if one.group is group)


def _index_row(event: EventType, title: str) -> str:
    channels = ", ".join(f"`{channel}`" for channel in event.channels)
    return f"| `{event.name}` | {event.meaning} | {channels} | [{title}](#{_anchor(title)}) |\n"


def _title(events: Sequence[EventType]) -> str:
    """What the names of events share: `daily.data.sleep` of created and updated, `historical.data` of all those."""
    if len(events) == 1:
        return events[0].name
    words = list(zip(*(event.name.split(".") for event in events), strict=False))
    return ".".join(same[0] for same in words if len(set(same)) == 1).removesuffix(".created")


def _anchor(title: str) -> str:
    return title.replace(".", "").lower()


def _section(events: Sequence[EventType], document: "_Document", shared: Sequence[str]) -> str:
    schema = document.data_schema(events[0])
    sample = _sample_text(events[0].sample)
    return (
        f"\n## {_title(events)}\n{_description(schema)}\n{_table(schema, document, shared)}\n```json\n{sample}\n```\n"
    )


def _sample_text(sample: JSONValue) -> str:
    """JSON with a line for each field of its own."""
    if not isinstance(sample, dict):
        return orjson.dumps(sample).decode()
    lines = [f"  {orjson.dumps(name).decode()}: {orjson.dumps(value).decode()}" for name, value in sample.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def _shared_section(name: str, document: "_Document", shared: Sequence[str]) -> str:
    schema = document.component(name)
    return f"\n## {name}\n{_description(schema)}\n{_table(schema, document, shared)}"


def _description(schema: Schema) -> str:
    text = " ".join(str(schema.get("description", "")).split())
    return text and f"\n{text}\n"


def _table(schema: Schema, document: "_Document", shared: Sequence[str]) -> str:
    rows = "".join(
        f"| `{field.name}` | {field.type} | {field.meaning} |\n" for field in _fields(schema, document, shared, "")
    )
    return f"| field | type | meaning |\n|---|---|---|\n{rows}"


@dataclass(frozen=True, slots=True)
class _Field:
    """A row of a table."""

    name: str
    type: str
    meaning: str


def _fields(schema: Schema, document: "_Document", shared: Sequence[str], owner: str) -> Iterator[_Field]:
    """The fields of an object, those of its own objects below them; what several events have is linked instead."""
    for name, described in schema["properties"].items():
        kind = document.kind_of(described)
        full_name = f"{owner}{name}"
        is_shared = kind.component in shared
        kind_text = f"[{kind.component}](#{_anchor(kind.component)})" if is_shared else kind.text
        null = " or null" if kind.nullable else ""
        yield _Field(full_name, f"{kind.before}{kind_text}{null}", kind.meaning)
        members = document.component(kind.component) if kind.component else kind.members
        if members and not is_shared:
            yield from _fields(members, document, shared, f"{full_name}{kind.inside}.")


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a schema says of a value: its type, the component or the members that it has, and whether it may be null.

    `before` is what stands before the type, as "array of "; `inside` is how a member of the value is written.
    """

    text: str
    meaning: str = ""
    nullable: bool = False
    component: str = ""
    members: Schema | None = None
    before: str = ""
    inside: str = ""

    @classmethod
    def read(cls, schema: Schema) -> "_Kind":
        """What a schema says."""
        meaning = " ".join(str(schema.get("description", "")).split())
        if "$ref" in schema:
            return cls("object", meaning, component=schema["$ref"].rpartition("/")[2])
        for choice in ("allOf", "oneOf"):
            if choice in schema:
                first = cls.read(schema[choice][0])
                nullable = first.nullable or {"type": "null"} in schema[choice]
                return replace(first, meaning=meaning or first.meaning, nullable=nullable)
        if "enum" in schema:
            words = ", ".join(f"`{one}`" for one in schema["enum"] if one is not None)
            return cls(words, meaning, nullable=None in schema["enum"])
        return cls._of_type(schema, meaning)

    @classmethod
    def _of_type(cls, schema: Schema, meaning: str) -> "_Kind":
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        nullable, (kind, *_) = "null" in types, types
        inner = schema.get("items") if kind == "array" else schema.get("additionalProperties")
        if isinstance(inner, dict) and inner:
            of, inside = ("array of ", "[]") if kind == "array" else ("object by name of ", ".<name>")
            found = cls.read(inner)
            return replace(
                found, meaning=meaning, nullable=nullable, before=of + found.before, inside=inside + found.inside
            )
        members = schema if "properties" in schema else None
        return cls(schema.get("format", kind), meaning, nullable, members=members)


class _Document:
    """The OpenAPI document of the team API, as far as events go."""

    def __init__(self) -> None:
        self._whole: dict[str, Any] = orjson.loads(openapi_document(settings.ROOT_URLCONF))

    def component(self, name: str) -> Schema:
        """A shape that has a name."""
        found: Schema = self._whole["components"]["schemas"][name]
        return found

    def kind_of(self, schema: Schema) -> _Kind:
        """What a schema says of a value. A component that is no object, as a list of words, is written out."""
        kind = _Kind.read(schema)
        target = self.component(kind.component) if kind.component else {"properties": {}}
        if "properties" in target:
            return kind
        found = _Kind.read(target)
        return replace(kind, text=found.text, component="")

    def _data(self, event: EventType) -> Schema:
        operation = self._whole["webhooks"][event.name]["post"]
        found: Schema = operation["requestBody"]["content"]["application/json"]["schema"]["properties"]["data"]
        return found

    def shape_name(self, event: EventType) -> str:
        """The name of what an event carries; its own where nothing else carries it."""
        reference: str = self._data(event).get("$ref", event.name)
        return reference.rpartition("/")[2]

    def data_schema(self, event: EventType) -> Schema:
        """What an event carries."""
        schema = self._data(event)
        return self.component(self.shape_name(event)) if "$ref" in schema else schema

    def shared_shapes(self, events: Sequence[EventType]) -> list[str]:
        """Names of objects that the data of several events have in them."""
        seen: dict[str, int] = {}
        for event in events:
            for name in set(self._named_in(self.data_schema(event))):
                seen[name] = seen.get(name, 0) + 1
        return sorted(name for name, count in seen.items() if count > 1)

    def _named_in(self, schema: Schema) -> Iterator[str]:
        for described in schema.get("properties", {}).values():
            kind = self.kind_of(described)
            if kind.component:
                yield kind.component
                yield from self._named_in(self.component(kind.component))
            elif kind.members:
                yield from self._named_in(kind.members)
