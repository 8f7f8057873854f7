"""`make soak`: what takes minutes. A large import under a bound of memory, then the kill journey several times over."""

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
from tests.aggregation.apple_health.generate import write_export
from tests.factories import Tenant, user_make

#: About 1 GB of export.xml.
RECORDS = 2_700_000
#: What the import may add to the memory the process had before it.
MEMORY_BOUND_MEGABYTES = 200
KILL_ROUNDS = 3


def _resident_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def large_import(tenant: Tenant) -> None:
    """Import about 1 GB; say how fast and in how much memory; fail where it grew beyond the bound."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export.xml"
        with path.open("wb") as out:
            size_bytes = write_export(out, RECORDS)
        user_id = user_make(tenant).id
        before = _resident_megabytes()
        started = time.perf_counter()
        with team_scope(tenant.context):
            receipt, _ = export_import(team=tenant.context, user_id=user_id, file=path)
        seconds = time.perf_counter() - started
    grown = _resident_megabytes() - before
    counts: Any = receipt["stored"]
    stored = sum(counts.values())
    print(
        f"import of {size_bytes / 1e6:,.0f} MB: {RECORDS / seconds:,.0f} records/s, {stored:,} stored,"
        f" peak memory {before:.0f} MB before and {grown:.0f} MB more"
    )
    if grown > MEMORY_BOUND_MEGABYTES:
        sys.exit(f"The import took more than {MEMORY_BOUND_MEGABYTES} MB.")


def kills() -> None:
    """The kill journey, again and again."""
    for number in range(1, KILL_ROUNDS + 1):
        print(f"kill journey {number} of {KILL_ROUNDS}", flush=True)
        subprocess.run([sys.executable, "-m", "pytest", "-q", "tests/journeys/test_kills.py"], check=True)


if __name__ == "__main__":
    with stage() as team:
        large_import(team)
    kills()
