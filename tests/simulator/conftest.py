"""A running simulator on a loopback port, on a database of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulator.running import RunningSimulator


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[RunningSimulator]:
    """The simulator over real HTTP, its clock stopped at 2026-11-01 12:00 UTC."""
    with RunningSimulator(tmp_path / "simulator.sqlite3") as running:
        running.stop_clock("2026-11-01T12:00:00+00:00")
        yield running
