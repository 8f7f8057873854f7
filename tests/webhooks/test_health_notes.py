"""What a batch of outcomes writes about its endpoints: little, never backwards, and never across another batch."""

import threading
from datetime import datetime, timedelta
from typing import Any

import orjson
import pytest
import structlog
from django.db import OperationalError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import TeamSettings
from tests import factories
from tests.factories import Tenant
from tests.webhooks.conftest import deliveries, emit, endpoint_make, make_due, pump
from tests.webhooks.health_making import BEGIN, at, outcome_of
from tests.webhooks.receiving import Answer, Receiver
from tests.webhooks.waiting import beside, wait_until
from webhooks import services, walker
from webhooks.models import Delivery, Endpoint, EndpointHealth, Event
from webhooks.records import Outcome
from webhooks.retries import acknowledgement_of
from webhooks.services import health as health_services

DAY = timedelta(days=1)
_WAITED_FOR = """
SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid)))
"""


def _owed(tenant: Tenant, count: int = 1) -> list[Delivery]:
    """Deliveries that are owed, by endpoint: as many events as asked for to each."""
    for _ in range(count):
        emit(tenant)
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
    return deliveries()


def _note(*outcomes: Outcome, now: datetime | None = None) -> None:
    """Note a batch whose deliveries are all ours."""
    moment = now or max(each.attempted_at for each in outcomes)
    with system_scope(SystemScope.DELIVERY), transaction.atomic():
        doomed = health_services.endpoints_to_disable(outcomes, moment)
        health_services.outcomes_note(outcomes, {each.claim.delivery_id for each in outcomes}, moment, doomed)


def _row(endpoint: Endpoint) -> EndpointHealth:
    with system_scope(SystemScope.DELIVERY):
        return EndpointHealth.objects.get(pk=endpoint.pk)


def _endpoint(endpoint: Endpoint) -> Endpoint:
    with system_scope(SystemScope.DELIVERY):
        return Endpoint.objects.get(pk=endpoint.pk)


def _notices(event_type: str) -> list[Any]:
    """The data of the events of a type, oldest first."""
    with system_scope(SystemScope.DELIVERY):
        found = Event.objects.filter(event_type=event_type).order_by("id")
        return [orjson.loads(event.body or "")["data"] for event in found]


def test_a_healthy_endpoint_costs_no_statement(team: Tenant, endpoint: Endpoint) -> None:
    (row,) = _owed(team)
    with CaptureQueriesContext(connection) as queries, system_scope(SystemScope.DELIVERY), transaction.atomic():
        good = [outcome_of(row, BEGIN, 200, noted=False)]
        assert health_services.endpoints_to_disable(good, BEGIN) == {}
        health_services.outcomes_note(good, {row.pk}, BEGIN)
    assert [query["sql"] for query in queries if "SAVEPOINT" not in query["sql"]] == []
    assert not EndpointHealth.objects.exists()


@pytest.mark.parametrize("endpoints", [1, 6])
def test_a_batch_of_failures_costs_three_statements(team: Tenant, hook: Receiver, endpoints: int) -> None:
    for number in range(endpoints):
        endpoint_make(team, f"{hook.url}/{number}")
    batch = [outcome_of(row, BEGIN, None) for row in _owed(team, 3)]
    with system_scope(SystemScope.DELIVERY), transaction.atomic(), CaptureQueriesContext(connection) as queries:
        health_services.outcomes_note(batch, {each.claim.delivery_id for each in batch}, BEGIN)
    assert len(queries) == 3
    with system_scope(SystemScope.DELIVERY):
        assert list(EndpointHealth.objects.values_list("struggling_since", flat=True)) == [BEGIN] * endpoints


def test_what_is_noted_already_is_not_written_again(team: Tenant, endpoint: Endpoint) -> None:
    (row,) = _owed(team)
    _note(outcome_of(row, at(0)))
    _note(outcome_of(row, at(0)), now=at(1))
    assert (_row(endpoint).first_failure_at, _row(endpoint).updated_at) == (at(0), at(0))
    _note(outcome_of(row, at(12)))
    _note(outcome_of(row, at(13)))
    assert (_row(endpoint).failing_since, _row(endpoint).updated_at) == (at(12), at(12))
    _note(outcome_of(row, at(14), 200))
    assert (_row(endpoint).first_failure_at, _row(endpoint).updated_at) == (None, at(14))


