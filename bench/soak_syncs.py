"""Hundreds of connections backfill and sync again while the simulator misbehaves and workers are killed.

Part of `make soak`; `--small` is a version for the tests. Workers and beat are real processes. At the end what is
stored and told of each connection is compared with what its connector reads in one go, and the workers' memory with
what it was before. The simulator limits Strava's requests as the vendor does, 200 in a quarter of an hour: so
there are three of its connections.
"""

import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

import orjson
import redis
from django.db import connections
from django.test import override_settings

from bench.soak_checks import broken_problems, data_problems, memory_problems
from bench.soak_processes import (
    Child,
    SimulatorChild,
    Worker,
    beat_make,
    environment_make,
    redis_running,
    simulator_child,
    worker_make,
)
from bench.soak_things import Name, things_of
from bench.stage import load_note, stage
from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.jobs import enqueue
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.catalogue import Provider, provider_get
from links.connectors.generic.client import GenericConnector
from links.connectors.registry import connector_of
from links.constants import SIMULATOR_CLIENT_ID, SIMULATOR_CLIENT_SECRET
from links.models import BulkOp, BulkOpItem, Connection, Pull
from links.services.bulk import Recipe, bulk_import_begin
from links.services.schedule import pulls_owe
from links.states import PULL_OPEN, BulkItemStatus, BulkOpStatus, ConnectionStatus, PullStatus
from tests.factories import Tenant, user_make
from tests.links.simulators import Simulator, call


@dataclass(frozen=True, slots=True)
class Cast:
    """People of one provider. `scopes` None: all that the provider asks for. `is_doomed`: their tokens die."""

    slug: str
    scopes: tuple[str, ...] | None
    whole: int
    small: int
    is_doomed: bool = False


CAST: Final = (
    Cast("oura", ("personal", "daily", "workout", "ring_configuration"), 40, 2),
    Cast("oura", ("personal", "ring_configuration"), 60, 1),
    Cast("fitbit", ("activity", "weight"), 50, 1),
    Cast("fitbit", ("weight",), 104, 2),
    Cast("google_fit", None, 12, 1),
    # 120 requests a minute.
    Cast("withings", ("user.metrics", "user.info"), 8, 1),
    # 100 requests a minute.
    Cast("whoop_v2", ("read:body_measurement", "read:workout"), 20, 1),
    # 200 requests a quarter of an hour: activities cost two each.
    Cast("strava", ("read", "activity:read"), 3, 1),
    Cast("ihealth", None, 3, 2, is_doomed=True),
)
_DOOMED: Final = [one.slug for one in CAST if one.is_doomed]


@dataclass(frozen=True, slots=True)
class Size:
    """How much, and how long.

    backfill_seconds: how long the backfill is disturbed. turns, turn_seconds: how many rounds of syncs are disturbed,
    and how long before the next begins. fault_seconds, kill_seconds: between two faults and two kills. ages: leases
    and waits are over at once, as if minutes had passed; otherwise they are waited for. limit_seconds: of one phase.
    """

    is_small: bool
    workers: int
    backfill_seconds: float
    turns: int
    turn_seconds: float
    fault_seconds: float
    kill_seconds: float
    ages: bool
    limit_seconds: float


WHOLE: Final = Size(False, 2, 120, 2, 40, 0.7, 25, ages=False, limit_seconds=600)
SMALL: Final = Size(True, 2, 10, 2, 6, 0.4, 4, ages=True, limit_seconds=100)

#: The simulator's clock stands still within a phase, so that what was read can be compared, and ends in the present.
_STEP: Final = timedelta(hours=9)
#: Samples from so many days before the first sync are followed through their events.
_FOLLOWED: Final = timedelta(days=6)
_LOOK_SECONDS: Final = 0.25
_IMPORT_WAIT_SECONDS: Final = 120.0
_RESTART_SECONDS: Final = 3.0
_AGE_SECONDS: Final = 3.0
#: Faults while a backfill runs.
_KINDS: Final = ("http_429", "http_500", "slow", "truncated_json", "token_expired", "rate_limited")
#: A backfill reads nothing twice, so halves of buckets come with the syncs, the last of which is undisturbed.
_SYNC_KINDS: Final = (*_KINDS, "half_buckets", "half_buckets", "half_buckets")
#: Kinds that may hit the token endpoint too. One that cut its answer off would lose a rotated token for good.
_ANYWHERE: Final = ("http_429", "http_500")
#: Where each provider's data are; under /data where it is played in the generic shape.
_DATA_PATHS: Final = {
    "oura": "/v2/usercollection",
    "withings": "/measure",
    "strava": "/api/v3/ath",
    "whoop_v2": "/developer",
}
_GENERIC_PATH: Final = "/data"
_TOKEN_DEAD_AFTER_CALLS: Final = 4
_EVER: Final = 1_000_000
_SEED: Final = 4


