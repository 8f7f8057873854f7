"""Fixtures of the link tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from tests.links.simulators import Simulator, simulator_running


@pytest.fixture(scope="session")
def _simulator_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    folder: Path = tmp_path_factory.mktemp("simulator")
    with simulator_running(folder) as simulator:
        yield simulator


@pytest.fixture
def simulator(_simulator_process: Simulator, settings: Settings) -> Simulator:
    """A simulator that has forgotten everything, and that the service is pointed at."""
    _simulator_process.reset()
    settings.SIMULATOR_URL = _simulator_process.url
    settings.LOOPBACK_ORIGINS = [_simulator_process.url]
    return _simulator_process
