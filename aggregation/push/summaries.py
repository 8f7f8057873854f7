"""Pushed summaries as records: each at its day and time, and named by its sender or by what it is of."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Final, cast
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from aggregation.catalogue import DEVICE, SummarySpec
from aggregation.constants import OFFSET_MAXIMUM_SECONDS
from aggregation.push.envelope import RecordList
from aggregation.push.instants import Instants, clocks_read, instants_of
from aggregation.push.receipts import Place, RefusedList
from aggregation.push.records import external_id_good, records_split
from aggregation.records import OFFSET_UNKNOWN, UNDATED, DataSource, SummaryRecord
from aggregation.store import checking
from aggregation.store.days import instant_of_us
from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.ids import uuid_parse
from healthsvc.kernel.json_io import json_decode
from healthsvc.kernel.typing import JSONValue

#: A night belongs to the day of its end, as people count nights; all else to the day of its beginning.
_DAY_OF_END: Final = frozenset({"sleep", "sleep_cycle"})
#: What may name a summary, in the order in which it is looked for.
_IDENTITIES: Final = ("external_id", "provider_id", "id")
#: What every summary may say beside the resource's own fields.
_COMMON: Final = frozenset({*_IDENTITIES, "calendar_date", "timezone_offset"})
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class Parent:
    """What a summary says it is part of: by an id of the service's or, where that is "", by the sender's name."""

    resource: str
    id: str
    external_id: str


@dataclass(frozen=True, slots=True)
class ReadSummary:
    """A summary that could be read, its place in its list, and what it is part of, if anything."""

    place: Place
    index: int
    record: SummaryRecord
    parent: Parent | None = None


@dataclass(frozen=True, slots=True)
class Zones:
    """Where the person was: what the push says, and what the service knew before."""

    pushed: str | None
    fallback: str | None

    def day_of(self, moment: datetime, offset_seconds: int | None) -> date:
        """The person's day at an instant."""
        if offset_seconds is not None:
            return (moment + timedelta(seconds=offset_seconds)).date()
        zone = self.pushed or self.fallback
        return moment.astimezone(ZoneInfo(zone)).date() if zone else moment.date()


