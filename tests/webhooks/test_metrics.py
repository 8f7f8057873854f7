"""Figures for Prometheus: right, bounded, of nobody, and only for who shows the token."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from healthsvc.kernel import clock
from healthsvc.kernel.address import ADDRESS_KEY, MANAGEMENT_ADDRESS
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.jobs import job_create
from management.tasks import worker_seen
from tests.factories import Tenant
from tests.webhooks.conftest import emit, endpoint_make, pump
from tests.webhooks.receiving import Answer, Receiver
from webhooks.metrics import metrics_text
from webhooks.models import Delivery, Endpoint, EndpointHealth, Event
from webhooks.pump_slots import slot_taken

TOKEN = "a-token-of-the-operator"
WEBHOOK = "healthsvc_webhook_"


@pytest.fixture
def token(settings: Settings) -> str:
    """The token that opens the address."""
    settings.METRICS_TOKEN = TOKEN
    return TOKEN


def ask(authorization: str | None = None, *, method: str = "GET", at: str = MANAGEMENT_ADDRESS) -> tuple[int, str]:
    """Status and text."""
    headers = {"Authorization": authorization} if authorization is not None else {}
    extra: dict[str, Any] = {ADDRESS_KEY: at}
    response = Client().generic(method, "/metrics", headers=headers, **extra)
    return response.status_code, response.content.decode()


def samples() -> dict[str, float]:
    """Every figure, as `name{label=value}` without the prefix, from the text as Prometheus reads it."""
    return dict(_samples(metrics_text().decode()))


def _samples(text: str) -> Iterator[tuple[str, float]]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            yield sample.name.removeprefix(WEBHOOK) + (f"{{{labels}}}" if labels else ""), sample.value


def test_nothing_ever_happened(db: None) -> None:
    found = samples()
    assert {name for name, value in found.items() if value} == set()
    assert {
        "events_waiting",
        "events_oldest_waiting_seconds",
        "deliveries_open",
        "deliveries_due",
        "deliveries_in_flight",
        "deliveries_oldest_due_seconds{endpoint=free}",
        "deliveries_oldest_due_seconds{endpoint=held}",
        "attempts_total{outcome=delivered}",
        "attempts_total{outcome=failed}",
        "attempt_seconds_total",
        "deliveries_exhausted_total",
        "events_fanned_out_total",
        "endpoints{state=enabled}",
        "endpoints{state=disabled_failing}",
        "pumps",
    } <= set(found)


def test_what_waits_and_for_how_long(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    now = clock.now()
    for _ in range(3):
        emit(team)
    hook.answers = [Answer(), Answer(500), Answer(500)]
    pump()
    emit(team)
    with system_scope(SystemScope.DELIVERY):
        Event.objects.filter(fanned_out_at=None).update(created_at=now - timedelta(seconds=90))
        late, flying = Delivery.objects.exclude(next_attempt_at=None)
        Delivery.objects.filter(pk=late.pk).update(next_attempt_at=now - timedelta(seconds=30))
        walked = {"status": "sending", "next_attempt_at": now + timedelta(seconds=50)}
        Delivery.objects.filter(pk=flying.pk).update(**walked)
    found = samples()
    assert [found[f"deliveries_{name}"] for name in ("open", "due", "in_flight")] == [2, 1, 1]
    assert found["events_waiting"] == 1
    assert 90 <= found["events_oldest_waiting_seconds"] < 150
    assert 30 <= found["deliveries_oldest_due_seconds{endpoint=free}"] < 90
    assert found["deliveries_oldest_due_seconds{endpoint=held}"] == 0
    with team_scope(team.context):
        Endpoint.objects.update(rate_limit=5)
    found = samples()
    assert found["deliveries_oldest_due_seconds{endpoint=free}"] == 0
    assert 30 <= found["deliveries_oldest_due_seconds{endpoint=held}"] < 90


def test_attempts_are_counted_and_outlive_their_rows(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    hook.answers = [Answer(500)]
    emit(team)
    emit(team)
    pump()
    found = samples()
    assert found["attempts_total{outcome=delivered}"] == 1
    assert found["attempts_total{outcome=failed}"] == 1
    assert found["events_fanned_out_total"] == 2
    assert found["deliveries_exhausted_total"] == 0
    assert 0 <= found["attempt_seconds_total"] < 10


def test_endpoints_by_how_they_stand(team: Tenant, endpoint: Endpoint) -> None:
    now = clock.now()
    made = {
        "enabled": {},
        "paused": {"paused_until": now + timedelta(hours=1)},
        "struggling": {"struggling_since": now, "paused_until": now - timedelta(hours=1)},
        "failing": {"failing_since": now, "struggling_since": now},
        "disabled": {"failing_since": now},
        "disabled_gone": {},
    }
    with team_scope(team.context):
        Endpoint.objects.all().delete()
    for state, health in made.items():
        row = endpoint_make(team, f"https://example.com/{state}", disabled=state.startswith("disabled"))
        with team_scope(team.context):
            reason = state.removeprefix("disabled").removeprefix("_") if row.disabled else ""
            Endpoint.objects.filter(pk=row.pk).update(disabled_reason=reason)
            if health:
                EndpointHealth.objects.create(
                    endpoint=row, team_id=row.team_id, environment=row.environment, updated_at=now, **health
                )
    found = samples()
    states = {name: value for name, value in found.items() if name.startswith("endpoints{")}
    expected = {f"endpoints{{state={state}}}": 1.0 for state in made}
    assert states == {**expected, "endpoints{state=disabled_failing}": 0.0}


def test_jobs_workers_and_pumps(team: Tenant) -> None:
    with team_scope(team.context):
        for _ in range(2):
            job_create(team=team.context, kind="apple_health_import", user_id=None, parameters={})
    assert "healthsvc_worker_seen_seconds" not in samples()
    worker_seen()
    with slot_taken(1):
        found = samples()
    assert found["healthsvc_jobs{kind=apple_health_import,status=queued}"] == 2
    assert 0 <= found["healthsvc_worker_seen_seconds"] < 30
    assert found["pumps"] == 1
    assert samples()["pumps"] == 0


def test_the_cost_is_the_same_for_any_number(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    costs = []
    for _ in range(2):
        for number in range(4):
            emit(team)
            endpoint_make(team, f"https://example.com/{number}")
        pump()
        with CaptureQueriesContext(connection) as captured:
            metrics_text()
        costs.append(len([query for query in captured if query["sql"].lstrip().startswith(("SELECT", "WITH"))]))
    assert costs == [6, 6]


def test_no_figure_names_anybody(token: str, team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    user_id = uuid4()
    emit(team, user_id=user_id)
    pump()
    status, text = ask(f"Bearer {token}")
    assert status == 200
    assert re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}", text) == []
    assert {name for _, name in re.findall(r'([{,])(\w+)="', text)} == {"endpoint", "state", "outcome"}


def test_the_answer_is_in_prometheus_own_format(token: str, db: None) -> None:
    extra: dict[str, Any] = {ADDRESS_KEY: MANAGEMENT_ADDRESS}
    response = Client().get("/metrics", headers={"Authorization": f"Bearer {token}"}, **extra)
    assert response["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert response["Cache-Control"] == "no-store"
    assert "# TYPE healthsvc_webhook_attempts_total counter\n" in response.content.decode()


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer ", f"Basic {TOKEN}", "Bearer other", f"Bearer {TOKEN}x", "Bearer ünï"]
)
def test_without_the_token_nothing_is_told(token: str, authorization: str | None) -> None:
    status, text = ask(authorization)
    assert (status, '"not_authenticated"' in text) == (401, True)


def test_only_reading(token: str) -> None:
    status, text = ask(f"Bearer {token}", method="POST")
    assert (status, '"method_not_allowed"' in text) == (405, True)


@pytest.mark.parametrize("authorization", [None, "Bearer ", f"Bearer {TOKEN}"])
def test_without_a_setting_there_is_no_such_address(settings: Settings, authorization: str | None) -> None:
    settings.METRICS_TOKEN = ""
    status, text = ask(authorization)
    assert (status, '"not_found"' in text) == (404, True)


def test_the_team_address_has_none(token: str, db: None) -> None:
    assert ask(f"Bearer {token}", at="")[0] == 404
