"""Refuses filters that let nothing through, and event types that a customer has mistyped; says what may be meant."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from healthsvc.kernel.errors import Problem, invalid
from webhooks.constants import SUGGESTIONS_MAXIMUM, UNKNOWN_TYPES_HINTED, UNKNOWN_TYPES_TOLD
from webhooks.filters import names_type
from webhooks.registry import event_types


def not_empty_check(given: Collection[str] | None, loc: tuple[str | int, ...]) -> None:
    """422 for a filter that lets nothing through: who wants all leaves it out."""
    if given is not None and not given:
        raise invalid([Problem(loc, "May not be empty; null for all.", "too_short")])


def filter_types_check(given: Collection[str] | None, loc: tuple[str | int, ...]) -> None:
    """422 for none at all, and for those that name no event of the catalogue, whole or by first words.

    Names near a mistyped one are looked for a few times only: looking takes milliseconds, and a list may be long.
    """
    not_empty_check(given, loc)
    names = list(event_types())
    unknown = [
        (index, wanted)
        for index, wanted in enumerate(given or ())
        if not any(names_type(wanted, name) for name in names)
    ][:UNKNOWN_TYPES_TOLD]
    if unknown:
        hinted = [names] * UNKNOWN_TYPES_HINTED + [[]] * UNKNOWN_TYPES_TOLD
        raise invalid(
            [
                Problem((*loc, index), _message(wanted, near), "event_type_unknown")
                for (index, wanted), near in zip(unknown, hinted, strict=False)
            ]
        )


def _message(wanted: str, names: Sequence[str]) -> str:
    """What is wrong, with names near it: whole ones and first words."""
    beginnings = {name.rsplit(".", count)[0] for name in names for count in range(1, name.count(".") + 1)}
    near = get_close_matches(wanted.removesuffix(".*"), sorted({*names, *beginnings}), n=SUGGESTIONS_MAXIMUM)
    hint = f" Near it: {', '.join(near)}." if near else ""
    return f"Names no event of the catalogue.{hint}"
