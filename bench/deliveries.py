"""Webhook deliveries: how many a second, what TLS and failures cost, how soon, and beside an endpoint that hangs.

The pump, the receiver, the bare client, the producer and the worker are programs of their own. A message that is
missing or arrives twice is an error; a slow one is told.
"""

import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.test import override_settings

from bench.answers import WrongAnswerError
from bench.delivery_certificate import certificate_write
from bench.delivery_programs import DATA, EVENT_TYPE
from bench.options import Options, options_read
from bench.soak_processes import Worker, redis_running, worker_make
from bench.stage import database_name, load_note, stage
from bench.targets import Targets
from healthsvc.kernel import clock
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from tests.databases import ROOT, url_with_database
from tests.factories import Tenant
from webhooks import services
from webhooks.models import Endpoint, Event
from webhooks.signatures import secret_make

ENDPOINTS = 50
EVENTS_A_SECOND = 500.0
IDLE_SECONDS = 0.7
ISOLATION_ENDPOINTS = 100
_WAIT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Receiver:
    """A running receiver. `arrivals` are a path, a message id and a Unix time in seconds each."""

    url: str
    port: int
    certificate: Path | None

    def arrivals(self) -> list[tuple[str, str, float]]:
        """What arrived since they were asked for before."""
        if self.certificate is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        else:
            import ssl

            context = ssl.create_default_context(cafile=self.certificate)
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=context)
        connection.request("GET", "/arrivals")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        return [(path, message, float(at)) for path, message, at in map(str.split, lines)]


@dataclass(frozen=True, slots=True)
class Took:
    """A program's run."""

    count: int
    wall_seconds: float
    cpu_seconds: float


@contextmanager
def receiving(folder: Path, *, tls: bool, hang_seconds: float = 15) -> Iterator[Receiver]:
    """A receiver whose origin is the one loopback origin allowed."""
    command = [sys.executable, "-m", "bench.delivery_receiver", "--hang-seconds", str(hang_seconds)]
    certificate = None
    if tls:
        certificate, key = certificate_write(folder)
        command += ["--certificate", str(certificate), "--key", str(key)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline())
        url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        with override_settings(LOOPBACK_ORIGINS=[url]):
            yield Receiver(url, port, certificate)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _environment(receiver: Receiver, redis_url: str = "") -> dict[str, str]:
    urls = {
        name: url_with_database(os.environ[name], database_name()) for name in ("DATABASE_URL", "DATABASE_OWNER_URL")
    }
    redis = {"REDIS_URL": redis_url} if redis_url else {}
    trusted = {"SSL_CERT_FILE": str(receiver.certificate)} if receiver.certificate else {}
    return {
        **os.environ, **urls, **redis, **trusted, "HEALTHSVC_LOOPBACK_ORIGINS": receiver.url, "LOG_LEVEL": "WARNING",
    }  # fmt: skip


def _program(environment: Mapping[str, str], *arguments: str) -> dict[str, object]:
    command = [sys.executable, "-m", "bench.delivery_programs", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=dict(environment), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-2000:])
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def _took(environment: Mapping[str, str], *arguments: str) -> Took:
    return Took(**_program(environment, *arguments))  # type: ignore[arg-type]


def _endpoints(tenant: Tenant, receiver: Receiver, paths: Sequence[str]) -> None:
    """These endpoints and no others; past the service, since they are more than one team may make."""
    now = clock.now()
    with team_scope(tenant.context):
        Endpoint.objects.update(disabled=True)
        Endpoint.objects.bulk_create(
            Endpoint(
                **team_values(tenant.context),
                url=f"{receiver.url}{path}",
                secret=secret_make(),
                created_at=now,
                updated_at=now,
            )
            for path in paths
        )


def _checked(arrivals: Sequence[tuple[str, str, float]], paths: Sequence[str], messages: Sequence[str]) -> None:
    """Each message once at each path."""
    found = Counter((path, message) for path, message, _ in arrivals)
    wanted = {(path, message) for path in paths for message in messages}
    if set(found) != wanted or set(found.values()) != {1}:
        missing, doubled = len(wanted - set(found)), sum(count > 1 for count in found.values())
        raise WrongAnswerError(f"Of {len(wanted)} deliveries {missing} are missing and {doubled} came twice.")