@dataclass(slots=True)
class Soak:
    """Everything that runs, and what was done to it."""

    tenant: Tenant
    size: Size
    simulator: SimulatorChild
    workers: list[Worker]
    beat: Child
    broker: "redis.Redis"
    random: random.Random
    starts_at: datetime
    kinds: Sequence[str] = ()
    faults: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    restarts: int = 0
    fault_at: float = 0.0
    kill_at: float = 0.0
    restart_at: float = float("inf")
    age_at: float = 0.0

    @property
    def control(self) -> Simulator:
        """The simulator's controls."""
        return self.simulator.control

    def disturb(self, kinds: Sequence[str]) -> None:
        """From now on faults of these kinds, kills, and one restart of the simulator; no kinds: peace."""
        now = time.monotonic()
        self.kinds = kinds
        self.kill_at = now + self.size.kill_seconds / 2
        self.restart_at = now + _RESTART_SECONDS if kinds else float("inf")
        if not kinds:
            self.control.reset_faults()
            self.doom()

    def doom(self) -> None:
        """From now on every token that the doomed show dies of it, the first calls aside."""
        for slug in _DOOMED:
            skip = 0 if self.kills else _TOKEN_DEAD_AFTER_CALLS
            self.control.fault(slug, "token_dead", skip=skip, times=_EVER)

    def run(self, is_over: Callable[[], bool], *, seconds: float) -> bool:
        """Go on until it is over or the time is; whether it was over."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._turn()
            if is_over():
                return True
            time.sleep(_LOOK_SECONDS)
        return False

    def _turn(self) -> None:
        now = time.monotonic()
        for worker in self.workers:
            worker.sample()
        if now >= self.age_at:
            self.age_at = now + _AGE_SECONDS
            self._age()
        if self.broker.llen("celery") == 0:
            # Beat does the same twice a minute; nothing is learned from waiting for it.
            enqueue("links.pulls_sweep")
            enqueue("links.bulk_ops_sweep")
        if not self.kinds:
            return
        if now >= self.fault_at:
            self.fault_at = now + self.size.fault_seconds
            self._fault()
        if now >= self.restart_at:
            self.restart_at = float("inf")
            self.restarts += 1
            self.simulator.restart()
        if now >= self.kill_at and not _renewing():
            self.kill_at = now + self.size.kill_seconds
            self._kill()

    def _fault(self) -> None:
        slug = self.random.choice([one.slug for one in CAST if not one.is_doomed])
        kind = self.random.choice(self.kinds)
        if (slug, kind) == ("withings", "rate_limited") and (self.size.is_small or self.faults[f"{slug} {kind}"]):
            # Withings names no wait, so that a minute passes: once is enough.
            return
        path = _DATA_PATHS.get(slug, _GENERIC_PATH)
        self.control.fault(
            slug,
            kind,
            "/" if kind in _ANYWHERE and self.random.random() < 0.5 else path,
            retry_after_seconds=self.random.randint(1, 3),
            delay_seconds=round(self.random.uniform(0.2, 1.5), 1),
        )
        self.faults[f"{slug} {kind}"] += 1

    def _kill(self) -> None:
        """By turns the whole of the last worker, and the process in it that works. The others live on."""
        worker = self.workers[-1]
        if self.kills % 2:
            worker.kill_working()
        else:
            worker.child.kill()
            worker.child.start()
        self.kills += 1
        if self.size.ages:
            # As if the minutes of every lease had passed: who lives and holds one is as one that was asleep.
            past = clock.now() - timedelta(seconds=1)
            with team_scope(self.tenant.context):
                Pull.objects.filter(status=PullStatus.IN_PROGRESS).update(lease_until=past)
                BulkOp.objects.filter(status=BulkOpStatus.IN_PROGRESS).update(lease_until=past)

    def _age(self) -> None:
        """End the pauses between refusals of dead tokens, which are ten minutes; and in the small version all waits."""
        now = clock.now()
        with team_scope(self.tenant.context):
            Connection.objects.filter(provider__in=_DOOMED, token_refusals__gt=0).update(token_lease_until=now)
            if self.size.ages:
                Pull.objects.filter(status=PullStatus.RETRYING, not_before__gt=now).update(not_before=now)


def _renewing() -> bool:
    """Whether somebody trades a refresh token at this moment: who dies between the answer and the write loses it."""
    with system_scope(SystemScope.DELIVERY):
        return Connection.objects.filter(token_lease_until__gt=clock.now()).exclude(provider__in=_DOOMED).exists()


def soak(size: Size) -> list[str]:
    """Run all of it; what is wrong at the end."""
    started = time.monotonic()
    with ExitStack() as stack:
        tenant = stack.enter_context(stage())
        running = stack.enter_context(_running(tenant, size))
        _connect(running)
        problems = _backfill(running)
        before = _followed(running)
        _say(started, "backfilled", problems)
        problems += _sync(running)
        _say(started, "synced", problems)
        for child in (running.beat, *(one.child for one in running.workers)):
            child.stop()
        problems += _logged(running)
        problems += memory_problems(running.workers)
        if not problems:
            problems += _compared(running, before)
        _say(started, "compared", problems)
        _told(running)
    return problems


@contextmanager
def _running(tenant: Tenant, size: Size) -> Iterator[Soak]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        urls = stack.enter_context(redis_running(folder))
        simulator = simulator_child(folder)
        simulator.start()
        stack.callback(simulator.child.kill)
        stack.enter_context(override_settings(SIMULATOR_URL=simulator.url, LOOPBACK_ORIGINS=[simulator.url]))
        from healthsvc.celery import app

        app.conf.update(broker_url=urls.broker_url)
        environment = environment_make(urls, simulator.url)
        broker = stack.enter_context(redis.Redis.from_url(urls.client_url))
        workers = [worker_make(number, environment, folder) for number in range(size.workers)]
        beat = beat_make(environment, folder)
        for child in (beat, *(one.child for one in workers)):
            child.start()
            stack.callback(child.kill)
        starts_at = clock.now().replace(microsecond=0) - _STEP * (size.turns + 1)
        yield Soak(tenant, size, simulator, workers, beat, broker, random.Random(_SEED), starts_at)


def _connect(running: Soak) -> None:
    """A person for each connection, with tokens that another system had, imported in bulk."""
    _clock_set(running, 0)
    running.doom()
    for one in CAST:
        provider = provider_get(one.slug)
        connector = connector_of(one.slug, running.tenant.context.environment)
        if one.slug not in _DATA_PATHS and not isinstance(connector, GenericConnector):
            raise SystemExit(f"{one.slug} is not played in the generic shape: say where its data are.")
        scopes = provider.scopes if one.scopes is None else one.scopes
        count = one.small if running.size.is_small else one.whole
        recipes = [_recipe(running, one, scopes, number) for number in range(count)]
        _import_begin(running, provider, recipes)


def _import_begin(running: Soak, provider: Provider, recipes: Sequence[Recipe]) -> None:
    """Begin an import; a team may have a few at once, so the later ones wait for the earlier."""
    deadline = time.monotonic() + _IMPORT_WAIT_SECONDS
    while True:
        try:
            with team_scope(running.tenant.context):
                bulk_import_begin(team=running.tenant.context, provider=provider, recipes=recipes)
            return
        except ServiceError as error:
            if error.code is not ErrorCode.RATE_LIMITED or time.monotonic() > deadline:
                raise
        time.sleep(0.5)


def _recipe(running: Soak, cast: Cast, scopes: Sequence[str], number: int) -> Recipe:
    form = {
        "client_id": SIMULATOR_CLIENT_ID,
        "client_secret": SIMULATOR_CLIENT_SECRET,
        "scope": " ".join(scopes),
        "account": f"{'-'.join([cast.slug, *scopes])[:60]}-{number}@example.com",
    }
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    status, _, body = call("POST", f"{running.simulator.url}/{cast.slug}/demo/account", urlencode(form), headers)
    if status != 200:
        raise SystemExit(f"The simulator made no account of {cast.slug}: {status}.")
    answer = orjson.loads(body)
    return Recipe(
        user_id=user_make(running.tenant).pk,
        access_token=answer["access_token"],
        refresh_token=answer["refresh_token"],
        external_user_id=answer["user_id"],
        access_expires_at=clock.now() + timedelta(seconds=answer["expires_in"]),
        scopes=tuple(scopes),
    )


def _backfill(running: Soak) -> list[str]:
    running.disturb(_KINDS)
    wanted = sum(one.small if running.size.is_small else one.whole for one in CAST)

    def is_over() -> bool:
        with team_scope(running.tenant.context):
            return Connection.objects.count() == wanted and _is_idle()

    running.run(is_over, seconds=running.size.backfill_seconds)
    running.disturb(())
    over = running.run(is_over, seconds=running.size.limit_seconds)
    return [] if over else [f"the backfills had not ended after {running.size.limit_seconds:.0f} s: {_open(running)}"]


def _sync(running: Soak) -> list[str]:
    """Turns of scheduled syncs that are disturbed, and one more in peace, which mends what was half."""
    for turn in range(1, running.size.turns + 1):
        _clock_set(running, turn)
        with team_scope(running.tenant.context):
            Connection.objects.filter(status=ConnectionStatus.CONNECTED).update(next_pull_at=clock.now())
        enqueue("links.pulls_schedule_due")
        running.disturb(_SYNC_KINDS)
        running.run(lambda: False, seconds=running.size.turn_seconds)
    running.disturb(())
    _clock_set(running, running.size.turns + 1)
    with team_scope(running.tenant.context):
        for connection in Connection.objects.filter(status=ConnectionStatus.CONNECTED):
            pulls_owe(connection=connection, start_on=(running.starts_at - timedelta(days=3)).date())
    over = running.run(lambda: _idle(running), seconds=running.size.limit_seconds)
    return [] if over else [f"the syncs had not ended after {running.size.limit_seconds:.0f} s: {_open(running)}"]


def _idle(running: Soak) -> bool:
    with team_scope(running.tenant.context):
        return _is_idle()


def _is_idle() -> bool:
    busy = Pull.objects.filter(status__in=PULL_OPEN).exists()
    return not busy and not BulkOp.objects.filter(status=BulkOpStatus.IN_PROGRESS).exists()


def _open(running: Soak) -> list[tuple[object, ...]]:
    with team_scope(running.tenant.context):
        refused = BulkOpItem.objects.filter(status=BulkItemStatus.FAILED)
        if refused.exists():
            return list(refused.values_list("op__provider", "scopes", "error_code")[:20])
        rows = Pull.objects.filter(status__in=PULL_OPEN)
        found = rows.values_list("connection__provider", "kind", "resource", "status", "error_code", "attempts")
        return list(found[:20])


def _clock_set(running: Soak, step: int) -> None:
    instant = running.starts_at + _STEP * step
    body = orjson.dumps({"now": instant.isoformat()}).decode()
    status, _, answer = call(
        "POST", f"{running.simulator.url}/_control/clock", body, {"Content-Type": "application/json"}
    )
    if status != 200:
        raise SystemExit(f"The simulator's clock was not set: {answer}")


def _since(running: Soak) -> str:
    return (running.starts_at - _FOLLOWED).astimezone(UTC).date().isoformat()


def _followed(running: Soak) -> dict[UUID, dict[Name, int]]:
    """What is stored of each person after the backfill."""
    team = running.tenant.context
    with team_scope(team):
        users = Connection.objects.values_list("user_id", flat=True)
        return {user_id: things_of(team, user_id, since=_since(running)) for user_id in users}


def _compared(running: Soak, before: dict[UUID, dict[Name, int]]) -> list[str]:
    limits = orjson.dumps({"quarter_hour": _EVER, "day": _EVER}).decode()
    call("POST", f"{running.simulator.url}/_control/strava/limits", limits, {"Content-Type": "application/json"})
    problems: list[str] = []
    with team_scope(running.tenant.context):
        for connection in Connection.objects.order_by("pk"):
            if connection.provider in _DOOMED:
                problems += broken_problems(running.tenant, connection)
            else:
                things = before[connection.user_id]
                problems += data_problems(running.tenant, connection, things, since=_since(running))
    return problems


def _logged(running: Soak) -> list[str]:
    """Tasks that failed: whatever a provider does, none should."""
    found = []
    for child in (running.beat, *(one.child for one in running.workers)):
        lines = child.log.read_text(errors="replace").splitlines()
        found += [f"{child.name}: {line[:300]}" for line in lines if "task_failed" in line or "CRITICAL" in line]
    return found


def _told(running: Soak) -> None:
    with team_scope(running.tenant.context):
        pulls, tried = Pull.objects.count(), sum(Pull.objects.values_list("claim", flat=True))
        people = Connection.objects.count()
    by_kind: Counter[str] = Counter()
    for name, count in running.faults.items():
        by_kind[name.partition(" ")[2]] += count
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(by_kind.items()))
    print(f"  {people} connections, {pulls} pulls in {tried} tries")
    print(f"  {by_kind.total()} faults ({kinds}), {running.kills} kills, {running.restarts} restarts of the simulator")


def _say(started: float, what: str, problems: Sequence[str]) -> None:
    print(f"  {time.monotonic() - started:5.0f} s: {what}, {len(problems)} problems", flush=True)
    for problem in problems[:3]:
        print(f"    {problem[:1000]}", flush=True)


def main() -> None:
    """Exit with an error where anything is wrong."""
    is_small = "--small" in sys.argv[1:]
    # Told to end, it ends its programs first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"Soak of syncs. {load_note()}", flush=True)
    problems = soak(SMALL if is_small else WHOLE)
    connections.close_all()
    for problem in problems[:50]:
        print(f"  WRONG {problem}")
    if problems:
        sys.exit(f"The soak found {len(problems)} problems.")


if __name__ == "__main__":
    main()
