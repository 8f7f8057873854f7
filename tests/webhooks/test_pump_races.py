"""What changes between a claim, its request and its acknowledgement; and what a batch costs."""

from collections import Counter
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from healthsvc.kernel import clock
from healthsvc.kernel.http import OutboundFailure
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from tests.factories import Tenant
from tests.webhooks.conftest import SOME_EVENT, attempts, claims_take, deliveries, emit, endpoint_make, pump
from tests.webhooks.receiving import Receiver
from webhooks import services, walker
from webhooks.models import Delivery, Endpoint, EndpointHealth, Event, Tally, Total
from webhooks.outgoing import Outgoings
from webhooks.records import Claim, Outcome
from webhooks.services.figures import span_of
from webhooks.signatures import secret_key


def outcome(claim: Claim, status_code: int | None = 204, milliseconds: int = 7) -> Outcome:
    """What came of a claim."""
    error = OutboundFailure.CONNECTION if status_code is None else None
    return Outcome(claim, clock.now(), milliseconds, status_code, error)


@pytest.mark.parametrize("change", ["disabled", "deleted"])
def test_an_endpoint_that_is_gone_since_the_claim_is_sent_nothing(
    team: Tenant, endpoint: Endpoint, change: str
) -> None:
    outgoings = Outgoings()
    for _ in range(2):
        emit(team)
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        first, second = claims_take(1), claims_take(1)
        assert len(outgoings.of_claims(first)) == 1
    with team_scope(team.context):
        if change == "disabled":
            services.endpoint_patch(team=team.context, endpoint_id=endpoint.id, changes={"disabled": True})
        else:
            services.endpoint_delete(team=team.context, endpoint_id=endpoint.id)
    with system_scope(SystemScope.DELIVERY):
        assert outgoings.of_claims(second) == []
        services.outcomes_acknowledge([outcome(first[0])])
    assert [row.status for row in deliveries()] == ["cancelled", "cancelled"]
    assert [item.status_code for item in attempts()] == [204], "it did arrive, and that is told"


