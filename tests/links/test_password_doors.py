"""The doors to password and e-mail logins: who may come in, with what, how often, and what is kept of it."""

import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from pytest_django import Settings

from healthsvc.kernel.scope import team_scope
from links.models import Connection, PasswordLogin, Pull
from links.services.pulls import pull_run
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.password_steps import (
    FIELDS,
    NOW,
    SECRET,
    clock_set,
    code_given,
    connections,
    failed,
    logged_in,
    login_body,
    shown,
    status_of,
    token_text,
)
from tests.links.simulators import Simulator
from users.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _present(simulator: Simulator) -> Iterator[None]:
    clock_set(simulator, NOW)
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def user(team: Tenant) -> User:
    """Who logs in."""
    return user_make(team, client_user_id="ada")


@pytest.fixture
def widget() -> ApiClient:
    """A custom widget, which has a link token and no key."""
    return ApiClient()


def test_tries_are_bounded(
    team: Tenant, user: User, widget: ApiClient, api: ApiClient, simulator: Simulator, settings: Settings
) -> None:
    # A Redis database that no other run of the tests empties half-way; the users are this run's own.
    settings.REDIS_URL = f"{settings.REDIS_URL.partition('?')[0]}?db=15"
    text = token_text(team, user)
    for _ in range(10):
        logged_in(widget, text, "renpho", "wrong-password@example.com")
    refused = widget.post("/v2/link/provider/password/renpho", login_body("renpho"), **shown(text))
    assert refused.status_code == 429
    assert refused.json()["code"] == "rate_limited"
    assert 0 < int(refused["Retry-After"]) <= 600
    # Another token, or the team's key, is the same user.
    again = widget.post("/v2/link/provider/password/renpho", login_body("renpho"), **shown(token_text(team, user)))
    assert again.status_code == 429
    body = login_body("renpho", user_id=str(user.id))
    assert api.post("/v2/link/provider/password/renpho", body).status_code == 429
    assert simulator.count("renpho", "/{slug}/password/login") == 10
    # Another user and another provider are not held to it.
    bob = user_make(team, client_user_id="bob")
    assert logged_in(widget, token_text(team, bob), "renpho")["state"] == "success"
    assert logged_in(widget, text, "zwift")["state"] == "success"


def test_logins_that_wait_are_bounded_without_redis(
    team: Tenant, user: User, widget: ApiClient, settings: Settings
) -> None:
    settings.REDIS_URL = ""
    text = token_text(team, user)
    for _ in range(10):
        assert logged_in(widget, text, "whoop", "mfa-sms@example.com")["state"] == "pending_provider_mfa"
    answer = widget.post("/v2/link/provider/password/whoop", login_body("whoop"), **shown(text))
    assert answer.status_code == 429
    with time_machine.travel(NOW + timedelta(seconds=601), tick=False):
        assert logged_in(widget, text, "whoop")["state"] == "success"


def test_a_team_key_names_the_user(team: Tenant, user: User, api: ApiClient) -> None:
    path = "/v2/link/provider/password/whoop"
    missing = api.post(path, login_body("whoop"))
    assert missing.status_code == 400
    assert missing.json()["code"] == "link_refused"
    assert missing.json()["detail"]["error_type"] == "MISSING_LINK_TOKEN"
    assert api.post(path, login_body("whoop", user_id=str(uuid4()))).status_code == 404
    found = api.post(path, login_body("whoop", user_id=str(user.id))).json()
    assert (found["state"], found["redirect_url"]) == ("success", None)
    assert [one.user_id for one in connections(team)] == [user.id]


def test_nobody_else(
    team: Tenant, other_team: Tenant, user: User, other_api: ApiClient, widget: ApiClient, production: Tenant
) -> None:
    path, text = "/v2/link/provider/password/whoop", token_text(team, user)
    theirs = other_api.post(path, login_body("whoop", user_id=str(user.id)))
    missing = other_api.post(path, login_body("whoop", user_id=str(uuid4())))
    assert theirs.status_code == missing.status_code == 404
    assert theirs.json()["detail"] == missing.json()["detail"]
    # A key and a token of two teams, or of two environments, are nobody.
    for key in (other_team.key, production.key):
        both = ApiClient(team_key=key).post(path, login_body("whoop"), **shown(text))
        assert both.status_code == 401
    assert widget.post(path, login_body("whoop"), **shown("lk_unknown")).status_code == 401
    assert widget.post(path, login_body("whoop")).status_code == 401
    logged_in(widget, text, "whoop", "mfa-sms@example.com")
    code = {"mfa_code": "123456", "user_id": str(user.id)}
    assert other_api.post(f"{path}/complete_mfa", code).status_code == 404
    assert connections(team) == []
    assert status_of(text) == "validated"


