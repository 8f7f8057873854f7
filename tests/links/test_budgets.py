"""A provider's limits, held by all workers together: counted, passed, stopped, forgotten."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
import time_machine
from django.db import connection as database
from django.db import connections
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import team_scope
from links.catalogue import Provider
from links.catalogue.shapes import RateLimit
from links.connectors.envelopes import body_posted
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.oauth import Application, vendor_application
from links.models import ProviderBudget
from links.services.budgets import access_held, budget_block, budget_take, budgets_purge
from tests.factories import Tenant
from tests.links.vendors import json_answer, provider_make
from tests.webhooks.receiving import Answer, Receiver, receiver

#: Five minutes into a quarter of an hour.
NOW = datetime(2026, 11, 15, 12, 5, tzinfo=UTC)
LIVE = Environment.PRODUCTION


def limited(*limits: tuple[int, int]) -> Provider:
    """A provider with limits: requests, window_seconds."""
    return provider_make(rate_limits=tuple(RateLimit(*limit) for limit in limits))


def take(provider: Provider, times: int, application: Application | None = None) -> list[int]:
    """How many calls were allowed, then the waits of those that were not."""
    waits = []
    for _ in range(times):
        try:
            budget_take(application, provider, LIVE)
        except ProviderFailure as failure:
            waits.append((failure.kind, failure.retry_after_seconds))
    assert {kind for kind, _ in waits} <= {FailureKind.RATE_LIMITED}
    return [times - len(waits), *(seconds for _, seconds in waits)]


def team_s_own(provider: Provider, number: int) -> Application:
    """A team's own registration."""
    assert provider.oauth is not None
    return vendor_application(
        provider,
        provider.oauth,
        client_id="mine",
        client_secret="secret",
        application_id=UUID(int=number),
    )


@pytest.mark.django_db
def test_a_window_is_used_up_and_passes() -> None:
    provider = limited((3, 900))
    with time_machine.travel(NOW, tick=False) as present:
        assert take(provider, 5) == [3, 601, 601]
        present.shift(599)
        assert take(provider, 1) == [0, 2]
        present.shift(1)
        assert take(provider, 4) == [3, 901]


@pytest.mark.django_db
def test_a_day_and_a_quarter_hold_together_and_a_refused_call_costs_neither() -> None:
    provider = limited((2, 900), (3, 86_400))
    with time_machine.travel(NOW, tick=False) as present:
        assert take(provider, 4) == [2, 601, 601]
        present.shift(900)
        # The two that the quarter refused have taken nothing from the day.
        assert take(provider, 3) == [1, 42_001, 42_001]
        used = dict(ProviderBudget.objects.values_list("key", "used"))
    assert used == {"oura:production:operator:900": 1, "oura:production:operator:86400": 3}


@pytest.mark.django_db
def test_each_registration_and_environment_has_limits_of_its_own() -> None:
    provider = limited((1, 900))
    with time_machine.travel(NOW, tick=False):
        assert take(provider, 2) == [1, 601]
        assert take(provider, 2, team_s_own(provider, 1)) == [1, 601]
        assert take(provider, 2, team_s_own(provider, 2)) == [1, 601]
        budget_take(None, provider, Environment.SANDBOX)


@pytest.mark.django_db
def test_the_simulator_takes_a_hundred_times_as_much() -> None:
    provider = limited((1, 900))
    with time_machine.travel(NOW, tick=False):
        for _ in range(100):
            budget_take(None, provider, Environment.SANDBOX)
        with pytest.raises(ProviderFailure):
            budget_take(None, provider, Environment.SANDBOX)


@pytest.mark.django_db
def test_a_worker_whose_clock_is_late_counts_in_the_window_that_runs() -> None:
    provider = limited((2, 900))
    with time_machine.travel(NOW + timedelta(minutes=15), tick=False):
        assert take(provider, 1) == [1]
    with time_machine.travel(NOW, tick=False):
        assert take(provider, 2)[0] == 1
    with time_machine.travel(NOW + timedelta(minutes=15), tick=False):
        assert take(provider, 1)[0] == 0


