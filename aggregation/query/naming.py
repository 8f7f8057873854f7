"""The names of a result's columns: short while they are unambiguous, longer where two would collide."""

from collections import defaultdict
from collections.abc import Sequence

from aggregation.query.problems import Loc, ProblemLog, ProblemType
from aggregation.query.resolved import ResolvedQuery, SelectAggregate, Selected, SelectKey


def column_names(query: ResolvedQuery, *, qualified: bool, log: ProblemLog) -> tuple[str, ...]:
    """One name a select item, in order; the same item selected twice is a problem."""
    candidates = [_candidates(item, qualified=qualified) for item in query.select]
    level = [0] * len(candidates)
    while True:
        names = [names[at] for names, at in zip(candidates, level, strict=True)]
        clashing = [position for positions in _clashes(names) for position in positions]
        raised = [position for position in clashing if level[position] + 1 < len(candidates[position])]
        if not raised:
            break
        for position in raised:
            level[position] += 1
    for positions in _clashes(names):
        for position in positions[1:]:
            _refuse(query.select[position].at, positions[0], log)
    return tuple(names)


def _candidates(item: Selected, *, qualified: bool) -> Sequence[str]:
    """Names of an item, from the shortest."""
    if isinstance(item, SelectKey):
        return (f"group_key.{item.offset}",)
    ref = item.ref
    longest = ref.name if ref.resource is None else f"{ref.resource}.{ref.name}"
    if isinstance(item, SelectAggregate):
        names = (item.function.value, f"{item.function}.{ref.name}", f"{item.function}.{longest}")
        return tuple(dict.fromkeys(names[1:] if qualified else names))
    return tuple(dict.fromkeys((ref.name, longest)))


def _clashes(names: Sequence[str]) -> list[list[int]]:
    positions = defaultdict(list)
    for position, name in enumerate(names):
        positions[name].append(position)
    return [listed for listed in positions.values() if len(listed) > 1]


def _refuse(loc: Loc, first: int, log: ProblemLog) -> None:
    log.add(loc, ProblemType.DUPLICATE, f"this is selected already, by item {first}")
