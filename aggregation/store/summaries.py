"""Writing summaries: each checked against its resource's record, then laid over what its source sent before."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final, TypeAlias
from uuid import UUID

import orjson

from aggregation.catalogue import SUMMARY_BY_SLUG, FieldKind, FieldSpec, SummarySpec
from aggregation.constants import OFFSET_MAXIMUM_SECONDS, SOURCE_TEXT_MAXIMUM_CHARACTERS
from aggregation.records import DataSource, SummaryRecord
from aggregation.sports import SPORT_BY_SLUG
from aggregation.store import checking, statements
from aggregation.store.checking import Ingestion, Refusals, text_good
from aggregation.store.columns import Counts
from aggregation.store.statements import rows_of
from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.typing import JSONObject, JSONValue

_Identity: TypeAlias = tuple[str, str, str]
_Version: TypeAlias = tuple[SummaryRecord, JSONObject]
#: Longer texts (titles, polylines) are no titles and no polylines.
_TEXT_MAXIMUM_CHARACTERS: Final = 200_000


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """A summary as it is kept."""

    id: UUID
    user_id: UUID
    resource: str
    source: DataSource
    calendar_date: date
    payload: JSONObject
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class SummariesWritten:
    """What a write did: counts by resource, and the summaries that are new or have another content."""

    counts: dict[str, Counts]
    created: dict[_Identity, SummaryRow]
    changed: dict[_Identity, SummaryRow]

    def count(self, resource: str, more: Counts) -> None:
        """Add to a resource's counts."""
        self.counts[resource] = self.counts.get(resource, Counts()).plus(more)


def summaries_write(
    team: TeamContext, user_id: UUID, records: Sequence[SummaryRecord], ingestion: Ingestion, refusals: Refusals
) -> SummariesWritten:
    """Store summaries in the current transaction, which must hold the user.

    Costs one statement; one more for each further version of the same summary among the records.
    """
    written = SummariesWritten({}, {}, {})
    for versions in _rounds(records, ingestion, refusals):
        _write_round(team, user_id, versions, written)
    return written


def _rounds(
    records: Sequence[SummaryRecord], ingestion: Ingestion, refusals: Refusals
) -> list[dict[_Identity, _Version]]:
    """The records that can be stored, each summary once a round, in the order of all writers' locks."""
    rounds: list[dict[_Identity, _Version]] = []
    seen: Counter[_Identity] = Counter()
    for record in records:
        payload = _checked(record, ingestion)
        if isinstance(payload, str):
            refusals.add(record.resource, payload)
            continue
        identity = (record.resource, record.source.provider, record.external_id)
        if seen[identity] == len(rounds):
            rounds.append({})
        rounds[seen[identity]][identity] = (record, payload)
        seen[identity] += 1
    return [dict(sorted(versions.items(), key=lambda item: item[0])) for versions in rounds]


def _write_round(
    team: TeamContext, user_id: UUID, versions: Mapping[_Identity, _Version], written: SummariesWritten
) -> None:
    proposed = {identity: uuid_ordered() for identity in versions}
    rows = rows_of(statements.SUMMARIES_WRITE, _parameters(team, user_id, versions, proposed))
    stored = {(resource, provider, external_id): rest for resource, provider, external_id, *rest in rows}
    for identity, (record, payload) in versions.items():
        if identity not in stored:
            written.count(identity[0], Counts(unchanged=1))
            continue
        summary_id, created_at, updated_at = stored[identity]
        row = SummaryRow(
            summary_id, user_id, record.resource, record.source, record.calendar_date, payload, created_at, updated_at
        )
        new = summary_id == proposed[identity]
        written.count(identity[0], Counts(created=int(new), changed=int(not new)))
        # What an earlier round made is still new to whoever hears of it.
        (written.created if new or identity in written.created else written.changed)[identity] = row


def _parameters(
    team: TeamContext,
    user_id: UUID,
    versions: Mapping[_Identity, _Version],
    proposed: Mapping[_Identity, UUID],
) -> dict[str, object]:
    records = [record for record, _ in versions.values()]
    return {
        "user_id": user_id,
        "team_id": team.team_id,
        "environment": str(team.environment),
        "now": clock.now(),
        "ids": list(proposed.values()),
        "resources": [record.resource for record in records],
        "providers": [record.source.provider for record in records],
        "source_types": [record.source.type for record in records],
        "app_ids": [record.source.app_id or "" for record in records],
        "device_ids": [record.source.device_id or "" for record in records],
        "external_ids": [record.external_id for record in records],
        "calendar_dates": [record.calendar_date for record in records],
        "starts": [record.starts_at for record in records],
        "ends": [record.ends_at for record in records],
        "offsets": [record.timezone_offset_seconds for record in records],
        "payloads": [orjson.dumps(payload).decode() for _, payload in versions.values()],
    }