def test_a_change_since_the_claim_before_is_seen(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    outgoings = Outgoings()
    for _ in range(2):
        emit(team)
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        (before,) = outgoings.of_claims(claims_take(1))
        second = claims_take(1)
    with team_scope(team.context):
        changes = {"url": f"{hook.url}/moved"}
        services.endpoint_patch(team=team.context, endpoint_id=endpoint.id, changes=changes)
        services.endpoint_headers_put(team=team.context, endpoint_id=endpoint.id, headers={"X-Tenant": "7"})
        services.endpoint_secret_rotate(team=team.context, endpoint_id=endpoint.id, key=None)
        secret = Endpoint.objects.get().secret
    with system_scope(SystemScope.DELIVERY):
        (after,) = outgoings.of_claims(second)
    assert (before.target.url.path, after.target.url.path) == ("/hook", "/moved")
    assert after.target.headers["X-Tenant"] == "7"
    assert (before.keys, after.keys) == (
        (secret_key(endpoint.secret),),
        (secret_key(secret), secret_key(endpoint.secret)),
    )


def test_what_is_unchanged_is_read_once(team: Tenant, endpoint: Endpoint) -> None:
    outgoings = Outgoings()
    for _ in range(2):
        emit(team)
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        first, second = claims_take(1), claims_take(1)
        with CaptureQueriesContext(connection) as captured:
            (one,) = outgoings.of_claims(first)
        assert len(captured) == 3
        with CaptureQueriesContext(connection) as captured:
            (two,) = outgoings.of_claims(second)
        assert len(captured) == 2
    assert one.target is two.target


def test_one_endpoint_whose_key_is_not_there_stops_nobody(
    team: Tenant, endpoint: Endpoint, hook: Receiver, settings: Settings
) -> None:
    ours = settings.FIELD_ENCRYPTION_KEYS
    settings.FIELD_ENCRYPTION_KEYS = "other:" + "A" * 43 + "="
    broken = endpoint_make(team, f"{hook.url}/broken")
    settings.FIELD_ENCRYPTION_KEYS = ours
    emit(team)
    pump()
    with system_scope(SystemScope.DELIVERY):
        found = dict(Delivery.objects.values_list("endpoint_id", "status"))
    assert found == {endpoint.id: "delivered", broken.id: "sending"}
    assert [request.path for request in hook.received] == ["/hook"]


def test_a_lease_that_was_lost_is_logged_and_changes_nothing(team: Tenant, endpoint: Endpoint) -> None:
    emit(team)
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        (first,) = claims_take(lease_seconds=0)
        (second,) = claims_take()
        services.outcomes_acknowledge([outcome(first, None)])
        assert (Delivery.objects.get().status, Delivery.objects.get().failures) == ("sending", 0)
        services.outcomes_acknowledge([outcome(second)])
    assert [(item.number, item.status_code) for item in attempts()] == [(1, None), (2, 204)]
    assert deliveries()[0].status == "delivered"


def test_a_delivery_that_was_purged_meanwhile_leaves_no_attempt(team: Tenant, endpoint: Endpoint) -> None:
    emit(team)
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        (claim,) = claims_take()
        Event.objects.all().delete()
        services.outcomes_acknowledge([outcome(claim)])
    assert attempts() == []


def test_tallies_and_totals_add_up(team: Tenant, endpoint: Endpoint) -> None:
    for _ in range(3):
        emit(team)
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        one, two, three = claims_take()
        services.outcomes_acknowledge([outcome(one, 204, 5), outcome(two, 500, 11)])
        Delivery.objects.filter(pk=three.delivery_id).update(failures=7)
        services.outcomes_acknowledge(
            [outcome(Claim(three.delivery_id, 1, 7, three.endpoint_id, three.event_id, SOME_EVENT, three.team), None)]
        )
        (tally,) = Tally.objects.all()
        totals = dict(Total.objects.values_list("name", "value"))
    assert (tally.endpoint_id, tally.delivered, tally.failed, tally.exhausted) == (endpoint.id, 1, 2, 1)
    assert (tally.duration_milliseconds, tally.span_at) == (23, span_of(clock.now()))
    assert totals == {
        "events_fanned_out": 3,
        "attempts_delivered": 1,
        "attempts_failed": 2,
        "deliveries_exhausted": 1,
        "attempt_milliseconds": 23,
    }


@pytest.mark.parametrize("status_code", [204, 500])
def test_a_batch_costs_the_same_statements_for_any_number(
    team: Tenant, other_team: Tenant, endpoint: Endpoint, hook: Receiver, status_code: int
) -> None:
    def batch() -> list[int]:
        counts: list[int] = []
        with system_scope(SystemScope.DELIVERY):
            with CaptureQueriesContext(connection) as captured:
                services.events_fan_out()
            counts.append(len(captured))
            with CaptureQueriesContext(connection) as captured:
                claims = claims_take()
            counts.append(len(captured))
            with CaptureQueriesContext(connection) as captured:
                Outgoings().of_claims(claims)
            counts.append(len(captured))
            with CaptureQueriesContext(connection) as captured:
                services.outcomes_acknowledge([outcome(claim, status_code) for claim in claims])
            counts.append(len(captured))
        sizes.append(len(claims))
        return counts

    sizes: list[int] = []
    emit(team)
    small = batch()
    endpoint_make(team, f"{hook.url}/more")
    endpoint_make(other_team, f"{hook.url}/others")
    for _ in range(4):
        emit(team)
        emit(other_team)
    assert (batch(), sizes) == (small, [1, 12])
    # savepoint, events, endpoints, limits of teams, deliveries, total, release; owed and claim; three reads
    assert small[:3] == [7, 2, 3]


def test_fan_out_bounds_a_transaction(
    team: Tenant, endpoint: Endpoint, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhooks.services.fan_out.FAN_OUT_DELIVERIES", 3)
    endpoint_make(team, f"{hook.url}/two")
    for _ in range(3):
        emit(team)
    with system_scope(SystemScope.DELIVERY):
        found = [services.events_fan_out() for _ in range(4)]
    assert [(done.events, done.deliveries, done.more) for done in found] == [
        (1, 2, True), (1, 2, True), (1, 2, False), (0, 0, False),
    ]  # fmt: skip


def test_a_pause_and_the_time_of_an_attempt_are_waited_for(team: Tenant, endpoint: Endpoint) -> None:
    emit(team)
    now = clock.now()
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
        due = clock.now()
        assert walker.endpoints_owed(10, now - timedelta(seconds=1)) == []
        (owed,) = walker.endpoints_owed(10, due)
        assert (owed.endpoint_id, owed.paused_until) == (endpoint.id, None)
        until = due + timedelta(minutes=1)
        EndpointHealth.objects.create(
            endpoint=endpoint, **team_values(team.context), paused_until=until, updated_at=now
        )
        assert walker.endpoints_owed(10, until - timedelta(seconds=1)) == []
        (owed,) = walker.endpoints_owed(10, until)
    assert (owed.endpoint_id, owed.paused_until) == (endpoint.id, until)


@pytest.mark.slow
def test_endpoints_that_hang_get_half_of_a_pump_though_nothing_more_is_owed_to_them(
    team: Tenant, hook: Receiver
) -> None:
    """With room for sixteen requests: a team's that hang get two, others are left to one that answers."""
    names = ("a", "b", "c")
    hook.slow_paths = {f"/{name}" for name in names}
    now = clock.now()
    for name in names:
        made = endpoint_make(team, f"{hook.url}/{name}", filter_types=["provider.connection.created"])
        with system_scope(SystemScope.DELIVERY):
            EndpointHealth.objects.create(
                endpoint=made, **team_values(team.context), struggling_since=now, updated_at=now
            )
    endpoint_make(team, f"{hook.url}/well", filter_types=["provider.connection.error"])
    for _ in range(2):
        emit(team, "provider.connection.created")
    for _ in range(5):
        emit(team, "provider.connection.error")
    pump(in_flight=16, timeout_seconds=1.5, run_seconds=1.0)
    arrived = Counter("well" if request.path == "/well" else "hangs" for request in hook.received)
    assert arrived == {"well": 5, "hangs": 2}
