"""Fulfils what the query engine asks of the store, for one user."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from aggregation.catalogue import SERIES
from aggregation.codec import BlockColumns, LabelColumn
from aggregation.models import Summary
from aggregation.query import (
    DeclaredSchema,
    Labels,
    ReadLimitError,
    SeriesArrays,
    SeriesKind,
    SeriesSource,
    TableArrays,
)
from aggregation.query.reader import TableValues
from aggregation.query.tables import ACTIVITY, SLEEP, WORKOUT, series_schema
from aggregation.records import OFFSET_UNKNOWN, DataSource
from aggregation.sports import OTHER, SPORT_BY_SLUG
from aggregation.store import read
from aggregation.store.columns import block_take
from aggregation.store.days import DAY_US, SECOND_US, Moment, Window, local_us, us_of_day, us_of_instant
from aggregation.store.read import Span
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.typing import JSONValue
from users.models import User

#: What can be queried: the tables and timeseries that are kept.
SCHEMA: Final = DeclaredSchema(
    tables=(SLEEP, ACTIVITY, WORKOUT),
    series=tuple(series_schema(spec.slug, SeriesKind(spec.kind.value)) for spec in SERIES),
)

Cell: TypeAlias = Callable[[Summary], object]

_RESOURCES: Final = {"sleep": "sleep", "activity": "activity", "workout": "workouts"}
_EPOCH_DAY: Final = date(1970, 1, 1)
#: A summary's index lies at most this far from its calendar date: offsets, and nights that end on the next day.
_SLACK_DAYS: Final = 8


class StoreReader:
    """One user's samples and summaries as arrays. Raises ReadLimitError beyond `rows_maximum` for one read."""

    def __init__(self, team: TeamContext, user: User, *, rows_maximum: int) -> None:
        self._team = team
        self._user = user
        self._rows_maximum = rows_maximum

    def read_series(self, resource: str, window_start_us: int, window_end_us: int) -> Sequence[SeriesArrays]:
        """Every series of the resource that has samples in the window; three statements."""
        window = Window(Moment(window_start_us, local=True), Moment(window_end_us - 1, local=True))
        first_us, last_us = window.utc_bounds_us()
        rows = read.series_of(self._team, self._user.pk, resource)
        spans = [Span(row, row.bucket(first_us), row.bucket(last_us)) for row in rows]
        if read.samples_count(self._user.pk, spans) > self._rows_maximum:
            raise ReadLimitError
        columns = read.samples_of(self._user.pk, spans)
        return [self._arrays(row.source, columns[row.series_id], window) for row in rows if row.series_id in columns]

    def _arrays(self, source: DataSource, block: BlockColumns, window: Window) -> SeriesArrays:
        zone = self._user.fallback_time_zone
        within = window.holds(block.start_us, block.offset_seconds, zone)
        if not within.all():
            block = block_take(block, within)
        duration_us = None if block.end_us is None else block.end_us - block.start_us
        return SeriesArrays(
            source=SeriesSource(source.provider, source.type, source.app_id),
            local_us=local_us(block.start_us, block.offset_seconds, zone),
            start_us=block.start_us,
            timezone_offset_seconds=block.offset_seconds,
            value=block.value,
            duration_seconds=None if duration_us is None else duration_us / SECOND_US,
            type=None if block.type is None else Labels(block.type.codes, block.type.names),
            fields={
                name: Labels(column.codes, column.names) if isinstance(column, LabelColumn) else column
                for name, column in block.extra.items()
            },
        )

    def read_table(self, table: str, columns: Sequence[str], window_start_us: int, window_end_us: int) -> TableArrays:
        """The summaries whose index may lie in the window, with these columns; one statement."""
        slack = timedelta(days=_SLACK_DAYS)
        found = Summary.objects.for_team(self._team).filter(
            user_id=self._user.pk,
            resource=_RESOURCES[table],
            calendar_date__gte=_day(window_start_us) - slack,
            calendar_date__lte=_day(window_end_us) + slack,
        )
        rows = list(found.order_by("calendar_date", "starts_at", "updated_at", "id")[: self._rows_maximum + 1])
        if len(rows) > self._rows_maximum:
            raise ReadLimitError
        index_us = np.array([self._index_us(table, row) for row in rows], np.int64)
        within = np.flatnonzero((index_us >= window_start_us) & (index_us < window_end_us))
        kept = [rows[place] for place in within.tolist()]
        cells = {name: [self._cell(table, name, row) for row in kept] for name in columns}
        # Each cell is of its column's declared type or None; the lists can't say so.
        return TableArrays(index_us[within], cast("Mapping[str, TableValues]", cells))

    def _index_us(self, table: str, row: Summary) -> int:
        """Activity by its day, sleep by its end, workouts by their start."""
        if table == "activity":
            return us_of_day(row.calendar_date)
        return self._local_us(row, row.ends_at if table == "sleep" else row.starts_at) or 0

    def _local_us(self, row: Summary, moment: datetime | None) -> int | None:
        if moment is None:
            return None
        at = np.array([us_of_instant(moment)])
        offset = row.timezone_offset_seconds
        known: NDArray[np.int32] = np.array([OFFSET_UNKNOWN if offset is None else offset], np.int32)
        return int(local_us(at, known, self._user.fallback_time_zone)[0])

    def _cell(self, table: str, name: str, row: Summary) -> object:
        if name == "session_start":
            return self._local_us(row, row.starts_at)
        if name == "session_end":
            return self._local_us(row, row.ends_at)
        own = _OWN_CELLS.get(name)
        if own is not None:
            return own(row)
        path = _PATHS[table].get(name)
        return None if path is None else path(row)


