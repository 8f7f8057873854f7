"""What every measurement needs: a database of its own, a team, and interleaved timings."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from tests.databases import database_made
from tests.factories import Tenant, tenant_make


@contextmanager
def stage() -> Iterator[Tenant]:
    """A fresh database with one team."""
    with database_made(90):
        yield tenant_make()


def medians(candidates: Mapping[str, Callable[[], object]], *, rounds: int) -> dict[str, float]:
    """Median seconds of each candidate, run in turns so that load falls on all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for call in candidates.values():
        call()
    for _ in range(rounds):
        for name, call in candidates.items():
            started = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in seconds.items()}


def table(title: str, found: Mapping[str, float], floor: str) -> None:
    """Print each candidate in milliseconds and as a ratio to `floor`."""
    print(f"\n{title}")
    for name, value in found.items():
        print(f"  {name:<44} {value * 1000:9.3f} ms   {value / found[floor]:7.2f} x {floor}")
