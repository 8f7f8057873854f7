"""`make soak`: what takes minutes.

A large import under a bound of memory, the kill journey several times over, hundreds of connections that sync while
their providers misbehave, webhooks while workers, PostgreSQL and Redis are killed, and both OpenAPI documents under
random requests.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from aggregation.imports import export_import
from bench.stage import stage
from healthsvc.kernel.scope import team_scope
from tests.aggregation.apple_health.mixture import ROUTE_POINTS
from tests.factories import Tenant, user_make

#: More than 1 GB of export.xml: half a year, every six seconds a record of some sort.
RECORDS = 2_640_000
ROUTES = 100
ELECTROCARDIOGRAMS = 20
SMALLEST_BYTES = 1_000_000_000
#: What the process that imports may have resident, all in all.
RESIDENT_MAXIMUM_MEGABYTES = 200
KILL_ROUNDS = 3


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _write(path: Path) -> int:
    """Write the archive in a process of its own, whose memory is not the import's."""
    program = (
        "import pathlib, sys; from tests.aggregation.apple_health.mixture import write_archive;"
        f" print(write_archive(pathlib.Path(sys.argv[1]), records={RECORDS}, routes={ROUTES},"
        f" electrocardiograms={ELECTROCARDIOGRAMS}))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=True, capture_output=True, text=True)
    return int(done.stdout)


def large_import(tenant: Tenant) -> None:
    """Import more than 1 GB; say how fast and in how much memory; fail where it took more than the bound."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export.zip"
        size_bytes = _write(path)
        user_id = user_make(tenant).id
        before = _peak_megabytes()
        started = time.perf_counter()
        with team_scope(tenant.context):
            receipt, _ = export_import(team=tenant.context, user_id=user_id, file=path)
        seconds = time.perf_counter() - started
    peak = _peak_megabytes()
    read: Any = receipt["read"]
    stored: Any = receipt["stored"]
    print(
        f"import of {size_bytes / 1e6:,.0f} MB of XML, {ROUTES} routes and {ELECTROCARDIOGRAMS} electrocardiograms:"
        f" {seconds:,.0f} s, {sum(read.values()) / seconds:,.0f} records/s, {sum(stored.values()):,} stored of"
        f" {len(stored)} resources, resident memory {before:.0f} MB before and at most {peak:.0f} MB",
        flush=True,
    )
    if size_bytes < SMALLEST_BYTES or stored["workout_stream"] != ROUTES * ROUTE_POINTS:
        sys.exit("The export was not what it should have been.")
    if peak > RESIDENT_MAXIMUM_MEGABYTES:
        sys.exit(f"The import took more than {RESIDENT_MAXIMUM_MEGABYTES} MB.")


def kills() -> None:
    """The kill journey, again and again."""
    for number in range(1, KILL_ROUNDS + 1):
        print(f"kill journey {number} of {KILL_ROUNDS}", flush=True)
        subprocess.run([sys.executable, "-m", "pytest", "-q", "tests/journeys/test_kills.py"], check=True)


def syncs() -> None:
    """300 connections, in a process of their own, whose memory is not the import's."""
    subprocess.run([sys.executable, "-m", "bench.soak_syncs"], check=True)


def deliveries() -> None:
    """Kills and outages under webhooks, on servers of their own."""
    subprocess.run([sys.executable, "-m", "bench.soak_deliveries"], check=True)


def fuzz() -> None:
    """Both OpenAPI documents under random requests; the seed is printed."""
    subprocess.run([sys.executable, "-m", "bench.soak_fuzz"], check=True)


if __name__ == "__main__":
    with stage() as team:
        large_import(team)
    kills()
    syncs()
    deliveries()
    fuzz()
