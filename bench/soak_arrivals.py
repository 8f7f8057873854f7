"""What must be true of deliveries whatever was killed: all there, signed, the same each time, and counted."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

from django.db.models import Count, Max, Q
from django.db.models.functions import Coalesce

from healthsvc.kernel.scope import team_scope
from tests.factories import Tenant
from webhooks.constants import CLAIM_ROWS, IN_FLIGHT_ENDPOINT_MAXIMUM, IN_FLIGHT_MAXIMUM
from webhooks.models import Delivery, Event
from webhooks.states import DeliveryStatus

_SUCCEEDED: Final = Q(attempts__status_code__range=(200, 299))
#: How many of a kind are told one by one.
_TOLD: Final = 3


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """An event whose commit returned: when, and after how many seconds."""

    message_id: str
    digest: str
    at_seconds: float
    took_seconds: float


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request as the receiver noted it; `status` is its answer, 0 for none."""

    path: str
    message_id: str
    digest: str
    verdict: str
    status: int
    at_seconds: float

    @property
    def is_taken(self) -> bool:
        """Whether the receiver said that it has it."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Kept:
    """What the database says of a delivery. `successes`: attempts that were answered with 2xx."""

    path: str
    message_id: str
    status: str
    claims: int
    attempts: int
    highest: int
    successes: int


def acknowledged_read(paths: Sequence[Path]) -> list[Acknowledged]:
    """What producers noted."""
    return [
        Acknowledged(message_id, digest, float(at), float(took))
        for at, message_id, digest, took in _rows(paths, columns=4)
    ]


def arrivals_read(journal: Path, paths: Collection[str]) -> list[Arrival]:
    """What the receiver noted of these endpoints."""
    return [
        Arrival(path, message_id, digest, verdict, int(status), float(at))
        for at, path, message_id, digest, verdict, status in _rows([journal], columns=6)
        if path in paths
    ]


def _rows(paths: Sequence[Path], *, columns: int) -> Iterator[list[str]]:
    """Whole lines only: the last may be in the making, or its writer was killed."""
    for path in paths:
        for line in path.read_text().splitlines(keepends=True) if path.exists() else []:
            if line.endswith("\n") and len(parts := line.rstrip("\n").split("\t")) == columns:
                yield parts


def kept_read(tenant: Tenant, endpoints: Mapping[UUID, str]) -> list[Kept]:
    """Deliveries of a team's endpoints, which are named by their paths."""
    with team_scope(tenant.context):
        rows = Delivery.objects.for_team(tenant.context).annotate(
            made=Count("attempts"),
            highest=Coalesce(Max("attempts__number"), 0),
            good=Count("attempts", filter=_SUCCEEDED),
        )
        values = rows.values_list("endpoint_id", "event_id", "status", "claims", "made", "highest", "good")
        return [Kept(endpoints[row[0]], f"msg_{row[1]}", *row[2:]) for row in values]


def message_ids(tenant: Tenant) -> set[str]:
    """Every event that is committed."""
    with team_scope(tenant.context):
        ids = Event.objects.for_team(tenant.context).values_list("pk", flat=True)
        return {f"msg_{event_id}" for event_id in ids.iterator()}


def doubles(arrivals: Sequence[Arrival]) -> int:
    """How often a receiver took what it had already taken."""
    taken = Counter((one.path, one.message_id) for one in arrivals if one.is_taken)
    return taken.total() - len(taken)


def doubles_maximum(kills: int, endpoints: int, slots: int) -> int:
    """How much may come twice: what was in flight at each kill, and that is one claimed batch at most.

    Each slot has a pump that takes up, and one that waits for its last answers; to one endpoint each has at most so
    many requests in flight that are not acknowledged.
    """
    in_flight = min(IN_FLIGHT_MAXIMUM, IN_FLIGHT_ENDPOINT_MAXIMUM * endpoints)
    return kills * min(CLAIM_ROWS * slots, 2 * slots * in_flight)


def missing(acknowledged: Sequence[Acknowledged], arrivals: Sequence[Arrival], path: str) -> set[str]:
    """What was acknowledged and never taken at an endpoint."""
    return {one.message_id for one in acknowledged} - {
        one.message_id for one in arrivals if one.path == path and one.is_taken
    }


def arrival_problems(
    acknowledged: Sequence[Acknowledged],
    arrivals: Sequence[Arrival],
    *,
    paths: Collection[str],
    committed: Collection[str],
    doubles_maximum: int,
) -> Iterator[str]:
    """What is wrong between those who sent and those who received."""
    for path in paths:
        yield from _told(f"{path}: acknowledged and missing", missing(acknowledged, arrivals, path))
    yield from _told("never committed, and arrived", {one.message_id for one in arrivals} - set(committed))
    bodies: dict[str, set[str]] = defaultdict(set)
    for sent in acknowledged:
        bodies[sent.message_id].add(sent.digest)
    for one in arrivals:
        bodies[one.message_id].add(one.digest)
    yield from _told("has different bodies", {name for name, digests in bodies.items() if len(digests) > 1})
    yield from _told("is not verified", {one.message_id for one in arrivals if one.verdict != "verified"})
    found = doubles(arrivals)
    if found > doubles_maximum:
        yield f"{found} came twice, and at most {doubles_maximum} may"


def attempt_problems(
    kept: Sequence[Kept], arrivals: Sequence[Arrival], *, settled: Collection[str], gaps_maximum: int
) -> Iterator[str]:
    """What is wrong between receivers and the rows of attempts.

    `settled` are messages made after the last kill: each claim of theirs has its attempt. Among the others at most
    `gaps_maximum` claims have none.
    """
    taken = Counter((one.path, one.message_id) for one in arrivals if one.is_taken)
    gaps = {(row.path, row.message_id): row.claims - row.attempts for row in kept}
    yield from _told(
        "is not delivered in the database", {row.message_id for row in kept if row.status != DeliveryStatus.DELIVERED}
    )
    yield from _told("has more attempts than claims, or later ones", {row.message_id for row in kept if _is_odd(row)})
    yield from _told(
        "was delivered without exactly one success",
        {row.message_id for row in kept if row.status == DeliveryStatus.DELIVERED and row.successes != 1},
    )
    yield from _told(
        "has a success that no receiver gave",
        {row.message_id for row in kept if row.successes > taken[row.path, row.message_id]},
    )
    yield from _told(
        "was taken more often than its claims tell",
        {
            row.message_id
            for row in kept
            if taken[row.path, row.message_id] > row.successes + gaps[row.path, row.message_id]
        },
    )
    yield from _told(
        "lost an attempt though nothing was killed",
        {name for (_, name), gap in gaps.items() if gap and name in settled},
    )
    if (found := sum(gaps.values())) > gaps_maximum:
        yield f"{found} claims have no attempt, and at most {gaps_maximum} may"


def _is_odd(row: Kept) -> bool:
    return row.attempts > row.claims or row.highest > row.claims


def _told(what: str, names: Collection[str]) -> Iterator[str]:
    """One line for a kind of wrong, with some of its cases."""
    if names:
        yield f"{len(names)} {what}: {', '.join(sorted(names)[:_TOLD])}"
