"""The programs that the measurement of deliveries runs: a pump, a bare client, a producer; each prints what it took.

`python -m bench.delivery_programs pump|bare|produce …`
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from uuid import UUID

import aiohttp

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "healthsvc.settings")

EVENT_TYPE = "daily.data.sleep.created"
#: Makes a body of about 700 bytes.
DATA = {"note": "x" * 500}
_CLIENTS = 64


def pump() -> None:
    """Deliver what is owed."""
    import django

    django.setup()
    from webhooks.pump import PumpOptions, pump_run

    wall, cpu = time.perf_counter(), time.process_time()
    report = pump_run(PumpOptions(idle_seconds=0, run_seconds=600))
    _say(report.attempted, time.perf_counter() - wall, time.process_time() - cpu)


def bare(url: str, count: str, body: str) -> None:
    """Post the same number of bodies in a bare loop."""
    asyncio.run(_bare(url, int(count), body.encode()))


async def _bare(url: str, count: int, body: bytes) -> None:
    values = {
        "id": "msg_00000000-0000-0000-0000-000000000000",
        "timestamp": "1700000000",
        "signature": "v1," + "a" * 44,
    }
    headers = {f"{prefix}-{name}": value for prefix in ("webhook", "svix") for name, value in values.items()}
    headers["Content-Type"] = "application/json"
    timeout = aiohttp.ClientTimeout(total=15)
    left = iter(range(count))
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:

        async def post(left: Iterator[int]) -> None:
            for _ in left:
                async with session.post(url, data=body, headers=headers, timeout=timeout) as reply:
                    await reply.read()
                    if reply.status != 204:
                        raise SystemExit(f"The receiver answered {reply.status}.")

        wall, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(post(left) for _ in range(_CLIENTS)))
    _say(count, time.perf_counter() - wall, time.process_time() - cpu)


def produce(team_id: str, events_a_second: str, seconds: str) -> None:
    """Commit events one by one at an even rate; prints the time after each commit by message id."""
    import django

    django.setup()
    from django.db import transaction

    from healthsvc.kernel.principal import Environment, TeamContext
    from healthsvc.kernel.scope import team_scope
    from webhooks import services

    team = TeamContext(UUID(team_id), Environment.SANDBOX)
    step = 1 / float(events_a_second)
    committed: dict[str, float] = {}
    begun = time.perf_counter()
    with team_scope(team):
        for number in range(int(float(seconds) * float(events_a_second))):
            time.sleep(max(0.0, begun + number * step - time.perf_counter()))
            commit = _Commit()
            with transaction.atomic():
                transaction.on_commit(commit.note)
                event_id = services.event_emit(
                    team=team, event_type=EVENT_TYPE, data=DATA, user_id=None, client_user_id="bench"
                )
            committed[f"msg_{event_id}"] = commit.at
    print(json.dumps({"committed": committed, "seconds": time.perf_counter() - begun}))


class _Commit:
    """When a transaction was committed, noted before anything else is done after it. Unix seconds."""

    at = 0.0

    def note(self) -> None:
        self.at = time.time()


def _say(count: int, wall_seconds: float, cpu_seconds: float) -> None:
    print(json.dumps({"count": count, "wall_seconds": wall_seconds, "cpu_seconds": cpu_seconds}))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["pump"]:
            pump()
        case ["bare", url, count, body]:
            bare(url, count, body)
        case ["produce", team_id, events_a_second, seconds]:
            produce(team_id, events_a_second, seconds)
        case _:
            sys.exit(__doc__)
