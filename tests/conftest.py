"""The stage every test stands on: a database of its own on a real server, and a standing cast of two teams."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from django.conf import settings
from pytest_django import DjangoDbBlocker

from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import team_scope
from management.models import Organisation
from tests import factories
from tests.clients import ApiClient
from tests.databases import database_made
from tests.handlers import share_middleware
from tests.true_events import check_events

_BENCH = Path(__file__).parent / "bench"
_JOURNEYS = Path(__file__).parent / "journeys"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what waits the longest; leave browser tests out, loudly, without a Chromium, an error in CI."""
    items.sort(key=lambda item: not item.path.is_relative_to(_BENCH) and not item.path.is_relative_to(_JOURNEYS))
    if CHROMIUM:
        return
    browser = [item for item in items if item.get_closest_marker("browser")]
    if browser and os.environ.get("CI"):
        raise pytest.UsageError("Browser tests are mandatory in CI and there is no Chromium.")
    if browser:
        config.hook.pytest_deselected(items=browser)
        items[:] = [item for item in items if item not in browser]


def pytest_configure() -> None:
    """Spare every test client the reading of all static files."""
    share_middleware()


def pytest_report_header() -> list[str]:
    """Say whether pages will be opened."""
    if CHROMIUM:
        return [f"browser: {CHROMIUM}"]
    return ["!!! NO CHROMIUM FOUND: BROWSER TESTS ARE LEFT OUT !!!"]


def _worker_number() -> int:
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A copy of a migrated template database for this worker, reached as the service's own role."""
    with django_db_blocker.unblock(), database_made(_worker_number()):
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_redis_database() -> None:
    """Each worker keeps to a Redis database of its own."""
    url = settings.REDIS_URL.partition("?")[0]
    settings.REDIS_URL = f"{url}?db={_worker_number() + 1}"
    from healthsvc.celery import app

    path = url.removeprefix("unix://")
    app.conf.update(broker_url=f"redis+socket://{path}?virtual_host={_worker_number() + 1}")


@pytest.fixture(autouse=True)
def _empty_redis() -> None:
    """Limits and messages of one test are no other's."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.flushdb()


@pytest.fixture(autouse=True)
def _true_events(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every event that a test leaves behind is as the document says."""
    if "_django_db_helper" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("_django_db_helper")
    yield
    check_events(request.path)


@pytest.fixture
def organisation(db: None) -> Organisation:
    """Our organisation."""
    return factories.organisation_make()


@pytest.fixture
def team(organisation: Organisation) -> factories.Tenant:
    """Our team, in its sandbox."""
    return factories.tenant_make(organisation)


@pytest.fixture
def other_team(db: None) -> factories.Tenant:
    """A team of another organisation, which must see nothing of ours."""
    return factories.tenant_make(factories.organisation_make(name="Other organisation"), name="Other team")


@pytest.fixture
def production(team: factories.Tenant) -> factories.Tenant:
    """Our team's other environment, which must see nothing of the sandbox."""
    return factories.environment_make(team, Environment.PRODUCTION)


@pytest.fixture
def api(team: factories.Tenant) -> ApiClient:
    """A client with our sandbox key."""
    return ApiClient(team_key=team.key)


@pytest.fixture
def other_api(other_team: factories.Tenant) -> ApiClient:
    """A client with the other team's key."""
    return ApiClient(team_key=other_team.key)


@pytest.fixture
def management_api(organisation: Organisation) -> ApiClient:
    """A client at the management address with our organisation's key."""
    return ApiClient(management_key=factories.management_key_make(organisation))


@pytest.fixture
def in_team(team: factories.Tenant) -> Iterator[factories.Tenant]:
    """Our team, with the database scoped to it: for tests that call services and selectors directly."""
    with team_scope(team.context):
        yield team
