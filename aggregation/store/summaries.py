"""Writing summaries: each checked against its resource's record, then laid over what its source sent before."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import pairwise
from typing import TypeAlias
from uuid import UUID

import orjson

from aggregation.catalogue import SUMMARY_BY_SLUG, ParentSpec
from aggregation.records import DataSource, SummaryRecord
from aggregation.store import statements
from aggregation.store.checking import (
    SUMMARIES_BATCH,
    UNKNOWN_PARENT,
    CheckedSummary,
    Ingestion,
    Refusals,
    summary_checked,
)
from aggregation.store.columns import Counts
from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.postgres.statements import rows_of
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.typing import JSONObject, JSONValue

_Identity: TypeAlias = tuple[str, str, str]
#: A round of versions: each summary once, in the order of all writers' locks.
_Round: TypeAlias = Mapping[_Identity, CheckedSummary]


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
    external_id: str = ""
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    timezone_offset_seconds: int | None = None
    raw: Mapping[str, JSONValue] | None = None


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

    Summaries that are part of others come after them. Costs one statement; one more where a summary is among the
    records more than once, two more where there are parts, and one where only sources' own forms changed.
    """
    written = SummariesWritten({}, {}, {})
    checked: list[tuple[int, CheckedSummary]] = []
    for place, record in enumerate(records):
        found = summary_checked(record, ingestion)
        if isinstance(found, str):
            refusals.add_rows(record.resource, found, [place], SUMMARIES_BATCH)
        else:
            checked.append((place, found))
    wholes = [one for _, one in checked if _parent_of(one) is None]
    _write_all(team, user_id, wholes, written)
    parts = [(place, one) for place, one in checked if _parent_of(one) is not None]
    _write_all(team, user_id, _with_parents(team, user_id, parts, refusals), written)
    return written


def _write_all(
    team: TeamContext, user_id: UUID, summaries: Iterable[CheckedSummary], written: SummariesWritten
) -> None:
    """Write the first version of each summary, which tells what was there before, then the last.

    What lies between is counted and never written: a row that is written often in one transaction drags all its dead
    versions along.
    """
    chains: dict[_Identity, list[CheckedSummary]] = {}
    for one in summaries:
        identity = (one.record.resource, one.record.source.provider, one.record.external_id)
        chains.setdefault(identity, []).append(one)
    if not chains:
        return
    # In the order of all writers' locks.
    ordered = sorted(chains.items(), key=lambda item: item[0])
    _write_round(team, user_id, {identity: chain[0] for identity, chain in ordered}, written, counts=True)
    again = {identity: chain[-1] for identity, chain in ordered if len(chain) > 1}
    if again:
        _write_round(team, user_id, again, written, counts=False)
    for identity, chain in ordered:
        for before, after in pairwise(chain):
            same = _content(before) == _content(after)
            written.count(identity[0], Counts(unchanged=int(same), changed=int(not same)))


def _content(one: CheckedSummary) -> tuple[object, ...]:
    """What makes a version differ from another; as SUMMARIES_WRITE compares rows."""
    record = one.record
    source = record.source
    return (
        (source.type, source.app_id or "", source.device_id or ""),
        record.calendar_date,
        record.starts_at,
        record.ends_at,
        record.timezone_offset_seconds,
        one.payload,
    )


def _parent_of(checked: CheckedSummary) -> ParentSpec | None:
    return SUMMARY_BY_SLUG[checked.record.resource].parent


def _with_parents(
    team: TeamContext, user_id: UUID, parts: Sequence[tuple[int, CheckedSummary]], refusals: Refusals
) -> list[CheckedSummary]:
    """The parts whose parents are stored, with the parents' ids; one statement. The others are refused."""
    if not parts:
        return []
    known_ids, by_name = _parents(team, user_id, [one for _, one in parts])
    found: list[CheckedSummary] = []
    for place, one in parts:
        parent = _parent_of(one)
        if parent is None:
            continue
        named = str(one.payload[parent.id_field])
        if one.parent_external_id:
            named = by_name.get((parent.resource, one.record.source.provider, one.parent_external_id), "")
        if (parent.resource, named) not in known_ids:
            refusals.add_rows(one.record.resource, UNKNOWN_PARENT, [place], SUMMARIES_BATCH)
            continue
        found.append(replace(one, payload={**one.payload, parent.id_field: named}))
    return found


