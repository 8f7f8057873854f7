"""What every measurement needs: a database of its own, a team, and interleaved timings."""

import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import psycopg
from django.db import connections
from psycopg import sql

from tests.databases import database_made
from tests.factories import Tenant, tenant_make


@contextmanager
def stage() -> Iterator[Tenant]:
    """A fresh database with one team."""
    with database_made(90):
        yield tenant_make()


def medians(candidates: Mapping[str, Callable[[], object]], *, rounds: int) -> dict[str, float]:
    """Median seconds of each candidate, run in turns so that load falls on all alike."""
    return {name: statistics.median(values) for name, values in _in_turns(candidates, rounds).items()}


def bests(candidates: Mapping[str, Callable[[], object]], *, rounds: int) -> dict[str, float]:
    """The least seconds of each, run in turns: for what takes so little that others' load would be most of it."""
    return {name: min(values) for name, values in _in_turns(candidates, rounds).items()}


def _in_turns(candidates: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for call in candidates.values():
        call()
    for _ in range(rounds):
        for name, call in candidates.items():
            started = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - started)
    return seconds


def table(title: str, found: Mapping[str, float], floor: str) -> None:
    """Print each candidate in milliseconds and as a ratio to `floor`."""
    print(f"\n{title}")
    for name, value in found.items():
        print(f"  {name:<44} {value * 1000:9.3f} ms   {value / found[floor]:7.2f} x {floor}")


def load_note() -> str:
    """How busy the machine is: other programs on the same cores stretch every figure."""
    minute, five, fifteen = os.getloadavg()
    return f"{os.cpu_count()} cores, load average {minute:.2f} {five:.2f} {fifteen:.2f}"


def database_name() -> str:
    """The database that Django's connections lead to now."""
    return str(connections["default"].settings_dict["NAME"])


@contextmanager
def database_copied(name: str) -> Iterator[None]:
    """A copy of the current database under another name; dropped afterwards."""
    connections.close_all()
    copy, source = sql.Identifier(name), sql.Identifier(database_name())
    owner = sql.Identifier(connections["owner"].settings_dict["USER"])
    with psycopg.connect(os.environ["TEST_SUPERUSER_URL"], autocommit=True) as superuser:
        superuser.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {}").format(copy, source, owner))
        try:
            yield
        finally:
            connections.close_all()
            superuser.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(copy))


@contextmanager
def connected_to(name: str) -> Iterator[None]:
    """Django's connections lead to another database for a while."""
    before = database_name()
    _connect(name)
    try:
        yield
    finally:
        _connect(before)


def _connect(name: str) -> None:
    connections.close_all()
    for alias in ("default", "owner"):
        connections[alias].settings_dict["NAME"] = name


def vacuumed(*tables: str) -> None:
    """VACUUM ANALYZE, so that no measurement pays for the one before it."""
    with connections["owner"].cursor() as cursor:
        for name in tables:
            cursor.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier(name)))
