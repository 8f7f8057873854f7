"""How much may be sent to whom: the room, those that struggle, pauses, and rate limits that several pumps share."""

import threading
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from tests import factories
from tests.factories import Tenant
from tests.webhooks.conftest import deliveries, emit, endpoint_make, make_due, pump
from tests.webhooks.health_making import BEGIN
from tests.webhooks.receiving import Answer, Receiver
from webhooks.health import rate_allowance, rate_free_after, rate_terms
from webhooks.models import Endpoint, EndpointHealth
from webhooks.records import OwedEndpoint
from webhooks.services import health as health_services
from webhooks.shares import Standings, allowances

A, B, C, D = (UUID(int=number) for number in range(1, 5))


STEPS = st.lists(st.tuples(st.integers(0, 1_500_000), st.integers(1, 40)), min_size=1, max_size=60)


@given(st.integers(1, 5000), STEPS)
def test_in_any_second_there_is_never_more_than_the_limit(rate_limit: int, steps: list[tuple[int, int]]) -> None:
    now, free_at = BEGIN, None
    sent: list[tuple[datetime, int]] = []
    for microseconds, wanted in steps:
        now += timedelta(microseconds=microseconds)
        allowed = rate_allowance(rate_limit, free_at, now)
        assert 0 <= allowed <= rate_limit
        count = min(allowed, wanted)
        if count:
            free_at = rate_free_after(rate_limit, free_at, count, now)
            sent.append((now, count))
    _within(sent, rate_limit)


def _within(sent: list[tuple[datetime, int]], rate_limit: int) -> None:
    """No second, from one claim on, holds more than the limit."""
    for place, (begin, _count) in enumerate(sent):
        end = begin + timedelta(seconds=1)
        assert sum(count for moment, count in sent[place:] if moment < end) <= rate_limit


@pytest.mark.parametrize(
    ("rate_limit", "terms"), [(1, (1, 1)), (3, (1, 3)), (10, (1, 10)), (20, (2, 19)), (999, (100, 900))]
)
def test_a_limit_is_a_burst_and_a_rate(rate_limit: int, terms: tuple[int, int]) -> None:
    assert rate_terms(rate_limit) == terms


