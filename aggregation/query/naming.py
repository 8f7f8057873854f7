"""How the columns of a result are called: short while that is unambiguous, longer where two would collide."""

from collections import defaultdict
from collections.abc import Sequence

from aggregation.query.problems import ProblemLog, ProblemType
from aggregation.query.resolved import ColumnRef, ResolvedQuery, SelectAggregate, Selected, SelectKey


def column_names(query: ResolvedQuery, *, qualified: bool, log: ProblemLog) -> tuple[str, ...]:
    """One name a select item, in order; the same item selected twice is a problem."""
    _refuse_twice(query.select, log)
    candidates = [_candidates(item, qualified=qualified) for item in query.select]
    level = [0] * len(candidates)
    while True:
        names = [names[at] for names, at in zip(candidates, level, strict=True)]
        clashing = _clashing(names)
        raised = [position for position in clashing if level[position] + 1 < len(candidates[position])]
        if not raised:
            break
        for position in raised:
            level[position] += 1
    for position in clashing:  # subqueries that differ in their where only
        names[position] = f"{names[position]}.{position}"
    return tuple(names)


def _candidates(item: Selected, *, qualified: bool) -> Sequence[str]:
    """Names of an item, from the shortest."""
    if isinstance(item, SelectKey):
        return (f"group_key.{item.offset}",)
    if not isinstance(item, SelectAggregate):
        return item.ref.names
    names = tuple(f"{item.function}.{name}" for name in item.ref.names)
    is_short = isinstance(item.ref, ColumnRef) and not qualified
    return (item.function.value, *names) if is_short else names


def _clashing(names: Sequence[str]) -> list[int]:
    positions = defaultdict(list)
    for position, name in enumerate(names):
        positions[name].append(position)
    return [position for listed in positions.values() if len(listed) > 1 for position in listed]


def _refuse_twice(select: Sequence[Selected], log: ProblemLog) -> None:
    first: dict[Selected, int] = {}
    for position, item in enumerate(select):
        if item in first:
            log.add(item.at, ProblemType.DUPLICATE, f"this is selected already, by item {first[item]}")
        first.setdefault(item, position)
