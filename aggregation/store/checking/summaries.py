"""What summaries must be to be stored: every field, also in lists and objects, is looked at before it is kept."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final
from uuid import UUID

import orjson

from aggregation.catalogue import SUMMARY_BY_SLUG, FieldKind, FieldSpec, ParentSpec, SummarySpec
from aggregation.constants import OFFSET_MAXIMUM_SECONDS, SOURCE_TEXT_MAXIMUM_CHARACTERS
from aggregation.records import SummaryRecord
from aggregation.sports import SPORT_BY_SLUG
from aggregation.store.checking import reasons
from aggregation.store.checking.reasons import Ingestion, text_good
from healthsvc.kernel import clock
from healthsvc.kernel.typing import JSONObject, JSONValue

#: Names of foods and the like.
_NAME_MAXIMUM_CHARACTERS: Final = 255
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_YEARS: Final = range(1900, 2200)
#: A NUL character in JSON text, and not a backslash before the letters u0000.
_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


@dataclass(frozen=True, slots=True)
class CheckedSummary:
    """A summary that can be stored.

    payload: its fields as they are kept. parent_external_id: what the provider calls the summary that this one is part
    of, where the record gave that instead of an id; the id is then still missing in `payload`.
    """

    record: SummaryRecord
    payload: JSONObject
    parent_external_id: str = ""
    raw: bytes | None = None


def summary_reason(record: SummaryRecord, ingestion: Ingestion) -> str | None:
    """Why a summary would be refused, as far as it can be told without what is stored; None where it is good."""
    checked = summary_checked(record, ingestion)
    return checked if isinstance(checked, str) else None


def summary_checked(record: SummaryRecord, ingestion: Ingestion) -> CheckedSummary | str:
    """What to store, or why the record is refused."""
    spec = SUMMARY_BY_SLUG.get(record.resource)
    if spec is None:
        return reasons.UNKNOWN_RESOURCE
    problem = _envelope_problem(spec, record)
    if problem is not None:
        return problem
    if not (spec.is_single or ingestion.keeps_day(record.calendar_date)):
        return reasons.OUTSIDE_INGESTION_BOUNDS
    raw = _raw_checked(record.raw)
    if isinstance(raw, _Refused):
        return raw.reason
    given = dict(record.fields)
    parent = _parent_taken(spec.parent, given) if spec.parent is not None else ""
    if isinstance(parent, _Refused):
        return parent.reason
    payload = _fields_checked(spec, record, given)
    return payload if isinstance(payload, str) else CheckedSummary(record, payload, parent, raw)


def _envelope_problem(spec: SummarySpec, record: SummaryRecord) -> str | None:
    """What is wrong with identity, source and times."""
    if not reasons.source_good(record.source):
        return reasons.BAD_SOURCE
    if not _name_good(record.external_id, SOURCE_TEXT_MAXIMUM_CHARACTERS):
        return reasons.BAD_VALUE
    offset = record.timezone_offset_seconds
    if offset is not None and abs(offset) > OFFSET_MAXIMUM_SECONDS:
        return reasons.BAD_OFFSET
    return _times_problem(spec, record)


def _times_problem(spec: SummarySpec, record: SummaryRecord) -> str | None:
    starts_at, ends_at = record.starts_at, record.ends_at
    if record.calendar_date.year not in _YEARS:
        return reasons.BAD_DATE
    if (spec.starts_field and starts_at is None) or (spec.ends_field and ends_at is None):
        return reasons.BAD_DATE
    for moment in (starts_at, ends_at):
        if moment is not None and (moment.tzinfo is None or moment.year not in _YEARS):
            return reasons.BAD_DATE
    if starts_at is not None and ends_at is not None and ends_at < starts_at:
        return reasons.END_BEFORE_START
    return None


def _name_good(name: str, maximum_characters: int) -> bool:
    return 0 < len(name) <= maximum_characters and text_good(name)


@dataclass(frozen=True, slots=True)
class _Refused:
    reason: str


_BAD: Final = _Refused(reasons.BAD_VALUE)
_RANGE: Final = _Refused(reasons.OUT_OF_RANGE)
_UNKNOWN: Final = _Refused(reasons.UNKNOWN_FIELD)
_MISSING: Final = _Refused(reasons.MISSING_FIELD)


def _raw_checked(raw: Mapping[str, JSONValue] | None) -> bytes | _Refused | None:
    """The source's own form as JSON text that the database takes."""
    if raw is None:
        return None
    try:
        text = orjson.dumps(raw)
    except TypeError:
        # Too deep, too large a number, or half of a surrogate pair.
        return _BAD
    return _BAD if _NUL.search(text) else text


def _parent_taken(parent: ParentSpec, given: dict[str, JSONValue]) -> str | _Refused:
    """What the provider calls the parent, out of the given fields; "" where the parent's id is among them."""
    called = given.pop(parent.external_id_field, None)
    named = given.get(parent.id_field)
    if named is None:
        if called is None:
            return _MISSING
        # To be replaced by the id as soon as that is known.
        given[parent.id_field] = ""
        good = isinstance(called, str) and _name_good(called, SOURCE_TEXT_MAXIMUM_CHARACTERS)
        return called if good and isinstance(called, str) else _BAD
    try:
        given[parent.id_field] = str(UUID(named)) if isinstance(named, str) else None
    except ValueError:
        return _BAD
    return "" if isinstance(named, str) else _BAD


