"""What a custom widget asks of a link token: is it good, what is it for, what comes next."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import time_machine
from pytest_django import Settings

from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import team_scope
from links.models import LinkToken
from links.services.walk import walk
from links.states import TOKEN_TRANSITIONS, TokenCommand
from management.models import TeamSettings
from tests.clients import ApiClient
from tests.factories import Tenant, environment_make, user_make
from users.models import User

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Answer

VALID = "/v2/link/token/isValid"
STATE = "/v2/link/state"
START = "/v2/link/start"


@pytest.fixture
def user(team: Tenant) -> User:
    """Somebody of our team."""
    return user_make(team)


def token_of(api: ApiClient, user: User, **more: Any) -> str:
    """A link token."""
    text: str = api.post("/v2/link/token", {"user_id": str(user.id), **more}).json()["link_token"]
    return text


def check(text: str) -> dict[str, Any]:
    """The answer to a widget that has no key."""
    answer = ApiClient().post(VALID, {"token": text})
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def start(text: str, provider: str) -> "Answer":
    """The answer to a widget whose person chose a provider."""
    return ApiClient().post(START, {"link_token": text, "provider": provider})


def state(text: str, settings: Settings, **keys: str) -> "Answer":
    """The answer to a widget that shows its token."""
    return ApiClient(**keys).get(STATE, None, **{settings.LINK_TOKEN_HEADERS[0]: text})


def consume(team: Tenant) -> None:
    """As if a person had connected with it."""
    with team_scope(team.context):
        for command in (TokenCommand.VALIDATE, TokenCommand.CONSUME):
            walk(LinkToken.objects.all(), TOKEN_TRANSITIONS, command)


def status_of(team: Tenant) -> str:
    """The token's status as it is stored."""
    with team_scope(team.context):
        return LinkToken.objects.get().status


@time_machine.travel("2026-03-01T12:00:00Z", tick=False)
def test_a_good_token_is_validated_by_asking(team: Tenant, api: ApiClient, user: User) -> None:
    text = token_of(api, user)
    assert status_of(team) == "new"
    for _ in range(2):
        assert check(text) == {"valid": True, "error_type": None, "expires_at": "2026-03-01T13:00:00+00:00"}
    assert status_of(team) == "validated"


def test_what_is_wrong_with_a_token_is_told(team: Tenant, api: ApiClient, user: User) -> None:
    text = token_of(api, user)
    tampered = text[:-1] + ("0" if text[-1] != "0" else "1")
    for unknown in (tampered, "lk_" + "0" * 49, "nonsense", "si" + text[2:]):
        assert check(unknown) == {"valid": False, "error_type": "invalid_token", "expires_at": None}
    assert status_of(team) == "new"
    with time_machine.travel(clock.now() + timedelta(minutes=60)):
        late = check(text)
    assert (late["valid"], late["error_type"]) == (False, "token_expired")
    used = token_of(api, user)
    consume(team)
    assert (check(used)["valid"], check(used)["error_type"]) == (False, "token_consumed")
    assert ApiClient().post(VALID, {}).status_code == 422
    assert ApiClient().post(VALID, {"token": 7}).status_code == 422


@time_machine.travel("2026-03-01T12:00:00Z", tick=False)
def test_the_state_tells_what_a_token_was_made_for(
    team: Tenant, api: ApiClient, user: User, settings: Settings
) -> None:
    text = token_of(
        api,
        user,
        provider="oura",
        redirect_url="https://app.example/done",
        filter_on_providers=["oura"],
        on_close="redirect",
    )
    expected = {
        "state": "new",
        "error_type": "token_not_validated",
        "expires_at": "2026-03-01T13:00:00+00:00",
        "provider": "oura",
        "redirect_url": "https://app.example/done",
        "filter_on_providers": ["oura"],
        "on_error": None,
        "on_close": "redirect",
        "user_id": str(user.id),
        "team": {"name": "Our team", "logo_url": None},
        "environment": "sandbox",
        "region": "us",
    }
    assert state(text, settings).json() == expected
    assert text not in state(text, settings).content.decode()
    check(text)
    assert state(text, settings).json() == {**expected, "state": "validated", "error_type": None}
    consume(team)
    assert state(text, settings).json() == {**expected, "state": "consumed", "error_type": "token_consumed"}


