"""Refuses event types that a customer has mistyped, and says which may have been meant."""

from collections.abc import Iterable
from difflib import get_close_matches

from healthsvc.kernel.errors import Problem, invalid
from webhooks.constants import SUGGESTIONS_MAXIMUM
from webhooks.filters import names_type
from webhooks.registry import event_types


def filter_types_check(given: Iterable[str], loc: tuple[str | int, ...]) -> None:
    """422 for each that names no event of the catalogue, whole or by first words."""
    names = list(event_types())
    found = [
        Problem((*loc, index), _message(wanted, names), "event_type_unknown")
        for index, wanted in enumerate(given)
        if not any(names_type(wanted, name) for name in names)
    ]
    if found:
        raise invalid(found)


def _message(wanted: str, names: list[str]) -> str:
    """What is wrong, with names near it: whole ones and first words."""
    beginnings = {name.rsplit(".", count)[0] for name in names for count in range(1, name.count(".") + 1)}
    near = get_close_matches(wanted.removesuffix(".*"), sorted({*names, *beginnings}), n=SUGGESTIONS_MAXIMUM)
    hint = f" Near it: {', '.join(near)}." if near else ""
    return f"Names no event of the catalogue.{hint}"
