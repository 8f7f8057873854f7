"""A parsed `where` → a typed condition: names resolved, literals converted, NOT pushed into the comparisons."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from aggregation.query.nodes import (
    Comparison,
    Conjunction,
    Identifier,
    Literal,
    Negation,
    WhereNode,
)
from aggregation.query.problems import Loc, ProblemLog, ProblemType, choice, shown
from aggregation.query.resolved import ColumnRef, Condition, Either, Every, PairTest, ValueTest
from aggregation.query.schema import LIST_TYPES, NUMERIC_TYPES, TIME_TYPES, ColumnType

_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", ">=": "<=", ">": "<", "<=": ">="}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def where_resolve(
    node: WhereNode, columns: Mapping[str, ColumnType], table: str, loc: Loc, log: ProblemLog
) -> Condition | None:
    """The condition over `columns`, the bare names of `table`; None after logging what is wrong."""
    return _WhereResolver(columns, table, loc, log).condition(node, negated=False)


class _WhereResolver:
    def __init__(self, columns: Mapping[str, ColumnType], table: str, loc: Loc, log: ProblemLog) -> None:
        self._columns = columns
        self._table = table
        self._loc = loc
        self._log = log

    def condition(self, node: WhereNode, *, negated: bool) -> Condition | None:
        """De Morgan keeps the three-valued truth: a comparison with no value is not true either way."""
        if isinstance(node, Comparison):
            return self._comparison(node, negated=negated)
        if isinstance(node, Negation):
            return self.condition(node.term, negated=not negated)
        found = [self.condition(term, negated=negated) for term in node.terms]
        terms = tuple(term for term in found if term is not None)
        if len(terms) < len(found):
            return None
        if isinstance(node, Conjunction) is not negated:
            return Every(terms)
        return Either(terms)

    def _comparison(self, node: Comparison, *, negated: bool) -> Condition | None:
        operator = _OPPOSITE[node.operator] if negated else node.operator
        left, right = node.left, node.right
        if isinstance(left, Literal):
            if isinstance(right, Literal):
                return self._refused(left.position, "one side of a comparison has to be a column")
            left, right, operator = right, left, _MIRRORED[operator]
        ref = self._ref(left)
        if isinstance(right, Identifier):
            other = self._ref(right)
            return None if ref is None or other is None else self._pair(ref, operator, other, node.position)
        return None if ref is None else self._value_test(ref, operator, right)

    def _ref(self, identifier: Identifier) -> ColumnRef | None:
        column_type = self._columns.get(identifier.name)
        if column_type is None:
            msg = (
                f"{self._table} has no column {shown(identifier.name)}; {choice(identifier.name, list(self._columns))}"
            )
            self._add(identifier.position, ProblemType.UNKNOWN_NAME, msg)
            return None
        if column_type in LIST_TYPES:
            self._add(identifier.position, ProblemType.WHERE_TYPE, "a list column cannot be compared")
            return None
        return ColumnRef(identifier.name, column_type)

    def _pair(self, left: ColumnRef, operator: str, right: ColumnRef, position: int) -> Condition | None:
        if _family(left.type) != _family(right.type):
            msg = f"{left.name} is of type {left.type}, {right.name} of type {right.type}: they cannot be compared"
            return self._refused(position, msg)
        if left.type is ColumnType.BOOL and operator not in {"=", "!="}:
            return self._refused(position, "truth values are compared with = or != only")
        return PairTest(left, operator, right)

    def _value_test(self, ref: ColumnRef, operator: str, literal: Literal) -> Condition | None:
        value = literal.value
        if ref.type is ColumnType.BOOL:
            if not isinstance(value, bool):
                return self._refused(literal.position, f"{ref.name} is compared with TRUE or FALSE")
            if operator not in {"=", "!="}:
                return self._refused(literal.position, "truth values are compared with = or != only")
            return ValueTest(ref, operator, int(value))
        if ref.type in NUMERIC_TYPES:
            if isinstance(value, str | bool):
                return self._refused(literal.position, f"{ref.name} is compared with a number")
            return ValueTest(ref, operator, value)
        if not isinstance(value, str):
            return self._refused(literal.position, f"{ref.name} is compared with a text in single quotes")
        if ref.type in TIME_TYPES:
            instant_us = _microseconds(value, zoned=ref.type is ColumnType.UTC_DATETIME)
            if instant_us is None:
                msg = f"{ref.name} is compared with a time such as '2025-02-17' or '2025-02-17T22:30:00'"
                return self._refused(literal.position, msg)
            return ValueTest(ref, operator, instant_us)
        return ValueTest(ref, operator, value)

    def _refused(self, position: int, msg: str) -> Condition | None:
        self._add(position, ProblemType.WHERE_TYPE, msg)
        return None

    def _add(self, position: int, problem_type: ProblemType, msg: str) -> None:
        self._log.add(self._loc, problem_type, f"at character {position}: {msg}")


def _family(column_type: ColumnType) -> str:
    if column_type in NUMERIC_TYPES:
        return "number"
    if column_type in {ColumnType.LOCAL_DATETIME, ColumnType.DATE}:
        return "local time"
    return column_type


def _microseconds(text: str, *, zoned: bool) -> int | None:
    """Microseconds of an ISO time; an offset is allowed only where the column is in UTC."""
    try:
        parsed = datetime.fromisoformat(text)
        if parsed.tzinfo is not None and not zoned:
            return None
        instant = parsed.astimezone(UTC) if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return (instant - _EPOCH) // _MICROSECOND
