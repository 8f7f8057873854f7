"""The processes that commit, deliver and receive in the soak of deliveries, and one scenario's bookkeeping."""

import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import UUID

import orjson
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.test import override_settings

from bench.soak_arrivals import (
    Acknowledged,
    Arrival,
    acknowledged_read,
    arrival_problems,
    arrivals_read,
    attempt_problems,
    doubles,
    doubles_maximum,
    kept_read,
    message_ids,
    missing,
)
from bench.soak_processes import Child, Worker, beat_make, worker_make
from bench.soak_servers import Servers, servers_running
from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from tests.factories import Tenant, tenant_make
from tests.links.simulators import call
from webhooks import services
from webhooks.models import Delivery, EndpointHealth
from webhooks.states import OPEN, DeliveryStatus

_WORKERS: Final = 2
_START_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.5
_LOG_CHARACTERS: Final = 3000
#: How long a kill's victims stay away.
_AWAY_SECONDS: Final = 0.5


@dataclass(slots=True)
class Running:
    """Everything that runs."""

    servers: Servers
    environment: dict[str, str]
    workers: list[Worker]
    beat: Child
    receiver_url: str
    journal: Path

    def workers_kill(self, *, whole: bool) -> None:
        """kill -9 of all workers and start them again; or only of the processes in them that work."""
        if not whole:
            for worker in self.workers:
                worker.kill_working()
            return
        for worker in self.workers:
            worker.child.kill()
        time.sleep(_AWAY_SECONDS)
        for worker in self.workers:
            worker.child.start()

    def workers_signal(self, number: signal.Signals) -> None:
        """A signal to all workers' groups."""
        for worker in self.workers:
            worker.child.send_signal(number)

    def lives(self) -> list[int | None]:
        """Which processes the workers and beat are; None for one that has ended."""
        children = [self.beat, *(worker.child for worker in self.workers)]
        return [child.pid for child in children]

    def pump_start(self) -> Child:
        """A pump that needs no broker."""
        command = (sys.executable, "manage.py", "webhooks_pump")
        pump = Child("pump", command, self.environment, self.servers.folder)
        pump.start()
        return pump

    def receiver_modes(self, modes: Mapping[str, str]) -> None:
        """What the receiver does at each path."""
        _post(f"{self.receiver_url}/_control", modes)

    def logs(self) -> str:
        """The ends of what all programs have printed."""
        paths = sorted(self.servers.folder.glob("*.log"))
        return "\n".join(f"--- {path.stem}\n{path.read_text(errors='replace')[-_LOG_CHARACTERS:]}" for path in paths)

    def leases_end(self) -> None:
        """Kill the workers, so that no claim is anybody's, and let their leases be over."""
        for worker in self.workers:
            worker.child.kill()
        with system_scope(SystemScope.DELIVERY):
            Delivery.objects.filter(status=DeliveryStatus.SENDING).update(next_attempt_at=clock.now())
        for worker in self.workers:
            worker.child.start()

    @contextmanager
    def scenario(self, name: str, paths: Mapping[str, str], *, producers: int) -> Iterator["Scenario"]:
        """A team with an endpoint for each path, whose modes are given."""
        tenant = tenant_make(name=name)
        endpoints: dict[UUID, str] = {}
        with override_settings(LOOPBACK_ORIGINS=[self.receiver_url]), team_scope(tenant.context):
            for path in paths:
                made = services.endpoint_create(team=tenant.context, url=self.receiver_url + path)
                endpoints[made.id] = path
                _post(f"{self.receiver_url}/_secret", {path: made.secret})
        self.receiver_modes(paths)
        scenario = Scenario(self, name, tenant, endpoints, producers)
        try:
            yield scenario
        finally:
            scenario.stop()


