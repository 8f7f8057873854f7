"""Random data and queries for the comparison with the naive interpreter."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from aggregation.query import SeriesSource
from tests.aggregation.query.memory import Sample
from tests.aggregation.query.naive_time import midnight

BERLIN = ZoneInfo("Europe/Berlin")
#: Days around which samples lie: both clock changes, a leap day, a year's end in ISO week 1, an ordinary day.
ANCHORS = [date(2025, 3, 30), date(2025, 10, 26), date(2024, 2, 29), date(2024, 12, 31), date(2025, 2, 17)]
NUMBERS = st.integers(-400, 400).map(lambda quarters: quarters / 4)
SOURCES = st.builds(
    SeriesSource,
    provider=st.sampled_from(["oura", "withings", "fitbit"]),
    type=st.sampled_from(["watch", "ring", "phone", "unknown"]),
    app_id=st.sampled_from([None, "app.one", "com.apple.health.7"]),
    device_id=st.sampled_from([None, "device-1"]),
    workout_id=st.none(),
    sport=st.sampled_from([None, "running"]),
)
FUNCTIONS = ["mean", "min", "max", "sum", "count", "median", "stddev", "oldest", "newest"]
#: Of texts, times and truth values.
ORDER_FUNCTIONS = ["min", "max", "count", "oldest", "newest"]
PERIODS = st.sampled_from(
    [
        *[("minute", 1), ("minute", 15), ("minute", 7), ("hour", 1), ("hour", 5), ("day", 1), ("day", 30)],
        *[("week", 1), ("week", 2), ("month", 1), ("month", 3), ("year", 1), ("year", 3), ("year", 60_000_000)],
    ]
)
#: Buckets that leave few enough rows to put in, each with caps that reach the next.
ALIGNED = {
    ("minute", 15): [("minute", 15), ("minute", 50), ("hour", 2), ("day", 1)],
    ("hour", 1): [("hour", 1), ("hour", 23), ("day", 2)],
    ("hour", 5): [("hour", 5), ("hour", 12), ("week", 1)],
    ("day", 1): [("day", 1), ("day", 20), ("month", 1)],
    ("week", 2): [("week", 2), ("month", 1), ("year", 1)],
    ("month", 1): [("month", 1), ("month", 2), ("year", 1)],
    ("month", 3): [("month", 3), ("month", 4), ("year", 2)],
    ("year", 3): [("year", 3), ("year", 5)],
    ("year", 60_000_000): [("year", 60_000_000)],
}
PARTS = ["minute", "hour", "day", "week", "month", "year", "weekday", "week_of_year", "day_of_year"]
OPERATORS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
#: Resources of an instant; the others have a duration.
INSTANT = frozenset({"heartrate", "blood_pressure", "note", "electrocardiogram_voltage", "weight"})
ADDS_UP = frozenset({"steps", "water"})
Json = dict[str, Any]


def period(pair: tuple[str, int]) -> Json:
    return {"unit": pair[0], "value": pair[1]}


@st.composite
def sample_lists(draw: st.DrawFn, anchor: date, resources: list[str]) -> list[Sample]:
    centre = datetime(anchor.year, anchor.month, anchor.day, tzinfo=UTC)
    samples = []
    for _ in range(draw(st.integers(0, 25))):
        minutes = draw(st.integers(-3 * 1440, 2 * 1440)) if draw(st.booleans()) else draw(st.integers(-60, 180))
        instant = centre + timedelta(minutes=minutes)
        offset = instant.astimezone(BERLIN).utcoffset() or timedelta()
        travel = draw(st.sampled_from([0, 0, 0, -6 * 3600, 5 * 3600 + 1800]))
        resource = draw(st.sampled_from(resources))
        durations = [None] if resource in INSTANT else [None, 0.0, 1.5, 60.0, 1800.0, 7200.0]
        fields = draw(own_fields(resource))
        samples.append(
            Sample(
                resource=resource,
                source=draw(SOURCES),
                instant=instant,
                value=None if fields else draw(NUMBERS),
                offset_seconds=int(offset.total_seconds()) + travel,
                duration_seconds=draw(st.sampled_from(durations)),
                type=draw(st.sampled_from([None, "automatic", "it's"])),
                fields=fields,
            )
        )
    return samples


@st.composite
def own_fields(draw: st.DrawFn, resource: str) -> Json:
    """The fields of samples without a value."""
    if resource == "blood_pressure":
        return {"systolic": draw(NUMBERS), "diastolic": draw(NUMBERS)}
    if resource == "note":
        tags = st.lists(st.sampled_from(["sick", "late", "it's"]), max_size=3).map(tuple)
        return {"tags": draw(st.none() | tags), "content": draw(st.sampled_from([None, "", "tired"]))}
    return {}


def conditions(
    numbers: list[str], texts: list[str], literals: tuple[str, ...] = ("oura", "watch", "automatic", "it's", "")
) -> st.SearchStrategy[tuple[Any, ...]]:
    leaves: list[st.SearchStrategy[tuple[Any, ...]]] = []
    if numbers:
        leaves.append(st.tuples(OPERATORS, st.sampled_from(numbers), NUMBERS))
    if texts:
        leaves.append(st.tuples(OPERATORS, st.sampled_from(texts), st.sampled_from(literals)))
    return combined(st.one_of(leaves))


def combined(leaf: st.SearchStrategy[tuple[Any, ...]]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(st.just("not"), inner),
            st.tuples(st.sampled_from(["and", "or"]), inner, inner),
            st.tuples(st.sampled_from(["and", "or"]), inner, inner, inner),
        ),
        max_leaves=6,
    )


@st.composite
def series_queries(draw: st.DrawFn, resources: list[str]) -> Json:
    """A grouped, an ungrouped aggregate, or a plain query. Every resource is selected, so all are read."""
    one = st.sampled_from(resources)
    columns = [{"timeseries": name, "field": "value"} for name in resources]
    further = st.one_of(
        st.builds(lambda name: {name: "type" if name in INSTANT else "duration"}, one),
        st.builds(lambda name: {"timeseries": name, "field": "timezone_offset"}, one),
        st.builds(lambda name: {"index": name}, one),
        st.just({"index": "timeseries"}),
    )
    columns += draw(st.lists(further, max_size=3, unique_by=str))
    kind = draw(st.sampled_from(["plain", "whole", "grouped", "grouped", "grouped", "grouped"]))
    if kind == "plain":
        if draw(st.booleans()):
            columns.append({"source": "source_type"})
        return {"select": columns}
    select: list[Json] = []
    for column in columns:
        numeric = not {"type", "heartrate", "timeseries"} >= set(column.values()) and "index" not in column
        functions = FUNCTIONS if numeric else ORDER_FUNCTIONS
        chosen = draw(st.lists(st.sampled_from(functions), min_size=1, max_size=4, unique=True))
        select += [{"func": function, "arg": column} for function in chosen]
    if kind == "whole":
        return {"select": select}
    extras = [{"timeseries": resources[0], "field": name} for name in ("type", "value", "timezone_offset")]
    return draw(grouped(select, [*resources, "timeseries"], extras, timeseries=True))


@st.composite
def grouped(
    draw: st.DrawFn, select: list[Json], indexes: list[str], extras: list[Json], *, timeseries: bool = False
) -> Json:
    """Group keys around aggregates; some are aligned."""
    index = {"index": draw(st.sampled_from(indexes))}
    items: list[Json] = []
    sources = ["source_provider", "source_type", "source_app_id", *(["source_sport"] if timeseries else [])]
    items += [{"source": name} for name in draw(st.lists(st.sampled_from(sources), max_size=2, unique=True))]
    if draw(st.booleans()):
        items.append(draw(st.sampled_from(extras)))
    if draw(st.integers(0, 2)) == 0:
        pair = draw(st.sampled_from(sorted(ALIGNED)))
        items.append({"date_trunc": period(pair), "arg": index})
        mode = draw(st.sampled_from(["forward", "backward", "nearest"]))
        carry: Json = {"mode": f"carry_{mode}"}
        if draw(st.booleans()):
            cap = "span" if mode == "nearest" else "max_age"
            carry[cap] = period(draw(st.sampled_from(ALIGNED[pair])))
        keys = draw(st.permutations(items))
        return {"select": [{"group_key": "*"}, *select], "group_by": keys, "align": {"carry": carry}}
    if draw(st.booleans()):
        items.append({"date_trunc": period(draw(PERIODS)), "arg": index})
    items += [{"date_part": name, "arg": index} for name in draw(st.lists(st.sampled_from(PARTS), max_size=2))]
    items = items or [{"date_trunc": period(draw(PERIODS)), "arg": index}]
    if draw(st.booleans()):
        select = [*select]
        select.insert(draw(st.integers(0, len(select))), {"group_key": "*"})
    return {"select": select, "group_by": draw(st.permutations(items))}


_SOURCE = {
    "source_provider": st.sampled_from(["oura", "withings"]),
    "source_type": st.sampled_from(["watch", "ring", "unknown"]),
    "source_app_id": st.sampled_from([None, "app.one"]),
}
_MOMENTS = st.none() | st.datetimes(midnight(2025, 1, 1), midnight(2025, 12, 31))
NIGHTS: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {
        "index": st.integers(-3 * 1440, 1440),
        "type": st.sampled_from([None, "long_sleep", "short_sleep"]),
        "efficiency": st.none() | NUMBERS,
        "duration_second": st.none() | st.integers(-5, 40_000),
        "score": st.none() | st.integers(0, 100),
        "session_start": _MOMENTS,
        "macro:sleep_score:2026-11": st.none() | NUMBERS,
        "macro:chronotype:2026-11": st.sampled_from([None, "lark", "owl"]),
        "macro:asleep_at:2026-11": _MOMENTS,
        "macro:awakenings:2026-11": st.none() | st.integers(0, 9),
        **_SOURCE,
    }
)
_DAYS = st.dates(date(2024, 2, 25), date(2024, 3, 5))
CYCLE_LISTS: dict[str, Json] = {
    "menstrual_flow": {"date": _DAYS, "flow": st.sampled_from([None, "none", "light", "heavy"])},
    "sexual_activity": {"date": st.none() | _DAYS, "protection_used": st.sampled_from([None, True, False])},
    "basal_body_temperature": {"date": _DAYS, "value": st.none() | NUMBERS},
}
CYCLES: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {
        "index": st.dates(date(2023, 11, 1), date(2024, 3, 10)),
        "is_predicted": st.sampled_from([None, True, False]),
        **{
            name: st.none() | st.lists(st.fixed_dictionaries(fields), max_size=4)
            for name, fields in CYCLE_LISTS.items()
        },
        **_SOURCE,
    }
)


_OPPOSITES = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "and": "or", "or": "and"}


def meaning(subquery: Json) -> str:
    """Equal for subqueries that say the same, however their conditions are written: one query may not hold both."""
    where = subquery.get("where")
    return f"{subquery['select']} {subquery['from']} {where and _condition_meaning(where, denied=False)}"


def _condition_meaning(node: tuple[Any, ...], *, denied: bool) -> str:
    if node[0] == "not":
        return _condition_meaning(node[1], denied=not denied)
    operator = _OPPOSITES[node[0]] if denied else node[0]
    if operator not in ("and", "or"):
        value = node[2] + 0.0 if isinstance(node[2], float | int) and not isinstance(node[2], bool) else node[2]
        return f"{node[1]} {operator} {value!r}"
    terms = sorted({_condition_meaning(term, denied=denied) for term in node[1:]})
    return terms[0] if len(terms) == 1 else f"({f' {operator} '.join(terms)})"


@st.composite
def cycle_subqueries(draw: st.DrawFn) -> Json:
    """A function over a list of the cycle, with or without a condition."""
    name = draw(st.sampled_from(sorted(CYCLE_LISTS)))
    field = draw(st.none() | st.sampled_from(sorted(CYCLE_LISTS[name])))
    functions = ["count"] if field is None else ["count", "min", "max"]
    if field == "value":
        functions = FUNCTIONS[:7]
    arg = None if field is None else {"field_for": "menstrual_cycle", name: field}
    leaves: list[st.SearchStrategy[tuple[Any, ...]]] = [st.tuples(OPERATORS, st.just("date"), _DAYS)]
    if name == "menstrual_flow":
        leaves.append(st.tuples(OPERATORS, st.just("flow"), st.sampled_from(["none", "light", "very"])))
    if name == "sexual_activity":
        leaves.append(st.tuples(st.sampled_from(["=", "!="]), st.just("protection_used"), st.booleans()))
    if name == "basal_body_temperature":
        leaves.append(st.tuples(OPERATORS, st.just("value"), NUMBERS))
    made: Json = {
        "select": {"func": draw(st.sampled_from(functions)), "arg": arg},
        "from": {"unnest": {"menstrual_cycle": name}},
    }
    if draw(st.booleans()):
        made["where"] = draw(combined(st.one_of(leaves)))
    return made


def is_numeric(subquery: Json) -> bool:
    func, arg = subquery["select"]["func"], subquery["select"]["arg"]
    return func == "count" or "value" in (arg or {}).values()


@st.composite
def tag_subqueries(draw: st.DrawFn) -> Json:
    """A function over the tags of notes."""
    counts_all = draw(st.booleans())
    func = "count" if counts_all else draw(st.sampled_from(["count", "min", "max"]))
    made: Json = {
        "select": {"func": func, "arg": None if counts_all else {"element": True}},
        "from": {"unnest": {"timeseries": "note", "field": "tags"}},
    }
    if draw(st.booleans()):
        made["where"] = draw(st.tuples(OPERATORS, st.just("element"), st.sampled_from(["sick", "late", "it's"])))
    return made