def _fields_checked(spec: SummarySpec, record: SummaryRecord, given: dict[str, JSONValue]) -> JSONObject | str:
    """The fields that were given, or why the record is refused. Times and offset are the record's own."""
    for name, moment in ((spec.starts_field, record.starts_at), (spec.ends_field, record.ends_at)):
        if name and moment:
            given[name] = clock.utc_text(moment)
    if any(field.name == "timezone_offset" for field in spec.fields):
        given["timezone_offset"] = record.timezone_offset_seconds
    taken = _members_checked(spec.fields, given)
    if isinstance(taken, _Refused):
        return taken.reason
    payload: JSONObject = {name: value for name, value in taken.items() if value is not None}
    if spec.rule is not None and not spec.rule(payload):
        return reasons.INCONSISTENT_FIELDS
    return payload


def _members_checked(fields: Sequence[FieldSpec], given: Mapping[str, JSONValue]) -> JSONObject | _Refused:
    """Every field, None where it is not given."""
    if not {field.name for field in fields}.issuperset(given):
        return _UNKNOWN
    taken: JSONObject = {}
    for field in fields:
        value = given.get(field.name)
        if value is None:
            value = field.default
        checked = None if value is None else _value_checked(field, value)
        if isinstance(checked, _Refused):
            return checked
        if checked is None and field.required:
            return _MISSING
        taken[field.name] = checked
    return taken


def _value_checked(field: FieldSpec, value: JSONValue) -> JSONValue | _Refused:
    match field.kind:
        case FieldKind.NUMBER | FieldKind.WHOLE:
            return _number_checked(field, value)
        case FieldKind.FLAG:
            return _flag_checked(field, value)
        case FieldKind.WHOLES:
            return _wholes_checked(field, value)
        case FieldKind.OBJECT:
            return _object_checked(field, value)
        case FieldKind.OBJECTS:
            return _objects_checked(field, value)
        case FieldKind.NUMBERS_BY_NAME | FieldKind.OBJECTS_BY_NAME:
            return _by_name_checked(field, value)
        case _:
            return _text_checked(field, value)


def _number_checked(field: FieldSpec, value: JSONValue) -> JSONValue | _Refused:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _BAD
    if isinstance(value, float) and not math.isfinite(value):
        return _BAD
    if not field.lowest <= value <= field.highest:
        return _RANGE
    if field.kind is not FieldKind.WHOLE and field.kind is not FieldKind.WHOLES:
        return float(value)
    return int(value) if value == int(value) else _BAD


def _flag_checked(field: FieldSpec, value: JSONValue) -> JSONValue | _Refused:
    if not isinstance(value, bool):
        return _BAD
    return None if field.true_only and not value else value


def _wholes_checked(field: FieldSpec, value: JSONValue) -> JSONValue | _Refused:
    return _each_checked(field, value, lambda item: _number_checked(field, item))


def _objects_checked(field: FieldSpec, value: JSONValue) -> JSONValue | _Refused:
    return _each_checked(field, value, lambda item: _object_checked(field, item))


def _each_checked(
    field: FieldSpec, value: JSONValue, check: Callable[[JSONValue], JSONValue | _Refused]
) -> JSONValue | _Refused:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > field.maximum_items:
        return _BAD
    taken: list[JSONValue] = []
    for item in value:
        checked = check(item)
        if isinstance(checked, _Refused):
            return checked
        taken.append(checked)
    return taken


def _object_checked(field: FieldSpec, value: JSONValue) -> JSONValue | _Refused:
    return _members_checked(field.members, value) if isinstance(value, Mapping) else _BAD


def _by_name_checked(field: FieldSpec, value: JSONValue) -> JSONValue | _Refused:
    if not isinstance(value, Mapping) or len(value) > field.maximum_items:
        return _BAD
    check = _number_checked if field.kind is FieldKind.NUMBERS_BY_NAME else _object_checked
    taken: JSONObject = {}
    for name, item in value.items():
        if field.choices and name not in field.choices:
            return _UNKNOWN
        if not _name_good(name, _NAME_MAXIMUM_CHARACTERS):
            return _BAD
        checked = check(field, item)
        if isinstance(checked, _Refused):
            return checked
        taken[name] = checked
    return taken


def _text_checked(field: FieldSpec, value: JSONValue) -> JSONValue | _Refused:
    if not isinstance(value, str) or len(value) > field.maximum_characters or not text_good(value):
        return _BAD
    if field.choices and value not in field.choices:
        return _BAD
    match field.kind:
        case FieldKind.SPORT:
            return value if value in SPORT_BY_SLUG else _BAD
        case FieldKind.INSTANT:
            return _instant_checked(value)
        case FieldKind.DATE:
            return _date_checked(value)
        case _:
            return value


def _instant_checked(text: str) -> JSONValue | _Refused:
    try:
        moment = datetime.fromisoformat(text)
        return clock.utc_text(moment.astimezone(UTC)) if moment.tzinfo else _BAD
    except (ValueError, OverflowError):
        return _BAD


def _date_checked(text: str) -> JSONValue | _Refused:
    if not _DATE.fullmatch(text):
        return _BAD
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return _BAD
    return text if day.year in _YEARS else _RANGE