def test_the_state_of_an_expired_and_of_no_token(
    team: Tenant, api: ApiClient, user: User, settings: Settings, other_team: Tenant
) -> None:
    text = token_of(api, user)
    with time_machine.travel(clock.now() + timedelta(minutes=60)):
        found = state(text, settings).json()
    assert (found["state"], found["error_type"], found["provider"]) == ("expired", "token_expired", None)
    assert state(text[:-1], settings).status_code == 401
    assert ApiClient().get(STATE).status_code == 401
    alone = api.get(STATE)
    assert (alone.status_code, alone.json()["detail"]["error_type"]) == (400, "MISSING_LINK_TOKEN")
    # Beside the key of another team, or of the other environment, a token opens nothing.
    assert state(text, settings, team_key=team.key).status_code == 200
    production = environment_make(team, Environment.PRODUCTION)
    for key in (other_team.key, production.key):
        assert state(text, settings, team_key=key).status_code == 401


def test_the_next_step_of_each_kind_of_login(api: ApiClient, user: User) -> None:
    text = token_of(api, user, filter_on_providers=["withings"])
    check(text)
    oauth = start(text, "oura").json()
    assert oauth["oauth_url"] == f"http://localhost:8000/link/open?token={text}&provider=oura"
    assert (oauth["auth_type"], oauth["form_components"], oauth["next_path"]) == ("oauth", {}, None)
    password = start(text, "renpho").json()
    assert (password["auth_type"], password["oauth_url"]) == ("password", None)
    assert {"username", "password"} <= set(password["form_components"])
    assert password["next_path"] == "/v2/link/provider/password/renpho"
    email = start(text, "freestyle_libre").json()
    assert email["form_components"]["email"]["type"] == "email"
    assert email["next_path"] == "/v2/link/provider/email/freestyle_libre"
    paths = {slug: start(text, slug).json()["next_path"] for slug in ("apple_health_kit", "omron_ble", "manual")}
    assert paths == {slug: f"/v2/link/provider/manual/{slug}" for slug in paths}


def test_a_start_is_refused_with_the_reason(team: Tenant, api: ApiClient, user: User) -> None:
    text = token_of(api, user)

    def refusal(token: str, provider: str = "oura") -> tuple[int, str, str]:
        answer = start(token, provider)
        return answer.status_code, answer.json()["code"], answer.json()["detail"]["error_type"]

    assert refusal("lk_" + "0" * 49) == (400, "link_refused", "invalid_token")
    assert refusal(text) == (400, "link_refused", "token_not_validated")
    with time_machine.travel(clock.now() + timedelta(minutes=60)):
        assert refusal(text) == (400, "link_refused", "token_expired")
    one = token_of(api, user, provider="withings")
    check(one)
    assert refusal(one) == (400, "link_refused", "INVALID_PROVIDER")
    consume(team)
    assert refusal(one, "withings") == (400, "link_refused", "token_consumed")
    assert start(one, "nokia").json()["detail"][0]["type"] == "enum"


def test_a_vendor_that_nobody_is_registered_with_can_not_be_started_in_production(team: Tenant) -> None:
    production = environment_make(team, Environment.PRODUCTION)
    text = token_of(ApiClient(team_key=production.key), user_make(production))
    check(text)
    answer = start(text, "oura")
    assert (answer.status_code, answer.json()["detail"]["error_type"]) == (400, "INVALID_PROVIDER")
    assert start(text, "apple_health_kit").status_code == 200


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("com.example.app://back", None),
        ("https://app.example/done?order=7", None),
        ("http://localhost:3000/done", None),
        ("myapp://back", "url_scheme"),
        ("spotify://back", "url_scheme"),
        ("https://app.example/done?state=success", "url_parameter"),
        ("https://app.example/done?a=1&error_type=", "url_parameter"),
        ("com.example.app://back?error=x", "url_parameter"),
    ],
)
def test_a_redirect_address_is_an_apps_own_and_leaves_our_parameters_alone(
    api: ApiClient, user: User, url: str, kind: str | None
) -> None:
    answer = api.post("/v2/link/token", {"user_id": str(user.id), "redirect_url": url})
    problems = [problem["type"] for problem in answer.json()["detail"]] if kind else []
    assert (answer.status_code, problems) == ((422, [kind]) if kind else (200, []))


def test_a_short_scheme_is_taken_where_the_team_allows_it(team: Tenant, api: ApiClient, user: User) -> None:
    with team_scope(team.context):
        TeamSettings.objects.create(team=team.team, environment="sandbox", redirect_url_prefixes=["myapp://back"])
    taken, refused = (
        api.post("/v2/link/token", {"user_id": str(user.id), "redirect_url": url}).status_code
        for url in ("myapp://back", "com.example.app://back")
    )
    assert (taken, refused) == (200, 422)
