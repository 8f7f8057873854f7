"""What can be wrong with a query: problems with their path into the request, and their exception."""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

Loc: TypeAlias = tuple[str | int, ...]

#: A request with more problems than this is answered with the first ones only.
MAX_PROBLEMS = 50

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


class ProblemType(StrEnum):
    """The stable `type` of a problem; the API's docs list them."""

    MISSING = "missing"
    UNEXPECTED_KEY = "unexpected_key"
    WRONG_TYPE = "wrong_type"
    UNKNOWN_VALUE = "unknown_value"
    OUT_OF_RANGE = "out_of_range"
    TOO_MANY = "too_many"
    TOO_LONG = "too_long"
    UNKNOWN_NAME = "unknown_name"
    NOT_ALLOWED = "not_allowed"
    DUPLICATE = "duplicate"
    WHERE_SYNTAX = "where_syntax"
    WHERE_TYPE = "where_type"
    BUDGET_ROWS = "budget_rows_exceeded"
    BUDGET_GROUPS = "budget_groups_exceeded"
    BUDGET_SECONDS = "budget_seconds_exceeded"


BUDGET_TYPES = frozenset({ProblemType.BUDGET_ROWS, ProblemType.BUDGET_GROUPS, ProblemType.BUDGET_SECONDS})


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong: where in the request, what would be right, and a stable type."""

    loc: Loc
    msg: str
    type: ProblemType


class QueryError(Exception):
    """The query cannot be answered; the API layer answers its problems as 422."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("; ".join(f"{'.'.join(map(str, p.loc))}: {p.type}" for p in self.problems))

    @property
    def is_budget(self) -> bool:
        """Whether the query was well-formed but asked for more than the budget allows."""
        return any(problem.type in BUDGET_TYPES for problem in self.problems)


class ProblemLog:
    """Collects problems, so that one answer names all of them."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def add(self, loc: Loc, problem_type: ProblemType, msg: str) -> None:
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(Problem(tuple(map(_step, loc)), msg, problem_type))

    def __len__(self) -> int:
        return len(self._problems)

    def raise_if_any(self) -> None:
        """Raise `QueryError` with everything collected, in the order it was met."""
        if self._problems:
            raise QueryError(self._problems)


def _step(step: str | int) -> str | int:
    """A step of a path; a key that is no identifier is not repeated."""
    return step if isinstance(step, int) or _IDENTIFIER.fullmatch(step) else "(key)"


def shown(name: object) -> str:
    """A name as a message may repeat it: identifiers only, for anything else may be a health value."""
    return f"'{name}'" if isinstance(name, str) and _IDENTIFIER.fullmatch(name) else "this"


def one_of(names: Iterable[str]) -> str:
    """Names as a choice: `a, b or c`."""
    listed = list(names)
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} or {listed[-1]}"


def choice(name: object, names: Sequence[str], *, full_list_up_to: int = 64) -> str:
    """What would be right instead of `name`: the nearest of `names`, else all of them."""
    if isinstance(name, str) and _IDENTIFIER.fullmatch(name):
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.7)
        if near:
            return f"did you mean {one_of(near)}?"
    return f"use {one_of(names[:full_list_up_to])}"
