"""A link token made for one provider connects that one, by whatever door it is shown at."""

from typing import Any

import pytest
from pytest_django import Settings

from healthsvc.kernel.scope import team_scope
from links.catalogue import LoginKind
from links.constants import LinkErrorType
from links.models import Connection, LinkToken
from links.services.connections import connection_store
from links.services.refusals import LinkRefused
from links.services.tokens import link_token_find
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.granting import grant_make, tokens_make
from tests.links.password_steps import login_body, token_text
from tests.links.simulators import Simulator
from users.models import User

_EMAIL = {"email": "ada@example.com", "region": "eu"}
#: Every way to ask for a provider with a link token: method, path, body.
DOORS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "password": ("POST", "/v2/link/provider/password/peloton", login_body("peloton")),
    "code": ("POST", "/v2/link/provider/password/peloton/complete_mfa", {"mfa_code": "123456"}),
    "email": ("POST", "/v2/link/provider/email/freestyle_libre", _EMAIL),
    "older password": (
        "POST",
        "/v2/link/auth",
        {**login_body("peloton"), "provider": "peloton", "auth_type": "password"},
    ),
    "older email": ("POST", "/v2/link/auth/email", {**_EMAIL, "provider": "freestyle_libre", "auth_type": "email"}),
    "manual": ("POST", "/v2/link/provider/manual/apple_health_kit", {}),
    "oauth": ("GET", "/v2/link/provider/oauth/withings", {}),
    "start": ("POST", "/v2/link/start", {"provider": "peloton"}),
}


@pytest.fixture
def user(team: Tenant) -> User:
    """Who the token is for."""
    return user_make(team)


def opened(tenant: Tenant, user: User, **values: Any) -> str:
    """A token that its person has opened."""
    text = token_text(tenant, user, **values)
    assert ApiClient().post("/v2/link/token/isValid", {"token": text}).json()["valid"]
    return text


@pytest.mark.parametrize("door", list(DOORS))
def test_no_door_lets_a_token_past_its_provider(
    team: Tenant, user: User, settings: Settings, simulator: Simulator, door: str
) -> None:
    text = opened(team, user, provider="oura")
    method, path, body = DOORS[door]
    header = {} if door == "start" else {settings.LINK_TOKEN_HEADERS[0]: text}
    sent = {**body, "link_token": text} if door == "start" else body
    answer = ApiClient().request(method, path, json=None if method == "GET" else sent, headers=header)
    assert answer.status_code == 400, answer.content
    assert answer.json()["detail"] == {
        "error_type": "INVALID_PROVIDER",
        "error_message": "The link token is for another provider.",
    }
    with team_scope(team.context):
        assert Connection.objects.count() == 0
        assert LinkToken.objects.get().status == "validated"
    assert simulator.requests() == []


@pytest.mark.parametrize(
    ("door", "provider"), [("password", "peloton"), ("email", "freestyle_libre"), ("manual", "apple_health_kit")]
)
@pytest.mark.parametrize("values", [{"pinned": True}, {"filter_on_providers": ["oura"]}])
def test_its_own_provider_and_one_beside_the_pages_filter_are_connected(
    team: Tenant,
    user: User,
    settings: Settings,
    simulator: Simulator,
    door: str,
    provider: str,
    values: dict[str, Any],
) -> None:
    given = {"provider": provider} if values.get("pinned") else values
    method, path, body = DOORS[door]
    header = {settings.LINK_TOKEN_HEADERS[0]: opened(team, user, **given)}
    assert ApiClient().request(method, path, json=body, headers=header).status_code == 200
    with team_scope(team.context):
        assert Connection.objects.get().provider == provider


def test_the_provider_is_looked_at_again_where_the_token_is_used_up(team: Tenant, user: User) -> None:
    token = link_token_find(opened(team, user, provider="withings"))
    assert token is not None
    with team_scope(team.context):
        with pytest.raises(LinkRefused) as refused:
            connection_store(team=team.context, user_id=user.id, grant=grant_make(), link_token=token)
        assert refused.value.error_type is LinkErrorType.INVALID_TOKEN
        token.refresh_from_db()
        assert (token.status, Connection.objects.count()) == ("validated", 0)
        scale = grant_make(provider="withings", tokens=tokens_make(), login=LoginKind.OAUTH)
        connection_store(team=team.context, user_id=user.id, grant=scale, link_token=token)
        assert Connection.objects.get().provider == "withings"
