"""What the hosted pages leave in a browser, and what they leave nowhere."""

from http.cookies import Morsel
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from management.models import IdempotentReply, StaffUser
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.linking import opened, token_make
from tests.links.simulators import Simulator


def _form(team: Tenant) -> tuple[Client, str]:
    client = Client(enforce_csrf_checks=True)
    page = opened(client, token_make(team, user_make(team)))
    return client, f"{page.partition('/provider/')[0]}/provider/abbott_libreview/login"


def _cookie(client: Client) -> Morsel[Any]:
    return client.cookies["csrftoken"]


def test_the_forms_cookie_stays_on_the_link_pages(team: Tenant, simulator: Simulator) -> None:
    client, form = _form(team)
    assert client.get(form).status_code == 200
    cookie = _cookie(client)
    # Until the browser closes, for no script, and for nothing else of this host.
    assert (cookie["path"], cookie["httponly"], cookie["max-age"], cookie["expires"]) == ("/link/", True, "", "")
    assert cookie["samesite"] == "Lax"
    assert client.post(form, {}).status_code == 403
    given = {"username": "ada@example.com", "password": "simulator", "region": "eu"}
    token = client.get(form).context["csrf_token"]
    assert client.post(form, {**given, "csrfmiddlewaretoken": str(token)}).status_code == 303


def test_it_is_secure_where_the_service_is(team: Tenant, simulator: Simulator, settings: Settings) -> None:
    settings.CSRF_COOKIE_SECURE = True
    client, form = _form(team)
    client.get(form)
    assert _cookie(client)["secure"] is True


def test_staff_have_a_cookie_of_their_own(db: None) -> None:
    StaffUser.objects.create_superuser("staff@example.com", password="a long enough phrase")
    client = Client(enforce_csrf_checks=True)
    token = client.get("/admin/login/").context["csrf_token"]
    cookie = _cookie(client)
    assert (cookie["path"], cookie["httponly"], cookie["max-age"]) == ("/admin/", True, "")
    given = {"username": "staff@example.com", "password": "a long enough phrase", "csrfmiddlewaretoken": str(token)}
    assert client.post("/admin/login/?next=/admin/", given).status_code == 302


@pytest.mark.parametrize("path", ["/link/brand/zzzzzz.css", "/link/brand/01a1ff65-7c6a-7085-8fe7-74caa9eef114"])
def test_what_is_not_there_is_no_failure_of_ours(db: None, caplog: pytest.LogCaptureFixture, path: str) -> None:
    assert Client().get(path).status_code == 404
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_link_token_is_kept_nowhere_but_as_a_digest(api: ApiClient, team: Tenant) -> None:
    body = {"user_id": str(user_make(team).id)}
    first = api.post("/v2/link/token", body, idempotency_key="token-1")
    again = api.post("/v2/link/token", body, idempotency_key="token-1")
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json()["link_token"] != again.json()["link_token"]
    assert not IdempotentReply.objects.exists()