def test_what_was_spent_comes_back_at_the_rate() -> None:
    for rate_limit in (1, 3, 7, 1000, 99_999):
        burst, sustained = rate_terms(rate_limit)
        free_at = rate_free_after(rate_limit, None, burst, BEGIN)
        assert rate_allowance(rate_limit, free_at, BEGIN) == 0
        one = timedelta(microseconds=-(-1_000_000 // sustained) + 1)
        assert rate_allowance(rate_limit, free_at, BEGIN + one) == 1
        assert rate_allowance(rate_limit, free_at, BEGIN + burst * one) == burst


def allowed_of(owed: list[OwedEndpoint], room: int, now: datetime) -> dict[UUID, int]:
    """What a pump that knows these endpoints to be quick may claim of them."""
    standings = Standings(quick={item.endpoint_id for item in owed})
    standings.see(owed)
    return allowances(owed, in_flight={}, room=room, capacity=512, now=now, standings=standings)


def _claim_turn(endpoint: Endpoint, wanted: int, now: datetime) -> int:
    """What a pump does: hold the books, ask what is left, claim, write it off."""
    with transaction.atomic():
        held = health_services.rates_hold([OwedEndpoint(endpoint.pk, endpoint.team_id, endpoint.rate_limit)], now)
        allowed = allowed_of(held, wanted, now)
        health_services.rates_spend(allowed, now)
    return sum(allowed.values())


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_pumps_side_by_side_keep_to_the_limit(hook: Receiver) -> None:
    endpoint = endpoint_make(factories.tenant_make(), f"{hook.url}/hook", rate_limit=20)
    sent: list[tuple[datetime, int]] = []
    ticks, lock = iter(range(600)), threading.Lock()

    def run(seed: int) -> None:
        chance = Random(seed)
        try:
            with system_scope(SystemScope.DELIVERY):
                while (tick := next(ticks, None)) is not None:
                    now = BEGIN + timedelta(milliseconds=10 * tick)
                    count = _claim_turn(endpoint, chance.randint(1, 8), now)
                    with lock:
                        sent.append((now, count))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    taken = sorted((moment, count) for moment, count in sent if count)
    assert len(sent) == 600
    _within(taken, 20)
    assert sum(count for _moment, count in taken) > 60, "six seconds, of which the limit leaves what it should"


@pytest.mark.django_db(transaction=True)
def test_books_that_another_pump_holds_are_left_out(hook: Receiver) -> None:
    tenant = factories.tenant_make()
    limited = endpoint_make(tenant, f"{hook.url}/limited", rate_limit=2)
    free = endpoint_make(tenant, f"{hook.url}/free")
    owed = [OwedEndpoint(limited.pk, tenant.team.pk, 2), OwedEndpoint(free.pk, tenant.team.pk)]
    found: list[list[UUID]] = []

    def other() -> None:
        try:
            with system_scope(SystemScope.DELIVERY), transaction.atomic():
                found.append([item.endpoint_id for item in health_services.rates_hold(owed, BEGIN)])
        finally:
            connections.close_all()

    with system_scope(SystemScope.DELIVERY):
        with transaction.atomic():
            assert [item.endpoint_id for item in health_services.rates_hold(owed, BEGIN)] == [limited.pk, free.pk]
        with transaction.atomic():
            health_services.rates_hold(owed, BEGIN)
            thread = threading.Thread(target=other)
            thread.start()
            thread.join(30)
    assert found == [[free.pk]]


def test_without_limits_there_are_no_books(team: Tenant, endpoint: Endpoint) -> None:
    owed = [OwedEndpoint(endpoint.pk, team.team.pk)]
    with system_scope(SystemScope.DELIVERY), CaptureQueriesContext(connection) as queries:
        assert health_services.rates_hold(owed, BEGIN) == owed
        health_services.rates_spend({}, clock.now())
    assert len(queries) == 0
    with system_scope(SystemScope.DELIVERY):
        health_services.rates_spend({endpoint.pk: 3}, clock.now())
        assert not EndpointHealth.objects.exists()


def test_the_books_are_read_anew_under_the_lock(team: Tenant, hook: Receiver) -> None:
    endpoint = endpoint_make(team, f"{hook.url}/hook", rate_limit=43)
    stale = [OwedEndpoint(endpoint.pk, team.team.pk, 43)]  # five at once, 39 a second
    with system_scope(SystemScope.DELIVERY), transaction.atomic():
        health_services.rates_hold(stale, BEGIN)
        health_services.rates_spend({endpoint.pk: 3}, BEGIN)
        (fresh,) = health_services.rates_hold(stale, BEGIN)
        assert fresh.rate_free_at == BEGIN + timedelta(microseconds=76_924)
        assert allowed_of([fresh], 9, BEGIN) == {endpoint.pk: 1}


def test_the_pump_keeps_to_a_rate_limit_and_retries_count_too(
    team: Tenant, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [clock.now()]
    monkeypatch.setattr(clock, "now", lambda: now[0])
    hook.answers = [Answer(500)]
    endpoint_make(team, f"{hook.url}/hook", rate_limit=22)  # three at once, 20 a second
    for _ in range(5):
        emit(team)
    assert pump(run_seconds=0.3).attempted == 3
    make_due()
    assert pump(run_seconds=0.3).attempted == 0, "none is free again"
    now[0] += timedelta(seconds=0.051)
    make_due()
    assert pump(run_seconds=0.3).attempted == 1
    now[0] += timedelta(seconds=10)
    make_due()
    assert (pump().attempted, len(hook.received)) == (2, 6)
    assert {row.status for row in deliveries()} == {"delivered"}


def test_the_pump_leaves_a_paused_endpoint_alone_and_counts_no_attempt(
    team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    hook.answers = [Answer(429)]
    emit(team)
    pump()
    emit(team)
    make_due()
    assert pump().attempted == 0
    assert [row.failures for row in deliveries()] == [1, 0]
    with team_scope(team.context):
        EndpointHealth.objects.update(paused_until=clock.now())
    assert (pump().attempted, [row.status for row in deliveries()]) == (2, ["delivered", "delivered"])
