"""Aggregation queries for tests: building them, and asking them over HTTP."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypeAlias

import numpy as np

from aggregation.records import DataSource, FieldColumn, SampleColumns, SeriesBatch, SummaryRecord
from aggregation.services import health_data_store
from healthsvc.kernel.scope import team_scope
from healthsvc.kernel.typing import JSONValue
from tests import factories
from tests.aggregation.summaries import RING
from tests.clients import ApiClient
from users.models import User

Body: TypeAlias = dict[str, Any]
Columns: TypeAlias = dict[str, list[Any]]

ANCHOR_ON = date(2026, 3, 1)


def put(team: factories.Tenant, user: User, *given: SeriesBatch | SummaryRecord) -> None:
    """Store samples and summaries, each of which must be taken."""
    series = [one for one in given if isinstance(one, SeriesBatch)]
    summaries = [one for one in given if isinstance(one, SummaryRecord)]
    with team_scope(team.context):
        result = health_data_store(team=team.context, user_id=user.id, series=series, summaries=summaries, emit=False)
    assert list(result.refused) == []


def at_us(text: str) -> int:
    """A UTC time, as 2026-03-01T10:00, in microseconds since 1970."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


def series(
    resource: str,
    starts: Sequence[str],
    values: Sequence[float] | None = None,
    *,
    minutes: int | None = None,
    source: DataSource = RING,
    offset_seconds: int = 0,
    types: Sequence[str | None] | None = None,
    workout: str | None = None,
    **fields: Sequence[float] | Sequence[str | None],
) -> SeriesBatch:
    """Samples that start at UTC times and, where `minutes` are given, last so long; `fields` are their own."""
    own: dict[str, FieldColumn] = {}
    for name, column in fields.items():
        texts = [one for one in column if not isinstance(one, float)]
        own[name] = texts if texts else np.array(column, np.float64)
    start_us = np.array([at_us(text) for text in starts], np.int64)
    columns = SampleColumns(
        start_us=start_us,
        value=None if values is None else np.array(values, np.float64),
        offset_seconds=np.full(len(starts), offset_seconds, np.int32),
        end_us=None if minutes is None else start_us + minutes * 60_000_000,
        type=types,
        fields=own,
    )
    return SeriesBatch(resource, source, columns, workout)


def summary(
    resource: str,
    external_id: str,
    on: date = ANCHOR_ON,
    *,
    source: DataSource = RING,
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
    offset_seconds: int | None = None,
    **fields: JSONValue,
) -> SummaryRecord:
    """A summary of a day."""
    return SummaryRecord(resource, source, external_id, on, starts_at, ends_at, offset_seconds, fields)


def long_sleep(
    external_id: str,
    on: date,
    *,
    hours_asleep: float = 8.0,
    source: DataSource = RING,
    offset_seconds: int | None = 3_600,
    **fields: JSONValue,
) -> SummaryRecord:
    """A night from 22:00 UTC to 07:00 UTC of its day, of which the light sleep is what the stages leave."""
    ends_at = datetime.combine(on, time(7), UTC)
    total = round(hours_asleep * 3_600)
    staged = int(str(fields.get("rem", 0))) + int(str(fields.get("deep", 0)))
    values: dict[str, JSONValue] = {
        "type": "long_sleep", "duration": 32_400, "total": total, "awake": 32_400 - total, "light": total - staged,
        "rem": 0, "deep": 0, **fields,
    }  # fmt: skip
    return summary(
        "sleep", external_id, on, source=source, starts_at=ends_at - timedelta(hours=9), ends_at=ends_at,
        offset_seconds=offset_seconds, **values,
    )  # fmt: skip


def question(
    *select: Body,
    by: str | None = None,
    index: str = "timeseries",
    days: int = 1,
    anchor: date = ANCHOR_ON,
    config: Body | None = None,
    **query: Any,
) -> Body:
    """One query over the days up to the anchor, grouped by the unit `by` where one is named."""
    if by:
        query["group_by"] = [{"date_trunc": {"unit": by, "value": 1}, "arg": {"index": index}}]
    timeframe = {"type": "relative", "anchor": anchor.isoformat(), "past": {"unit": "day", "value": days}}
    body: Body = {"timeframe": timeframe, "queries": [{"select": list(select), **query}]}
    return body if config is None else {**body, "config": config}


def field(resource: str, name: str = "value") -> Body:
    """A column of a timeseries."""
    return {"timeseries": resource, "field": name}


def of(function: str, resource: str, name: str = "value") -> Body:
    """A function over a column of a timeseries."""
    return {"func": function, "arg": field(resource, name)}


def macro(name: str) -> Body:
    """A value macro in its newest version."""
    return {"value_macro": name, "version": "automatic"}


def ask(api: ApiClient, user: User, body: Body) -> Columns:
    """The table of the first query's answer."""
    response = api.post(f"/aggregate/v1/user/{user.id}/query", body)
    assert response.status_code == 200, response.content
    table: Columns = response.json()["results"][0]["table"]
    return table


def rows(api: ApiClient, user: User, table: str, *columns: str, days: int = 1, **query: Any) -> Columns:
    """Columns of a table as they are, in order of its index."""
    return ask(api, user, question({"index": table}, *({table: name} for name in columns), days=days, **query))
