"""Workers, PostgreSQL and Redis are killed while events are committed and delivered: none of the acknowledged is lost.

Part of `make soak`; `--small` is a version for the tests. Servers, producers, workers, beat and the receiver are real
processes, the servers of the soak's own. Each scenario has a team of its own, prints what it saw, and is compared at
its end: what producers noted after each commit, what the receiver noted before each answer, and the database.
"""

import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.soak_arrivals import Acknowledged
from bench.soak_delivering import Running, Scenario, running
from bench.stage import load_note
from webhooks.constants import CLAIM_ROWS, LEASE_SECONDS

_SEED: Final = 7


@dataclass(frozen=True, slots=True)
class Size:
    """How much, and how long.

    rate: events a second of each producer. worker_kills, database_kills, kill_seconds: how many, and between two.
    hang_seconds, away_seconds: how long Redis says nothing, and
    stays away. together_seconds: of everything at once. drain_seconds: how long the last
    may take. ages: leases end at once where nobody holds them, as if their minute had passed; else it is waited for.
    """

    rate: float
    worker_kills: int
    database_kills: int
    kill_seconds: float
    hang_seconds: float
    away_seconds: float
    together_seconds: float
    drain_seconds: float
    ages: bool


WHOLE: Final = Size(60, 10, 5, 8, 30, 600, 150, 300, ages=False)
SMALL: Final = Size(30, 2, 1, 2, 3, 8, 6, 120, ages=True)

#: After Redis is back, or was emptied, what is committed then must arrive within this without a restart of anything.
RESUME_SECONDS: Final = 30.0
#: A commit with its wake-up takes at most this while Redis is away, or hangs.
EMIT_SECONDS: Final = 5.0
#: How many producers there are, each a process.
_PRODUCERS: Final = 2


def workers_killed(stage: Running, size: Size) -> list[str]:
    """kill -9 of workers under load, by turns whole and only what works in them."""
    with stage.scenario("workers", {"/workers-quick": "ok", "/workers-late": "late"}, producers=_PRODUCERS) as told:
        told.produce(size.rate)
        for number in range(size.worker_kills):
            time.sleep(size.kill_seconds)
            stage.workers_kill(whole=number % 2 == 0)
            told.kills += 1
        last_kill = time.time()
        time.sleep(size.kill_seconds)
        told.stop()
        if size.ages:
            stage.leases_end()
            told.kills += 1
        return told.finish(size.drain_seconds, settled_after=last_kill + LEASE_SECONDS if not size.ages else None)


def database_killed(stage: Running, size: Size) -> list[str]:
    """kill -9 of the postmaster and all backends, producers running."""
    with stage.scenario("database", {"/database": "ok"}, producers=_PRODUCERS) as told:
        told.produce(size.rate)
        for _ in range(size.database_kills):
            time.sleep(size.kill_seconds)
            processes = stage.servers.postgres_kill()
            told.kills += 1
            time.sleep(0.5)
            seconds = stage.servers.postgres_start()
            print(f"    {processes} processes of PostgreSQL killed, back after {seconds:.1f} s", flush=True)
        time.sleep(size.kill_seconds)
        told.stop()
        if size.ages:
            stage.leases_end()
            told.kills += 1
        return told.finish(size.drain_seconds)


def redis_gone(stage: Running, size: Size) -> list[str]:
    """Redis killed without persistence, emptied while messages wait, and away; nothing is restarted but Redis."""
    with stage.scenario("redis", {"/redis": "ok"}, producers=_PRODUCERS) as told:
        before = stage.lives()
        told.produce(size.rate)
        time.sleep(size.kill_seconds)
        problems = _resumes(told, "killed", stage.servers.redis_restart)
        problems += _resumes(told, "emptied", lambda: _emptied(stage))
        problems += _hung(stage, told, size.hang_seconds)
        problems += _away(stage, told, size.away_seconds)
        if stage.lives() != before:
            problems.append("a worker or beat did not live through it")
        told.stop()
        if size.ages:
            stage.leases_end()
        return problems + told.finish(size.drain_seconds)


def _emptied(stage: Running) -> None:
    """Hold the workers, so that messages wait; empty Redis, and let them go on."""
    stage.workers_signal(signal.SIGSTOP)
    time.sleep(1)
    waiting = stage.servers.redis_empty()
    stage.workers_signal(signal.SIGCONT)
    print(f"    Redis emptied with {waiting} messages waiting", flush=True)