def test_both_credentials_of_one_team(team: Tenant, user: User, api: ApiClient) -> None:
    text, bob = token_text(team, user), user_make(team, client_user_id="bob")
    path = "/v2/link/provider/password/whoop"
    other = api.post(path, login_body("whoop", user_id=str(bob.id)), **shown(text))
    assert other.status_code == 400
    assert other.json()["detail"]["error_type"] == "INVALID_USER_ID"
    found = api.post(path, login_body("whoop", user_id=str(user.id)), **shown(text))
    assert found.json()["state"] == "success"
    assert status_of(text) == "consumed"


@pytest.mark.parametrize("slug", ["oura", "freestyle_libre", "manual", "nothing_such"])
def test_other_providers_have_no_password(slug: str, team: Tenant, user: User, widget: ApiClient) -> None:
    text = token_text(team, user)
    for path in (f"/v2/link/provider/password/{slug}", f"/v2/link/provider/password/{slug}/complete_mfa"):
        body = {"username": "ada", "password": SECRET, "mfa_code": "123456"}
        answer = widget.post(path, body, **shown(text))
        assert answer.status_code == 400
        assert answer.json()["detail"]["error_type"] == "INVALID_PROVIDER"
    assert status_of(text) == "new"


@pytest.mark.parametrize(("slug", "way_on"), [("whoop", False), ("hammerhead", True)])
def test_production_ships_no_adapter(slug: str, way_on: bool, production: Tenant, widget: ApiClient) -> None:
    text = token_text(production, user_make(production, client_user_id="ada"))
    answer = widget.post(f"/v2/link/provider/password/{slug}", login_body(slug), **shown(text))
    assert answer.status_code == 400
    assert answer.json()["detail"]["error_type"] == "INVALID_PROVIDER"
    assert (f"/v2/link/provider/oauth/{slug}" in answer.json()["detail"]["error_message"]) is way_on


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"username": "ada"},
        {"password": SECRET},
        {"username": "", "password": SECRET},
        {"username": "ada", "password": ""},
        {"username": 7, "password": SECRET},
        {"username": "ada", "password": [SECRET]},
        {"username": "ada", "password": SECRET * 100},
        {"username": "ada", "password": f"{SECRET}\x00"},
        {"username": "ada", "password": SECRET, "region": SECRET},
        {"username": "ada", "password": SECRET, "region": "xx"},
        {"username": "ada", "password": SECRET, "user_id": SECRET},
        [SECRET],
    ],
)
def test_malformed_logins_echo_nothing(
    body: Any, team: Tenant, user: User, widget: ApiClient, simulator: Simulator
) -> None:
    text = token_text(team, user)
    answer = widget.post("/v2/link/provider/password/whoop", body, **shown(text))
    assert answer.status_code == 422
    assert answer.json()["code"] == "validation_failed"
    assert SECRET not in answer.content.decode()
    assert status_of(text) == "new"
    assert simulator.count("whoop", "/{slug}/password/login") == 0


@pytest.mark.parametrize("body", [{}, {"mfa_code": ""}, {"mfa_code": 123456}, {"mfa_code": "1" * 65}])
def test_malformed_codes(body: Any, team: Tenant, user: User, widget: ApiClient) -> None:
    path = "/v2/link/provider/password/whoop/complete_mfa"
    answer = widget.post(path, body, **shown(token_text(team, user)))
    assert answer.status_code == 422


def test_a_repeat_with_an_idempotency_key_is_a_new_login(
    team: Tenant, user: User, widget: ApiClient, simulator: Simulator
) -> None:
    text = token_text(team, user)
    for _ in range(2):
        answer = widget.post(
            "/v2/link/provider/password/whoop",
            login_body("whoop", "wrong-password@example.com"),
            **shown(text),
            Idempotency_Key="same",
        )
        assert failed(answer.json()) == ("error", "provider_credential_error")
    assert simulator.count("whoop", "/{slug}/password/login") == 2


