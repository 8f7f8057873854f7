"""One team that waits for vendors or workers with all its might: everybody else is answered."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from itertools import islice
from threading import Event
from typing import Any
from uuid import UUID

import pytest
from django.db import connections
from django.test import Client
from pytest_django import Settings

from healthsvc.kernel.scope import team_scope
from healthsvc.kernel.waiting import waiting_place
from links.models import BulkOp, Connection, LinkSession, OAuthState, PasswordLogin
from links.services import bulk
from links.services.bulk import bulk_op_run
from tests.clients import ApiClient
from tests.factories import Tenant, tenant_make, user_make
from tests.links.granting import stored
from tests.links.linking import browser, departed, opened, path_of, token_make
from tests.links.password_steps import login_body, shown, token_text
from tests.links.simulators import Person, Simulator

SLUG = "abbott_libreview"
RIGHT = {"username": "ada@example.com", "password": "simulator", "region": "eu"}


@pytest.fixture(autouse=True)
def _threads(settings: Settings) -> None:
    settings.WEB_THREADS = 16


@pytest.fixture
def full(team: Tenant) -> Iterator[ExitStack]:
    """Our team has all the places it may have; the stack gives them back."""
    with ExitStack() as stack:
        assert all(stack.enter_context(waiting_place(team.context.team_id)) for _ in range(4))
        yield stack


def test_a_bulk_wait_is_over_at_once(api: ApiClient, team: Tenant, full: ExitStack) -> None:
    body = {"provider": "oura", "user_ids": [str(user_make(team).id)], "wait_for_completion": True}
    answer = api.post("/v2/link/bulk_trigger_historical_pull", body)
    assert (answer.status_code, answer.content) == (202, b"")
    with team_scope(team.context):
        assert BulkOp.objects.get().status == "in_progress"


def test_a_refresh_is_answered_at_once_and_goes_on(api: ApiClient, team: Tenant, full: ExitStack) -> None:
    user = user_make(team)
    stored(team, user)
    answer = api.post(f"/v2/user/refresh/{user.id}?timeout=60")
    assert answer.status_code == 202
    assert answer.json()["in_progress_sources"] == ["oura"]


def test_a_login_that_calls_a_vendor_is_put_off(
    api: ApiClient, team: Tenant, simulator: Simulator, full: ExitStack
) -> None:
    text = token_text(team, user_make(team))
    path = f"/v2/link/provider/password/{SLUG}"
    answer = ApiClient().post(path, login_body(SLUG), **shown(text))
    assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (503, "unavailable", "5")
    assert "try again" in answer.json()["detail"]
    full.close()
    assert ApiClient().post(path, login_body(SLUG), **shown(text)).json()["state"] == "success"


def test_a_put_off_answer_is_not_kept(api: ApiClient, team: Tenant, simulator: Simulator, full: ExitStack) -> None:
    body = {"user_id": str(user_make(team).id), "provider": "oura"}
    assert api.post("/v2/link/connect/demo", body, idempotency_key="demo-1").status_code == 503
    full.close()
    assert api.post("/v2/link/connect/demo", body, idempotency_key="demo-1").status_code == 200


def test_a_page_says_that_it_is_busy_and_loses_nothing(team: Tenant, simulator: Simulator, full: ExitStack) -> None:
    client, person = browser(), Person()
    back = path_of(person.decide(departed(client, opened(client, token_make(team, user_make(team))), "oura")))
    answer = client.get(back)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "reload this page" in answer.content.decode()
    with team_scope(team.context):
        assert OAuthState.objects.get().used_at is None
        assert not Connection.objects.exists()
    full.close()
    assert client.get(back).status_code == 303
    with team_scope(team.context):
        assert Connection.objects.count() == 1


def test_a_return_that_is_nobodys_takes_no_place(db: None, settings: Settings) -> None:
    settings.WEB_THREADS = 0
    assert browser().get("/link/callback/oura?state=unknown&code=x").status_code == 404


def test_a_form_says_that_it_is_busy_and_sends_nothing(team: Tenant, simulator: Simulator, full: ExitStack) -> None:
    client = browser()
    page = opened(client, token_make(team, user_make(team)))
    form = f"{page.partition('/provider/')[0]}/provider/{SLUG}/login"
    answer = client.post(form, RIGHT)
    assert (answer.status_code, answer["Location"]) == (303, form)
    body = client.get(form).content.decode()
    assert "Many people are connecting" in body
    assert RIGHT["password"] not in re.findall(r'type="password"[^>]*', body)[0]
    with team_scope(team.context):
        assert not PasswordLogin.objects.exists()
        assert LinkSession.objects.get().error_type == ""
    full.close()
    assert client.post(form, RIGHT).status_code == 303
    with team_scope(team.context):
        assert Connection.objects.count() == 1


def test_a_code_is_put_off_and_counts_as_no_try(team: Tenant, simulator: Simulator) -> None:
    client = browser()
    page = opened(client, token_make(team, user_make(team)))
    form = f"{page.partition('/provider/')[0]}/provider/{SLUG}/login"
    code = client.post(form, {**RIGHT, "username": "mfa-sms@example.com"})["Location"]
    with ExitStack() as stack:
        assert all(stack.enter_context(waiting_place(team.context.team_id)) for _ in range(4))
        assert client.post(code, {"code": "000000"})["Location"] == code
        assert "Many people are connecting" in client.get(code).content.decode()
    with team_scope(team.context):
        assert PasswordLogin.objects.get().attempts == 0


def test_whoever_waits_for_nobody_is_answered(api: ApiClient, other_api: ApiClient, full: ExitStack) -> None:
    assert Client().get("/healthz").status_code == 200
    assert api.get("/v2/user").status_code == 200
    assert other_api.get("/v2/user").status_code == 200


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_forty_waits_leave_threads_for_everybody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = tenant_make(), tenant_make(name="Other team")
    user = user_make(ours)
    monkeypatch.setattr(bulk, "BULK_OPS_OPEN_MAXIMUM", 40)
    waiting = Event()
    look = bulk.bulk_op_wait

    def told(op: BulkOp, *, seconds: float) -> BulkOp:
        if seconds:
            waiting.set()
        return look(op, seconds=seconds)

    monkeypatch.setattr("links.bulk_api.bulk_op_wait", told)
    body = {"provider": "oura", "user_ids": [str(user.id)], "wait_for_completion": True}

    def served(ask: Any) -> int:
        try:
            return int(ask().status_code)
        finally:
            connections.close_all()

    def triggered() -> Any:
        return ApiClient(team_key=ours.key).post("/v2/link/bulk_trigger_historical_pull", body)

    # As many threads as the process has, and a queue before them.
    with ThreadPoolExecutor(16) as pool:
        waits = [pool.submit(served, triggered) for _ in range(40)]
        assert waiting.wait(20)
        assert {one.result() for one in islice(as_completed(waits, timeout=20), 36)} == {202}
        assert pool.submit(served, lambda: Client().get("/healthz")).result(20) == 200
        assert pool.submit(served, lambda: ApiClient(team_key=theirs.key).get("/v2/user")).result(20) == 200
        assert len([one for one in waits if not one.done()]) == 4
        for op_id in ops_of(ours):
            bulk_op_run(op_id=op_id)
        assert sorted(one.result(20) for one in waits) == [200] * 4 + [202] * 36


def ops_of(tenant: Tenant) -> list[UUID]:
    """Every operation of a team."""
    with team_scope(tenant.context):
        return list(BulkOp.objects.values_list("pk", flat=True))
