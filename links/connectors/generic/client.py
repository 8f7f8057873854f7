"""The generic data addresses of the simulator: paged rows by day."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Final

from aggregation.records import DataSource, Refusal, StreamRecord
from healthsvc.kernel.typing import JSONValue
from links.connectors.base import Pulled, summaries_of
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.generic import convert, samples
from links.connectors.wire import Access

#: A cursor that never ends would be a fault of the provider's.
_PAGES_MAXIMUM: Final = 500
_SAMPLES_DAYS: Final = 7
_DOCUMENTS_DAYS: Final = 30

#: Resource → what converts one row of it.
_SUMMARIES: Final = {
    "sleep": convert.sleep_from_row,
    "activity": convert.activity_from_row,
    "workouts": convert.workout_from_row,
    "body": convert.body_from_row,
    "meal": convert.meal_from_row,
    "menstrual_cycle": convert.menstrual_cycle_from_row,
    "profile": convert.profile_from_row,
}


@dataclass(frozen=True, slots=True)
class _Rows:
    """Every row of a stretch of days, with what the answers told of them all."""

    rows: tuple[JSONValue, ...]
    unit: JSONValue
    time_zone: str | None


class GenericConnector:
    """A provider's sandbox data in the generic shape."""

    window_days: Mapping[str, int] = {
        **dict.fromkeys(samples.SERIES, _SAMPLES_DAYS),
        **dict.fromkeys((*_SUMMARIES, "sleep_cycle", "workout_stream", "electrocardiogram"), _DOCUMENTS_DAYS),
        # What is known of the person has no days: one call tells all.
        "profile": 366,
    }

    def __init__(self, slug: str) -> None:
        # The shape names no device, so that none is made up.
        self._source = DataSource(provider=slug)

    def account_id(self, access: Access) -> str:
        """The token endpoint has told it, or nobody does."""
        del access
        return ""

    def pull(self, access: Access, resource: str, start_on: date, end_on: date) -> Pulled:
        """The person's days from `start_on` to `end_on`, both included."""
        if resource in samples.SERIES:
            return self._series(access, resource, start_on, end_on)
        if resource == "sleep_cycle":
            return self._stages(access, start_on, end_on)
        if resource == "workout_stream":
            return self._streams(access, start_on, end_on)
        if resource == "electrocardiogram":
            return self._recordings(access, start_on, end_on)
        if resource not in _SUMMARIES:
            raise ProviderFailure(FailureKind.REFUSED)
        found = _rows(access, resource, start_on, end_on)
        one = partial(_SUMMARIES[resource], source=self._source)
        return _placed(summaries_of(one(row) for row in found.rows), found)

    def _series(self, access: Access, resource: str, start_on: date, end_on: date) -> Pulled:
        found = _rows(access, resource, start_on, end_on)
        series = samples.series_from_rows(resource, self._source, found.unit, found.rows)
        return _placed(Pulled(series=series.batches, refusals=series.refusals), found)

    def _stages(self, access: Access, start_on: date, end_on: date) -> Pulled:
        """Nights with their stages, which are kept only where their night is."""
        found = _rows(access, "sleep", start_on, end_on)
        nights = [convert.sleep_from_row(row, source=self._source) for row in found.rows]
        stages = [convert.sleep_cycle_from_row(row, source=self._source) for row in found.rows]
        return _placed(summaries_of([*nights, *stages]), found)

    def _streams(self, access: Access, start_on: date, end_on: date) -> Pulled:
        """Courses with their workouts, without which they are not kept."""
        found = _rows(access, "workouts", start_on, end_on)
        workouts = summaries_of(convert.workout_from_row(row, source=self._source) for row in found.rows)
        rows = _rows(access, "workout_stream", start_on, end_on).rows
        courses = [samples.stream_from_row(row, source=self._source) for row in rows]
        return Pulled(
            summaries=workouts.summaries,
            streams=tuple(one for one in courses if isinstance(one, StreamRecord)),
            refusals=(*workouts.refusals, *(one for one in courses if isinstance(one, Refusal))),
            time_zone=found.time_zone,
        )

    def _recordings(self, access: Access, start_on: date, end_on: date) -> Pulled:
        found = _rows(access, "electrocardiogram", start_on, end_on)
        recordings = summaries_of(convert.electrocardiogram_from_row(row, source=self._source) for row in found.rows)
        voltages = samples.voltages_from_rows(found.rows, source=self._source)
        return Pulled(
            series=voltages.batches,
            summaries=recordings.summaries,
            refusals=(*recordings.refusals, *voltages.refusals),
            time_zone=found.time_zone,
        )


def _placed(pulled: Pulled, found: _Rows) -> Pulled:
    return Pulled(pulled.series, pulled.summaries, pulled.streams, pulled.refusals, found.time_zone)


def _rows(access: Access, resource: str, start_on: date, end_on: date) -> _Rows:
    """Every row of every page. A page in another unit than the one before is an answer that can't be read."""
    query = {"start": start_on.isoformat(), "end": end_on.isoformat()}
    following, rows, units = dict(query), list[JSONValue](), list[JSONValue]()
    for _ in range(_PAGES_MAXIMUM):
        page = access.get(f"/data/{resource}", following)
        data, cursor, zone = page.get("data"), page.get("next_cursor"), page.get("time_zone")
        units.append(page.get("unit"))
        if not isinstance(data, list) or units[0] != units[-1]:
            raise ProviderFailure(FailureKind.TRANSPORT)
        rows += data
        if not isinstance(cursor, str) or not cursor:
            return _Rows(tuple(rows), units[0], zone if isinstance(zone, str) else None)
        following = {**query, "cursor": cursor}
    raise ProviderFailure(FailureKind.REFUSED)
