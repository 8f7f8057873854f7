"""The JSON body of a query request → `QueryBatch`; collects what is wrong and raises it at once."""

import re
from collections.abc import Mapping, Sequence
from datetime import date

from aggregation.query.expressions import ExpressionParser, Json
from aggregation.query.nodes import (
    GroupItem,
    Period,
    Placeholder,
    Query,
    QueryBatch,
    RelativeTimeframe,
    SelectItem,
    SourceMode,
    Unit,
)
from aggregation.query.problems import Loc, ProblemLog, ProblemType, QueryError

#: Queries of one request.
MAX_QUERIES = 32
#: Select items of one query.
MAX_SELECT = 64
#: Group items of one query.
MAX_GROUP_BY = 8
#: Providers in an override: more than there are.
MAX_OVERRIDES = 128
#: Anchors that make sense for a person's data; keeps every window within the calendar.
EARLIEST_ANCHOR_ON = date(1900, 1, 1)
LATEST_ANCHOR_ON = date(2199, 12, 31)
#: A century of each unit: longer than any history, and within the calendar from every anchor.
PAST_UP_TO = {
    Unit.MINUTE: 36_525 * 1_440,
    Unit.HOUR: 36_525 * 24,
    Unit.DAY: 36_525,
    Unit.WEEK: 5_218,
    Unit.MONTH: 1_200,
    Unit.YEAR: 100,
}

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_ROOT: Loc = ("body",)


def query_parse(body: object) -> QueryBatch:
    """The nodes of a decoded JSON body. Raises `QueryError` with every problem found."""
    log = ProblemLog()
    batch = _BatchParser(log).batch(body)
    log.raise_if_any()
    if batch is None:
        raise QueryError(())  # unreachable: whatever gives None has logged a problem
    return batch


