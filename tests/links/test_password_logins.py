"""Password logins: every slug, every outcome, codes, regions, and what happens at the same moment."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine

from aggregation.models import Series, Summary
from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.catalogue import LoginKind, catalogue, provider_find
from links.connectors.passwords import LoggedIn
from links.constants import LinkErrorType
from links.models import LinkToken, PasswordLogin, Pull
from links.services import password_logins
from links.services.password_logins import (
    LinkOutcome,
    OutcomeState,
    mfa_waiting,
    password_login,
    password_logins_purge,
    password_mfa_complete,
)
from links.services.pulls import pull_run
from links.services.tokens import link_token_find
from management.models import TeamSettings
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
    region_of,
    status_of,
    token_text,
)
from tests.links.simulators import Simulator
from users.models import User

#: The password providers of the interface.
SLUGS = (
    "abbott_libreview", "beurer_api", "dexcom", "eight_sleep", "hammerhead", "kardia", "my_fitness_pal", "peloton",
    "renpho", "tandem_source", "whoop", "zwift",
)  # fmt: skip

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


@pytest.mark.slow
@pytest.mark.parametrize("slug", SLUGS)
def test_every_slug_connects_and_gives_data(
    slug: str, team: Tenant, user: User, widget: ApiClient, api: ApiClient
) -> None:
    text = token_text(team, user, redirect_url="https://example.com/done")
    found = logged_in(widget, text, slug)
    assert set(found) == FIELDS
    assert found["state"] == "success"
    assert found["provider"] == slug
    assert found["connected"] is True
    assert found["redirect_url"] == "https://example.com/done"
    assert (found["error_type"], found["error"], found["provider_mfa"]) == (None, None, None)
    (connection,) = connections(team)
    assert found["provider_id"] == connection.external_user_id != ""
    assert (connection.login, connection.region) == (LoginKind.PASSWORD, region_of(slug).get("region", ""))
    assert connection.credentials is None
    assert status_of(text) == "consumed"
    with team_scope(team.context):
        for pull in Pull.objects.all():
            pull_run(pull_id=pull.pk)
        ended = {pull.resource: pull.status for pull in Pull.objects.all()}
        stored = {one.resource for rows in (Series, Summary) for one in rows.objects.filter(user_id=user.id)}
    assert ended == dict.fromkeys(provider_find(slug).resources, "success")
    assert set(provider_find(slug).resources) <= stored
    listed = api.get(f"/v2/user/providers/{user.id}").json()["providers"]
    assert [(one["slug"], one["status"]) for one in listed] == [(slug, "connected")]


#: Each link error type, and where these calls come to it in the tests below.
REACHED = {
    "invalid_token": "the user is deleted",
    "token_expired": "the hour is over, before the call or while the provider is asked",
    "token_consumed": "the token has connected already",
    "provider_credential_error": "a wrong password, an address that shares nothing, a login that ended",
    "provider_password_expired": "the vendor wants a new password",
    "provider_api_error": "the vendor fails",
    "unsupported_region": "the vendor or the catalogue says so",
    "duplicate_connection": "the team refuses one account on two users",
    "incorrect_mfa_code": "a wrong code",
}
NOT_REACHED = {
    "token_not_validated": "the call itself validates the token",
    "required_scopes_not_granted": "there are no scopes to leave out",
    "user_cancelled": "nobody can close a call",
}


def test_every_error_type_is_reached_or_cannot_be() -> None:
    assert {*REACHED, *NOT_REACHED} == set(LinkErrorType.values)
    assert not set(REACHED) & set(NOT_REACHED)


def test_the_twelve_are_the_catalogues() -> None:
    assert tuple(sorted(slug for slug, one in catalogue().items() if one.login is LoginKind.PASSWORD)) == SLUGS


@pytest.mark.parametrize(
    ("username", "error_type"),
    [
        ("wrong-password@example.com", "provider_credential_error"),
        ("expired-password@example.com", "provider_password_expired"),
        ("wrong-region@example.com", "unsupported_region"),
        ("vendor-down@example.com", "provider_api_error"),
        ("vendor-busy@example.com", "provider_api_error"),
    ],
)
def test_what_the_provider_refuses_is_told_with_200(
    username: str, error_type: str, team: Tenant, user: User, widget: ApiClient
) -> None:
    text = token_text(team, user)
    found = logged_in(widget, text, "renpho", username)
    assert set(found) == FIELDS
    assert failed(found) == ("error", error_type)
    assert found["error"]
    assert found["connected"] is False
    assert found["provider_id"] is None
    assert connections(team) == []
    # The link token lives on, and the next try works.
    assert status_of(text) == "validated"
    assert logged_in(widget, text, "renpho")["state"] == "success"


def test_a_wrong_password(team: Tenant, user: User, widget: ApiClient) -> None:
    found = logged_in(widget, token_text(team, user), "whoop", password=SECRET)
    assert failed(found) == ("error", "provider_credential_error")
    assert connections(team) == []


@pytest.mark.parametrize("kind", ["http_500", "truncated_json", "http_429"])
def test_a_provider_that_fails(kind: str, simulator: Simulator, team: Tenant, user: User, widget: ApiClient) -> None:
    simulator.fault("whoop", kind)
    found = logged_in(widget, token_text(team, user), "whoop")
    assert failed(found) == ("error", "provider_api_error")


def test_token_errors(team: Tenant, user: User, widget: ApiClient, simulator: Simulator) -> None:
    spent = token_text(team, user)
    assert logged_in(widget, spent, "whoop")["state"] == "success"
    assert failed(logged_in(widget, spent, "whoop")) == ("error", "token_consumed")
    assert failed(code_given(widget, spent, "whoop")) == ("error", "token_consumed")
    old = token_text(team, user)
    with time_machine.travel(NOW + timedelta(seconds=3601), tick=False):
        assert failed(logged_in(widget, old, "whoop")) == ("error", "token_expired")
        assert failed(code_given(widget, old, "whoop")) == ("error", "token_expired")
    assert status_of(old) == "expired"
    # A refused token never reaches the provider.
    assert simulator.count("whoop", "/{slug}/password/login") == 1


def test_a_user_who_is_deleted_meanwhile(
    team: Tenant, user: User, widget: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = token_text(team, user)

    def deleted_first(**values: Any) -> Any:
        User.objects.filter(pk=user.pk).update(deleted_at=clock.now())
        return password_login(**values)

    # After the token was let in.
    monkeypatch.setattr("links.password_api.password_login", deleted_first)
    assert failed(logged_in(widget, text, "whoop")) == ("error", "invalid_token")


def test_duplicate_connection(team: Tenant, user: User, widget: ApiClient) -> None:
    with team_scope(team.context):
        TeamSettings.objects.update_or_create(
            team=team.team,
            environment=str(team.context.environment),
            defaults={"duplicate_account_policy": "refuse"},
        )
    other = user_make(team, client_user_id="bob")
    assert logged_in(widget, token_text(team, other), "renpho")["state"] == "success"
    assert failed(logged_in(widget, token_text(team, user), "renpho")) == ("error", "duplicate_connection")
    assert [one.user_id for one in connections(team)] == [other.id]


@pytest.mark.parametrize(
    ("region", "outcome"),
    [
        ("us", ("success", None)),
        ("tw", ("error", "unsupported_region")),
        (None, ("error", "unsupported_region")),
    ],
)
def test_regions_of_a_divided_provider(
    region: str | None, outcome: tuple[str, str | None], team: Tenant, user: User, widget: ApiClient
) -> None:
    found = logged_in(widget, token_text(team, user), "abbott_libreview", region=region)
    assert failed(found) == outcome
    assert [one.region for one in connections(team)] == (["us"] if outcome[0] == "success" else [])


def test_a_region_where_there_is_one_world(team: Tenant, user: User, widget: ApiClient) -> None:
    assert logged_in(widget, token_text(team, user), "renpho", region="tw")["state"] == "success"
    assert [one.region for one in connections(team)] == [""]


@pytest.mark.parametrize(
    ("name", "method", "hint"), [("mfa-sms", "sms", "*** *** 4821"), ("mfa-email", "email", "m***@e***.com")]
)
def test_a_code_finishes_a_login(
    name: str, method: str, hint: str, team: Tenant, user: User, widget: ApiClient
) -> None:
    text = token_text(team, user)
    asked = logged_in(widget, text, "abbott_libreview", f"{name}@example.com")
    assert set(asked) == FIELDS
    assert asked["state"] == "pending_provider_mfa"
    assert asked["provider_mfa"] == {"method": method, "hint": hint}
    assert (asked["error_type"], asked["connected"], asked["provider_id"]) == (None, False, None)
    assert connections(team) == []
    assert status_of(text) == "validated"
    wrong = code_given(widget, text, "abbott_libreview", "000000")
    assert failed(wrong) == ("error", "incorrect_mfa_code")
    right = code_given(widget, text, "abbott_libreview", " 123456 ")
    assert set(right) == FIELDS
    assert right["state"] == "success"
    (connection,) = connections(team)
    assert connection.region == "us"
    assert status_of(text) == "consumed"
    with team_scope(team.context):
        login = PasswordLogin.objects.get()
    assert (login.attempts, login.challenge, login.ended_at) == (2, "", NOW)


def test_codes_run_out(team: Tenant, user: User, widget: ApiClient, simulator: Simulator) -> None:
    text = token_text(team, user)
    logged_in(widget, text, "whoop", "mfa-sms@example.com")
    wrong = [failed(code_given(widget, text, "whoop", f"00000{number}"))[1] for number in range(5)]
    assert wrong == ["incorrect_mfa_code"] * 5
    assert failed(code_given(widget, text, "whoop")) == ("error", "provider_credential_error")
    assert simulator.count("whoop", "/{slug}/password/mfa") == 5
    assert connections(team) == []
    # The way on is to log in again with the same link token.
    assert logged_in(widget, text, "whoop", "mfa-sms@example.com")["state"] == "pending_provider_mfa"
    assert code_given(widget, text, "whoop")["state"] == "success"


def test_a_code_that_comes_too_late(team: Tenant, user: User, widget: ApiClient, simulator: Simulator) -> None:
    text = token_text(team, user)
    logged_in(widget, text, "whoop", "mfa-sms@example.com")
    with time_machine.travel(NOW + timedelta(seconds=600), tick=False):
        assert failed(code_given(widget, text, "whoop")) == ("error", "provider_credential_error")
    assert simulator.count("whoop", "/{slug}/password/mfa") == 0


def test_a_code_without_a_login(team: Tenant, user: User, widget: ApiClient) -> None:
    text = token_text(team, user)
    assert failed(code_given(widget, text, "whoop")) == ("error", "provider_credential_error")


def test_a_second_login_replaces_the_first(team: Tenant, user: User, widget: ApiClient) -> None:
    text = token_text(team, user)
    logged_in(widget, text, "whoop", "mfa-sms@example.com")
    logged_in(widget, text, "whoop", "mfa-email@example.com")
    with team_scope(team.context):
        first, second = PasswordLogin.objects.order_by("id")
        told = mfa_waiting(
            team=team.context, user_id=user.id, provider=provider_find("whoop"), link_token=link_token_find(text)
        )
    assert (first.challenge, first.ended_at, second.ended_at) == ("", NOW, None)
    assert told is not None
    assert (told.method, told.hint) == ("email", "m***@e***.com")
    # A login that needs no code ends the one that waits.
    assert logged_in(widget, text, "whoop")["state"] == "success"
    with team_scope(team.context):
        assert not PasswordLogin.objects.filter(ended_at=None).exists()


def test_a_vendor_that_fails_at_the_code_may_be_tried_again(
    simulator: Simulator, team: Tenant, user: User, widget: ApiClient
) -> None:
    text = token_text(team, user)
    logged_in(widget, text, "whoop", "mfa-sms@example.com")
    simulator.fault("whoop", "http_500")
    assert failed(code_given(widget, text, "whoop")) == ("error", "provider_api_error")
    assert code_given(widget, text, "whoop")["state"] == "success"


def test_a_login_belongs_to_its_link_token(team: Tenant, user: User, widget: ApiClient, api: ApiClient) -> None:
    text = token_text(team, user)
    logged_in(widget, text, "whoop", "mfa-sms@example.com")
    assert failed(code_given(widget, token_text(team, user), "whoop")) == ("error", "provider_credential_error")
    # The team's own key finishes any login of its user, and the token is consumed with it.
    body = {"mfa_code": "123456", "user_id": str(user.id)}
    assert api.post("/v2/link/provider/password/whoop/complete_mfa", body).json()["state"] == "success"
    assert status_of(text) == "consumed"


def test_the_token_runs_out_between_login_and_code(
    team: Tenant, user: User, widget: ApiClient, simulator: Simulator
) -> None:
    text = token_text(team, user)
    with time_machine.travel(NOW + timedelta(seconds=3500), tick=False):
        logged_in(widget, text, "whoop", "mfa-sms@example.com")
    with time_machine.travel(NOW + timedelta(seconds=3601), tick=False):
        assert failed(code_given(widget, text, "whoop")) == ("error", "token_expired")
    assert connections(team) == []
    assert simulator.count("whoop", "/{slug}/password/mfa") == 0


def test_of_two_codes_at_once_one_connects(
    team: Tenant, user: User, widget: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other finishes between the provider's answer and the first one's write."""
    text = token_text(team, user)
    logged_in(widget, text, "whoop", "mfa-sms@example.com")
    provider, token = provider_find("whoop"), link_token_find(text)
    assert token is not None
    ended = password_logins._end
    others: list[LinkOutcome] = []

    def end_late(rows: Any) -> int:
        if not others:
            others.append(LinkOutcome(OutcomeState.ERROR, "whoop"))
            with team_scope(team.context):
                login = PasswordLogin.objects.get()
                attempt = password_logins._Try(team.context, user.id, provider, "", link_token_find(text))
                grant = LoggedIn(external_user_id="1", access_token="a")
                others[0] = password_logins._connected(attempt, grant, login)
        return ended(rows)

    monkeypatch.setattr(password_logins, "_end", end_late)
    mine = password_mfa_complete(team=team.context, user_id=user.id, provider=provider, code="123456", link_token=token)
    assert others[0].state is OutcomeState.SUCCESS
    assert (mine.state, mine.error_type) == (OutcomeState.ERROR, LinkErrorType.TOKEN_CONSUMED)
    assert [one.external_user_id for one in connections(team)] == ["1"]


