"""The ICD-10-CM code set as the installed package has it: codes, what they mean, and which exclude which.

Source: the tabular list of the U.S. National Center for Health Statistics. A note "Excludes1" at a code, block or
chapter says that what it names is never coded together with what it stands at; "Excludes2", that it is not part of it
and may be coded as well.
"""

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Any, Final

from users.words import words_of

_PACKAGE: Final = "simple-icd-10-cm"
#: Raised when this module makes other rows of the same code set.
_ROWS_VERSION: Final = 1

CODE_MAXIMUM_CHARACTERS: Final = 7
#: Where the dot of a written code stands.
_DOT_AT: Final = 3

_CODE: Final = r"[A-Z][0-9][0-9A-Z](?![0-9A-Za-z])(?:\.[0-9A-Z]+)?"
_WHOLE_CODE = re.compile(r"[A-Z][0-9][0-9A-Z]{1,5}")
_CODE_BEGINNING = re.compile(r"[A-Z](?:[0-9][0-9A-Z]{0,5})?")
_GROUP = re.compile(r"\(([^()]*)\)")
#: One code or a range of codes; "E08.-" is all codes below E08, and E08 is too.
_TARGET = re.compile(rf"\b({_CODE})(?:[\s.]*-[\s.-]*({_CODE}))?")
#: A few notes name their codes at the end and without brackets.
_BARE_TARGET = re.compile(rf"\b{_CODE}[.-]*(?:\s*-\s*{_CODE}[.-]*)?$")
_CONDITION = re.compile(r"\s*,?\s*with\s+(.*)$")
_ENDING = re.compile(r"\.([0-9]+)(?:-\.([0-9]+))?")
_LAST_CHARACTERS = re.compile(r"final characters -([0-9]+)")
_AT_POSITION = re.compile(
    r"(?P<first>fifth|5th|seventh|7th)(?: or (?P<second>sixth))?[ -]character"
    r" \.?(?P<values>[0-9A-Z](?:-[0-9])?(?: or [0-9A-Z])*)"
)
_FROM_FIFTH = re.compile(r"fifth to sixth characters ([0-9]+)")
_POSITIONS: Final = {"fifth": 5, "5th": 5, "sixth": 6, "seventh": 7, "7th": 7}


@dataclass(frozen=True, slots=True)
class CodeEntry:
    """A category, subcategory or complete code. `code` has no dot; only complete codes are billable."""

    code: str
    description: str
    is_billable: bool
    chapter: str
    block: str
    search_words: str
    included_words: str


@dataclass(frozen=True, slots=True)
class Exclusion:
    """One target of an exclusion note.

    `scope` is the code without dot, block or chapter that the note stands at. Excluded are codes that lie from `first`
    to `last` or below, and that `pattern` matches whole (all, where it is empty).
    """

    scope: str
    kind: int
    first: str
    last: str
    pattern: str


def code_plain(text: str) -> str | None:
    """A code as it is kept, in capitals and without dot, from how people write it; None for what can't be one."""
    return _plain(text, _WHOLE_CODE)


def code_beginning(text: str) -> str | None:
    """The same of the first characters of a code, a single letter at least."""
    return _plain(text, _CODE_BEGINNING)


def code_written(code: str) -> str:
    """A kept code as people write it."""
    return f"{code[:_DOT_AT]}.{code[_DOT_AT:]}" if len(code) > _DOT_AT else code


def release() -> str:
    """Names the installed code set, and the form it is kept in. Does not load it."""
    return f"{_PACKAGE} {metadata.version(_PACKAGE)} rows {_ROWS_VERSION}"


def entries() -> Iterator[CodeEntry]:
    """Every code. Loads the code set, which takes seconds and 300 MB: for commands and migrations only."""
    package = _package()
    for name in _names(package):
        if not package.is_category_or_subcategory(name):
            continue
        ancestors: list[str] = package.get_ancestors(name)
        is_billable = bool(package.is_leaf(name))
        description: str = package.get_description(name)
        yield CodeEntry(
            code=name.replace(".", ""),
            description=description,
            is_billable=is_billable,
            chapter=ancestors[-1],
            block=ancestors[-2],
            search_words=" ".join(words_of(description)) if is_billable else "",
            included_words=" ".join(_included_words(package, name, ancestors)) if is_billable else "",
        )


def exclusions() -> Iterator[Exclusion]:
    """What every exclusion note names. Notes without codes, or with a condition not understood here, are left out."""
    package = _package()
    for name in _names(package):
        scope = name.replace(".", "")
        both = (False, True) if package.is_block(name) and package.is_category(name) else (False,)
        for prioritised in both:
            for note in package.get_excludes1(name, prioritised):
                yield from note_exclusions(scope, 1, note)
            # A chapter's only tell chapters apart: they would warn of nearly every two codes.
            for note in () if package.is_chapter(name) else package.get_excludes2(name, prioritised):
                yield from note_exclusions(scope, 2, note)


def note_exclusions(scope: str, kind: int, note: str) -> Iterator[Exclusion]:
    """The targets of one note: codes and ranges in brackets, each bracket with its condition."""
    groups = [group for group in _GROUP.findall(note) if _TARGET.search(group)]
    if not groups:
        bare = _BARE_TARGET.search(note.strip(" ()"))
        groups = [bare[0]] if bare else []
    for group in groups:
        condition = _CONDITION.search(group)
        pattern = condition_pattern(condition[1]) if condition else ""
        if pattern is None:
            continue
        for first, last in _TARGET.findall(group[: condition.start()] if condition else group):
            low = first.replace(".", "")
            yield Exclusion(scope, kind, low, last.replace(".", "") or low, pattern)


def condition_pattern(condition: str) -> str | None:
    """A regular expression for codes without dot that meet a note's "with …"; None where it is not understood."""
    if found := _LAST_CHARACTERS.search(condition):
        return rf".*{found[1]}"
    if found := _FROM_FIFTH.search(condition):
        return rf".{{4}}{found[1]}.*"
    if found := _AT_POSITION.search(condition):
        values = "".join(found["values"].split(" or "))
        places = [_POSITIONS[name] for name in (found["first"], found["second"]) if name]
        return "|".join(rf".{{{place - 1}}}[{values}].*" for place in places)
    endings = [text for found in _ENDING.finditer(condition) for text in _between(found[1], found[2] or found[1])]
    return rf".{{{_DOT_AT}}}(?:{'|'.join(endings)}).*" if endings else None


def _between(first: str, last: str) -> list[str]:
    return [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]


def _plain(text: str, shape: re.Pattern[str]) -> str | None:
    written = text.strip().upper()
    plain = written[:_DOT_AT] + written[_DOT_AT:].removeprefix(".")
    return plain if shape.fullmatch(plain) else None


def _names(package: Any) -> Iterator[str]:
    """Codes, blocks and chapters, each once: a block of one category is called as the category is."""
    yield from dict.fromkeys(package.get_all_codes(True))


def _included_words(package: Any, name: str, ancestors: list[str]) -> list[str]:
    """Words of what the tabular list says the code and the categories above it include."""
    terms: list[str] = []
    for at in (name, *ancestors[:-2]):
        terms += [*package.get_includes(at), *package.get_inclusion_term(at)]
    return words_of(" ".join(terms))


def _package() -> Any:
    """The package, which reads its files when it is first imported, by a function that some Pythons call outdated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return import_module("simple_icd_10_cm")