def rates(tenant: Tenant, folder: Path, options: Options, targets: Targets, *, tls: bool) -> None:
    """The pump and a bare client, in turns: the best of each, since load only ever takes away."""
    name = "TLS, kept alive" if tls else "plain"
    paths = [f"/{number}" for number in range(ENDPOINTS)]
    pumped: list[Took] = []
    bare: list[Took] = []
    body = ""
    with receiving(folder, tls=tls) as receiver:
        _endpoints(tenant, receiver, paths)
        environment = _environment(receiver)
        for _ in range(max(1, min(3, options.rounds))):
            messages, body = _owe(tenant, max(1, options.deliveries // ENDPOINTS))
            pumped.append(_took(environment, "pump"))
            _checked(receiver.arrivals(), paths, messages)
            bare.append(_took(environment, "bare", f"{receiver.url}/bare", str(options.deliveries), body))
            receiver.arrivals()
    wall = max(took.count / took.wall_seconds for took in pumped)
    cpu = max(took.count / took.cpu_seconds for took in pumped)
    bare_wall = max(took.count / took.wall_seconds for took in bare)
    bare_cpu = max(took.count / took.cpu_seconds for took in bare)
    print(f"\nDeliveries, {name}: {pumped[0].count:,} to {ENDPOINTS} endpoints, {len(body)} bytes each")
    print(f"  pump         {wall:8,.0f}/s   {cpu:8,.0f} for each CPU-second of its process")
    print(f"  bare client  {bare_wall:8,.0f}/s   {bare_cpu:8,.0f} for each CPU-second of its process")
    print(f"  ratio        {wall / bare_wall:8.2f}     {cpu / bare_cpu:8.2f}", flush=True)
    targets.at_least(f"deliveries a core and second, {name}", cpu, 1000 if tls else 2000)


def failures(tenant: Tenant, folder: Path, options: Options, targets: Targets) -> None:
    """Attempts that fail, with answers as large as are read and as hostile to scrub, beside small ones."""
    rate: dict[str, float] = {}
    with receiving(folder, tls=False) as receiver:
        environment = _environment(receiver)
        for kind in ("small", "large"):
            paths = [f"/fail-{kind}/{number}" for number in range(ENDPOINTS)]
            _endpoints(tenant, receiver, paths)
            messages, _ = _owe(tenant, max(1, options.deliveries // ENDPOINTS // 4))
            took = _took(environment, "pump")
            # A first wait may be over before the last first attempt is made.
            found = {(path, message) for path, message, _ in receiver.arrivals()}
            if found != {(path, message) for path in paths for message in messages}:
                raise WrongAnswerError(f"{len(found)} of {len(paths) * len(messages)} deliveries were tried.")
            rate[kind] = took.count / took.cpu_seconds
    ratio = rate["large"] / rate["small"]
    print(
        f"\nFailed attempts for each CPU-second: {rate['small']:,.0f} with small answers,"
        f" {rate['large']:,.0f} with 4 KB, ratio {ratio:.2f}",
        flush=True,
    )
    targets.at_least("failed attempts with answers of 4 KB, over small ones", ratio, 0.5)


def _owe(tenant: Tenant, events: int) -> tuple[list[str], str]:
    """Commit events in one transaction; their message ids, and a body."""
    with team_scope(tenant.context), transaction.atomic():
        owed = ((EVENT_TYPE, DATA) for _ in range(events))
        services.events_emit(team=tenant.context, events=owed, user_id=None, client_user_id="bench")
    with system_scope(SystemScope.DELIVERY):
        made = list(Event.objects.filter(fanned_out_at=None))
    return [event.message_id for event in made], made[0].body or ""


def delays(tenant: Tenant, folder: Path, options: Options, targets: Targets) -> None:
    """From the commit to the first attempt, through Redis and a worker: at a rate, and idle."""
    with receiving(folder, tls=False) as receiver, working(folder, receiver) as environment:
        _endpoints(tenant, receiver, ["/one"])
        for name, rate in (("idle", 1 / IDLE_SECONDS), (f"{EVENTS_A_SECOND:.0f} events/s", EVENTS_A_SECOND)):
            found = _delays(tenant, receiver, environment, ["/one"], rate, options.delivery_seconds)
            seconds = sorted(found.values())
            print(f"\nCommit to first attempt, {name}: {_quantiles(seconds)}", flush=True)
            if rate == EVENTS_A_SECOND:
                targets.at_most("commit to first attempt at 500 events/s, p50 s", statistics.median(seconds), 0.1)
                targets.at_most("commit to first attempt at 500 events/s, p99 s", _p99(seconds), 1)


def isolation(tenant: Tenant, folder: Path, options: Options, targets: Targets) -> None:
    """A hundred endpoints, five events a second; then the same while one of them lets every request hang."""
    healthy = [f"/{number}" for number in range(1, ISOLATION_ENDPOINTS)]
    found: dict[str, float] = {}
    with receiving(folder, tls=False) as receiver, working(folder, receiver) as environment:
        for name, last in (("all are well", "/well"), ("one hangs for 15 s", "/hang")):
            _endpoints(tenant, receiver, [*healthy, last])
            rate = EVENTS_A_SECOND / ISOLATION_ENDPOINTS
            delays = _delays(tenant, receiver, environment, healthy, rate, options.delivery_seconds)
            seconds = sorted(delays.values())
            found[name] = _p99(seconds)
            print(f"\n{len(healthy)} endpoints while {name}: {_quantiles(seconds)}", flush=True)
    baseline, beside = found.values()
    print(f"  ratio of the p99: {beside / baseline:.2f}", flush=True)
    targets.at_most("p99 of 99 endpoints beside one that hangs, over the baseline", beside / baseline, 1.5)


@contextmanager
def working(folder: Path, receiver: Receiver) -> Iterator[dict[str, str]]:
    """A Redis and a worker of their own; the environment that a producer needs."""
    with ExitStack() as stack:
        redis = stack.enter_context(redis_running(Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder)))))
        environment = _environment(receiver, redis.client_url)
        worker: Worker = worker_make(0, environment, folder)
        worker.child.start()
        # At once: asked to end, it would wait for the request that hangs.
        stack.callback(worker.child.kill)
        yield environment


def _delays(
    tenant: Tenant,
    receiver: Receiver,
    environment: Mapping[str, str],
    paths: Sequence[str],
    events_a_second: float,
    seconds: float,
) -> dict[tuple[str, str], float]:
    """Seconds from the commit to the arrival, by path and message, of a run that follows a first event's."""
    _produced(tenant, environment, 10, 0.1)
    _arrived(receiver, paths, 1)
    committed = _produced(tenant, environment, events_a_second, seconds)
    arrivals = _arrived(receiver, paths, len(committed))
    _checked(arrivals, paths, list(committed))
    return {(path, message): at - committed[message] for path, message, at in arrivals}


def _produced(
    tenant: Tenant, environment: Mapping[str, str], events_a_second: float, seconds: float
) -> dict[str, float]:
    answer = _program(environment, "produce", str(tenant.team.id), str(events_a_second), str(seconds))
    committed: dict[str, float] = answer["committed"]  # type: ignore[assignment]
    return committed


def _arrived(receiver: Receiver, paths: Sequence[str], messages: int) -> list[tuple[str, str, float]]:
    """What arrives at these paths until all of it has, or nothing comes any more."""
    found: list[tuple[str, str, float]] = []
    wanted = set(paths)
    deadline = time.monotonic() + _WAIT_SECONDS
    while len(found) < len(paths) * messages and time.monotonic() < deadline:
        found += [arrival for arrival in receiver.arrivals() if arrival[0] in wanted]
        time.sleep(0.2)
    return found


def _p99(ordered: Sequence[float]) -> float:
    return ordered[min(len(ordered) - 1, round(len(ordered) * 0.99))]


def _quantiles(ordered: Sequence[float]) -> str:
    middle = statistics.median(ordered)
    return (
        f"p50 {middle * 1000:,.0f} ms, p99 {_p99(ordered) * 1000:,.0f} ms, most {ordered[-1] * 1000:,.0f} ms"
        f" of {len(ordered):,}"
    )


def measure(options: Options, targets: Targets) -> None:
    """All of it, on a database of their own."""
    with tempfile.TemporaryDirectory() as name, stage() as tenant:
        folder = Path(name)
        rates(tenant, folder, options, targets, tls=False)
        rates(tenant, folder, options, targets, tls=True)
        failures(tenant, folder, options, targets)
        delays(tenant, folder, options, targets)
        isolation(tenant, folder, options, targets)


if __name__ == "__main__":
    found = Targets()
    print(f"Before: {load_note()}")
    measure(options_read(), found)
    found.told()
