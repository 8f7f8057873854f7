"""Holds a team's audit trail against its seals, and names every record that is not as it was sealed.

One pass over seals and records, a seal's worth of each in memory at a time.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from uuid import UUID

from healthsvc.kernel.ids import uuid_floor
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope
from management import trail_seals
from management.models import AccessRecord, AccessSeal, TrailMark
from management.trail_partitions import kept_from
from management.trail_sealing import MARK, Place, records_following

#: Faults that are named; the rest is counted.
NAMED_MAXIMUM: Final = 100
_SEALS_AT_ONCE: Final = 20
_ROWS_AT_ONCE: Final = 500


class Fault(StrEnum):
    """What may be wrong with a record, or with a seal."""

    CHANGED = "record_changed"
    MISSING = "record_missing"
    ADDED = "record_added"
    NUMBER = "seal_missing"
    CHAIN = "seal_not_linked"
    CONTENT = "seal_changed"
    SIGNATURE = "seal_signature_wrong"
    ENTRIES = "seal_list_changed"
    HEAD = "head_missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, in the stretch of one seal; `record_id` where it is about a record."""

    fault: Fault
    number: int
    record_id: UUID | None = None


@dataclass(slots=True)
class Verification:
    """What came of it. `seals` is the number of the last one that was looked at, `next_number` where to go on.

    `dropped` counts records whose time was over, `unsealed` those that wait for their seal: None before the end.
    """

    team: TeamContext
    seals: int = 0
    records: int = 0
    dropped: int = 0
    unsealed: int | None = None
    head: str = ""
    next_number: int | None = None
    faults: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether everything is as it was sealed."""
        return self.faults == 0

    def found(self, fault: Fault, number: int, record_id: UUID | None = None) -> None:
        """Count a fault, and name it while there is room."""
        self.faults += 1
        if len(self.findings) < NAMED_MAXIMUM:
            self.findings.append(Finding(fault, number, record_id))


def teams_with_trail() -> Iterator[TeamContext]:
    """Every team that has seals or records, in order: a look into an index for each. In the staff scope or a wider one.

    Not by a chain's first seal: who removes that would hide the chain.
    """
    team_id = UUID(int=0)
    while (found := _team_after(team_id)) is not None:
        team_id = found
        for environment in Environment:
            team = TeamContext(team_id, environment)
            if any(model.objects.for_team(team).exists() for model in (AccessSeal, AccessRecord)):
                yield team


def _team_after(team_id: UUID) -> UUID | None:
    following = [
        model.objects.filter(team_id__gt=team_id).order_by("team_id").values_list("team_id", flat=True).first()
        for model in (AccessSeal, AccessRecord)
    ]
    return min((one for one in following if one is not None), default=None)


def trail_verify(
    team: TeamContext, *, head: str = "", first_number: int = 1, seals_maximum: int | None = None
) -> Verification:
    """Go through a team's chain, or a part of it that begins with `first_number`.

    `head`: a digest, in hex, that was written down and must be in this part. A chain may not begin with a number that
    is missing, nor a part with one above the chain's end: the seal before it is read for what this one must say.
    """
    found = Verification(team, seals=first_number - 1)
    floor, head_seen = uuid_floor(kept_from()), not head
    with system_scope(SystemScope.STAFF):
        # Before the seals: whoever seals meanwhile moves it.
        due = TrailMark.objects.filter(pk=MARK).values_list("position", flat=True).first()
        before = _seal_before(found)
        previous = trail_seals.BEGINNING if before is None else bytes(before.digest)
        after = trail_seals.BEFORE_ALL if before is None else (before.to_position, before.to_id)
        for seal in _seals(team, first_number - 1):
            if seals_maximum == 0:
                found.next_number = seal.number
                break
            seals_maximum = None if seals_maximum is None else seals_maximum - 1
            _seal_check(found, seal, previous)
            _records_check(found, seal, after, floor)
            previous, after = bytes(seal.digest), (seal.to_position, seal.to_id)
            found.seals, found.head = seal.number, previous.hex()
            head_seen = head_seen or found.head == head
        if not head_seen:
            found.found(Fault.HEAD, found.seals)
        if found.next_number is None:
            found.unsealed = _unsealed(team, after)
            if due is not None and records_following(team, after, below=due, limit=1):
                # It was sealed, and its seal is gone.
                found.found(Fault.NUMBER, found.seals + 1)
    return found


def _seal_before(found: Verification) -> AccessSeal | None:
    if found.seals == 0:
        return None
    seal = AccessSeal.objects.for_team(found.team).filter(number=found.seals).first()
    if seal is None:
        found.found(Fault.NUMBER, found.seals)
    return seal


def _seals(team: TeamContext, number: int) -> Iterator[AccessSeal]:
    rows = AccessSeal.objects.for_team(team).order_by("number")
    while seals := list(rows.filter(number__gt=number)[:_SEALS_AT_ONCE]):
        yield from seals
        number = seals[-1].number


def _seal_check(found: Verification, seal: AccessSeal, previous: bytes) -> None:
    if seal.number != found.seals + 1:
        found.found(Fault.NUMBER, found.seals + 1)
    if bytes(seal.previous_digest) != previous:
        found.found(Fault.CHAIN, seal.number)
    if trail_seals.seal_digest(seal) != bytes(seal.digest):
        found.found(Fault.CONTENT, seal.number)
    if not trail_seals.signature_is_true(seal):
        found.found(Fault.SIGNATURE, seal.number)


def _records_check(found: Verification, seal: AccessSeal, after: Place, floor: UUID) -> None:
    if not seal.entries and seal.last_id < floor:
        found.dropped += seal.row_count
        return
    if trail_seals.entries_digest(bytes(seal.entries)) != bytes(seal.entries_digest):
        found.found(Fault.ENTRIES, seal.number)
    sealed = dict(trail_seals.entries_read(bytes(seal.entries)))
    for record in _records(found.team, after, (seal.to_position, seal.to_id)):
        digest = sealed.pop(record.pk, None)
        if digest is None:
            found.found(Fault.ADDED, seal.number, record.pk)
        elif digest != trail_seals.record_digest(record):
            found.found(Fault.CHANGED, seal.number, record.pk)
        else:
            found.records += 1
    for record_id in sealed:
        if record_id < floor:
            found.dropped += 1
        else:
            found.found(Fault.MISSING, seal.number, record_id)


def _records(team: TeamContext, after: Place, until: Place) -> Iterator[AccessRecord]:
    while rows := records_following(team, after, below=until[0] + 1, limit=_ROWS_AT_ONCE):
        for row in rows:
            after = (row.position, row.pk)
            if after > until:
                return
            yield row


def _unsealed(team: TeamContext, after: Place) -> int:
    rows = AccessRecord.objects.for_team(team)
    return rows.filter(position=after[0], pk__gt=after[1]).count() + rows.filter(position__gt=after[0]).count()
