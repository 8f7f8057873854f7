"""Fulfils what the query engine asks of the store, for one user."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import cast

import numpy as np

from aggregation.derived.readiness import BASELINE_DAYS
from aggregation.query import SeriesArrays, TableArrays
from aggregation.query.priorities import SourceOrder
from aggregation.query.reader import MACRO_PREFIX, ListValues, TableValues
from aggregation.query_reader.cells import cell_of, field_value
from aggregation.query_reader.lists import struct_lists
from aggregation.query_reader.nights import SleepNight, macro_values, nights_of
from aggregation.query_reader.readiness import main_sleeps, readiness_days, strains_of
from aggregation.query_reader.reliability import reliability_rows
from aggregation.query_reader.samples import series_arrays
from aggregation.query_reader.schema import RESOURCE_OF_TABLE, SCHEMA
from aggregation.query_reader.summaries import (
    SLACK_DAYS,
    LocalSummary,
    day_of,
    index_us,
    summaries_between,
    summaries_updated_between,
)
from aggregation.store.days import instant_of_us, us_of_day
from healthsvc.kernel.principal import TeamContext
from users.models import User

#: Macros that are made of the course of the night.
_HYPNOGRAM_MACROS = ("sleep_score", "awake_at", "awakenings")


class StoreReader:
    """One user's samples and summaries as arrays. Raises ReadLimitError beyond `rows_maximum` for one read.

    order: which source counts where a derived value is made of one of several.
    """

    def __init__(self, team: TeamContext, user: User, *, rows_maximum: int, order: SourceOrder | None = None) -> None:
        self._team = team
        self._user = user
        self._rows_maximum = rows_maximum
        self._order = order or SourceOrder()

    def read_series(self, resource: str, window_start_us: int, window_end_us: int) -> Sequence[SeriesArrays]:
        """Every series of the resource that has samples in the window; three statements."""
        return series_arrays(
            self._team,
            self._user.pk,
            resource,
            window_start_us=window_start_us,
            window_end_us=window_end_us,
            fallback_time_zone=self._user.fallback_time_zone,
            rows_maximum=self._rows_maximum,
        )

    def read_table(self, table: str, columns: Sequence[str], window_start_us: int, window_end_us: int) -> TableArrays:
        """The rows whose index lies in the window, with these columns.

        One statement for summaries, one more where a macro needs the hypnograms; two or three for derived readiness;
        `reliability_rows` tells what that table costs.
        """
        if table == "derived_readiness":
            return self._readiness(columns, window_start_us, window_end_us)
        if table == "reliability":
            return self._reliability(columns, window_start_us, window_end_us)
        rows = self._rows(table, window_start_us, window_end_us)
        cells: dict[str, object] = {}
        nights: list[SleepNight] | None = None
        for name in columns:
            if name.startswith(MACRO_PREFIX):
                nights = self._nights(rows, columns) if nights is None else nights
                cells[name] = macro_values(name, nights, self._user)
            else:
                cells[name] = _cells(table, name, rows)
        return _arrays([index_us(table, row) for row in rows], cells)

    def _rows(self, table: str, window_start_us: int, window_end_us: int) -> list[LocalSummary]:
        resource = RESOURCE_OF_TABLE[table]
        if table == "profile":
            first_at, before_at = instant_of_us(window_start_us), instant_of_us(window_end_us)
            return summaries_updated_between(
                self._team, self._user, resource, first_at, before_at, rows_maximum=self._rows_maximum
            )
        slack = timedelta(days=SLACK_DAYS)
        found = self._summaries([resource], day_of(window_start_us) - slack, day_of(window_end_us) + slack)
        return [row for row in found if window_start_us <= index_us(table, row) < window_end_us]

    def _summaries(self, resources: Sequence[str], first_on: date, last_on: date) -> list[LocalSummary]:
        return summaries_between(self._team, self._user, resources, first_on, last_on, rows_maximum=self._rows_maximum)

    def _nights(self, sleeps: Sequence[LocalSummary], columns: Sequence[str]) -> list[SleepNight]:
        """The sleeps with their hypnograms, where one of the columns is made of them."""
        asked = {name.split(":")[1] for name in columns if name.startswith(MACRO_PREFIX)}
        if not sleeps or asked.isdisjoint(_HYPNOGRAM_MACROS):
            return nights_of(sleeps, ())
        return nights_of(sleeps, self._cycles(sleeps))

    def _cycles(self, sleeps: Sequence[LocalSummary]) -> list[LocalSummary]:
        days = [row.summary.calendar_date for row in sleeps]
        slack = timedelta(days=1)
        return self._summaries(["sleep_cycle"], min(days) - slack, max(days) + slack)

    def _readiness(self, columns: Sequence[str], window_start_us: int, window_end_us: int) -> TableArrays:
        first_on, last_on = day_of(window_start_us), day_of(window_end_us - 1)
        sleeps = self._summaries(["sleep"], first_on - timedelta(days=BASELINE_DAYS), last_on)
        mains = main_sleeps(sleeps, self._order.for_table("sleep"))
        wanted = [row for day, row in sorted(mains.items()) if window_start_us <= us_of_day(day) < window_end_us]
        needs_course = bool(wanted) and "sleep_score" in columns
        nights = nights_of(wanted, self._cycles(wanted) if needs_course else ())
        strains: Mapping[date, int] = {}
        if wanted and not {"strain_score", "strain_zone"}.isdisjoint(columns):
            loads = self._summaries(["activity", "workouts"], first_on, last_on)
            activities = [row for row in loads if row.summary.resource == "activity"]
            workouts = [row for row in loads if row.summary.resource == "workouts"]
            strains = strains_of(activities, workouts, self._order, self._birth_on())
        days = readiness_days(nights, mains, strains)
        cells = {name: [getattr(day, name, None) for day in days] for name in columns}
        return _arrays([us_of_day(day.date) for day in days], cells)

    def _birth_on(self) -> date | None:
        text = self._user.fallback_birth_date
        return date.fromisoformat(text) if text else None

    def _reliability(self, columns: Sequence[str], window_start_us: int, window_end_us: int) -> TableArrays:
        rows = reliability_rows(self._team, self._user, window_start_us, window_end_us, rows_maximum=self._rows_maximum)
        cells = {name: [getattr(row, name) for row in rows] for name in columns}
        # The last day of a window that is shorter than a day began before it.
        return _arrays([max(us_of_day(row.window_end_date), window_start_us) for row in rows], cells)


def _cells(table: str, name: str, rows: Sequence[LocalSummary]) -> ListValues | list[object]:
    schema = SCHEMA.table(table)
    if schema is not None and name in schema.lists:
        return struct_lists([field_value(row, name) for row in rows], schema.lists[name])
    cell = cell_of(table, name)
    return [cell(row) for row in rows]


def _arrays(index: Sequence[int], cells: Mapping[str, object]) -> TableArrays:
    # Each cell is of its column's declared type or None; the lists can't say so.
    return TableArrays(np.array(index, np.int64), cast("Mapping[str, TableValues | ListValues]", cells))
