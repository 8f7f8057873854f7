"""The tree of event types as checkboxes: families, what is in each, and what of it is chosen."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from webhooks.filters import names_type
from webhooks.registry import event_types

#: Words of a name that its family has: `daily.data`, `provider.connection`.
_FAMILY_WORDS: Final = 2
_SEARCH_MAXIMUM_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Box:
    """One checkbox: what it stands for, what it is called, and whether it is ticked."""

    value: str
    words: str
    ticked: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that events tell of: a box for all of them where there are several, and one for each."""

    every: Box | None
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """Event types with the same first words. `every` is the family whole, and what will join it."""

    name: str
    every: Box | None
    lines: tuple[Line, ...]
    #: How many of its types the choice names.
    chosen_count: int
    count: int
    opened: bool


@dataclass(frozen=True, slots=True)
class Tree:
    """What the search left, and values that are chosen but stand in no box shown."""

    families: tuple[Family, ...]
    carried: tuple[str, ...]
    #: Of those carried, the ones that stand in no box of the whole tree.
    unknown: tuple[Box, ...]
    found_count: int


def search_clean(typed: str) -> str:
    """What is searched for: in lower case, blanks as the underscores of names."""
    return typed[:_SEARCH_MAXIMUM_CHARACTERS].strip().lower().replace(" ", "_")


def choice_clean(chosen: Iterable[str]) -> list[str]:
    """Each once, without what a shorter one names already."""
    plain = list(dict.fromkeys(text.strip().removesuffix(".*") for text in chosen if text.strip()))
    return [one for one in plain if not any(other != one and names_type(other, one) for other in plain)]


def tree_of(chosen: Collection[str], search: str = "") -> Tree:
    """The catalogue with a choice ticked; with `search`, the types whose names hold it."""
    ticked = set(choice_clean(chosen))
    families: dict[str, list[str]] = {}
    for name in event_types():
        families.setdefault(_family_of(name), []).append(name)
    every_value = {value for family, names in families.items() for value in _values(family, names)}
    shown = {family: [name for name in names if search in name] for family, names in families.items()}
    made = tuple(
        _family(family, names, families[family], ticked, bool(search)) for family, names in shown.items() if names
    )
    values = {value for family, names in shown.items() if names for value in _values(family, names)}
    unknown = sorted(ticked - every_value)
    return Tree(
        families=made,
        carried=tuple(sorted((ticked & every_value) - values)),
        unknown=tuple(Box(value, value, True) for value in unknown),
        found_count=sum(len(names) for names in shown.values()),
    )


def _family_of(name: str) -> str:
    return ".".join(name.split(".")[:_FAMILY_WORDS])


def _values(family: str, names: Collection[str]) -> set[str]:
    """Values of the boxes that `_family` makes."""
    return {family, *names, *(name.rpartition(".")[0] for name in names)}


def _family(family: str, names: list[str], whole: list[str], ticked: set[str], opened: bool) -> Family:
    lines: dict[str, list[str]] = {}
    for name in names:
        lines.setdefault(name.rpartition(".")[0], []).append(name)
    chosen_count = sum(any(names_type(value, name) for value in ticked) for name in whole)
    alone = whole == [family]
    return Family(
        name=family,
        every=None if alone else Box(family, f"Everything of {family}, also what is added later", family in ticked),
        lines=tuple(_line(family, stem, inside, ticked) for stem, inside in lines.items()),
        chosen_count=chosen_count,
        count=len(whole),
        opened=opened or 0 < chosen_count < len(whole),
    )


def _line(family: str, stem: str, names: list[str], ticked: set[str]) -> Line:
    """Several events of one thing stand in one line; names are shown without the family's words."""
    beginning = f"{family}."
    if len(names) > 1 and stem != family:
        return Line(
            Box(stem, stem.removeprefix(beginning), stem in ticked),
            tuple(Box(name, name.rpartition(".")[2], name in ticked) for name in names),
        )
    return Line(None, tuple(Box(name, name.removeprefix(beginning), name in ticked) for name in names))