@dataclass(slots=True)
class Scenario:
    """One team's events. `kills`: how often something was killed that may have had requests in flight."""

    running: Running
    name: str
    tenant: Tenant
    endpoints: dict[UUID, str]
    count: int
    kills: int = 0
    children: list[Child] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def journals(self) -> list[Path]:
        """What the producers note."""
        return [self.running.servers.folder / f"{self.name}-{number}.journal" for number in range(self.count)]

    def produce(self, rate: float) -> None:
        """Start the producers."""
        team = self.tenant.context
        for number, journal in enumerate(self.journals):
            command = (sys.executable, "-m", "bench.soak_producer")
            arguments = (str(team.team_id), str(team.environment), str(journal), str(rate))
            name = f"{self.name}-producer-{number}"
            child = Child(name, (*command, *arguments), self.running.environment, self.running.servers.folder)
            child.start()
            self.children.append(child)
        _wait(lambda: len(self.acknowledged()) > 0, "the producers did not begin")

    def stop(self) -> None:
        """Stop the producers; one that has ended by itself is wrong."""
        for child in self.children:
            if child.pid is None:
                self.problems.append(f"{child.name} ended: {child.log.read_text()[-500:]}")
            child.kill()
        self.children.clear()

    def acknowledged(self) -> list[Acknowledged]:
        """What is noted as committed."""
        return acknowledged_read(self.journals)

    def resumed(self, limit_seconds: float) -> float | None:
        """Wait until something that is committed from now on is taken; after how many seconds, or None."""
        began = time.time()
        while time.time() - began < limit_seconds:
            later = {one.message_id for one in self.acknowledged() if one.at_seconds > began}
            taken = [one.at_seconds for one in self._arrivals() if one.message_id in later and one.is_taken]
            if taken:
                return max(0.0, min(taken) - began)  # delivered while its producer still waited for the broker
            time.sleep(_POLL_SECONDS)
        return None

    def arrived_of(self, begin: float, end: float, limit_seconds: float) -> tuple[int, list[Acknowledged]]:
        """Of what was committed between two moments: how many were taken, once all are or the time is over; and all."""
        made = [one for one in self.acknowledged() if begin < one.at_seconds < end]
        deadline = time.monotonic() + limit_seconds
        while True:
            taken = {one.message_id for one in self._arrivals() if one.is_taken}
            arrived = sum(one.message_id in taken for one in made)
            if arrived == len(made) or time.monotonic() > deadline:
                return arrived, made
            time.sleep(_POLL_SECONDS)

    def finish(self, limit_seconds: float, *, settled_after: float | None = None) -> list[str]:
        """Wait for the last, print the figures, and compare. `settled_after`: from then on nothing was killed."""
        stopped_at = time.time()
        self._drain(limit_seconds)
        acknowledged, arrivals = self.acknowledged(), self._arrivals()
        maximum = doubles_maximum(self.kills, len(self.endpoints), settings.WEBHOOK_PUMPS)
        last = max((one.at_seconds for one in arrivals if one.is_taken), default=stopped_at)
        print(
            f"    {len(acknowledged)} acknowledged, {len({one.message_id for one in arrivals if one.is_taken})}"
            f" arrived in {len(arrivals)} requests at {len(self.endpoints)} endpoints, {doubles(arrivals)} came twice"
            f" after {self.kills} kills ({maximum} may), the last {max(0.0, last - stopped_at):.0f} s after the last"
            f" commit",
            flush=True,
        )
        committed = message_ids(self.tenant)
        kept = kept_read(self.tenant, self.endpoints)
        settled = {one.message_id for one in acknowledged if settled_after and one.at_seconds > settled_after}
        found = arrival_problems(
            acknowledged,
            arrivals,
            paths=list(self.endpoints.values()),
            committed=committed,
            doubles_maximum=maximum,
        )
        rows = attempt_problems(kept, arrivals, settled=settled, gaps_maximum=maximum)
        return [*self.problems, *found, *rows]

    def _arrivals(self) -> list[Arrival]:
        return arrivals_read(self.running.journal, list(self.endpoints.values()))

    def _drain(self, limit_seconds: float) -> None:
        """Until everything is taken and nothing is owed any more; later attempts are made due now."""
        deadline = time.monotonic() + limit_seconds
        while time.monotonic() < deadline:
            try:
                owed = self._hurry()
            except (OperationalError, InterfaceError):
                connection.close()
                owed = True
            acknowledged, arrivals = self.acknowledged(), self._arrivals()
            if not owed and not any(missing(acknowledged, arrivals, path) for path in self.endpoints.values()):
                return
            time.sleep(_POLL_SECONDS)

    def _hurry(self) -> bool:
        """End the waits after failures, which grow to hours; whether anything is owed."""
        now = clock.now()
        with system_scope(SystemScope.DELIVERY):
            EndpointHealth.objects.filter(paused_until__gt=now).update(paused_until=now)
            owed = Delivery.objects.filter(status__in=OPEN, endpoint__in=list(self.endpoints))
            owed.filter(status=DeliveryStatus.PENDING, next_attempt_at__gt=now).update(next_attempt_at=now)
            return owed.exists()


@contextmanager
def running() -> Iterator[Running]:
    """Start everything; end it in any case."""
    with ExitStack() as stack:
        servers = stack.enter_context(servers_running())
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        url, journal = f"http://127.0.0.1:{port}", servers.folder / "arrivals.journal"
        environment = {**servers.environment(), "HEALTHSVC_LOOPBACK_ORIGINS": url}
        command = (sys.executable, "-m", "bench.soak_receiver", "--port", port, "--journal", str(journal))
        receiver = Child("receiver", command, environment, servers.folder)
        workers = [worker_make(number, environment, servers.folder) for number in range(_WORKERS)]
        beat = beat_make(environment, servers.folder)
        for child in (receiver, beat, *(worker.child for worker in workers)):
            child.start()
            stack.callback(child.kill)
        _wait(lambda: bool(receiver.log.exists() and receiver.log.read_text().endswith("\n")), "no receiver")
        yield Running(servers, environment, workers, beat, url, journal)


def _wait(ready: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not ready():
        if time.monotonic() > deadline:
            raise SystemExit(f"The soak cannot go on: {what}.")
        time.sleep(0.05)


def _post(url: str, content: Mapping[str, str]) -> None:
    status, _, _ = call("POST", url, orjson.dumps(dict(content)).decode(), {"Content-Type": "application/json"})
    if status != 204:
        raise SystemExit(f"The receiver answered {status}.")