class _BatchParser:
    def __init__(self, log: ProblemLog) -> None:
        self._log = log
        self._expressions = ExpressionParser(log)

    def batch(self, body: object) -> QueryBatch | None:
        item = self._expressions.object_(body, _ROOT)
        if item is None:
            return None
        listed = "instructions" if "instructions" in item and "queries" not in item else "queries"
        self._expressions.keys(item, _ROOT, required=("timeframe", listed), optional=("config",))
        timeframe = self._timeframe(item["timeframe"], (*_ROOT, "timeframe")) if "timeframe" in item else None
        queries = self._queries(item[listed], (*_ROOT, listed)) if listed in item else ()
        overrides, mode = self._config(item.get("config"), (*_ROOT, "config"))
        return None if timeframe is None else QueryBatch(timeframe, queries, overrides, mode)

    def _timeframe(self, value: object, loc: Loc) -> RelativeTimeframe | Placeholder | None:
        item = self._expressions.object_(value, loc)
        if item is None:
            return None
        if "placeholder" in item:
            return self._expressions.placeholder(item, loc)
        self._expressions.keys(item, loc, required=("type", "anchor", "past"))
        if "type" in item and item["type"] != "relative":
            self._log.add((*loc, "type"), ProblemType.UNKNOWN_VALUE, "the only type of timeframe is 'relative'")
        anchor_on = self._anchor(item["anchor"], (*loc, "anchor")) if "anchor" in item else None
        past = self._past(item["past"], (*loc, "past")) if "past" in item else None
        return None if anchor_on is None or past is None else RelativeTimeframe(anchor_on, past, loc)

    def _past(self, value: object, loc: Loc) -> Period | None:
        past = self._expressions.period(value, loc)
        if past is not None and past.value > PAST_UP_TO[past.unit]:
            msg = f"a past in units of {past.unit} takes a value from 1 to {PAST_UP_TO[past.unit]}"
            self._log.add((*loc, "value"), ProblemType.OUT_OF_RANGE, msg)
            return None
        return past

    def _anchor(self, value: object, loc: Loc) -> date | None:
        if not isinstance(value, str) or _DATE.fullmatch(value) is None:
            self._log.add(loc, ProblemType.WRONG_TYPE, "expected a date written YYYY-MM-DD")
            return None
        try:
            anchor_on = date.fromisoformat(value)
        except ValueError:
            self._log.add(loc, ProblemType.OUT_OF_RANGE, "there is no such day in the calendar")
            return None
        if not EARLIEST_ANCHOR_ON <= anchor_on <= LATEST_ANCHOR_ON:
            msg = f"expected a date from {EARLIEST_ANCHOR_ON} to {LATEST_ANCHOR_ON}"
            self._log.add(loc, ProblemType.OUT_OF_RANGE, msg)
            return None
        return anchor_on

    def _queries(self, value: object, loc: Loc) -> tuple[Query, ...]:
        listed = self._list(value, loc, at_least=1, at_most=MAX_QUERIES)
        parsed = [self._query(item, (*loc, index)) for index, item in enumerate(listed)]
        return tuple(query for query in parsed if query is not None)

    def _query(self, value: object, loc: Loc) -> Query | None:
        item = self._expressions.object_(value, loc)
        if item is None:
            return None
        self._expressions.keys(item, loc, required=("select",), optional=("group_by", "where", "align"))
        where = self._expressions.where(item.get("where"), (*loc, "where"))
        align = item.get("align")
        return Query(
            select=self._select(item, loc),
            group_by=self._group_by(item, loc),
            where=where,
            align=None if align is None else self._expressions.align(align, (*loc, "align")),
            at=loc,
        )

    def _select(self, item: Json, loc: Loc) -> tuple[SelectItem, ...]:
        at = (*loc, "select")
        listed = self._list(item["select"], at, at_least=1, at_most=MAX_SELECT) if "select" in item else ()
        parsed = [self._expressions.select_item(value, (*at, index)) for index, value in enumerate(listed)]
        return tuple(node for node in parsed if node is not None)

    def _group_by(self, item: Json, loc: Loc) -> tuple[GroupItem, ...]:
        at = (*loc, "group_by")
        given = item.get("group_by")
        listed = () if given is None else self._list(given, at, at_least=0, at_most=MAX_GROUP_BY)
        parsed = [self._expressions.group_item(value, (*at, index)) for index, value in enumerate(listed)]
        return tuple(node for node in parsed if node is not None)

    def _config(self, value: object, loc: Loc) -> tuple[tuple[str, ...], SourceMode]:
        item: Json | None = {} if value is None else self._expressions.object_(value, loc)
        if item is None:
            return (), SourceMode.PRIORITY
        self._expressions.keys(item, loc, required=(), optional=("provider_priority_overrides", "source_mode"))
        overrides = self._overrides(item.get("provider_priority_overrides"), (*loc, "provider_priority_overrides"))
        mode: SourceMode | None = None
        if item.get("source_mode") is not None:
            mode = self._expressions.member(item["source_mode"], (*loc, "source_mode"), SourceMode)
        return overrides, mode or SourceMode.PRIORITY

    def _overrides(self, given: object, at: Loc) -> tuple[str, ...]:
        listed = () if given is None else self._list(given, at, at_least=0, at_most=MAX_OVERRIDES)
        slugs: list[str] = []
        for index, slug in enumerate(listed):
            if isinstance(slug, str) and _SLUG.fullmatch(slug):
                slugs.append(slug)
            else:
                self._log.add((*at, index), ProblemType.WRONG_TYPE, "expected a provider slug such as 'oura'")
        return tuple(dict.fromkeys(slugs))

    def _list(self, value: object, loc: Loc, *, at_least: int, at_most: int) -> Sequence[object]:
        if not isinstance(value, Sequence) or isinstance(value, str | bytes | Mapping):
            self._log.add(loc, ProblemType.WRONG_TYPE, "expected a list")
            return ()
        if len(value) < at_least:
            self._log.add(loc, ProblemType.MISSING, "expected at least one item")
        if len(value) > at_most:
            self._log.add(loc, ProblemType.TOO_MANY, f"expected at most {at_most} items")
            return ()
        return value
