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
from aggregation.sports import SPORT_BY_SLUG, SPORTS
from aggregation.store.checking import reasons
from aggregation.store.checking.reasons import Cause, Ingestion, name_shown, text_good
from healthsvc.kernel import clock
from healthsvc.kernel.typing import JSONObject, JSONValue

#: Names of foods and the like.
_NAME_MAXIMUM_CHARACTERS: Final = 255
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_SPORT_MEMBERS: Final = frozenset({"id", "name", "slug"})
_SLUG_BY_SPORT_ID: Final[Mapping[int, str]] = {sport.id: sport.slug for sport in SPORTS}
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
    problem = summary_problem(record, ingestion)
    return problem.reason if problem is not None else None


def summary_problem(record: SummaryRecord, ingestion: Ingestion) -> Cause | None:
    """As `summary_reason`, with the field at fault."""
    looked_at = _looked_at(record, ingestion)
    return looked_at if isinstance(looked_at, Cause) else None


def summary_checked(record: SummaryRecord, ingestion: Ingestion) -> CheckedSummary | str:
    """What to store, or why the record is refused."""
    looked_at = _looked_at(record, ingestion)
    return looked_at.reason if isinstance(looked_at, Cause) else looked_at


def _looked_at(record: SummaryRecord, ingestion: Ingestion) -> CheckedSummary | Cause:
    spec = SUMMARY_BY_SLUG.get(record.resource)
    if spec is None:
        return Cause(reasons.UNKNOWN_RESOURCE)
    problem = _envelope_problem(spec, record)
    if problem is not None:
        return problem
    if not (spec.is_undated or ingestion.keeps_day(record.calendar_date)):
        return Cause(reasons.OUTSIDE_INGESTION_BOUNDS)
    given = dict(record.fields)
    parent = _parent_taken(spec.parent, given) if spec.parent is not None else ""
    if isinstance(parent, Cause):
        return parent
    payload = _fields_checked(spec, record, given)
    if isinstance(payload, Cause):
        return payload
    raw = _raw_checked(record.raw)
    return raw if isinstance(raw, Cause) else CheckedSummary(record, payload, parent, raw)


def _envelope_problem(spec: SummarySpec, record: SummaryRecord) -> Cause | None:
    """What is wrong with identity, source and times."""
    if not reasons.source_good(record.source):
        return Cause(reasons.BAD_SOURCE)
    if not _name_good(record.external_id, SOURCE_TEXT_MAXIMUM_CHARACTERS):
        return Cause(reasons.BAD_VALUE)
    offset = record.timezone_offset_seconds
    if offset is not None and abs(offset) > OFFSET_MAXIMUM_SECONDS:
        return Cause(reasons.BAD_OFFSET, ("timezone_offset",))
    return _times_problem(spec, record)


def _times_problem(spec: SummarySpec, record: SummaryRecord) -> Cause | None:
    starts_at, ends_at = record.starts_at, record.ends_at
    if record.calendar_date.year not in _YEARS:
        return Cause(reasons.BAD_DATE, (spec.day_field or spec.starts_field or "calendar_date",))
    for name, moment in ((spec.starts_field, starts_at), (spec.ends_field, ends_at)):
        if moment is None and name:
            return Cause(reasons.BAD_DATE, (name,))
        if moment is not None and (moment.tzinfo is None or moment.year not in _YEARS):
            return Cause(reasons.BAD_DATE, name_shown(name))
    if starts_at is not None and ends_at is not None and ends_at < starts_at:
        return Cause(reasons.END_BEFORE_START, name_shown(spec.ends_field))
    return None


def _name_good(name: str, maximum_characters: int) -> bool:
    return 0 < len(name) <= maximum_characters and text_good(name)


_BAD: Final = Cause(reasons.BAD_VALUE)
_RANGE: Final = Cause(reasons.OUT_OF_RANGE)
_MISSING: Final = Cause(reasons.MISSING_FIELD)


def _raw_checked(raw: Mapping[str, JSONValue] | None) -> bytes | Cause | None:
    """The source's own form as JSON text that the database takes."""
    if raw is None:
        return None
    try:
        text = orjson.dumps(raw)
    except TypeError:
        # Too deep, too large a number, or half of a surrogate pair.
        return _BAD
    return _BAD if _NUL.search(text) else text


def _parent_taken(parent: ParentSpec, given: dict[str, JSONValue]) -> str | Cause:
    """What the provider calls the parent, out of the given fields; "" where the parent's id is among them."""
    called = given.pop(parent.external_id_field, None)
    named = given.get(parent.id_field)
    if named is None:
        if called is None:
            return _MISSING.within(parent.id_field)
        # To be replaced by the id as soon as that is known.
        given[parent.id_field] = ""
        if isinstance(called, str) and _name_good(called, SOURCE_TEXT_MAXIMUM_CHARACTERS):
            return called
        return _BAD.within(parent.external_id_field)
    try:
        if isinstance(named, str):
            given[parent.id_field] = str(UUID(named))
            return ""
    except ValueError:
        pass
    return _BAD.within(parent.id_field)