def _parents(
    team: TeamContext, user_id: UUID, parts: Sequence[CheckedSummary]
) -> tuple[set[tuple[str, str]], dict[_Identity, str]]:
    """Those of the named parents that are stored: (resource, id), and the ids by what providers call them."""
    wanted = [(parent, one) for one in parts if (parent := _parent_of(one)) is not None]
    rows = rows_of(
        statements.SUMMARY_PARENTS,
        {
            "user_id": user_id,
            "team_id": team.team_id,
            "environment": str(team.environment),
            "resources": [parent.resource for parent, _ in wanted],
            "providers": [one.record.source.provider for _, one in wanted],
            "external_ids": [one.parent_external_id for _, one in wanted],
            "ids": [_id_of(one.payload[parent.id_field]) for parent, one in wanted],
        },
    )
    known = {(resource, str(summary_id)) for resource, _, _, summary_id in rows}
    return known, {(resource, provider, called): str(summary_id) for resource, provider, called, summary_id in rows}


def _id_of(value: JSONValue) -> UUID | None:
    return UUID(value) if isinstance(value, str) and value else None


def _write_round(
    team: TeamContext, user_id: UUID, versions: _Round, written: SummariesWritten, *, counts: bool
) -> None:
    proposed = {identity: uuid_ordered() for identity in versions}
    rows = rows_of(statements.SUMMARIES_WRITE, _parameters(team, user_id, versions, proposed))
    stored = {(resource, provider, external_id): rest for resource, provider, external_id, *rest in rows}
    _raws_write(team, user_id, {identity: one for identity, one in versions.items() if identity not in stored})
    for identity, one in versions.items():
        if identity not in stored:
            if counts:
                written.count(identity[0], Counts(unchanged=1))
            continue
        summary_id, created_at, updated_at = stored[identity]
        row = _row(user_id, summary_id, one, created_at, updated_at)
        new = summary_id == proposed[identity]
        if counts:
            written.count(identity[0], Counts(created=int(new), changed=int(not new)))
        # What an earlier round made is still new to whoever hears of it.
        (written.created if new or identity in written.created else written.changed)[identity] = row


def _raws_write(team: TeamContext, user_id: UUID, unchanged: _Round) -> None:
    """Keep the newest of the sources' own forms where nothing that is made of them changed; that is no event."""
    given = {identity: one.raw for identity, one in unchanged.items() if one.raw is not None}
    if not given:
        return
    rows_of(
        statements.SUMMARY_RAWS_WRITE,
        {
            "user_id": user_id,
            "team_id": team.team_id,
            "environment": str(team.environment),
            "resources": [resource for resource, _, _ in given],
            "providers": [provider for _, provider, _ in given],
            "external_ids": [external_id for _, _, external_id in given],
            "raws": [raw.decode() for raw in given.values()],
        },
    )


def _row(
    user_id: UUID, summary_id: UUID, one: CheckedSummary, created_at: datetime, updated_at: datetime
) -> SummaryRow:
    record = one.record
    return SummaryRow(
        id=summary_id,
        user_id=user_id,
        resource=record.resource,
        source=record.source,
        calendar_date=record.calendar_date,
        payload=one.payload,
        created_at=created_at,
        updated_at=updated_at,
        external_id=record.external_id,
        starts_at=record.starts_at,
        ends_at=record.ends_at,
        timezone_offset_seconds=record.timezone_offset_seconds,
        raw=record.raw,
    )


def _parameters(
    team: TeamContext, user_id: UUID, versions: _Round, proposed: Mapping[_Identity, UUID]
) -> dict[str, object]:
    records = [one.record for one in versions.values()]
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
        "payloads": [orjson.dumps(one.payload).decode() for one in versions.values()],
        "raws": [None if one.raw is None else one.raw.decode() for one in versions.values()],
    }