def _checked(record: SummaryRecord, ingestion: Ingestion) -> JSONObject | str:
    """The fields to store, or why the record is refused."""
    spec = SUMMARY_BY_SLUG.get(record.resource)
    if spec is None:
        return checking.UNKNOWN_RESOURCE
    if not checking.source_good(record.source):
        return checking.BAD_SOURCE
    identity_good = 0 < len(record.external_id) <= SOURCE_TEXT_MAXIMUM_CHARACTERS and text_good(record.external_id)
    if not identity_good:
        return checking.BAD_VALUE
    offset = record.timezone_offset_seconds
    if offset is not None and abs(offset) > OFFSET_MAXIMUM_SECONDS:
        return checking.BAD_OFFSET
    problem = _times_problem(spec, record)
    if problem is not None:
        return problem
    if not ingestion.keeps_day(record.calendar_date):
        return checking.OUTSIDE_INGESTION_BOUNDS
    return _fields_checked(spec, record)


def _times_problem(spec: SummarySpec, record: SummaryRecord) -> str | None:
    if not 1900 <= record.calendar_date.year < 2200:
        return checking.BAD_DATE
    starts_at, ends_at = record.starts_at, record.ends_at
    if spec.starts_field and (starts_at is None or ends_at is None):
        return checking.BAD_DATE
    if any(moment is not None and moment.tzinfo is None for moment in (starts_at, ends_at)):
        return checking.BAD_DATE
    if starts_at is not None and ends_at is not None and ends_at < starts_at:
        return checking.END_BEFORE_START
    return None


def _fields_checked(spec: SummarySpec, record: SummaryRecord) -> JSONObject | str:
    """The fields that were given, or why the record is refused. Times and offset are the record's own."""
    given: dict[str, JSONValue] = dict(record.fields)
    if spec.starts_field and record.starts_at and record.ends_at:
        given[spec.starts_field] = clock.utc_text(record.starts_at)
        given[spec.ends_field] = clock.utc_text(record.ends_at)
    names = {field.name for field in spec.fields}
    if "timezone_offset" in names:
        given["timezone_offset"] = record.timezone_offset_seconds
    if not names.issuperset(given):
        return checking.UNKNOWN_FIELD
    payload: JSONObject = {}
    for field in spec.fields:
        value = given.get(field.name)
        if value is None:
            if field.required:
                return checking.MISSING_FIELD
            continue
        taken = _value_checked(field, value)
        if isinstance(taken, _Refused):
            return taken.reason
        payload[field.name] = taken
    return payload


@dataclass(frozen=True, slots=True)
class _Refused:
    reason: str


_BAD: Final = _Refused(checking.BAD_VALUE)
_RANGE: Final = _Refused(checking.OUT_OF_RANGE)


def _value_checked(field: FieldSpec, value: JSONValue) -> JSONValue | _Refused:
    match field.kind:
        case FieldKind.NUMBER | FieldKind.WHOLE:
            return _number_checked(field, value)
        case FieldKind.FLAG:
            return value if isinstance(value, bool) else _BAD
        case FieldKind.WHOLES:
            return _wholes_checked(field, value)
        case FieldKind.OBJECT:
            return _object_checked(field, value)
        case _:
            return _text_checked(field, value)


def _number_checked(field: FieldSpec, value: JSONValue) -> JSONValue | _Refused:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return _BAD
    if not field.lowest <= value <= field.highest:
        return _RANGE
    if field.kind is FieldKind.NUMBER:
        return float(value)
    return int(value) if value == int(value) else _BAD


def _wholes_checked(field: FieldSpec, value: JSONValue) -> JSONValue | _Refused:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > 24:
        return _BAD
    one = FieldSpec(field.name, FieldKind.WHOLE, field.meaning, lowest=field.lowest, highest=field.highest)
    taken = [_number_checked(one, item) for item in value]
    refused = next((item for item in taken if isinstance(item, _Refused)), None)
    return refused or [item for item in taken if not isinstance(item, _Refused)]


def _object_checked(field: FieldSpec, value: JSONValue) -> JSONValue | _Refused:
    if not isinstance(value, Mapping):
        return _BAD
    members = {member.name: member for member in field.members}
    if not set(members).issuperset(value):
        return _Refused(checking.UNKNOWN_FIELD)
    taken: JSONObject = {}
    for name, member in members.items():
        item = value.get(name)
        checked = None if item is None else _value_checked(member, item)
        if isinstance(checked, _Refused):
            return checked
        taken[name] = checked
    return taken


def _text_checked(field: FieldSpec, value: JSONValue) -> JSONValue | _Refused:
    if not isinstance(value, str) or len(value) > _TEXT_MAXIMUM_CHARACTERS or not text_good(value):
        return _BAD
    if field.choices and value not in field.choices:
        return _BAD
    if field.kind is FieldKind.SPORT:
        return value if value in SPORT_BY_SLUG else _BAD
    if field.kind is FieldKind.INSTANT:
        return _instant_checked(value)
    return value


def _instant_checked(text: str) -> JSONValue | _Refused:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _BAD
    return clock.utc_text(moment.astimezone(UTC)) if moment.tzinfo else _BAD
