"""A receiver on this machine, an endpoint that leads to it, and short ways to emit and deliver."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from playwright.sync_api import Browser
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from tests.factories import Tenant
from tests.links.browsing import chromium
from tests.webhooks.receiving import Receiver, receiver
from webhooks import services, walker
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.pump import PumpOptions, PumpReport, pump_run
from webhooks.records import Claim
from webhooks.services import wakes

#: An event of the catalogue; which one does not matter here.
SOME_EVENT = "daily.data.sleep.created"
CLIENT_USER_ID = "customer-1"

Emit = Callable[..., UUID]


@pytest.fixture
def hook(settings: Settings) -> Iterator[Receiver]:
    """A receiver whose origin is the one loopback origin allowed."""
    with receiver() as running:
        settings.LOOPBACK_ORIGINS = [running.url]
        yield running


def endpoint_make(tenant: Tenant, url: str, **values: Any) -> Endpoint:
    """An endpoint of a team."""
    with team_scope(tenant.context):
        return services.endpoint_create(team=tenant.context, url=url, **values)


@pytest.fixture
def endpoint(team: Tenant, hook: Receiver) -> Endpoint:
    """Our team's endpoint at the receiver, for everything."""
    return endpoint_make(team, f"{hook.url}/hook")


def emit(tenant: Tenant, event_type: str = SOME_EVENT, **values: Any) -> UUID:
    """An event of a team, in a transaction of its own."""
    values = {"data": {"score": 81, "name": "Zoë"}, "user_id": None, "client_user_id": CLIENT_USER_ID, **values}
    with team_scope(tenant.context), transaction.atomic():
        return services.event_emit(team=tenant.context, event_type=event_type, **values)


def pump(**options: Any) -> PumpReport:
    """Deliver what is owed now."""
    return pump_run(PumpOptions(**{"idle_seconds": 0, "timeout_seconds": 5, **options}))


@pytest.fixture(autouse=True)
def _nothing_covered() -> None:
    """Each test begins as a process that has sent no wake-up yet."""
    wakes.cover.until = 0.0


def claims_take(each: int = 10, *, lease_seconds: float = 60) -> list[Claim]:
    """Claim up to so many of each endpoint, as a pump does. In the delivery scope."""
    owed = walker.endpoints_owed(100, clock.now())
    return walker.deliveries_claim({item.endpoint_id: each for item in owed}, lease_seconds)


def deliveries() -> list[Delivery]:
    """Every delivery, oldest first."""
    with system_scope(SystemScope.DELIVERY):
        return list(Delivery.objects.order_by("id").select_related("event", "endpoint"))


def attempts() -> list[Attempt]:
    """Every attempt, oldest first."""
    with system_scope(SystemScope.DELIVERY):
        return list(Attempt.objects.order_by("id"))


def make_due() -> None:
    """Let the time of what waits, and the lease of what is being sent, be over."""
    with system_scope(SystemScope.DELIVERY):
        Delivery.objects.exclude(next_attempt_at=None).update(next_attempt_at=clock.now() - timedelta(seconds=1))


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    """The machine's Chromium. Playwright keeps an event loop in this thread, which Django has to be told of."""
    with pytest.MonkeyPatch.context() as patch, chromium() as running:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield running


@pytest.fixture
def served(live_server: LiveServer, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> str:
    """The service's own address, for a browser."""
    settings.BASE_URL = live_server.url
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    return str(live_server.url)
