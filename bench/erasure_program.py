"""Erases one user in a process of its own and prints what it took: `python -m bench.erasure_program <erasure id>`."""

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from uuid import UUID

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "healthsvc.settings")

_KILOBYTE = 1024


def _memory_bytes(name: str) -> int:
    """VmRSS, what is resident now; VmHWM, what ever was."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * _KILOBYTE
    raise LookupError(name)


def main(erasure_id: UUID) -> None:
    """The worker's own function, with the erasers' portions timed: from the begin of each to that of the next."""
    import django

    django.setup()
    from django.db import connection

    from healthsvc.kernel.principal import TeamContext
    from users import registry
    from users.services.erasure import erasure_run

    begun: list[float] = []
    erased: list[str] = []

    def timed(eraser: registry.Eraser) -> registry.Eraser:
        app = min(eraser.tables).partition("_")[0]

        def portion(team: TeamContext, user_id: UUID) -> Mapping[str, int]:
            begun.append(time.perf_counter())
            erased.append(f"{app}, nothing left")
            counts = eraser.portion(team, user_id)
            if counts:
                erased[-1] = next(iter(counts))
            return counts

        return replace(eraser, portion=portion)

    registry.erasers[:] = map(timed, registry.erasers)
    connection.ensure_connection()
    base, cpu, wall = _memory_bytes("VmRSS"), time.process_time(), time.perf_counter()
    erasure_run(erasure_id=erasure_id)
    ended = time.perf_counter()
    took = [until - at for at, until in zip(begun, [*begun[1:], ended], strict=True)]
    seconds: dict[str, float] = {}
    for name, one in zip(erased, took, strict=True):
        seconds[name] = seconds.get(name, 0) + one
    told = {
        "seconds": ended - wall,
        "cpu_seconds": time.process_time() - cpu,
        "base_bytes": base,
        "peak_bytes": _memory_bytes("VmHWM"),
        "transactions": len(took),
        "longest_seconds": max(took),
        "longest_of": erased[took.index(max(took))],
        "by_table": seconds,
    }
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(UUID(sys.argv[1]))
