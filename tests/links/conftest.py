"""Fixtures of the link tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from tests.links.browsing import PHONE, chromium
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


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    """The machine's Chromium. Playwright keeps an event loop in this thread, which Django has to be told of."""
    with pytest.MonkeyPatch.context() as patch, chromium() as running:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield running


@pytest.fixture
def phone(chrome: Browser) -> Iterator[BrowserContext]:
    """A small telephone with JavaScript switched off."""
    context = chrome.new_context(viewport=PHONE, java_script_enabled=False, is_mobile=True, has_touch=True)
    context.set_default_timeout(10_000)
    yield context
    context.close()


@pytest.fixture
def served(live_server: LiveServer, simulator: Simulator, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> str:
    """The service's own address, with the simulator behind it."""
    settings.BASE_URL = live_server.url
    # Playwright keeps an event loop in this thread; the database is still used by one caller at a time.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    return str(live_server.url)