class _WrongError(Exception):
    """A summary that can't be read."""

    def __init__(self, reason: str, *loc: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.loc = loc


def summaries_read(
    given: RecordList, spec: SummarySpec, source: DataSource, zones: Zones, refused: RefusedList
) -> list[ReadSummary]:
    """The summaries of one list; what is wrong is refused by its place."""
    found: dict[int, Mapping[str, JSONValue]] = {}
    for index, text in enumerate(records_split(given.place, given.records)):
        try:
            value = json_decode(bytes(text))
        except ServiceError:
            value = None
        if isinstance(value, dict):
            found[index] = value
        else:
            refused.add(given.place, [index], checking.BAD_VALUE)
    times = _Times(spec, list(found.values()), zones)
    read: list[ReadSummary] = []
    for row, (index, fields) in enumerate(found.items()):
        try:
            record = _record(spec, source, fields, times, row)
        except _WrongError as wrong:
            refused.add(given.place, [index], wrong.reason, wrong.loc)
        else:
            read.append(ReadSummary(given.place, index, record, _parent(spec, fields)))
    return read


def _parent(spec: SummarySpec, fields: Mapping[str, JSONValue]) -> Parent | None:
    if spec.parent is None:
        return None
    fields = _parent_named(spec, fields)
    given = (fields.get(spec.parent.id_field), fields.get(spec.parent.external_id_field))
    named, called = (one if isinstance(one, str) else "" for one in given)
    return Parent(spec.parent.resource, named, called)


def _parent_named(spec: SummarySpec, fields: Mapping[str, JSONValue]) -> Mapping[str, JSONValue]:
    """The fields, where what is no UUID under the parent's id is what the sender calls the parent."""
    if spec.parent is None or fields.get(spec.parent.external_id_field) is not None:
        return fields
    named = fields.get(spec.parent.id_field)
    if not isinstance(named, str) or not named or uuid_parse(named) is not None:
        return fields
    return {**fields, spec.parent.id_field: None, spec.parent.external_id_field: named}


class _Times:
    """When the summaries of a list were, all read at once."""

    def __init__(self, spec: SummarySpec, objects: Sequence[Mapping[str, JSONValue]], zones: Zones) -> None:
        self.spec = spec
        self.zones = zones
        offsets = np.array([_offset(fields.get("timezone_offset")) for fields in objects], np.float64)
        self._bad_offset = np.isinf(offsets)
        self._offsets = np.where(self._bad_offset, np.nan, offsets)
        self._starts = self._instants(spec.starts_field, objects)
        self._ends = self._instants(spec.ends_field, objects)

    def _instants(self, name: str, objects: Sequence[Mapping[str, JSONValue]]) -> Instants:
        texts = [fields.get(name) if name else None for fields in objects]
        clocks = clocks_read([text if isinstance(text, str) else None for text in texts])
        return instants_of(clocks, self._offsets, self.zones.pushed)

    def offset(self, row: int) -> int | None:
        """The person's offset from UTC, seconds, at the moment whose day is the summary's."""
        if self._bad_offset[row]:
            raise _WrongError(checking.BAD_OFFSET, "timezone_offset")
        told: NDArray[np.float64] = self._offsets[row]
        if np.isfinite(told):
            return int(told)
        instants = (self._ends, self._starts) if self.spec.slug in _DAY_OF_END else (self._starts,)
        known = [int(one.offset_seconds[row]) for one in instants if one.offset_seconds[row] != OFFSET_UNKNOWN]
        return known[0] if known else None

    def bounds(self, row: int, fields: Mapping[str, JSONValue]) -> tuple[datetime | None, datetime | None]:
        """When it began and ended; None twice where it is of a day."""
        if not self.spec.starts_field:
            return None, None
        starts_at = self._instant(self._starts, row, self.spec.starts_field, fields)
        if not self.spec.ends_field:
            return starts_at, starts_at
        return starts_at, self._instant(self._ends, row, self.spec.ends_field, fields)

    @staticmethod
    def _instant(instants: Instants, row: int, name: str, fields: Mapping[str, JSONValue]) -> datetime:
        if fields.get(name) is None:
            raise _WrongError(checking.MISSING_FIELD, name)
        try:
            if instants.good[row]:
                return instant_of_us(int(instants.at_us[row]))
        except OverflowError:  # before the year 1 or after 9999
            pass
        raise _WrongError(checking.BAD_DATE, name)


def _offset(value: JSONValue) -> float:
    """The offset that was sent; NaN for none, infinite where it is no offset."""
    if value is None:
        return float("nan")
    good = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= OFFSET_MAXIMUM_SECONDS
    return float(cast("int", value)) if good else float("inf")


def _record(
    spec: SummarySpec, source: DataSource, fields: Mapping[str, JSONValue], times: _Times, row: int
) -> SummaryRecord:
    offset_seconds = times.offset(row)
    starts_at, ends_at = times.bounds(row, fields)
    day = _day(spec, fields, times.zones, (starts_at, ends_at), offset_seconds)
    if spec.slug == DEVICE.slug:
        identity = _device_name(source, fields)
        source = replace(source, device_id=identity)
    else:
        identity = _identity(spec, source, fields, day, (starts_at, ends_at))
    own = {field.name for field in spec.fields}
    # A workout shows what its sender calls it, by whichever name that came.
    named: dict[str, JSONValue] = {"provider_id": identity} if "provider_id" in own else {}
    dropped = {spec.starts_field, spec.ends_field, "timezone_offset", *(_COMMON - own)}
    return SummaryRecord(
        resource=spec.slug,
        source=source,
        external_id=identity,
        calendar_date=day,
        starts_at=starts_at,
        ends_at=ends_at,
        timezone_offset_seconds=offset_seconds,
        fields={
            **named,
            **{name: value for name, value in _parent_named(spec, fields).items() if name not in dropped},
        },
        raw={name: value for name, value in fields.items() if name != "calendar_date"} if spec.is_undated else fields,
    )


def _day(
    spec: SummarySpec,
    fields: Mapping[str, JSONValue],
    zones: Zones,
    bounds: tuple[datetime | None, datetime | None],
    offset_seconds: int | None,
) -> date:
    if spec.is_undated:
        return UNDATED
    name = spec.day_field or "calendar_date"
    named = fields.get(name)
    if named is not None:
        try:
            if isinstance(named, str) and _DATE.fullmatch(named):
                return date.fromisoformat(named)
        except ValueError:
            pass
        raise _WrongError(checking.BAD_DATE, name)
    moment = bounds[1] if spec.slug in _DAY_OF_END else bounds[0]
    if moment is None:
        raise _WrongError(checking.MISSING_FIELD, name)
    try:
        return zones.day_of(moment, offset_seconds)
    except OverflowError:
        raise _WrongError(checking.BAD_DATE, spec.starts_field) from None


def _identity(
    spec: SummarySpec,
    source: DataSource,
    fields: Mapping[str, JSONValue],
    day: date,
    bounds: tuple[datetime | None, datetime | None],
) -> str:
    """What the sender calls the summary; else what it is of: the source with the day, or with its start and end."""
    given = _given_name(fields)
    if given:
        return given
    starts_at, ends_at = bounds
    if spec.is_single:
        of = spec.slug
    elif starts_at is not None and ends_at is not None:
        of = f"{starts_at.astimezone(UTC).isoformat()}/{ends_at.astimezone(UTC).isoformat()}"
    else:
        of = day.isoformat()
    words = "\x00".join((of, source.type, source.app_id or "", source.device_id or ""))
    return f"{of}.{hashlib.sha256(words.encode()).hexdigest()[:16]}"


def _given_name(fields: Mapping[str, JSONValue]) -> str:
    """What the sender calls a summary; "" where that is not said."""
    for name in _IDENTITIES:
        given = fields.get(name)
        if isinstance(given, int) and not isinstance(given, bool):
            given = str(given)
        if given is not None and not (isinstance(given, str) and external_id_good(given)):
            raise _WrongError(checking.BAD_VALUE, name)
        if given:
            return given
    return ""


def _device_name(source: DataSource, fields: Mapping[str, JSONValue]) -> str:
    """What a device is called: by its sender, else in the push's source, else by who made it and its model."""
    words = (fields.get("device_manufacturer"), fields.get("device_model"))
    made = " ".join(one for one in words if isinstance(one, str) and one)
    called = _given_name(fields) or source.device_id or made
    if not called:
        raise _WrongError(checking.MISSING_FIELD, "id")
    if not external_id_good(called):
        raise _WrongError(checking.BAD_VALUE, "device_model")
    return called