def _fields_checked(spec: SummarySpec, record: SummaryRecord, given: dict[str, JSONValue]) -> JSONObject | Cause:
    """The fields that were given, or why the record is refused. Times and offset are the record's own."""
    for name, moment in ((spec.starts_field, record.starts_at), (spec.ends_field, record.ends_at)):
        if name and moment:
            given[name] = clock.utc_text(moment)
    if any(field.name == "timezone_offset" for field in spec.fields):
        given["timezone_offset"] = record.timezone_offset_seconds
    taken = _members_checked(spec.fields, given)
    if isinstance(taken, Cause):
        return taken
    payload: JSONObject = {name: value for name, value in taken.items() if value is not None}
    if spec.rule is not None and not spec.rule(payload):
        return Cause(reasons.INCONSISTENT_FIELDS)
    return payload


def _members_checked(fields: Sequence[FieldSpec], given: Mapping[str, JSONValue]) -> JSONObject | Cause:
    """Every field, None where it is not given."""
    known = {field.name for field in fields}
    if not known.issuperset(given):
        unknown = next(name for name in given if name not in known)
        return Cause(reasons.UNKNOWN_FIELD, name_shown(unknown))
    taken: JSONObject = {}
    for field in fields:
        value = given.get(field.name)
        if value is None:
            value = field.default
        checked = None if value is None else _value_checked(field, value)
        if isinstance(checked, Cause):
            return checked.within(field.name)
        if checked is None and field.required:
            return _MISSING.within(field.name)
        taken[field.name] = checked
    return taken


def _value_checked(field: FieldSpec, value: JSONValue) -> JSONValue | Cause:
    match field.kind:
        case FieldKind.NUMBER | FieldKind.WHOLE:
            return _number_checked(field, value)
        case FieldKind.FLAG:
            return _flag_checked(field, value)
        case FieldKind.SPORT:
            return _sport_checked(value)
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


def _number_checked(field: FieldSpec, value: JSONValue) -> JSONValue | Cause:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _BAD
    if isinstance(value, float) and not math.isfinite(value):
        return _BAD
    if not field.lowest <= value <= field.highest:
        return _RANGE
    if field.kind is not FieldKind.WHOLE and field.kind is not FieldKind.WHOLES:
        return float(value)
    return int(value) if value == int(value) else _BAD


def _flag_checked(field: FieldSpec, value: JSONValue) -> JSONValue | Cause:
    if not isinstance(value, bool):
        return _BAD
    return None if field.true_only and not value else value


def _sport_checked(value: JSONValue) -> JSONValue | Cause:
    """A sport's slug, of a slug, an id or the object that workouts answer."""
    if isinstance(value, Mapping):
        if not _SPORT_MEMBERS.issuperset(value):
            return _BAD
        found = {_slug_of(one) for one in (value.get("slug"), value.get("id")) if one is not None}
    else:
        found = {_slug_of(value)}
    slug = found.pop() if len(found) == 1 else None
    return _BAD if slug is None else slug


def _slug_of(named: JSONValue) -> str | None:
    if isinstance(named, str):
        return named if named in SPORT_BY_SLUG else None
    whole = isinstance(named, int) and not isinstance(named, bool)
    return _SLUG_BY_SPORT_ID.get(named) if whole and isinstance(named, int) else None


def _wholes_checked(field: FieldSpec, value: JSONValue) -> JSONValue | Cause:
    return _each_checked(field, value, lambda item: _number_checked(field, item))


def _objects_checked(field: FieldSpec, value: JSONValue) -> JSONValue | Cause:
    return _each_checked(field, value, lambda item: _object_checked(field, item))


def _each_checked(
    field: FieldSpec, value: JSONValue, check: Callable[[JSONValue], JSONValue | Cause]
) -> JSONValue | Cause:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > field.maximum_items:
        return _BAD
    taken: list[JSONValue] = []
    for place, item in enumerate(value):
        checked = check(item)
        if isinstance(checked, Cause):
            return checked.within(place)
        taken.append(checked)
    return taken


def _object_checked(field: FieldSpec, value: JSONValue) -> JSONValue | Cause:
    return _members_checked(field.members, value) if isinstance(value, Mapping) else _BAD


def _by_name_checked(field: FieldSpec, value: JSONValue) -> JSONValue | Cause:
    if not isinstance(value, Mapping) or len(value) > field.maximum_items:
        return _BAD
    check = _number_checked if field.kind is FieldKind.NUMBERS_BY_NAME else _object_checked
    taken: JSONObject = {}
    for name, item in value.items():
        if field.choices and name not in field.choices:
            return Cause(reasons.UNKNOWN_FIELD, name_shown(name))
        if not _name_good(name, _NAME_MAXIMUM_CHARACTERS):
            return _BAD
        checked = check(field, item)
        if isinstance(checked, Cause):
            return checked.within(*name_shown(name))
        taken[name] = checked
    return taken


def _text_checked(field: FieldSpec, value: JSONValue) -> JSONValue | Cause:
    if not isinstance(value, str) or len(value) > field.maximum_characters or not text_good(value):
        return _BAD
    if field.choices and value not in field.choices:
        return _BAD
    match field.kind:
        case FieldKind.INSTANT:
            return _instant_checked(value)
        case FieldKind.DATE:
            return _date_checked(value)
        case _:
            return value


def _instant_checked(text: str) -> JSONValue | Cause:
    try:
        moment = datetime.fromisoformat(text)
        return clock.utc_text(moment.astimezone(UTC)) if moment.tzinfo else _BAD
    except (ValueError, OverflowError):
        return _BAD


def _date_checked(text: str) -> JSONValue | Cause:
    if not _DATE.fullmatch(text):
        return _BAD
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return _BAD
    return text if day.year in _YEARS else _RANGE