@pytest.mark.django_db
@pytest.mark.parametrize("provider", [limited(), limited((9, 60), (99, 3600))], ids=["no limits", "limits"])
def test_a_stop_stops_everybody_until_it_ends(provider: Provider) -> None:
    with time_machine.travel(NOW, tick=False) as present:
        budget_block(None, provider, LIVE, 40)
        # A shorter one does not shorten it.
        budget_block(None, provider, LIVE, 10)
        assert take(provider, 2) == [0, 41, 41]
        assert take(provider, 1, team_s_own(provider, 1)) == [1]
        present.shift(40)
        assert take(provider, 1) == [1]
        budget_block(None, provider, LIVE, 10**9)
        assert take(provider, 1) == [0, 86_401]


@pytest.mark.django_db
def test_one_team_s_sandbox_stops_no_other_s_and_not_for_long(team: Tenant, other_team: Tenant) -> None:
    provider, sandbox = limited((1, 900)), Environment.SANDBOX
    with time_machine.travel(NOW, tick=False) as present:
        with team_scope(team.context):
            budget_block(None, provider, sandbox, 86_400)
            access = access_held(None, provider, sandbox, api_url="", access_token="")
            with pytest.raises(ProviderFailure):
                budget_take(None, provider, sandbox)
        # Whoever uses the access, and from wherever.
        with pytest.raises(ProviderFailure):
            access.budget()
        with team_scope(other_team.context):
            budget_take(None, provider, sandbox)
        present.shift(60)
        access.budget()
        access.after_limited(10)
        with team_scope(team.context), pytest.raises(ProviderFailure):
            budget_take(None, provider, sandbox)
        # A vendor guards its machines against all teams of a registration together.
        with team_scope(team.context):
            budget_block(None, provider, LIVE, 40)
        with team_scope(other_team.context), pytest.raises(ProviderFailure):
            budget_take(None, provider, LIVE)


@pytest.mark.django_db
@pytest.mark.parametrize(("limits", "statements"), [([], 1), ([(9, 60)], 1), ([(9, 60), (99, 3600)], 2)])
def test_a_call_costs_a_statement_for_each_limit(limits: list[tuple[int, int]], statements: int) -> None:
    provider = limited(*limits)
    with CaptureQueriesContext(database) as captured:
        budget_take(None, provider, LIVE)
    assert len(captured) == statements


@pytest.mark.django_db
def test_what_is_over_is_removed_and_what_runs_stays() -> None:
    with time_machine.travel(NOW, tick=False) as present:
        take(limited((1, 900)), 1)
        budget_block(None, limited(), Environment.SANDBOX, 10)
        present.shift(2 * 86_400 + 600)
        take(limited((1, 60)), 1)
        assert budgets_purge() == 2
    assert [row.key for row in ProviderBudget.objects.all()] == ["oura:production:operator:60"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_threads_together_never_make_more_calls_than_the_limit() -> None:
    provider = limited((50, 86_400), (40, 3600))
    start = threading.Barrier(8)
    allowed: list[int] = []

    def run() -> None:
        try:
            start.wait(10)
            allowed.append(take(provider, 20)[0])
        finally:
            connections.close_all()

    with time_machine.travel(NOW, tick=False):
        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert (len(allowed), sum(allowed)) == (8, 40)
    used = dict(ProviderBudget.objects.values_list("key", "used"))
    assert used == {"oura:production:operator:3600": 40, "oura:production:operator:86400": 40}


@pytest.fixture
def vendor(settings: Settings) -> Iterator[Receiver]:
    """A provider's data."""
    with receiver() as found:
        settings.LOOPBACK_ORIGINS = [found.url]
        yield found


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("answer", "wait_seconds"),
    [
        (Answer(429, {"Retry-After": "120"}, b""), 120),
        (json_answer({"status": 601, "body": {}, "error": "Too Many Requests"}), 60),
    ],
    ids=["http", "envelope"],
)
def test_a_limit_that_one_worker_meets_keeps_all_others_from_calling(
    vendor: Receiver, answer: Answer, wait_seconds: int
) -> None:
    vendor.answers = [answer]
    provider = limited((99, 60))
    calls = []
    for number in range(2):
        access = access_held(None, provider, LIVE, api_url=vendor.url, access_token=f"token-{number}")
        with time_machine.travel(NOW, tick=False), pytest.raises(ProviderFailure) as caught:
            body_posted(access, "/measure", {"action": "getmeas"})
        calls.append((caught.value.kind, caught.value.retry_after_seconds))
    assert calls == [(FailureKind.RATE_LIMITED, wait_seconds), (FailureKind.RATE_LIMITED, wait_seconds + 1)]
    assert len(vendor.received) == 1
