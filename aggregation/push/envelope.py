"""The outside of a pushed body: who sends, from what, and which lists of records, the records still unread."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec

from aggregation.catalogue import SERIES, STREAMS, SUMMARIES, SeriesSpec, StreamSpec, SummarySpec
from aggregation.constants import (
    BATCH_ID_MAXIMUM_CHARACTERS,
    SOURCE_IDS,
    SOURCE_TEXT_MAXIMUM_CHARACTERS,
    SOURCE_TYPES,
)
from aggregation.push.members import Member, members_read
from aggregation.push.receipts import Part, Place
from aggregation.records import DataSource
from aggregation.store.checking import text_good
from healthsvc.kernel.errors import Problem, ServiceError, invalid
from healthsvc.kernel.fields import time_zone_names

_RESOURCE_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,59}")
#: Where msgspec says that the fault lies: `$.source.type`, `$[3].value`, `$.time[...]`.
_AT: Final = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_STEP: Final = re.compile(r"\.(?P<name>\w+)|\[(?P<index>\d+)\]")
#: The field that is missing or not known. Of what a sender made up only what looks like a field's name is repeated.
_FIELD: Final = re.compile(r"Object (?:missing required|contains unknown) field `(?P<name>[a-z_]{1,60})`(?: - at .*)?")
_NEEDED_TYPE: Final = re.compile(r"Expected `(?P<needed>[a-z| ]+)`")
#: Fields of the body, and resources in each half: far more than there are.
_MEMBERS_MAXIMUM: Final = 200

SourceText = Annotated[str, msgspec.Meta(max_length=SOURCE_TEXT_MAXIMUM_CHARACTERS)]


class SourceBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What measured."""

    type: str = "unknown"
    app_id: SourceText | None = None
    device_id: SourceText | None = None


class PushBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The body beside its lists."""

    provider: str
    source: SourceBody = SourceBody()
    batch_id: Annotated[str, msgspec.Meta(min_length=1, max_length=BATCH_ID_MAXIMUM_CHARACTERS)] | None = None
    time_zone: str | None = None


@dataclass(frozen=True, slots=True)
class RecordList:
    """One list of the body. `spec` is None where there is no such resource in this half."""

    place: Place
    spec: SeriesSpec | SummarySpec | StreamSpec | None
    records: msgspec.Raw


@dataclass(frozen=True, slots=True)
class Envelope:
    """A body whose outside is in order."""

    source: DataSource
    batch_id: str | None
    time_zone: str | None
    lists: tuple[RecordList, ...]


_READ: Final = msgspec.json.Decoder(PushBody)


def _by_name(
    specs: tuple[SeriesSpec | SummarySpec | StreamSpec, ...],
) -> dict[str, SeriesSpec | SummarySpec | StreamSpec]:
    """Resources by path and by slug; where they clash the slug counts."""
    return {spec.path: spec for spec in specs} | {spec.slug: spec for spec in specs}


_SPECS: Final[Mapping[Part, Mapping[str, SeriesSpec | SummarySpec | StreamSpec]]] = {
    Part.TIMESERIES: _by_name(SERIES),
    # Of a stream only the slug: its path is that of the workouts.
    Part.SUMMARIES: {**_by_name(SUMMARIES), **{spec.slug: spec for spec in STREAMS}},
}


def envelope_read(body: bytes) -> Envelope:
    """The outside of a body; 422 with the path of what is wrong, and nothing of what was sent."""
    try:
        members = members_read(body, Member(msgspec.Raw(body), 0), ("body",), _MEMBERS_MAXIMUM)
        halves = {part: _half(body, part, members.pop(part, None)) for part in Part}
        if (given := members.get("source")) and given.begins_with(b"{"):
            members_read(body, given, ("body", "source"), _MEMBERS_MAXIMUM)
        read = _READ.decode(_object(members))
    except msgspec.ValidationError as error:
        loc, kind = fault_of(error)
        raise invalid([Problem(("body", *loc), _message(loc, kind, error), kind)]) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise invalid([Problem(("body",), "Not valid JSON.", "json_invalid")]) from None
    problems = _problems(read)
    if all(half is None for half in halves.values()):
        problems.append(
            Problem(("body",), "Neither `timeseries` nor `summaries` is there. Send one or both.", "missing")
        )
    if problems:
        raise invalid(problems)
    source = DataSource(read.provider, read.source.type, read.source.app_id or None, read.source.device_id or None)
    return Envelope(source, read.batch_id, read.time_zone, _lists(halves))


def _half(body: bytes, part: Part, given: Member | None) -> Mapping[str, Member] | None:
    if given is None or given.begins_with(b"null"):
        return None
    if not given.begins_with(b"{"):
        raise _refused(part, (), "An object of lists by resource is needed.", "wrong_type")
    return members_read(body, given, ("body", part.value), _MEMBERS_MAXIMUM)


def _object(members: Mapping[str, Member]) -> bytes:
    """An object of some of the members. Names that are not known are left as they are, for the reader to refuse."""
    texts = [msgspec.json.encode(name) + b":" + bytes(member.raw) for name, member in members.items()]
    return b"{" + b",".join(texts) + b"}"


def fault_of(error: msgspec.ValidationError) -> tuple[tuple[str | int, ...], str]:
    """Where a typed reading failed, and how: `missing`, `unknown_field`, `out_of_range` or `wrong_type`.

    A missing field is named; one that is not known where its name looks like a field's.
    """
    text = str(error)
    at = _AT.search(text)
    steps = _STEP.finditer(at["path"] if at else "")
    loc = tuple(step["name"] if step["name"] is not None else int(step["index"]) for step in steps)
    for beginning, kind in (("Object missing required", "missing"), ("Object contains unknown", "unknown_field")):
        if text.startswith(beginning):
            field = _FIELD.fullmatch(text)
            return (*loc, field["name"]) if field else loc, kind
    bounded = " of length " in text or "<=" in text or ">=" in text or "out of range" in text
    return loc, "out_of_range" if bounded else "wrong_type"


_PROVIDER_UNKNOWN: Final = (
    "Not a provider's slug. A team key sends `manual`; GET /v2/user/providers/{user_id} tells the slugs of those "
    "that the user has connected."
)
_BATCH_ID_LENGTH: Final = f"Must have 1 to {BATCH_ID_MAXIMUM_CHARACTERS} characters."
_SOURCE_TEXT_LENGTH: Final = f"Must have at most {SOURCE_TEXT_MAXIMUM_CHARACTERS} characters."
_TYPE_NAMES: Final[Mapping[str, str]] = {"str": "a text", "object": "an object", "null": "null"}


def _message(loc: tuple[str | int, ...], kind: str, error: msgspec.ValidationError) -> str:
    """What to do about a fault of the body."""
    match kind:
        case "missing":
            return "The field is needed."
        case "unknown_field":
            return "The field is not known here. Leave it out or correct its name."
        case "out_of_range":
            return _BATCH_ID_LENGTH if loc == ("batch_id",) else _SOURCE_TEXT_LENGTH
        case _:
            needed = _NEEDED_TYPE.match(str(error))
            types = needed["needed"].split(" | ") if needed else []
            return (
                f"Must be {' or '.join(_TYPE_NAMES.get(one, one) for one in types)}." if types else "Of another type."
            )


def _problems(read: PushBody) -> list[Problem]:
    found: list[Problem] = []
    if read.provider not in SOURCE_IDS:
        found.append(Problem(("body", "provider"), _PROVIDER_UNKNOWN, "enum"))
    if read.source.type not in SOURCE_TYPES:
        found.append(Problem(("body", "source", "type"), f"Must be one of: {', '.join(SOURCE_TYPES)}.", "enum"))
    texts = {("batch_id",): read.batch_id, ("source", "app_id"): read.source.app_id}
    texts[("source", "device_id")] = read.source.device_id
    found += [
        Problem(("body", *loc), "May not hold the NUL character.", "string_nul")
        for loc, text in texts.items()
        if text is not None and not text_good(text)
    ]
    if read.time_zone is not None and read.time_zone not in time_zone_names():
        found.append(Problem(("body", "time_zone"), "Not an IANA time zone name such as Europe/London.", "time_zone"))
    return found


def _lists(halves: Mapping[Part, Mapping[str, Member] | None]) -> tuple[RecordList, ...]:
    found: list[RecordList] = []
    named: set[tuple[Part, str]] = set()
    for part, lists in halves.items():
        for name, member in (lists or {}).items():
            if not _RESOURCE_NAME.fullmatch(name):
                raise _refused(part, (), "A name is no resource's: those have a-z, 0-9 and _, at most 60.", "enum")
            if not member.begins_with(b"["):
                raise _refused(part, (name,), "A list of objects is needed.", "list_type")
            spec = _SPECS[part].get(name)
            if (part, spec.slug if spec else name) in named:
                raise _refused(part, (name,), "The resource is there twice, by both its names.", "duplicate")
            named.add((part, spec.slug if spec else name))
            found.append(RecordList(Place(part, name), spec, member.raw))
    return tuple(found)


def _refused(part: Part, loc: tuple[str, ...], message: str, kind: str) -> ServiceError:
    return invalid([Problem(("body", part.value, *loc), message, kind)])