def _day(local: int) -> date:
    return _EPOCH_DAY + timedelta(days=local // DAY_US)


def _sport(row: Summary) -> str:
    return SPORT_BY_SLUG.get(str(row.payload.get("sport")), OTHER).name


def _field(name: str, member: str = "") -> Cell:
    """A field of the payload, or a member of one."""

    def cell(row: Summary) -> object:
        value: JSONValue = row.payload.get(name)
        if not member:
            return value
        return value.get(member) if isinstance(value, Mapping) else None

    return cell


def _zone(number: int) -> Cell:
    def cell(row: Summary) -> object:
        zones = row.payload.get("hr_zones") or []
        return float(zones[number - 1]) if len(zones) >= number else None

    return cell


def _seconds_of_minutes(name: str) -> Cell:
    def cell(row: Summary) -> object:
        minutes = row.payload.get(name)
        return None if minutes is None else round(minutes * 60)

    return cell


#: Columns that every table fills from the row itself.
_OWN_CELLS: Final[Mapping[str, Cell]] = {
    "id": lambda row: str(row.id),
    "date": lambda row: row.calendar_date,
    "source_type": lambda row: row.source_type,
    "source_provider": lambda row: row.provider,
    "source_app_id": lambda row: row.app_id or None,
    "source_device_id": lambda row: row.device_id or None,
    "time_zone_offset": lambda row: row.timezone_offset_seconds,
}
#: Columns by table and where the API's own field of the same meaning is; a column that is missing here is empty.
_PATHS: Final[Mapping[str, Mapping[str, Cell]]] = {
    "sleep": {
        "state": _field("state"),
        "type": _field("type"),
        "duration_second": _field("duration"),
        "stage_asleep_second": _field("total"),
        "stage_awake_second": _field("awake"),
        "stage_light_second": _field("light"),
        "stage_rem_second": _field("rem"),
        "stage_deep_second": _field("deep"),
        "latency_second": _field("latency"),
        "heart_rate_minimum": _field("hr_lowest"),
        "heart_rate_mean": _field("hr_average"),
        "heart_rate_resting": _field("hr_resting"),
        "heart_rate_dip": _field("hr_dip"),
        "efficiency": _field("efficiency"),
        "hrv_mean_rmssd": _field("average_hrv"),
        "skin_temperature": _field("skin_temperature"),
        "skin_temperature_delta": _field("temperature_delta"),
        "respiratory_rate": _field("respiratory_rate"),
        "score": _field("score"),
        "recovery_readiness_score": _field("recovery_readiness_score"),
    },
    "activity": {
        "calories_total": _field("calories_total"),
        "calories_active": _field("calories_active"),
        "steps": _field("steps"),
        "distance_meter": _field("distance"),
        "floors_climbed": _field("floors_climbed"),
        "intensity_low_second": _seconds_of_minutes("low"),
        "intensity_medium_second": _seconds_of_minutes("medium"),
        "intensity_high_second": _seconds_of_minutes("high"),
        "heart_rate_mean": _field("heart_rate", "avg_bpm"),
        "heart_rate_minimum": _field("heart_rate", "min_bpm"),
        "heart_rate_maximum": _field("heart_rate", "max_bpm"),
        "heart_rate_resting": _field("heart_rate", "resting_bpm"),
        "heart_rate_mean_walking": _field("heart_rate", "avg_walking_bpm"),
        "wheelchair_use": _field("wheelchair_use"),
        "wheelchair_push": _field("wheelchair_push"),
        "time_zone": _field("time_zone"),
    },
    "workout": {
        "title": _field("title"),
        "sport_name": _sport,
        "sport_slug": _field("sport"),
        "duration_active_second": _field("moving_time"),
        "heart_rate_mean": _field("average_hr"),
        "heart_rate_maximum": _field("max_hr"),
        **{f"heart_rate_zone_{number}": _zone(number) for number in range(1, 7)},
        "distance_meter": _field("distance"),
        "calories": _field("calories"),
        "elevation_gain_meter": _field("total_elevation_gain"),
        "elevation_maximum_meter": _field("elev_high"),
        "elevation_minimum_meter": _field("elev_low"),
        "speed_mean": _field("average_speed"),
        "speed_maximum": _field("max_speed"),
        "power_source": _field("device_watts"),
        "power_mean": _field("average_watts"),
        "power_maximum": _field("max_watts"),
        "power_weighted_mean": _field("weighted_average_watts"),
        "steps": _field("steps"),
        "map_polyline": _field("map", "polyline"),
        "map_summary_polyline": _field("map", "summary_polyline"),
        "external_id": _field("provider_id"),
    },
}
