"""Syncs a second of one worker, against the simulator, and where a sync's time goes.

A sync is one scheduled pull of every resource of one connection: its rows, the calls to the provider, the conversion
and the store. The floor is the same calls to the simulator in a bare loop of one kept-alive connection.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from unittest.mock import patch
from urllib.parse import urlsplit

from django.db import connection as database
from django.test import override_settings

from aggregation.services import health_data_store
from bench.stage import load_note, stage
from healthsvc.kernel.http import HttpReply, fetch
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import team_scope
from links.catalogue import provider_get
from links.connectors.registry import connector_of
from links.models import Connection, Pull
from links.services.budgets import budget_take
from links.services.demo import demo_connect
from links.services.pull_rows import pull_keep
from links.services.pulls import pull_run
from links.services.schedule import pulls_owe
from links.states import PullStatus
from tests.factories import Tenant, user_make
from tests.links.simulators import simulator_running

#: Connections that are synced, a part of each provider: three in their vendors' shapes, one in the generic one. Strava
#: is left out: the simulator limits its requests as the vendor does.
CONNECTIONS = 12
PROVIDERS = ("oura", "withings", "whoop_v2", "fitbit")

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Call:
    """A call to the provider, as it was made."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None


@dataclass(slots=True)
class Spent:
    """Seconds by what they were spent on, SQL statements, and the calls that were made.

    connector: everything within a connector, so with the calls and with what each call asks of the database first.
    """

    provider: float = 0.0
    allowed: float = 0.0
    connector: float = 0.0
    store: float = 0.0
    statements: int = 0
    statement_seconds: float = 0.0
    calls: list[Call] = field(default_factory=list)


def measure(tenant: Tenant) -> None:
    """Print how many syncs and pulls a second one worker does, and what of the time is whose."""
    with tempfile.TemporaryDirectory() as folder, simulator_running(Path(folder)) as simulator:
        with override_settings(SIMULATOR_URL=simulator.url, LOOPBACK_ORIGINS=[simulator.url]):
            connections = [_connected(tenant, PROVIDERS[number % len(PROVIDERS)]) for number in range(CONNECTIONS)]
            _work(tenant)
            with team_scope(tenant.context):
                for connection in connections:
                    pulls_owe(connection=connection)
            spent = Spent()
            with _watched(spent):
                started = time.perf_counter()
                count = _work(tenant)
                seconds = time.perf_counter() - started
        floor = _floor(simulator.url, spent.calls)
    _print(spent, seconds, count, floor)


def _print(spent: Spent, seconds: float, count: int, floor: float) -> None:
    calls = len(spent.calls)
    print(f"\nSyncs of one worker, {CONNECTIONS} connections of {', '.join(PROVIDERS)}")
    print(f"  {CONNECTIONS / seconds:8.2f} syncs/s   {count / seconds:6.1f} pulls/s   {calls / seconds:6.1f} calls/s")
    print(f"  {seconds / floor:8.2f} x the same {calls} calls in a bare loop ({1000 * floor / calls:.2f} ms a call)")
    print(
        f"  {calls / count:8.2f} calls and {spent.statements / count:.1f} SQL statements a pull,"
        f" {100 * spent.statement_seconds / seconds:.0f} % of the time within the statements"
    )
    convert = spent.connector - spent.provider - spent.allowed
    rest = seconds - spent.connector - spent.store
    for name, part in (
        ("calls to the provider", spent.provider),
        ("lease and limit before each call", spent.allowed),
        ("reading and converting", convert),
        ("storing", spent.store),
        ("the rest: rows, tokens, events", rest),
    ):
        print(f"  {name:<33} {100 * part / seconds:5.1f} %   {1000 * part / count:7.2f} ms a pull")


def _connected(tenant: Tenant, slug: str) -> Connection:
    user = user_make(tenant)
    with team_scope(tenant.context):
        return demo_connect(team=tenant.context, user_id=user.id, provider=provider_get(slug))


def _work(tenant: Tenant) -> int:
    """Run every pull that is owed; how many that were. Fails where one did not end well."""
    with team_scope(tenant.context):
        owed = list(Pull.objects.filter(status=PullStatus.SCHEDULED).values_list("pk", flat=True))
    for pull_id in owed:
        pull_run(pull_id=pull_id)
    with team_scope(tenant.context):
        wrong = Pull.objects.exclude(status=PullStatus.SUCCESS).values_list("resource", "status", "error_code")
        if wrong:
            raise SystemExit(f"Pulls did not end well: {sorted(set(wrong))}")
    return len(owed)


@contextmanager
def _watched(spent: Spent) -> Iterator[None]:
    """Count the time within the calls to the provider, the connectors, the store and the statements."""
    kinds = {type(connector_of(slug, Environment.SANDBOX)) for slug in PROVIDERS}

    def fetched(method: str, url: str, **values: Any) -> HttpReply:
        spent.calls.append(Call(method, url, dict(values.get("headers") or {}), values.get("body")))
        return fetch(method, url, **values)

    def executed(execute: Callable[..., Any], sql: str, parameters: Any, many: bool, context: Any) -> Any:
        started = time.perf_counter()
        try:
            return execute(sql, parameters, many, context)
        finally:
            spent.statements += 1
            spent.statement_seconds += time.perf_counter() - started

    def timed(place: str, part: str, call: Callable[P, R]) -> None:
        @wraps(call)
        def wrapped(*args: P.args, **values: P.kwargs) -> R:
            started = time.perf_counter()
            try:
                return call(*args, **values)
            finally:
                setattr(spent, part, getattr(spent, part) + time.perf_counter() - started)

        stack.enter_context(patch(place, wrapped))

    with ExitStack() as stack:
        timed("links.connectors.wire.fetch", "provider", fetched)
        timed("links.services.pulls.pull_keep", "allowed", pull_keep)
        timed("links.services.budgets.budget_take", "allowed", budget_take)
        timed("aggregation.services.health_data_store", "store", health_data_store)
        for kind in kinds:
            timed(f"{kind.__module__}.{kind.__qualname__}.pull", "connector", vars(kind)["pull"])
        stack.enter_context(database.execute_wrapper(executed))
        yield


def _floor(url: str, calls: Sequence[Call]) -> float:
    """Seconds that the same calls take in a bare loop."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    started = time.perf_counter()
    for call in calls:
        connection.request(call.method, call.url.removeprefix(url), call.body, call.headers)
        reply = connection.getresponse()
        reply.read()
        if reply.status != 200:
            raise SystemExit(f"The floor's call was answered with {reply.status}.")
    connection.close()
    return time.perf_counter() - started


if __name__ == "__main__":
    print(f"Before: {load_note()}")
    with stage() as team:
        measure(team)
    print(f"After: {load_note()}")
