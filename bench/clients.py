"""Eight clients at once over HTTP, each on a connection of its own: p50 and p99 of the time to an answer."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from bench.answers import WrongAnswerError
from bench.filled import Filled, filled
from bench.heart import HeartRate, heart_rate
from bench.ingest import body_of, push_path
from bench.options import options_read
from bench.queries import query_path
from bench.server import Client, server
from tests.factories import user_make

CLIENTS = 8
_SECONDS = 4.0
#: A page of the list.
_USERS = 100
_POST_DAYS = 30


@dataclass(frozen=True, slots=True)
class _Kind:
    """One kind of request; `request` gives method, path and body of a client's n-th."""

    name: str
    request: Callable[[int, int], tuple[str, str, bytes | None]]


def measure(store: Filled) -> None:
    """Print milliseconds of one client and of eight; the clients run on the same cores as the service."""
    kinds = _kinds(store)
    print(f"\nOver HTTP, one server process, {_SECONDS:g} s each; clients are threads of one process on the same cores")
    print(f"  {'':<28} {'1 client: p50':>14} {'p99 ms':>8} {'a second':>9}   {f'{CLIENTS} clients: p50':>14}", end="")
    print(f" {'p99 ms':>8} {'a second':>9}")
    with server() as port:
        for kind in kinds:
            line = f"  {kind.name:<28}"
            for clients in (1, CLIENTS):
                half, most, rate = _run(kind, port, store.tenant.key, clients)
                line += f" {half:>14.2f} {most:>8.2f} {rate:>9,.0f}  "
            print(line, flush=True)


def _kinds(store: Filled) -> list[_Kind]:
    posters = [user_make(store.tenant) for _ in range(max(_USERS, 2 * CLIENTS))]
    rate = heart_rate(2_000, _POST_DAYS)
    windows = [window for window in store.windows if window.days <= 366]
    day, longest = windows[0], windows[-1]
    path = query_path(store)
    day_body, longest_body = (json.dumps(window.body()).encode() for window in (day, longest))
    return [
        _Kind("users, a page of 100", lambda client, number: ("GET", "/v2/user?limit=100", None)),
        _Kind(f"query, {day.name}", lambda client, number: ("POST", path, day_body)),
        _Kind(f"query, {longest.name}", lambda client, number: ("POST", path, longest_body)),
        _Kind("post of one sample", lambda client, number: _post(posters[client].pk, rate, number)),
    ]


def _post(user_id: UUID, rate: HeartRate, number: int) -> tuple[str, str, bytes]:
    place = number % len(rate)
    return "POST", push_path(user_id), body_of(rate, place, place + 1)


def _run(kind: _Kind, port: int, key: str, clients: int) -> tuple[float, float, float]:
    """p50 and p99 in milliseconds, and requests a second of all clients together."""
    taken: list[list[float]] = [[] for _ in range(clients)]
    failures: list[str] = []
    # One client and eight must not be the same people.
    offset = 0 if clients == 1 else 1
    until = time.perf_counter() + _SECONDS
    threads = [
        threading.Thread(target=_client, args=(kind, port, key, offset + place, until, taken[place], failures))
        for place in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise WrongAnswerError(f"{kind.name}: {failures[0]}")
    every = np.concatenate([np.array(one) for one in taken])
    half, most = np.percentile(every, (50, 99)) * 1000
    return float(half), float(most), len(every) / _SECONDS


def _client(
    kind: _Kind, port: int, key: str, number: int, until: float, taken: list[float], failures: list[str]
) -> None:
    client = Client(port, key)
    count = 0
    try:
        while time.perf_counter() < until:
            method, path, body = kind.request(number, count)
            started = time.perf_counter()
            reply = client.send(method, path, body)
            taken.append(time.perf_counter() - started)
            count += 1
            if reply.status != 200:
                failures.append(f"{reply.status} {reply.body[:300]!r}")
                return
    except OSError as error:
        failures.append(repr(error))
    finally:
        client.close()


if __name__ == "__main__":
    with filled(options_read()) as the_store:
        measure(the_store)
