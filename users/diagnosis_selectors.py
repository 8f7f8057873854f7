"""Reads of the ICD-10-CM code set: searches, and whether codes may be claimed together."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Final

from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db.models import Case, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Concat, Length

from users.icd10cm import code_beginning, code_plain, code_written
from users.models import Diagnosis, DiagnosisExclusion
from users.models.diagnoses import SEARCH_CONFIGURATION
from users.words import words_of

DIAGNOSES_FOUND_MAXIMUM: Final = 50
#: Words of a search that count; a description has about twenty at most.
SEARCH_WORDS_MAXIMUM: Final = 12
_CATEGORY_CHARACTERS: Final = 3
#: After every character of a code.
_LAST: Final = "~"
EXCLUDES1: Final = 1
EXCLUDES2: Final = 2


@dataclass(frozen=True, slots=True)
class CodePair:
    """A code whose notes name another, both as people write them."""

    code: str
    other: str


@dataclass(frozen=True, slots=True)
class _KnownCode:
    """A code of the set; `example` is the first billable code below a category."""

    code: str
    is_billable: bool
    chapter: str
    block: str
    example: str


@dataclass(frozen=True, slots=True)
class CodesChecked:
    """What is wrong with codes that are claimed together. Warnings refuse nothing."""

    errors: list[str]
    violations: list[CodePair]
    warnings: list[CodePair]

    @property
    def valid(self) -> bool:
        """Whether these codes can be claimed together."""
        return not self.errors and not self.violations


def diagnoses_search(text: str) -> list[Diagnosis]:
    """Billable codes that begin with `text`, with or without dot; where none does, those found by its words.

    At most `DIAGNOSES_FOUND_MAXIMUM`. All words of `text` must be found. Descriptions that begin with them come
    first, then those that hold them, then those of which the tabular list says so elsewhere; of each the short
    ones first: the plain condition stands before its complications. A query or two, each over an index.
    """
    beginning = code_beginning(text)
    by_code = list(_codes_below(beginning)[:DIAGNOSES_FOUND_MAXIMUM]) if beginning else []
    words = words_of(text)[:SEARCH_WORDS_MAXIMUM]
    if by_code or not words:
        return by_code
    return list(described(words)[:DIAGNOSES_FOUND_MAXIMUM])


def described(words: Sequence[str]) -> QuerySet[Diagnosis]:
    """Billable codes with words that begin so, in the order a search shows them."""
    # One letter begins thousands of words: alone it is a word, beside longer ones the beginning of one.
    ending = ":*" if max(map(len, words)) > 1 else ""
    wanted = " & ".join(word + ending for word in words)
    holds = reduce(and_, (Q(search_words__contains=word) for word in words))
    begins = Q(search_words__startswith=" ".join(words))
    return (
        Diagnosis.objects.annotate(
            found=SearchVector("search_words", "included_words", config=SEARCH_CONFIGURATION),
            rank=Case(When(begins, then=Value(0)), When(holds, then=Value(1)), default=Value(2)),
        )
        .filter(is_billable=True, found=SearchQuery(wanted, config=SEARCH_CONFIGURATION, search_type="raw"))
        .order_by("rank", Length("description"), "code")
        .only("code", "description")
    )


def codes_check(texts: Sequence[str]) -> CodesChecked:
    """Whether each is a billable code, and which exclude each other. Two queries."""
    plain = {text: code_plain(text) for text in dict.fromkeys(texts)}
    codes = sorted({code for code in plain.values() if code})
    known = _known(codes)
    problems = [_problem(text, known.get(code) if code else None) for text, code in plain.items()]
    errors = list(dict.fromkeys(problem for problem in problems if problem))
    pairs = _pairs([row for row in known.values() if row.is_billable])
    return CodesChecked(errors, pairs[EXCLUDES1], pairs[EXCLUDES2])


def _problem(text: str, known: _KnownCode | None) -> str | None:
    """Why a code can't be claimed."""
    if known is None:
        return f"{text.strip()} is not an ICD-10-CM code."
    if known.is_billable:
        return None
    written, example = code_written(known.code), code_written(known.example)
    return f"{written} is a category, not a complete code: use a code below it, such as {example}."


def _codes_below(beginning: str) -> QuerySet[Diagnosis]:
    below = Diagnosis.objects.filter(is_billable=True, code__gte=beginning, code__lt=beginning + _LAST)
    return below.order_by("code").only("code", "description")


def _known(codes: Collection[str]) -> Mapping[str, _KnownCode]:
    """Those of the codes that there are."""
    end = Concat(OuterRef("code"), Value(_LAST))
    below = Diagnosis.objects.filter(is_billable=True, code__gt=OuterRef("code"), code__lt=end).order_by("code")
    example = Coalesce(Subquery(below.values("code")[:1]), Value(""))
    rows = Diagnosis.objects.filter(code__in=codes).annotate(example=example)
    return {row[0]: _KnownCode(*row) for row in rows.values_list("code", "is_billable", "chapter", "block", "example")}


def _pairs(rows: Sequence[_KnownCode]) -> dict[int, list[CodePair]]:
    """Which of these codes exclude each other, by kind of note; a pair once, though each may name the other."""
    codes = sorted(row.code for row in rows)
    holders: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for scope in _scopes(row):
            holders[scope].append(row.code)
    found: dict[int, dict[frozenset[str], CodePair]] = {EXCLUDES1: {}, EXCLUDES2: {}}
    for exclusion in DiagnosisExclusion.objects.filter(scope__in=holders).order_by("id"):
        for code in holders[exclusion.scope]:
            for other in _excluded(codes, exclusion):
                if other != code:
                    pair = CodePair(code_written(code), code_written(other))
                    found[exclusion.kind].setdefault(frozenset((code, other)), pair)
    return {kind: list(pairs.values()) for kind, pairs in found.items()}


def _scopes(row: _KnownCode) -> Iterator[str]:
    """Where notes stand that hold for a code: its chapter, its block, each category above it, itself."""
    yield from (row.chapter, row.block)
    yield from (row.code[:length] for length in range(_CATEGORY_CHARACTERS, len(row.code) + 1))


def _excluded(codes: Sequence[str], exclusion: DiagnosisExclusion) -> Iterator[str]:
    """Those of the sorted codes that an exclusion names."""
    for at in range(bisect_left(codes, exclusion.first), bisect_left(codes, exclusion.last + _LAST)):
        if not exclusion.pattern or re.fullmatch(exclusion.pattern, codes[at]):
            yield codes[at]