def test_a_token_that_ends_while_the_provider_is_asked(
    team: Tenant, user: User, widget: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = token_text(team, user)
    asked = password_logins._asked

    def asked_long(call: Any) -> Any:
        found = asked(call)
        with team_scope(team.context):
            LinkToken.objects.update(expires_at=NOW)
        return found

    monkeypatch.setattr(password_logins, "_asked", asked_long)
    assert failed(logged_in(widget, text, "whoop")) == ("error", "token_expired")
    assert connections(team) == []


def test_a_login_again_keeps_the_connection(team: Tenant, user: User, widget: ApiClient) -> None:
    for _ in range(2):
        assert logged_in(widget, token_text(team, user), "renpho")["state"] == "success"
    (connection,) = connections(team)
    assert connection.token_version == 2


def test_tokens_are_renewed_by_the_adapter(team: Tenant, user: User, widget: ApiClient, simulator: Simulator) -> None:
    logged_in(widget, token_text(team, user), "renpho")
    simulator.fault("renpho", "token_expired", path_prefix="/data")
    with team_scope(team.context):
        (connection,) = connections(team)
        pull = Pull.objects.get(resource="weight")
        pull_run(pull_id=pull.pk)
        pull.refresh_from_db()
        connection.refresh_from_db()
    assert (pull.status, connection.token_version, connection.status) == ("success", 2, "connected")
    assert simulator.count("renpho", "/{slug}/password/refresh") == 1


def test_ended_logins_are_purged(team: Tenant, user: User, api: ApiClient) -> None:
    body = login_body("whoop", "mfa-sms@example.com", user_id=str(user.id))
    assert api.post("/v2/link/provider/password/whoop", body).json()["state"] == "pending_provider_mfa"
    assert password_logins_purge() == 0
    with time_machine.travel(NOW + timedelta(days=1, seconds=601), tick=False):
        assert password_logins_purge() == 1
