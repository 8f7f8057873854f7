"""The catalogue of events as the portal lists it: in groups, what is told of one thing on one line."""

from collections.abc import Iterable
from dataclasses import dataclass

from webhooks.registry import EventGroup, EventType


@dataclass(frozen=True, slots=True)
class Told:
    """One event of a line: its type, and the last word of its name where the line says the others."""

    type: str
    word: str


@dataclass(frozen=True, slots=True)
class Line:
    """What events tell of: their name without what differs, what they are about, and each of them."""

    name: str
    words: str
    events: tuple[Told, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Event types of one kind."""

    name: str
    lines: tuple[Line, ...]
    count: int


def groups_of(found: Iterable[EventType]) -> list[Group]:
    """The groups that have any of these, in their order; within each the lines by name."""
    by_group: dict[EventGroup, list[EventType]] = {group: [] for group in EventGroup}
    for one in found:
        by_group[one.group].append(one)
    return [Group(group, _lines(types), len(types)) for group, types in by_group.items() if types]


def _lines(types: Iterable[EventType]) -> tuple[Line, ...]:
    """Those that are about the same subject and differ in the last word share a line."""
    by_stem: dict[str, list[EventType]] = {}
    for one in types:
        stem = one.name.rpartition(".")[0] if one.subject else one.name
        by_stem.setdefault(stem, []).append(one)
    return tuple(_line(stem, by_stem[stem]) for stem in sorted(by_stem))


def _line(stem: str, types: list[EventType]) -> Line:
    told = tuple(Told(one.name, one.name.removeprefix(stem).removeprefix(".")) for one in types)
    return Line(stem, types[0].subject or types[0].meaning, told)
