"""What must be true at the soak's end: nothing lost, nothing doubled, everything told once, memory level."""

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from uuid import UUID

from aggregation.catalogue import DEVICE
from aggregation.learning import person_learn
from aggregation.services import health_data_store
from bench.soak_processes import Worker
from bench.soak_things import Name, Told, counts_of, things_of, told_of
from healthsvc.kernel.scope import team_scope
from links.connectors.base import Connector, Pulled
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.registry import connector_of
from links.constants import ConnectionErrorType, PullKind
from links.models import Connection, Pull
from links.selectors import resources_available
from links.services.renewal import access_get
from links.states import PULL_OPEN, ConnectionStatus, PullStatus
from tests.factories import Tenant, user_make
from webhooks.models import Event

#: What the resident memory of a worker may grow by, from the middle third of its life to the last.
GROWTH_SHARE: Final = 0.10
GROWTH_MEGABYTES: Final = 20.0
#: Shorter lives say nothing.
_SAMPLES_SMALLEST: Final = 15
#: Has no history, so nobody tells that its history is there.
_UNTOLD: Final = "device"


def data_problems(tenant: Tenant, connection: Connection, before: Mapping[Name, int], *, since: str) -> Iterator[str]:
    """What is wrong with the data and events of a connection that should have come through."""
    label = f"{connection.provider} of {connection.user_id}"
    if connection.status != ConnectionStatus.CONNECTED:
        yield f"{label}: is {connection.status} ({connection.error_type})"
        return
    yield from (f"{label}: {problem}" for problem in _pull_problems(connection))
    yield from (f"{label}: {problem}" for problem in _event_problems(tenant, connection, errors=0))
    yield from (f"{label}: {problem}" for problem in _twin_problems(tenant, connection))
    after = things_of(tenant.context, connection.user_id, since=since)
    told = told_of(tenant.context, connection.user_id)
    yield from (f"{label}: {problem}" for problem in told_problems(before, told, after))


def broken_problems(tenant: Tenant, connection: Connection) -> Iterator[str]:
    """What is wrong with a connection whose tokens died."""
    label = f"{connection.provider} of {connection.user_id}"
    found = (connection.status, connection.error_type)
    if found != (ConnectionStatus.ERROR, ConnectionErrorType.TOKEN_REFRESH_FAILED):
        pulls = Pull.objects.filter(connection=connection).values_list("kind", "status", "error_code")
        yield f"{label}: is {found}, and its tokens are dead: {sorted(set(pulls))}"
    if Pull.objects.filter(connection=connection, status__in=PULL_OPEN).exists():
        yield f"{label}: has open pulls"
    yield from (f"{label}: {problem}" for problem in _event_problems(tenant, connection, errors=1))


def told_problems(before: Mapping[Name, int], told: Sequence[Told], after: Mapping[Name, int]) -> Iterator[str]:
    """Each thing from what it was to what it is, by what was told: every step another content, the last one stored."""
    words: dict[Name, list[Told]] = {}
    for one in told:
        words.setdefault(one.name, []).append(one)
    kept = set(after) | {name for name in before if name not in after}
    for name in words.keys() - kept:
        yield f"{name[0]}: told of something that is not stored, or was no part of a sync"
    for name in kept:
        # A backfill tells no content but that of devices, each when it is first seen.
        begun = None if name[0] == DEVICE.slug else before.get(name)
        problem = _chain_problem(begun, words.get(name, []), after.get(name))
        if problem:
            yield f"{name[0]}: {problem}"


def _chain_problem(before: int | None, words: Sequence[Told], after: int | None) -> str:
    if after is None:
        return "lost"
    if words and words[0].digest is None:
        # Events of streams carry no content: one that changed must be told, and nothing can change just once and back.
        return "told of a stream that did not change" if before == after and len(words) == 1 else ""
    now = before
    for place, word in enumerate(words):
        if word.is_created != (place == 0 and before is None):
            return "told as created and was not, or as updated and was new"
        if word.digest == now:
            return "told again and had not changed"
        now = word.digest
    return "" if now == after else "changed and was not told"


def _pull_problems(connection: Connection) -> Iterator[str]:
    given = set(_resources(connection))
    backfilled = set()
    for pull in Pull.objects.filter(connection=connection):
        if pull.status != PullStatus.SUCCESS:
            yield f"{pull.kind} of {pull.resource} is {pull.status} ({pull.error_code})"
        if pull.kind == PullKind.BACKFILL:
            backfilled.add(pull.resource)
    if backfilled != given:
        yield f"was backfilled with {sorted(backfilled)} and gives {sorted(given)}"