def test_secrets_are_kept_nowhere(
    team: Tenant, user: User, widget: ApiClient, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    text = token_text(team, user)
    logged_in(widget, text, "whoop", f"{SECRET}@example.com", password=SECRET)
    logged_in(widget, text, "whoop", f"mfa-sms+{SECRET}@example.com")
    code_given(widget, text, "whoop", "987654")
    code_given(widget, text, "whoop")
    printed = "".join((caplog.text, *capsys.readouterr()))
    assert SECRET not in printed
    assert "987654" not in printed
    assert "123456" not in printed
    assert "password_login_refused" in printed
    with team_scope(team.context):
        kept = [str(row) for row in (*PasswordLogin.objects.values(), *Connection.objects.values())]
    assert not [row for row in kept if SECRET in row or "simulator" in row]


@pytest.mark.slow
def test_an_email_connects(team: Tenant, user: User, widget: ApiClient, api: ApiClient) -> None:
    path = "/v2/link/provider/email/freestyle_libre"
    text = token_text(team, user, redirect_url="https://example.com/done")
    refused = widget.post(path, {"email": "not-shared@example.com", "region": "us"}, **shown(text)).json()
    assert failed(refused) == ("error", "provider_credential_error")
    nowhere = widget.post(path, {"email": "ada@example.com", "region": "tw"}, **shown(text)).json()
    assert failed(nowhere) == ("error", "unsupported_region")
    found = widget.post(path, {"email": "ada@example.com", "region": "us"}, **shown(text)).json()
    assert set(found) == FIELDS
    assert (found["state"], found["redirect_url"]) == ("success", "https://example.com/done")
    (connection,) = connections(team)
    assert (connection.login, connection.region, connection.provider) == ("email", "us", "freestyle_libre")
    with team_scope(team.context):
        (pull,) = Pull.objects.all()
        pull_run(pull_id=pull.pk)
        pull.refresh_from_db()
    assert (pull.resource, pull.status) == ("glucose", "success")
    assert api.get(f"/v2/user/providers/{user.id}").json()["providers"][0]["slug"] == "freestyle_libre"


@pytest.mark.parametrize("slug", ["oura", "whoop", "nothing_such"])
def test_other_providers_know_no_address(slug: str, team: Tenant, user: User, widget: ApiClient) -> None:
    answer = widget.post(
        f"/v2/link/provider/email/{slug}", {"email": "ada@example.com"}, **shown(token_text(team, user))
    )
    assert answer.status_code == 400
    assert answer.json()["detail"]["error_type"] == "INVALID_PROVIDER"


@pytest.mark.parametrize("body", [{}, {"email": SECRET}, {"email": "a@b.co", "region": SECRET}, {"email": 7}])
def test_malformed_addresses_echo_nothing(body: Any, team: Tenant, user: User, widget: ApiClient) -> None:
    answer = widget.post("/v2/link/provider/email/freestyle_libre", body, **shown(token_text(team, user)))
    assert answer.status_code == 422
    assert SECRET not in answer.content.decode()


def test_older_clients(team: Tenant, user: User, widget: ApiClient) -> None:
    text = token_text(team, user)
    body = {"username": "ada@example.com", "password": "simulator", "provider": "whoop", "auth_type": "password"}
    answer = widget.post("/v2/link/auth", body, x_service_link_token=text)
    assert answer.json()["state"] == "success"
    assert "Deprecation" in answer.headers
    body = {"email": "ada@example.com", "provider": "freestyle_libre", "auth_type": "email", "region": "us"}
    answer = widget.post("/v2/link/auth/email", body, **shown(token_text(team, user)))
    assert answer.json()["state"] == "success"
    assert "Deprecation" in answer.headers
    assert [one.provider for one in connections(team)] == ["whoop", "freestyle_libre"]


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({"auth_type": "oauth"}, 400),
        ({"provider": "oura"}, 400),
        ({"provider": "nothing_such"}, 422),
        ({"auth_type": SECRET}, 422),
        ({"auth_type": "email", "provider": "freestyle_libre", "region": "us"}, 200),
    ],
)
def test_older_kinds_of_login(values: dict[str, str], status: int, team: Tenant, user: User, widget: ApiClient) -> None:
    body = {"username": "ada@example.com", "password": "simulator", "provider": "whoop", "auth_type": "password"}
    answer = widget.post("/v2/link/auth", {**body, **values}, **shown(token_text(team, user)))
    assert answer.status_code == status
    assert SECRET not in answer.content.decode()
