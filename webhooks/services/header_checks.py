"""Refuses custom headers that can't be sent, that are ours, or that the connection needs."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from healthsvc.kernel.errors import Problem, invalid
from webhooks.constants import (
    HEADER_NAME_PATTERN,
    HEADER_PREFIXES_RESERVED,
    HEADER_VALUE_MAXIMUM_CHARACTERS,
    HEADER_VALUE_PATTERN,
    HEADERS_MAXIMUM,
    HEADERS_RESERVED,
)

_LOC: Final = ("body", "headers")


def headers_check(headers: Mapping[str, str], sensitive: Collection[str]) -> None:
    """422 for malformed headers, and for a `sensitive` name that is none of them."""
    found = _name_problems(headers)
    if len(headers) > HEADERS_MAXIMUM:
        found.append(Problem(_LOC, f"At most {HEADERS_MAXIMUM} headers.", "too_long"))
    for name, value in headers.items():
        if len(value) > HEADER_VALUE_MAXIMUM_CHARACTERS or not HEADER_VALUE_PATTERN.fullmatch(value):
            message = f"Must be visible ASCII, at most {HEADER_VALUE_MAXIMUM_CHARACTERS} characters."
            found.append(Problem(_named(name), message, "header_value"))
    names = {name.lower() for name in headers}
    for index, name in enumerate(sensitive):
        if name.lower() not in names:
            found.append(Problem(("body", "sensitive", index), "Is none of the headers.", "header_unknown"))
    if found:
        raise invalid(found)


def header_names_check(names: Iterable[str]) -> None:
    """422 for names of headers that can't be set, or are given twice."""
    found = _name_problems(names)
    if found:
        raise invalid(found)


def _name_problems(names: Iterable[str]) -> list[Problem]:
    found: list[Problem] = []
    seen: set[str] = set()
    for name in names:
        plain = name.lower()
        if not HEADER_NAME_PATTERN.fullmatch(name):
            found.append(Problem(_LOC, "A name is not that of a header.", "header_name"))
        elif plain in HEADERS_RESERVED or plain.startswith(HEADER_PREFIXES_RESERVED):
            found.append(Problem((*_LOC, name), "This header is set by the service.", "header_reserved"))
        if plain in seen:
            found.append(Problem(_LOC, "A name is given twice.", "value_error"))
        seen.add(plain)
    return found


def _named(name: str) -> tuple[str | int, ...]:
    """Where a header is; a name that is none is not repeated."""
    return (*_LOC, name) if HEADER_NAME_PATTERN.fullmatch(name) else _LOC