def test_what_is_not_ours_any_more_counts_for_nothing(team: Tenant, endpoint: Endpoint) -> None:
    (row,) = _owed(team)
    with system_scope(SystemScope.DELIVERY), transaction.atomic():
        health_services.outcomes_note([outcome_of(row, BEGIN, None)], set(), BEGIN)
        gone = [outcome_of(row, BEGIN, 410)]
        doomed = health_services.endpoints_to_disable(gone, BEGIN)
        health_services.outcomes_note(gone, set(), BEGIN, doomed)
        assert not EndpointHealth.objects.exists()
    assert (_endpoint(endpoint).disabled, deliveries()[0].status) == (False, "pending")


def test_an_older_batch_does_not_undo_a_newer_note(team: Tenant, endpoint: Endpoint) -> None:
    (row,) = _owed(team)
    _note(outcome_of(row, at(5), None))
    _note(outcome_of(row, at(4), 200), now=at(6))
    found = _row(endpoint)
    assert (found.first_failure_at, found.struggling_since) == (at(5), at(5))


def test_the_teams_other_endpoints_are_warned_once_when_one_begins_to_fail(
    team: Tenant, other_team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    endpoint_make(team, f"{hook.url}/other")
    endpoint_make(team, f"{hook.url}/another", filter_types=["webhook.endpoint"])
    endpoint_make(team, f"{hook.url}/of-other-things", filter_types=["provider"])
    endpoint_make(team, f"{hook.url}/of-a-provider", channels=["provider.oura"])
    endpoint_make(other_team, f"{hook.url}/of-others")
    row = next(row for row in _owed(team) if row.endpoint_id == endpoint.pk)
    with system_scope(SystemScope.DELIVERY):
        Delivery.objects.all().delete()
    for hours in (0, 13, 14, 40):
        _note(outcome_of(row, at(hours)))
    warning = {
        "endpoint_id": str(endpoint.pk),
        "failing_since": "2026-11-01T19:00:00+00:00",
        "disabled_after": "2026-11-06T19:00:00+00:00",
    }
    assert _notices("webhook.endpoint.failing") == [warning] * 2
    assert not _endpoint(endpoint).disabled
    pump()
    assert sorted(request.path for request in hook.received) == ["/another", "/other"]


def test_an_only_endpoint_is_not_told_that_it_fails(team: Tenant, endpoint: Endpoint) -> None:
    (row,) = _owed(team)
    for hours in (0, 13):
        _note(outcome_of(row, at(hours)))
    assert (_row(endpoint).failing_since, _notices("webhook.endpoint.failing")) == (at(13), [])


def test_a_team_that_limits_itself_to_other_events_is_not_warned(
    team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    endpoint_make(team, f"{hook.url}/other")
    row = next(row for row in _owed(team) if row.endpoint_id == endpoint.pk)
    with system_scope(SystemScope.STAFF):
        TeamSettings.objects.update_or_create(
            team=team.team, environment="sandbox", defaults={"event_type_prefixes": ["daily"]}
        )
    for hours in (0, 13):
        _note(outcome_of(row, at(hours)))
    assert _notices("webhook.endpoint.failing") == []


def test_five_days_of_failures_disable_cancel_and_tell_the_other_endpoints(team: Tenant, hook: Receiver) -> None:
    failing = endpoint_make(team, f"{hook.url}/failing?token=hidden")
    other = endpoint_make(team, f"{hook.url}/other")
    owed = [row for row in _owed(team, 2) if row.endpoint_id == failing.pk]
    _note(outcome_of(owed[0], at(0)))
    _note(outcome_of(owed[0], at(12)))
    _note(outcome_of(owed[0], at(12) + 5 * DAY - timedelta(seconds=1)))
    assert not _endpoint(failing).disabled
    with structlog.testing.capture_logs() as lines:
        _note(outcome_of(owed[0], at(12) + 5 * DAY))
    found = _endpoint(failing)
    assert (found.disabled, found.disabled_reason, found.disabled_at) == (True, "failing", at(12) + 5 * DAY)
    assert (found.disabled_tell_at, found.disabled_told_at, found.disabled_told_staff_at) == (
        found.disabled_at,
        None,
        None,
    )
    assert {(row.endpoint_id, row.status) for row in deliveries()} == {(failing.pk, "cancelled"), (other.pk, "pending")}
    assert _notices("webhook.endpoint.disabled") == [
        {
            "endpoint_id": str(failing.pk),
            "url": f"{hook.url}/failing",
            "reason": "failing",
            "disabled_at": "2026-11-06T18:00:00+00:00",
            "failing_since": "2026-11-01T18:00:00+00:00",
        }
    ]
    pump()
    assert {request.path for request in hook.received} == {"/other"}
    assert lines == [], "nothing is said before the transaction is committed"


def test_a_success_in_the_same_batch_saves_the_endpoint(team: Tenant, endpoint: Endpoint) -> None:
    (row,) = _owed(team)
    _note(outcome_of(row, at(0)))
    _note(outcome_of(row, at(12)))
    late = at(12) + 6 * DAY
    _note(outcome_of(row, late), outcome_of(row, late - timedelta(seconds=9), 200))
    assert (_endpoint(endpoint).disabled, _row(endpoint).failing_since) == (False, None)


def test_gone_is_told_too(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    hook.answers = [Answer(410)]
    emit(team)
    before = clock.now()
    pump()
    found = _endpoint(endpoint)
    assert (found.disabled, found.disabled_reason) == (True, "gone")
    assert found.disabled_at is not None
    assert before <= found.disabled_at <= clock.now()
    (data,) = _notices("webhook.endpoint.disabled")
    assert (data["reason"], data["failing_since"]) == ("gone", None)


def test_one_that_its_owner_disabled_keeps_its_reason(team: Tenant, endpoint: Endpoint) -> None:
    (row,) = _owed(team)
    with team_scope(team.context):
        services.endpoint_patch(team=team.context, endpoint_id=endpoint.pk, changes={"disabled": True})
    _note(outcome_of(row, BEGIN, 410))
    found = _endpoint(endpoint)
    assert (found.disabled, found.disabled_reason, found.disabled_at) == (True, "", None)
    assert _notices("webhook.endpoint.disabled") == []


def test_enabling_it_again_forgets_how_it_fared(team: Tenant, endpoint: Endpoint) -> None:
    (row,) = _owed(team)
    _note(outcome_of(row, at(0), None))
    _note(outcome_of(row, at(12), 429))
    _note(outcome_of(row, at(13) + 5 * DAY))
    assert _endpoint(endpoint).disabled_reason == "failing"
    with team_scope(team.context):
        services.endpoint_patch(team=team.context, endpoint_id=endpoint.pk, changes={"disabled": False})
    found, health = _endpoint(endpoint), _row(endpoint)
    assert (found.disabled, found.disabled_reason, found.disabled_at) == (False, "", None)
    assert (health.first_failure_at, health.failing_since, health.struggling_since, health.paused_until) == (None,) * 4


def test_the_pump_disables_what_failed_for_five_days(
    team: Tenant, endpoint: Endpoint, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [clock.now()]
    monkeypatch.setattr(clock, "now", lambda: now[0])
    hook.otherwise = Answer(500)
    for hours in (0, 13, 119, 2):
        emit(team)
        now[0] += timedelta(hours=hours)
        pump()
        assert _endpoint(endpoint).disabled is (hours == 2)
    assert {row.status for row in deliveries()} == {"cancelled"}
    make_due()
    assert pump().attempted == 0


@pytest.mark.django_db(transaction=True)
def test_it_is_logged_without_the_address_once_it_is_committed(hook: Receiver) -> None:
    tenant = factories.tenant_make()
    endpoint = endpoint_make(tenant, f"{hook.url}/secret-path?token=hidden")
    (row,) = _owed(tenant)
    with structlog.testing.capture_logs() as lines:
        _note(outcome_of(row, BEGIN, 410))
    assert [line for line in lines if line["event"] == "endpoint_disabled"] == [
        {
            "event": "endpoint_disabled",
            "log_level": "warning",
            "endpoint_id": str(endpoint.pk),
            "team_id": str(tenant.team.pk),
            "environment": "sandbox",
            "reason": "gone",
        }
    ]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_batches_side_by_side_never_wait_for_each_other_in_a_ring(hook: Receiver) -> None:
    tenant = factories.tenant_make()
    for number in range(8):
        endpoint_make(tenant, f"{hook.url}/{number}", rate_limit=5)
    rows = _owed(tenant)
    failed: list[OperationalError] = []

    def run(number: int) -> None:
        order = rows if number % 2 else rows[::-1]
        try:
            for turn in range(25):
                status = (500, None, 200, 429)[(turn + number) % 4]
                _note(*[outcome_of(row, at(turn), status) for row in order])
                with system_scope(SystemScope.DELIVERY), transaction.atomic():
                    held = health_services.rates_lock([row.endpoint_id for row in order], at(turn))
                    health_services.rates_spend(dict.fromkeys(held, 1), at(turn))
        except OperationalError as error:
            failed.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
    with system_scope(SystemScope.DELIVERY):
        assert EndpointHealth.objects.count() == 8


@pytest.mark.django_db(transaction=True)
def test_two_batches_that_each_disable_an_endpoint_of_the_other_both_do(hook: Receiver) -> None:
    tenant = factories.tenant_make()
    first, second = (endpoint_make(tenant, f"{hook.url}/{name}") for name in ("first", "second"))
    _owed(tenant, 2)
    with system_scope(SystemScope.DELIVERY):
        walker.deliveries_claim({first.pk: 2, second.pk: 2}, 60)
    of_first = [row for row in deliveries() if row.endpoint_id == first.pk]
    of_second = [row for row in deliveries() if row.endpoint_id == second.pk]
    now = clock.now()
    batches = [
        [outcome_of(of_first[0], now, 410), outcome_of(of_second[0], now, 500)],
        [outcome_of(of_second[1], now, 410), outcome_of(of_first[1], now, 500)],
    ]
    failed: list[OperationalError] = []

    def run(batch: list[Outcome]) -> None:
        try:
            with system_scope(SystemScope.DELIVERY), transaction.atomic():
                doomed = health_services.endpoints_to_disable(batch, now)
                ours = walker.deliveries_acknowledge([acknowledgement_of(each, now, 0.5) for each in batch])
                threading.Event().wait(0.2)  # so that the other batch is as far
                health_services.outcomes_note(batch, ours, now, doomed)
        except OperationalError as error:
            failed.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(batch,)) for batch in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failed == []
    assert {_endpoint(each).disabled_reason for each in (first, second)} == {"gone"}
    assert [row.status for row in deliveries()] == ["cancelled"] * 4


@pytest.mark.django_db(transaction=True)
def test_a_success_that_another_batch_notes_meanwhile_saves_the_endpoint(hook: Receiver) -> None:
    """This batch has seen five days of failures, and waits for the other one, which holds a delivery already."""
    tenant = factories.tenant_make()
    endpoint = endpoint_make(tenant, f"{hook.url}/back")
    _owed(tenant, 2)
    with system_scope(SystemScope.DELIVERY):
        walker.deliveries_claim({endpoint.pk: 2}, 60)
    failed_row, good_row = deliveries()
    for hours in (0, 12):
        _note(outcome_of(failed_row, at(hours)))
    late = at(12) + 6 * DAY
    good = [outcome_of(good_row, late, 200)]
    holds = threading.Event()

    def succeed() -> None:
        with system_scope(SystemScope.DELIVERY), transaction.atomic():
            ours = walker.deliveries_acknowledge([acknowledgement_of(each, late, 0.5) for each in good])
            holds.set()
            wait_until("the other batch waits", _is_waited_for)
            health_services.outcomes_note(good, ours, late)

    with beside(succeed):
        assert holds.wait(20)
        _note(outcome_of(failed_row, late - timedelta(seconds=1)))
    assert (_endpoint(endpoint).disabled, _row(endpoint).failing_since) == (False, None)
    assert [row.status for row in deliveries()] == ["sending", "delivered"]


@pytest.mark.django_db(transaction=True)
def test_disabling_does_not_wait_for_a_batch_that_waits_for_it(hook: Receiver) -> None:
    """The other batch holds a delivery that came about since, and needs the health that this one holds."""
    tenant = factories.tenant_make()
    endpoint = endpoint_make(tenant, f"{hook.url}/failing")
    (row,) = _owed(tenant)
    with system_scope(SystemScope.DELIVERY):
        walker.deliveries_claim({endpoint.pk: 1}, 60)
    for hours in (0, 12):
        _note(outcome_of(row, at(hours)))
    late = at(12) + 5 * DAY
    looked, holds, through = threading.Event(), threading.Event(), threading.Event()

    def fail_another() -> None:
        assert looked.wait(20)
        later = _owed(tenant)[-1]
        with system_scope(SystemScope.DELIVERY):
            walker.deliveries_claim({endpoint.pk: 1}, 60)
            theirs = [outcome_of(_again(later), late)]
            with transaction.atomic():
                ours = walker.deliveries_acknowledge([acknowledgement_of(each, late, 0.5) for each in theirs])
                holds.set()
                wait_until("the first batch waits, or is through", lambda: through.is_set() or _is_waited_for())
                health_services.outcomes_note(theirs, ours, late)

    with beside(fail_another):
        with system_scope(SystemScope.DELIVERY), transaction.atomic():
            batch = [outcome_of(_again(row), late)]
            doomed = health_services.endpoints_to_disable(batch, late)
            looked.set()
            assert holds.wait(20)
            health_services.outcomes_note(batch, {row.pk}, late, doomed)
        through.set()
    assert _endpoint(endpoint).disabled_reason == "failing"
    assert [each.status for each in deliveries()] == ["cancelled", "pending"]
    make_due()
    assert pump().attempted == 0
    assert [each.status for each in deliveries()] == ["cancelled", "cancelled"]


def _again(row: Delivery) -> Delivery:
    """The row as it is now."""
    return Delivery.objects.get(pk=row.pk)


def _is_waited_for() -> bool:
    """Whether another session waits for a row of ours."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITED_FOR)
        (found,) = cursor.fetchone()
    return bool(found)