def _event_problems(tenant: Tenant, connection: Connection, *, errors: int) -> Iterator[str]:
    """Exactly one of each connect, of each resource's backfill that ended well, and of each break."""
    ended = Pull.objects.filter(connection=connection, kind=PullKind.BACKFILL, status=PullStatus.SUCCESS)
    resources = [name for name in ended.values_list("resource", flat=True) if name != _UNTOLD]
    expected = Counter({"provider.connection.created": 1, "provider.connection.error": errors})
    expected.update(f"historical.data.{name}.created" for name in resources)
    rows = Event.objects.for_team(tenant.context).filter(user_id=connection.user_id)
    told = Counter(
        name
        for name in rows.values_list("event_type", flat=True)
        if name.startswith(("provider.connection.", "historical."))
    )
    if +told != +expected:
        yield f"was told {sorted((told - expected).elements())} too often, {sorted((expected - told).elements())} not"


def _twin_problems(tenant: Tenant, connection: Connection) -> Iterator[str]:
    """Compare with what the same connector reads in one go, without faults, stored for a new person."""
    twin = user_make(tenant)
    first_on, last_on = _days(connection)
    connector = connector_of(connection.provider, connection.context.environment)
    assert connector is not None
    with team_scope(tenant.context):
        for resource in _resources(connection):
            _stored(tenant, twin.pk, connection, _read(connector, connection, resource, first_on, last_on), last_on)
        found, expected = counts_of(tenant.context, connection.user_id), counts_of(tenant.context, twin.pk)
    for key in sorted(set(found) | set(expected)):
        here, there = found.get(key, (0, 0)), expected.get(key, (0, 0))
        if here[0] != there[0]:
            yield f"{key[0]} of {key[1]}: {here[0]} stored and {there[0]} at the provider"
        elif here != there:
            yield f"{key[0]} of {key[1]}: as many as at the provider, with another content"


def _read(connector: Connector, connection: Connection, resource: str, first_on: date, last_on: date) -> Pulled:
    """One resource, past the limits that are counted: the check is no part of what is measured."""
    rejected_version = 0
    while True:
        access, version = access_get(connection_id=connection.pk, rejected_version=rejected_version)
        try:
            return connector.pull(replace(access, budget=lambda: None), resource, first_on, last_on)
        except ProviderFailure as failure:
            if failure.kind is not FailureKind.TOKEN_REJECTED or rejected_version:
                raise
        rejected_version = version


def _stored(tenant: Tenant, user_id: UUID, connection: Connection, pulled: Pulled, last_on: date) -> None:
    person_learn(
        team=tenant.context,
        user_id=user_id,
        provider=connection.provider,
        time_zone=pulled.time_zone,
        summaries=pulled.summaries,
        known_at=datetime.combine(last_on, time(), UTC),
    )
    health_data_store(
        team=tenant.context,
        user_id=user_id,
        series=pulled.series,
        summaries=pulled.summaries,
        streams=pulled.streams,
        emit=False,
    )


def _days(connection: Connection) -> tuple[date, date]:
    rows = Pull.objects.filter(connection=connection).values_list("start_on", "end_on")
    return min(first for first, _ in rows), max(last for _, last in rows) + timedelta(days=1)


def _resources(connection: Connection) -> list[str]:
    return resources_available(connection.provider, connection.scopes_granted, connection.context.environment)


def memory_problems(workers: Sequence[Worker]) -> Iterator[str]:
    """Prints the memory of each process that lived long enough; tells of one that grew."""
    lives = [(one.child.name, pid, samples) for one in workers for pid, samples in one.resident.items()]
    judged = 0
    for name, pid, samples in lives:
        if len(samples) < _SAMPLES_SMALLEST:
            continue
        judged += 1
        third = len(samples) // 3
        first, middle, last = (
            statistics.median(megabytes for _, megabytes in samples[begin : begin + third])
            for begin in (0, third, 2 * third)
        )
        seconds = samples[-1][0] - samples[0][0]
        print(
            f"  {name} ({pid}), {seconds:.0f} s: {first:.0f}, {middle:.0f} and {last:.0f} MB in the thirds of its life"
        )
        if last > middle * (1 + GROWTH_SHARE) + GROWTH_MEGABYTES:
            yield f"{name}: memory grew from {middle:.0f} MB to {last:.0f} MB"
    if not judged:
        yield "no worker process lived long enough to judge its memory"
