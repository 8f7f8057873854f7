"""Every door that a deleted user's link tokens open is shut from the deletion on, and stays shut after an undo."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from pytest_django import Settings

from healthsvc.kernel.scope import team_scope
from links.constants import LinkErrorType
from links.models import LinkSession, LinkToken, PasswordLogin
from links.services.tokens import link_token_find
from links.services.visits import end_open, end_ticket, window_open, window_ticket
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.linking import browser, departed, opened, path_of, token_make
from tests.links.password_steps import logged_in, login_body, token_text
from tests.links.simulators import Person, Simulator
from tests.links.test_token_api import START, STATE, VALID
from users.models import User
from users.services.deletion import user_delete, user_delete_undo

pytestmark = pytest.mark.django_db

#: What the form of a password login posts.
_FORM = {"username": "ada@example.com", "password": "simulator"}
_INVALID = {"valid": False, "error_type": "invalid_token", "expires_at": None}


@pytest.fixture
def user(team: Tenant) -> User:
    """Who is deleted."""
    return user_make(team)


def deleted(tenant: Tenant, user: User) -> None:
    """As the team's API does it."""
    with team_scope(tenant.context):
        user_delete(team=tenant.context, user_id=user.pk)


def undone(tenant: Tenant, user: User) -> None:
    """Within the days of grace."""
    with team_scope(tenant.context):
        user_delete_undo(team=tenant.context, user_id=user.pk)


def test_what_a_widget_shows_opens_nothing(team: Tenant, user: User, settings: Settings) -> None:
    text = token_text(team, user)
    widget = ApiClient()
    header = {settings.LINK_TOKEN_HEADERS[0]: text}

    def look() -> list[object]:
        return [
            widget.post(VALID, {"token": text}).json()["valid"],
            widget.post(START, {"link_token": text, "provider": "oura"}).status_code,
            widget.get(STATE, None, **header).status_code,
            widget.get("/v2/link/providers", None, **header).status_code,
            widget.get("/v2/link/provider/oauth/oura", None, **header).status_code,
            widget.post("/v2/link/provider/manual/apple_health_kit", {}, **header).status_code,
        ]

    assert look() == [True, 200, 200, 200, 200, 200]
    # Connecting has used the first one up.
    text = token_text(team, user)
    header[settings.LINK_TOKEN_HEADERS[0]] = text
    deleted(team, user)
    assert look() == [False, 400, 401, 401, 401, 401]
    assert widget.post(VALID, {"token": text}).json() == _INVALID
    refused = widget.post(START, {"link_token": text, "provider": "oura"}).json()
    assert refused["detail"]["error_type"] == "invalid_token"
    undone(team, user)
    assert widget.post(VALID, {"token": text}).json()["error_type"] == "token_expired"
    assert widget.post(START, {"link_token": text, "provider": "oura"}).status_code == 400
    assert widget.get("/v2/link/providers", None, **header).status_code == 401


@pytest.mark.usefixtures("simulator")
def test_hosted_pages_are_shut(team: Tenant, user: User) -> None:
    link = token_make(team, user)
    client = browser()
    page = opened(client, token_make(team, user))
    session_page = page.partition("/provider")[0]
    token = link_token_find(parse_qs(urlsplit(link).query)["token"][0])
    assert token is not None
    ended = end_ticket(token=token, error_type=LinkErrorType.TOKEN_EXPIRED)
    with team_scope(team.context):
        session = LinkSession.objects.get()
    window = window_ticket(session=session, provider="oura")
    looks: list[Callable[[], Any]] = [
        lambda: client.get(page).status_code,
        lambda: client.get(f"{session_page}/provider/oura").status_code,
        lambda: client.get(f"{session_page}/provider/renpho/login").status_code,
        lambda: "/link/ended" not in Client().get(link)["Location"],
        lambda: end_open(ticket=ended) is not None,
        lambda: not isinstance(window_open(ticket=window), LinkErrorType),
    ]
    assert [look() for look in looks] == [200, 200, 200, True, True, True]
    deleted(team, user)
    shut = [look() for look in looks]
    assert shut[3:] == [False, False, False]
    assert shut[:3] == [404, 404, 404]
    undone(team, user)
    assert "/link/ended" in Client().get(link)["Location"]
    assert client.get(page).status_code == 410


def test_no_vendor_is_called(team: Tenant, user: User, simulator: Simulator, settings: Settings) -> None:
    widget, text = ApiClient(), token_text(team, user)
    header = {settings.LINK_TOKEN_HEADERS[0]: text}
    client = browser()
    form = f"{opened(client, token_make(team, user)).partition('/provider')[0]}/provider/renpho/login"
    assert client.get(form).status_code == 200
    # A login that waits for its code, and one that is at the provider's own page.
    logged_in(widget, text, "whoop", "mfa-sms@example.com")
    elsewhere = browser()
    session_page = opened(elsewhere, token_make(team, user)).partition("/provider")[0]
    back = path_of(Person().decide(departed(elsewhere, session_page, "oura")))
    before = simulator.requests()
    deleted(team, user)
    assert client.post(form, _FORM).status_code == 404
    assert widget.post("/v2/link/provider/password/renpho", login_body("renpho"), **header).status_code == 401
    code = "/v2/link/provider/password/whoop/complete_mfa"
    assert widget.post(code, {"mfa_code": "123456"}, **header).status_code == 401
    elsewhere.get(back)
    assert simulator.requests() == before
    undone(team, user)
    client.post(form, _FORM)
    widget.post(code, {"mfa_code": "123456"}, **header)
    elsewhere.get(back)
    assert simulator.requests() == before
    with team_scope(team.context):
        assert PasswordLogin.objects.get().challenge == ""
        assert set(LinkToken.objects.values_list("status", flat=True)) == {"expired"}
