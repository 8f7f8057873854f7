"""The query language once more, slowly and plainly: loops over Python rows, nothing shared with the engine."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from tests.aggregation.query.naive_sources import Row, Settings, best, lineage, merged
from tests.aggregation.query.naive_time import FIRST, LAST, bucket, next_bucket, part, shifted

Query = Mapping[str, Any]
#: A condition as nested tuples: ("not", c), ("and", c, …), ("or", c, …), (operator, column, literal).
Condition = tuple[Any, ...]
Group = tuple[Any, ...]
Column = list[Any]


def interpret(
    query: Query,
    rows: Sequence[Row],
    start: datetime,
    end: datetime,
    settings: Settings | None = None,
    now: datetime = LAST,
) -> list[Column]:
    """Columns in order. Rows have `resource`, `index` (naive), `instant` and their columns."""
    condition = query.get("where")
    rows = [row for row in rows if start <= _midnight(row["index"]) < end]
    rows = [row for row in rows if condition is None or holds(condition, row) is True]
    rows = sorted(rows, key=lambda row: row["instant"])
    keys, select = query.get("group_by", []), query["select"]
    if not keys and "func" not in select[0]:
        return [[_cell(row, item) for row in rows] for item in select]
    groups, lineages = _groups(query, rows, settings or Settings())
    columns = [
        [reduce_(item["func"], [_cell(row, item["arg"]) for row in members]) for members in groups.values()]
        for item in select
        if "func" in item
    ]
    ordered, values = list(groups), [*columns, *lineages]
    if query.get("align") is not None:
        ordered, values = aligned(query, ordered, values, now)
    return _placed(query, ordered, values)


def _placed(query: Query, ordered: Sequence[Group], values: Sequence[Column]) -> list[Column]:
    """Keys and values as they were selected; what was not comes last."""
    keys, remaining = query.get("group_by", []), list(values)
    columns: list[Column] = []
    if not any("group_key" in item for item in query["select"]):
        columns += [[group[place] for group in ordered] for place, key in enumerate(keys) if "date_trunc" in key][:1]
    for item in query["select"]:
        if "group_key" in item:
            offsets = range(len(keys)) if item["group_key"] == "*" else [item["group_key"]]
            columns += [[group[offset] for group in ordered] for offset in offsets]
        else:
            columns.append(remaining.pop(0))
    return [*columns, *remaining]


def _sorting(group: Group) -> list[Any]:
    return [(value is None, value if value is not None else 0) for value in group]


def _groups(query: Query, rows: Sequence[Row], settings: Settings) -> tuple[dict[Group, list[Row]], list[Column]]:
    keys = query.get("group_by", [])

    def group_of(row: Row) -> Group:
        return tuple(_key(row, key) for key in keys)

    def line_of(row: Row) -> Group:
        return tuple(_key(row, key) for key in keys if "date_trunc" not in key and "date_part" not in key)

    settles = bool(keys) and not {key.get("source") for key in keys} >= {"source_provider", "source_type"}
    merges = settles and settings.adds_up is not None
    if merges:
        rows = merged(rows, settings, line_of, group_of)
    groups: dict[Group, list[Row]] = {} if keys else {(): []}
    for row in rows:
        groups.setdefault(group_of(row), []).append(row)
    groups = {group: groups[group] for group in sorted(groups, key=_sorting)}
    if settles and not merges:
        groups = {group: best(members, settings) for group, members in groups.items()}
    return groups, lineage(list(groups.values()), query.get("resources", []), settings) if merges else []


def aligned(query: Query, groups: Sequence[Group], columns: Sequence[Column], now: datetime) -> Any:
    """Every bucket from the first to the last of each line, and as far as a cap reaches; values carried."""
    keys = query["group_by"]
    place = next(offset for offset, key in enumerate(keys) if "date_trunc" in key)
    carry, period = query["align"]["carry"], keys[place]["date_trunc"]
    cap = carry.get("max_age") or carry.get("span")
    cells = {group: [column[row] for column in columns] for row, group in enumerate(groups)}
    made: dict[Group, list[Any]] = {}
    for line in dict.fromkeys((*group[:place], *group[place + 1 :]) for group in groups):
        spine = _spine([g[place] for g in groups if (*g[:place], *g[place + 1 :]) == line], carry, cap, period, now)
        named = {start: (*line[:place], start, *line[place:]) for start in spine}
        own = [cells.get(named[start], [None] * len(columns)) for start in spine]
        for column in range(len(columns)):
            filled = _carried([row[column] for row in own], spine, carry["mode"], cap)
            for start, value in zip(spine, filled, strict=True):
                made.setdefault(named[start], []).append(value)
        for start in spine:
            made.setdefault(named[start], [])
    ordered = sorted(made, key=_sorting)
    return ordered, [[made[group][column] for group in ordered] for column in range(len(columns))]


def _spine(starts: Sequence[datetime], carry: Query, cap: Query | None, period: Query, now: datetime) -> list[datetime]:
    unit, value = period["unit"], period.get("value", 1)
    first, last = min(starts), max(starts)
    if cap is not None and carry["mode"] != "carry_forward":
        earliest = shifted(first, cap, -1)
        while first > FIRST and (previous := bucket(first - timedelta(microseconds=1), unit, value)) >= earliest:
            first = previous
    until = last
    if cap is not None and carry["mode"] != "carry_backward":
        until = max(last, min(shifted(last, cap, 1), now))
    spine = [first]
    while (following := next_bucket(spine[-1], unit, value)) <= until:
        spine.append(following)
    return spine


def _carried(values: Column, spine: Sequence[datetime], mode: str, cap: Query | None) -> Column:
    past = _last_seen(values, spine, lambda origin, start: cap is None or shifted(origin, cap, 1) >= start)
    coming = _last_seen(
        values[::-1], spine[::-1], lambda origin, start: cap is None or shifted(origin, cap, -1) <= start
    )[::-1]
    filled = []
    for value, before, after, start in zip(values, past, coming, spine, strict=True):
        if mode == "carry_nearest":
            options = [one for one in (before, after) if one is not None]
            found = min(options, key=lambda one: abs(one[0] - start), default=None)
        else:
            found = before if mode == "carry_forward" else after
        filled.append(value if value is not None else None if found is None else found[1])
    return filled


def _last_seen(values: Column, spine: Sequence[datetime], reaches: Callable[[datetime, datetime], bool]) -> Column:
    seen: list[tuple[datetime, Any] | None] = []
    last: tuple[datetime, Any] | None = None
    for value, start in zip(values, spine, strict=True):
        last = last if value is None else (start, value)
        seen.append(last if last is not None and reaches(last[0], start) else None)
    return seen


def reduce_(func: str, cells: Sequence[Any]) -> Any:
    cells = [cell for cell in cells if cell is not None]
    if func == "count":
        return len(cells)
    if not cells or (func == "stddev" and len(cells) < 2):
        return None
    if func == "mean":
        return sum(cells) / len(cells)
    functions: dict[str, Callable[[Sequence[Any]], Any]] = {
        "min": min,
        "max": max,
        "sum": sum,
        "median": statistics.median,
        "stddev": statistics.stdev,
        "oldest": lambda values: values[0],
        "newest": lambda values: values[-1],
    }
    return functions[func](cells)


def _cell(row: Row, item: Query) -> Any:
    if "select" in item:
        return _subquery(row, item)
    if "value_macro" in item:
        return row[f"macro:{item['value_macro']}:2026-11"]
    if "index" in item:
        return row["index"] if item["index"] in {"timeseries", row["table"], row["resource"]} else None
    if "source" in item:
        return row[item["source"]]
    if "timeseries" in item:
        return row[item["field"]] if item["timeseries"] == row["resource"] else None
    ((table, column),) = item.items()
    return row[column] if table in {row["table"], row["resource"]} else None


def _subquery(row: Row, item: Query) -> Any:
    listed = _cell(row, item["from"]["unnest"])
    if listed is None:
        return None
    elements = [one if isinstance(one, dict) else {"element": one} for one in listed]
    condition, arg = item.get("where"), item["select"]["arg"]
    elements = [one for one in elements if condition is None or holds(condition, one) is True]
    if arg is None:
        return len(elements)
    name = "element" if "element" in arg else next(value for key, value in arg.items() if key != "field_for")
    return reduce_(item["select"]["func"], [one[name] for one in elements])


def _midnight(index: Any) -> datetime:
    return index if isinstance(index, datetime) else datetime.combine(index, time())


def _key(row: Row, key: Query) -> Any:
    index = _midnight(row["index"])
    if "date_trunc" in key:
        return bucket(index, key["date_trunc"]["unit"], key["date_trunc"].get("value", 1))
    if "date_part" in key:
        return part(index, key["date_part"])
    return _cell(row, key)


def holds(condition: Condition, row: Row) -> Any:
    """True, False, or None where a value is missing, as SQL has it."""
    operator, *terms = condition
    if operator == "not":
        inner = holds(terms[0], row)
        return None if inner is None else not inner
    if operator in {"and", "or"}:
        outcomes = [holds(term, row) for term in terms]
        decided = operator == "or"
        if decided in outcomes:
            return decided
        return None if None in outcomes else not decided
    column, literal = terms
    cell = row[column]
    if cell is None:
        return None
    return {
        "=": cell == literal,
        "!=": cell != literal,
        "<": cell < literal,
        "<=": cell <= literal,
        ">": cell > literal,
        ">=": cell >= literal,
    }[operator]


def written(condition: Condition) -> str:
    """The condition in the language, every term in parentheses."""
    operator, *terms = condition
    if operator == "not":
        return f"NOT ({written(terms[0])})"
    if operator in {"and", "or"}:
        return f" {operator.upper()} ".join(f"({written(term)})" for term in terms)
    column, literal = terms
    if isinstance(literal, date):
        literal = literal.isoformat()
    text = "'" + literal.replace("'", "''") + "'" if isinstance(literal, str) else str(literal)
    return f"{column} {operator} {text}"


def asked(item: Any) -> Any:
    """A query as it is sent: conditions in the language, and nothing of the interpreter's own."""
    if isinstance(item, tuple):
        return written(item)
    if isinstance(item, dict):
        return {key: asked(value) for key, value in item.items() if key != "resources"}
    return [asked(one) for one in item] if isinstance(item, list) else item


def as_json(cell: Any) -> Any:
    if isinstance(cell, datetime | date):
        return cell.isoformat()
    return cell
