"""Storing posts of 1 to 10,000 new samples, over HTTP and in process, against a raw COPY and a one-row upsert."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
from django.db import connection

from aggregation.records import SeriesBatch
from aggregation.services import health_data_store
from bench import rows
from bench.answers import WrongAnswerError
from bench.engine import tables_of
from bench.filled import Filled, filled
from bench.heart import LAST_ON, RESOURCE, SOURCE, HeartRate, heart_rate
from bench.options import options_read
from bench.server import Client, server
from bench.stage import medians
from bench.targets import Targets
from healthsvc.kernel.scope import team_scope
from tests.factories import Tenant, user_make
from users.models import User

#: Samples a post, and how often each is timed.
_SIZES = ((1, 300), (60, 100), (1_440, 40), (10_000, 20))
_WAL_POSTS = 20
_DAYS = 180
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_COPY, _UPSERT, _STORE, _EVENTS, _HTTP = "raw COPY", "one-row upsert", "in process", "with events", "over HTTP"


def body_of(rate: HeartRate, first: int, last: int) -> bytes:
    """Samples as they are pushed."""
    samples = [
        {"timestamp": (_EPOCH + timedelta(microseconds=at_us)).isoformat(), "value": value}
        for at_us, value in zip(rate.start_us[first:last].tolist(), rate.value[first:last].tolist(), strict=True)
    ]
    pushed = {"provider": "manual", "source": {"type": "manual_scan"}, "timeseries": {RESOURCE: samples}}
    return json.dumps(pushed).encode()


def push_path(user_id: UUID) -> str:
    """Where a person's data are pushed."""
    return f"/v2/user/{user_id}/data"


def pushed(client: Client, user_id: UUID, body: bytes) -> None:
    """One post, which must have been stored."""
    reply = client.send("POST", push_path(user_id), body)
    if reply.status != 200:
        raise WrongAnswerError(f"a push was answered with {reply.status}: {reply.body[:300]!r}")


@dataclass(slots=True)
class _Posts:
    """New samples of one new person, post after post."""

    user: User
    rate: HeartRate
    count: int
    sent: int = 0

    def bounds(self) -> tuple[int, int]:
        """Of the next post."""
        first = self.sent * self.count
        self.sent += 1
        return first, first + self.count


class _Writers:
    """Ways to store the next post of `count` samples, each with a person of its own."""

    def __init__(self, tenant: Tenant, client: Client, rate: HeartRate, count: int, posts: int) -> None:
        self._tenant, self._client = tenant, client
        self.posts = {name: _Posts(user_make(tenant), rate, count) for name in (_COPY, _UPSERT, _STORE, _EVENTS, _HTTP)}
        self._bodies: Iterator[bytes] = iter([body_of(rate, n * count, (n + 1) * count) for n in range(posts)])
        copied = self.posts[_COPY].user.pk
        self._copy = rows.copy_bytes(copied, rate.start_us[:count], rate.value[:count])

    def calls(self) -> dict[str, Callable[[], object]]:
        """By name; the upsert is there for single samples only."""
        found: dict[str, Callable[[], object]] = {_COPY: lambda: rows.heap_copy(self._copy)}
        if self.posts[_COPY].count == 1:
            found[_UPSERT] = self._upsert
        return found | {
            _STORE: lambda: self._store(_STORE, emit=False),
            _EVENTS: lambda: self._store(_EVENTS, emit=True),
            _HTTP: lambda: pushed(self._client, self.posts[_HTTP].user.pk, next(self._bodies)),
        }

    def _store(self, name: str, *, emit: bool) -> None:
        posts = self.posts[name]
        batch = SeriesBatch(RESOURCE, SOURCE, posts.rate.columns(*posts.bounds()))
        health_data_store(team=self._tenant.context, user_id=posts.user.pk, series=[batch], emit=emit)

    def _upsert(self) -> None:
        posts = self.posts[_UPSERT]
        first, _ = posts.bounds()
        at = rows.moment_of(int(posts.rate.start_us[first]))
        rows.upsert(posts.user.pk, at, float(posts.rate.value[first]))

    def checked(self, posts: int) -> None:
        """Raise unless all that was sent is there."""
        wanted = posts * self.posts[_STORE].count
        for name in (_STORE, _EVENTS, _HTTP):
            stored = _count(self._tenant, self.posts[name].user)
            if stored != wanted:
                raise WrongAnswerError(f"{name}: {stored} samples are stored of {wanted}")


def _count(tenant: Tenant, user: User) -> int:
    body = {
        "timeframe": {"type": "relative", "anchor": LAST_ON.isoformat(), "past": {"unit": "year", "value": 1}},
        "queries": [{"select": [{"func": "count", "arg": {RESOURCE: "value"}}]}],
    }
    return int(tables_of(tenant, user, body)[0].columns[0][1].values[0])


def _wal_bytes(call: Callable[[], object]) -> float:
    """Of one call, as the mean of some; all of the server's, so nothing else may be writing."""
    before = _wal_position()
    for _ in range(_WAL_POSTS):
        call()
    return (_wal_position() - before) / _WAL_POSTS


def _wal_position() -> int:
    connection.ensure_connection()
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
        (position,) = cursor.fetchone() or (0,)
    return int(position)


def measure(store: Filled, targets: Targets) -> None:
    """Print samples a second, what a post takes, and the write-ahead log of a sample."""
    print("\nStoring new samples of one series, one commit a post; medians, in turns")
    rate = heart_rate(1_000, _DAYS)
    with server() as port, team_scope(store.tenant.context):
        client = Client(port, store.tenant.key)
        for count, rounds in _SIZES:
            posts = min(1 + rounds, len(rate) // count - _WAL_POSTS)
            writers = _Writers(store.tenant, client, rate, count, posts + _WAL_POSTS)
            calls = writers.calls()
            found = medians(calls, rounds=posts - 1)
            wal = {name: _wal_bytes(call) / count for name, call in calls.items()}
            writers.checked(posts + _WAL_POSTS)
            rows.heap_empty()
            _told(count, found, wal)
            _targets(count, found, targets)
        client.close()


def _told(count: int, found: dict[str, float], wal: dict[str, float]) -> None:
    print(f"\n  {count:,} a post")
    for name, seconds in found.items():
        print(
            f"    {name:<16} {count / seconds:>12,.0f} samples/s {seconds * 1000:>9.3f} ms a post"
            f"   {found[_COPY] / seconds:6.2f} x raw COPY   WAL {wal[name]:>8.1f} bytes a sample"
        )


def _targets(count: int, found: dict[str, float], targets: Targets) -> None:
    if count == 10_000:
        targets.at_least("10,000 a post in process, times raw COPY's speed", found[_COPY] / found[_STORE], 1)
    if count == 1:
        targets.at_most("one sample a post in process, times a narrow upsert", found[_STORE] / found[_UPSERT], 2)


if __name__ == "__main__":
    reached = Targets()
    with filled(options_read()) as the_store:
        measure(the_store, reached)
    reached.told()