def _hung(stage: Running, told: Scenario, seconds: float) -> list[str]:
    """Redis takes connections and says nothing: commits go on."""
    began = time.time()
    problems = _resumes(told, "hung", lambda: stage.servers.redis_hang(seconds))
    made = [one for one in told.acknowledged() if began < one.at_seconds < began + seconds]
    return problems + _slow(made, f"Redis hung for {seconds:.0f} s: {len(made)} committed")


def _slow(made: Sequence[Acknowledged], what: str) -> list[str]:
    """Say how long commits took; wrong where there was none, or one took too long."""
    took = sorted(one.took_seconds for one in made)
    if not took:
        return [f"{what}: nothing was committed"]
    median = took[len(took) // 2] * 1000
    print(f"    {what}, the slowest commit {took[-1] * 1000:.0f} ms, the median {median:.1f} ms", flush=True)
    return [f"{what}: a commit took {took[-1]:.1f} s"] if took[-1] > EMIT_SECONDS else []


def _away(stage: Running, told: Scenario, seconds: float) -> list[str]:
    """Kill Redis and leave it away: commits go on, and a pump without a broker delivers."""
    stage.servers.redis_kill()
    away_at = time.time()
    time.sleep(seconds / 4)
    pump = stage.pump_start()
    time.sleep(seconds * 3 / 4)
    arrived, made = told.arrived_of(away_at, time.time(), RESUME_SECONDS)
    pump.stop()
    told.kills += 1  # what it had in flight is sent again
    problems = _slow(made, f"Redis away {seconds:.0f} s: {len(made)} committed, {arrived} of them delivered meanwhile")
    if arrived < len(made):
        problems.append(f"{len(made) - arrived} were not delivered by the pump while Redis was away")
    return problems + _resumes(told, "back", stage.servers.redis_start)


def _resumes(told: Scenario, what: str, act: Callable[[], object]) -> list[str]:
    """Do something to Redis; then what is committed from now on must arrive soon."""
    told.kills += 1  # workers may give up what they had in hand
    act()
    seconds = told.resumed(RESUME_SECONDS)
    if seconds is None:
        return [f"after Redis was {what} nothing was delivered for {RESUME_SECONDS:.0f} s"]
    print(f"    Redis {what}: delivered again after {seconds:.1f} s", flush=True)
    return []


def everything(stage: Running, size: Size) -> list[str]:
    """All of it at random, with an endpoint that fails a third of the time, one of moods, and one that hangs."""
    paths = {"/all-good": "ok", "/all-third": "third", "/all-moody": "moody", "/all-hang": "hang"}
    with stage.scenario("everything", paths, producers=_PRODUCERS) as told:
        told.produce(size.rate / 2)
        chance = random.Random(_SEED)
        until = time.monotonic() + size.together_seconds
        acts: list[Callable[[], object]] = [
            lambda: stage.workers_kill(whole=True),
            lambda: stage.workers_kill(whole=False),
            stage.servers.postgres_restart,
            lambda: stage.servers.redis_restart(away_seconds=2),
            stage.servers.redis_empty,
        ]
        while time.monotonic() < until:
            time.sleep(chance.uniform(0.5, 1) * size.kill_seconds)
            chance.choice(acts)()
            told.kills += 1
        told.stop()
        stage.receiver_modes(dict.fromkeys(paths, "ok"))
        if size.ages:
            stage.leases_end()
            told.kills += 1
        return told.finish(size.drain_seconds)


SCENARIOS: Final = (workers_killed, database_killed, redis_gone, everything)


def soak(size: Size, names: list[str]) -> list[str]:
    """Run all of it, or what is named; what is wrong at the end."""
    problems: list[str] = []
    started = time.monotonic()
    with running() as stage:
        print(f"  {time.monotonic() - started:5.0f} s: ready", flush=True)
        for scenario in SCENARIOS:
            if names and scenario.__name__ not in names:
                continue
            found = scenario(stage, size)
            print(f"  {time.monotonic() - started:5.0f} s: {scenario.__name__}, {len(found)} problems", flush=True)
            if found:
                print(stage.logs(), flush=True)
            problems += [f"{scenario.__name__}: {one}" for one in found]
    return problems


def main() -> None:
    """Exit with an error where anything is wrong."""
    options = [one for one in sys.argv[1:] if one.startswith("--")]
    names = [one for one in sys.argv[1:] if not one.startswith("--")]
    # Told to end, it ends its programs first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"Soak of deliveries, at most {CLAIM_ROWS} may come twice for each kill. {load_note()}", flush=True)
    problems = soak(SMALL if "--small" in options else WHOLE, names)
    for problem in problems[:50]:
        print(f"  WRONG {problem}")
    if problems:
        sys.exit(f"The soak found {len(problems)} problems.")


if __name__ == "__main__":
    main()
