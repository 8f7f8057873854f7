"""The query language once more, slowly and plainly: loops over Python rows, nothing shared with the engine."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

ORDER = [
    "lab", "automatic", "watch", "ring", "chest_strap", "scale", "cuff", "fingerprick", "manual_scan", "phone",
    "app", "multiple_sources", "unknown",
]  # fmt: skip

Row = Mapping[str, Any]
#: A condition as nested tuples: ("not", c), ("and", c, …), ("or", c, …), (operator, column, literal).
Condition = tuple[Any, ...]


def midnight(year: int, month: int, day: int) -> datetime:
    """The beginning of a day on the person's clock."""
    return datetime.combine(date(year, month, day), time())


def interpret(
    query: Mapping[str, Any],
    rows: Sequence[Row],
    start: datetime,
    end: datetime,
    condition: Condition | None,
    overrides: Sequence[str] = (),
    priorities: Mapping[str, int] | None = None,
) -> list[list[Any]]:
    """Columns in order. Rows have `resource`, `index` (naive), `instant` and their columns."""
    rows = [row for row in rows if start <= _midnight(row["index"]) < end]
    rows = [row for row in rows if condition is None or holds(condition, row) is True]
    rows = sorted(rows, key=lambda row: row["instant"])
    keys = query.get("group_by", [])
    select = query["select"]
    if not keys and "func" not in select[0]:
        return [[_cell(row, item) for row in rows] for item in select]
    groups: dict[tuple[Any, ...], list[Row]] = {} if keys else {(): []}
    for row in rows:
        groups.setdefault(tuple(_key(row, key) for key in keys), []).append(row)
    ordered = sorted(groups, key=lambda group: [(part is None, part if part is not None else 0) for part in group])
    by_source = {key.get("source") for key in keys} >= {"source_provider", "source_type"}
    columns: list[list[Any]] = []
    truncs = [offset for offset, key in enumerate(keys) if "date_trunc" in key]
    if truncs and not any("group_key" in item for item in select):
        columns.append([group[truncs[0]] for group in ordered])
    for item in select:
        if "group_key" in item:
            offsets = range(len(keys)) if item["group_key"] == "*" else [item["group_key"]]
            columns += [[group[offset] for group in ordered] for offset in offsets]
            continue
        column = []
        for group in ordered:
            members = groups[group]
            if keys and not by_source:
                members = best(members, overrides, priorities or {})
            column.append(reduce_(item["func"], [_cell(row, item["arg"]) for row in members]))
        columns.append(column)
    return columns


def best(members: Sequence[Row], overrides: Sequence[str], priorities: Mapping[str, int]) -> list[Row]:
    """The rows of the source that counts, resource by resource."""
    kept: list[Row] = []
    for resource in {row["resource"] for row in members}:
        of_resource = [row for row in members if row["resource"] == resource]

        def rank(source: tuple[str, str]) -> tuple[Any, ...]:
            provider, source_type = source
            if provider in overrides:
                standing = (0, list(overrides).index(provider))
            elif provider in priorities:
                standing = (1, -priorities[provider])
            else:
                standing = (2, 0)
            return (ORDER.index(source_type), standing, provider)

        first = min({(row["source_provider"], row["source_type"]) for row in of_resource}, key=rank)
        kept += [row for row in of_resource if (row["source_provider"], row["source_type"]) == first]
    return [row for row in members if any(row is one for one in kept)]


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


def _cell(row: Row, item: Mapping[str, Any]) -> Any:
    if "index" in item:
        return row["index"] if item["index"] in {"timeseries", row["table"], row["resource"]} else None
    if "source" in item:
        return row[item["source"]]
    if "timeseries" in item:
        return row[item["field"]] if item["timeseries"] == row["resource"] else None
    ((table, column),) = item.items()
    return row[column] if table in {row["table"], row["resource"]} else None


def _midnight(index: Any) -> datetime:
    return index if isinstance(index, datetime) else midnight(index.year, index.month, index.day)


def _key(row: Row, key: Mapping[str, Any]) -> Any:
    index = _midnight(row["index"])
    if "date_trunc" in key:
        return bucket(index, key["date_trunc"]["unit"], key["date_trunc"].get("value", 1))
    if "date_part" in key:
        return part(index, key["date_part"])
    return _cell(row, key)


def bucket(local: datetime, unit: str, value: int) -> datetime:
    if unit == "year":
        return midnight(max(local.year // value * value, 1), 1, 1)
    if unit == "month":
        return midnight(local.year, (local.month - 1) // value * value + 1, 1)
    width = {
        "minute": timedelta(minutes=value),
        "hour": timedelta(hours=value),
        "day": timedelta(days=value),
        "week": timedelta(weeks=value),
    }[unit]
    origin = midnight(2001, 1, 1)
    return origin + (local - origin) // width * width


def part(local: datetime, name: str) -> int:
    calendar = local.isocalendar()
    return {
        "minute": local.minute,
        "hour": local.hour,
        "day": local.day,
        "week": calendar.week,
        "week_of_year": calendar.week,
        "month": local.month,
        "year": local.year,
        "weekday": calendar.weekday,
        "day_of_year": local.timetuple().tm_yday,
    }[name]


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
    text = "'" + literal.replace("'", "''") + "'" if isinstance(literal, str) else str(literal)
    return f"{column} {operator} {text}"


def as_json(cell: Any) -> Any:
    if isinstance(cell, datetime | date):
        return cell.isoformat()
    return cell
