"""The whole way to a provider and back, over HTTP to a simulator: right, refused, replayed, too late, elsewhere."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
import time_machine
from django.test import Client

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import keyed_hash
from healthsvc.kernel.scope import team_scope
from links.connectors.oauth import code_exchange
from links.models import Connection, LinkToken, OAuthState, Pull
from links.services.walk import walk
from links.states import TOKEN_TRANSITIONS, TokenCommand
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.events import events_of
from tests.links.linking import browser, connected, departed, opened, path_of, query_of, token_make
from tests.links.simulators import Person, Simulator
from users.models import User

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

RETURN = "https://app.example/done?x=1"


@pytest.fixture
def user(team: Tenant, simulator: Simulator) -> User:
    """Who connects."""
    return user_make(team, client_user_id="ada")


@pytest.fixture
def nothing(team: Tenant) -> Iterator[None]:
    """Afterwards there is no connection, no pull, no event, and the token is not consumed."""
    yield
    with team_scope(team.context):
        assert Connection.objects.count() == 0
        assert Pull.objects.count() == 0
        assert not LinkToken.objects.filter(status="consumed").exists()
    assert events_of(team) == []


def _returned(client: Client, page: str, slug: str = "oura", **decision: Any) -> str:
    """The callback's path, after the person decided at the provider."""
    return path_of(Person().decide(departed(client, opened(client, page), slug), **decision))


@pytest.mark.parametrize("slug", ["oura", "withings"])
def test_connecting_stores_tells_and_owes(team: Tenant, user: User, api: ApiClient, slug: str) -> None:
    client = browser()
    response = client.get(_returned(client, token_make(team, user, redirect_url=RETURN), slug))
    assert response.status_code == 307
    assert response["Location"] == f"{RETURN}&state=success"
    with team_scope(team.context):
        connection = Connection.objects.get()
        assert (connection.provider, connection.status, connection.user_id) == (slug, "connected", user.id)
        assert connection.external_user_id
        assert connection.access_token
        assert connection.refresh_token
        assert connection.scopes_denied == []
        assert LinkToken.objects.get().status == "consumed"
        pulls = {pull.resource: pull for pull in Pull.objects.all()}
    (provider,) = api.get(f"/v2/user/providers/{user.id}").json()["providers"]
    assert set(pulls) == set(provider["resource_availability"])
    today = clock.now().date()
    for pull in pulls.values():
        assert (pull.kind, pull.status, pull.end_on - pull.start_on) == ("backfill", "scheduled", timedelta(days=31))
        # Tomorrow has begun already for people far enough east.
        assert pull.end_on == today + timedelta(days=1)
    ((event_type, data),) = events_of(team)
    assert event_type == "provider.connection.created"
    assert data["user_id"] == str(user.id)
    assert data["provider"] == data["source"]
    assert data["provider"]["slug"] == slug
    assert data["external_user_id"] == connection.external_user_id
    assert data["resource_availability"] == provider["resource_availability"]


def test_tokens_are_sealed_at_rest(team: Tenant, user: User) -> None:
    from django.db import connection as database

    stored = connected(team, user, "oura")
    with team_scope(team.context), database.cursor() as cursor:
        cursor.execute("SELECT access_token, refresh_token FROM links_connection")
        access, refresh = (bytes(value) for value in cursor.fetchone())
    assert stored.access_token.encode() not in access
    assert stored.refresh_token.encode() not in refresh


def test_without_a_redirect_url_a_page_tells_it(team: Tenant, user: User) -> None:
    client = browser()
    response = client.get(_returned(client, token_make(team, user)))
    assert response.status_code == 303
    result = client.get(response["Location"])
    assert "Oura is connected" in result.content.decode()
    assert "code=" not in response["Location"]
    # Going back leads to the same page, not to an error.
    page = response["Location"].removesuffix("/result")
    assert client.get(page)["Location"] == response["Location"]


def test_close_after_connecting_tells_of_the_connection(team: Tenant, user: User) -> None:
    client = browser()
    session = opened(client, token_make(team, user, redirect_url=RETURN, on_close="redirect"))
    client.get(path_of(Person().decide(departed(client, session, "oura"))))
    assert client.get(f"{session}/close")["Location"] == f"{RETURN}&state=success"


@pytest.mark.usefixtures("nothing")
def test_denial_is_told_with_a_way_on(team: Tenant, user: User) -> None:
    client = browser()
    response = client.get(_returned(client, token_make(team, user), allow=False))
    assert response.status_code == 303
    body = client.get(response["Location"]).content.decode()
    assert "Oura was not connected" in body
    assert "You did not allow Oura to share anything" in body
    assert "Try again" in body
    assert "Choose another provider" in body


def test_a_denied_person_can_try_again(team: Tenant, user: User) -> None:
    client, person = browser(), Person()
    session = opened(client, token_make(team, user))
    client.get(path_of(person.decide(departed(client, session, "oura"), allow=False)))
    again = client.get(f"{session}/provider/oura/continue")["Location"]
    response = client.get(path_of(person.decide(again)))
    assert "Oura is connected" in client.get(response["Location"]).content.decode()


@pytest.mark.usefixtures("nothing")
def test_denial_redirects_where_there_is_an_address(team: Tenant, user: User) -> None:
    client = browser()
    response = client.get(_returned(client, token_make(team, user, redirect_url=RETURN), allow=False))
    assert response.status_code == 307
    query = query_of(response["Location"])
    assert (query["x"], query["state"], query["error_type"]) == ("1", "error", "user_cancelled")
    assert query["error"]


@pytest.mark.usefixtures("nothing")
def test_nothing_useful_granted_is_an_error(team: Tenant, user: User) -> None:
    client = browser()
    refuse = ["daily", "workout", "heartrate", "spo2", "ring_configuration"]
    response = client.get(_returned(client, token_make(team, user, redirect_url=RETURN), refuse=refuse))
    assert query_of(response["Location"])["error_type"] == "required_scopes_not_granted"


def test_what_was_refused_is_unavailable_and_not_pulled(team: Tenant, user: User, api: ApiClient) -> None:
    connected(team, user, "oura", refuse=["heartrate", "personal"])
    (provider,) = api.get(f"/v2/user/providers/{user.id}").json()["providers"]
    assert provider["external_user_id"] is None
    assert provider["resource_availability"]["heartrate"] == {
        "status": "unavailable",
        "scope_requirements": {
            "user_granted": {"required": [], "optional": ["daily"]},
            "user_denied": {"required": ["heartrate"], "optional": []},
        },
    }
    assert provider["resource_availability"]["sleep"] == {
        "status": "available",
        "scope_requirements": {
            "user_granted": {"required": ["daily"], "optional": []},
            "user_denied": {"required": [], "optional": []},
        },
    }
    with team_scope(team.context):
        assert set(Pull.objects.values_list("resource", flat=True)) == {
            "activity",
            "blood_oxygen",
            "device",
            "hrv",
            "sleep",
            "sleep_cycle",
            "workouts",
        }


@pytest.mark.usefixtures("nothing")
def test_a_state_that_is_not_ours_leads_nowhere(team: Tenant, user: User, simulator: Simulator) -> None:
    client = browser()
    query = query_of(_returned(client, token_make(team, user, redirect_url=RETURN)))
    for changed in ({"state": "x" * 43}, {"state": ""}, {"state": "x" * 9000}):
        response = client.get(f"/link/callback/oura?{urlencode({**query, **changed})}")
        assert response.status_code == 404
        assert "app.example" not in response.content.decode()
    assert client.get(f"/link/callback/withings?{urlencode(query)}").status_code == 404
    assert simulator.count("oura", "/{slug}/oauth/token") == 0


def test_a_return_in_another_browser_leads_nowhere(team: Tenant, user: User, simulator: Simulator) -> None:
    client, other = browser(), browser()
    opened(other, token_make(team, user_make(team)))
    back = _returned(client, token_make(team, user, redirect_url=RETURN))
    response = other.get(back)
    assert response.status_code == 404
    assert "app.example" not in response.content.decode()
    with team_scope(team.context):
        assert Connection.objects.count() == 0
    assert simulator.count("oura", "/{slug}/oauth/token") == 0
    # The person's own browser was not robbed of its return by that.
    assert client.get(back)["Location"] == f"{RETURN}&state=success"


def test_a_return_counts_once(team: Tenant, user: User, simulator: Simulator) -> None:
    client = browser()
    back = _returned(client, token_make(team, user))
    first = client.get(back)
    again = client.get(back)
    assert again["Location"] == first["Location"]
    assert simulator.count("oura", "/{slug}/oauth/token") == 1
    with team_scope(team.context):
        assert Connection.objects.get().token_version == 1
    assert len(events_of(team)) == 1


@pytest.mark.parametrize("slug", ["oura", None])
def test_a_second_return_during_the_first_is_no_success(
    team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch, slug: str | None
) -> None:
    """A reload between the claim of the return and the exchange of its code, after an earlier try failed."""
    client = browser()
    page = opened(client, token_make(team, user, redirect_url=RETURN, provider=slug))
    session = page.removesuffix("/provider/oura/continue")
    denied = client.get(path_of(Person().decide(departed(client, session, "oura"), allow=False)))
    assert query_of(denied["Location"])["error_type"] == "user_cancelled"
    back = path_of(Person().decide(departed(client, session, "oura")))
    seen: list[tuple[int, str, bool]] = []

    def meanwhile(*args: Any, **values: Any) -> Any:
        response = client.get(back)
        body = response.content.decode()
        assert "Still working on it" in body
        assert "state=success" not in body
        seen.append((response.status_code, response.get("Location", ""), f'href="{session}"' in body))
        return code_exchange(*args, **values)

    monkeypatch.setattr("links.services.logins.code_exchange", meanwhile)
    assert client.get(back)["Location"] == f"{RETURN}&state=success"
    assert seen == [(202, "", slug is None)]
    assert client.get(back)["Location"] == f"{RETURN}&state=success"


def test_a_return_whose_worker_died_is_no_success(team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = browser()
    session = opened(client, token_make(team, user, redirect_url=RETURN))
    back = path_of(Person().decide(departed(client, session, "oura")))

    def killed(*_args: Any, **_values: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("links.services.logins.code_exchange", killed)
    with pytest.raises(KeyboardInterrupt):
        client.get(back)
    monkeypatch.undo()
    assert client.get(back).status_code == 202
    # The link is not lost with it.
    again = path_of(Person().decide(departed(client, session, "oura")))
    assert client.get(again)["Location"] == f"{RETURN}&state=success"


@pytest.mark.usefixtures("nothing")
def test_ten_minutes_at_the_provider_are_enough(team: Tenant, user: User) -> None:
    client = browser()
    back = _returned(client, token_make(team, user, redirect_url=RETURN))
    with time_machine.travel(clock.now() + timedelta(minutes=10)):
        response = client.get(back)
    assert query_of(response["Location"])["error_type"] == "token_expired"


@pytest.mark.usefixtures("nothing")
def test_a_link_that_ended_meanwhile_connects_nothing(team: Tenant, user: User) -> None:
    client, person = browser(), Person()
    session = opened(client, token_make(team, user, redirect_url=RETURN))
    with time_machine.travel(clock.now() + timedelta(minutes=55)):
        back = person.decide(departed(client, session, "oura"))
    with time_machine.travel(clock.now() + timedelta(minutes=61)):
        response = client.get(path_of(back))
    assert query_of(response["Location"])["error_type"] == "token_expired"


def test_of_two_browsers_on_one_token_the_first_connects(team: Tenant, user: User, simulator: Simulator) -> None:
    page = token_make(team, user, redirect_url=RETURN)
    one, two = browser(), browser()
    backs = [_returned(client, page, slug) for client, slug in ((one, "oura"), (two, "withings"))]
    assert query_of(one.get(backs[0])["Location"])["state"] == "success"
    assert query_of(two.get(backs[1])["Location"])["error_type"] == "token_consumed"
    assert simulator.count("withings", "/withings/v2/oauth2") == 0
    with team_scope(team.context):
        assert [one.provider for one in Connection.objects.all()] == ["oura"]


def test_a_token_consumed_during_the_exchange_connects_nothing_more(
    team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race between the check and the transaction: another browser connects while this one asks the provider."""
    client = browser()
    back = _returned(client, token_make(team, user, redirect_url=RETURN))

    def meanwhile(*args: Any, **values: Any) -> Any:
        walk(LinkToken.objects.all(), TOKEN_TRANSITIONS, TokenCommand.CONSUME)
        return code_exchange(*args, **values)

    monkeypatch.setattr("links.services.logins.code_exchange", meanwhile)
    response = client.get(back)
    assert query_of(response["Location"])["error_type"] == "token_consumed"
    with team_scope(team.context):
        assert Connection.objects.count() == 0
    assert events_of(team) == []


@pytest.mark.usefixtures("nothing")
def test_a_user_deleted_meanwhile_is_not_connected(team: Tenant, user: User) -> None:
    client = browser()
    back = _returned(client, token_make(team, user, redirect_url=RETURN))
    with team_scope(team.context):
        User.objects.filter(pk=user.pk).update(deleted_at=clock.now())
    assert query_of(client.get(back)["Location"])["error_type"] == "invalid_token"


@pytest.mark.usefixtures("nothing")
@pytest.mark.parametrize(
    ("fault", "error_type"), [("http_500", "provider_api_error"), ("truncated_json", "provider_api_error")]
)
def test_a_provider_that_fails_is_told(
    team: Tenant, user: User, simulator: Simulator, fault: str, error_type: str
) -> None:
    client = browser()
    back = _returned(client, token_make(team, user, redirect_url=RETURN))
    simulator.fault("oura", fault, "/oauth/token")
    assert query_of(client.get(back)["Location"])["error_type"] == error_type


@pytest.mark.usefixtures("nothing")
@pytest.mark.parametrize("slug", ["oura", "withings"])
def test_a_code_that_is_not_the_providers_is_refused(team: Tenant, user: User, slug: str) -> None:
    client = browser()
    query = query_of(_returned(client, token_make(team, user, redirect_url=RETURN), slug))
    response = client.get(f"/link/callback/{slug}?{urlencode({**query, 'code': 'forged'})}")
    assert query_of(response["Location"])["error_type"] == "provider_credential_error"


@pytest.mark.usefixtures("nothing")
@pytest.mark.parametrize("answer", [{"error": "server_error"}, {}, {"error": "invalid_scope", "code": "x"}])
def test_other_answers_of_a_provider_are_its_errors(team: Tenant, user: User, answer: dict[str, str]) -> None:
    client = browser()
    address = departed(client, opened(client, token_make(team, user, redirect_url=RETURN)), "oura")
    state = query_of(address)["state"]
    response = client.get(f"/link/callback/oura?{urlencode({'state': state, **answer})}")
    assert query_of(response["Location"])["error_type"] == "provider_api_error"


def test_the_provider_is_asked_as_it_wants(team: Tenant, user: User) -> None:
    client = browser()
    address = departed(client, opened(client, token_make(team, user)), "withings")
    query = query_of(address)
    assert query["redirect_uri"] == "http://localhost:8000/link/callback/withings"
    assert query["response_type"] == "code"
    assert query["scope"].split(",")[0] == "user.info"
    assert query["code_challenge_method"] == "S256"
    with team_scope(team.context):
        row = OAuthState.objects.get()
    assert bytes(row.state_hash) == keyed_hash("oauth-state", query["state"])
    assert row.code_verifier not in address
    assert row.expires_at - row.created_at == timedelta(minutes=10)


def test_reconnecting_renews_the_same_connection(team: Tenant, user: User, api: ApiClient) -> None:
    person = Person()
    first = connected(team, user, "oura", person)
    with team_scope(team.context):
        Connection.objects.update(status="error", error_type="token_refresh_failed", errored_at=clock.now())
    second = connected(team, user, "oura", person)
    assert second.pk == first.pk
    assert (second.status, second.error_type, second.errored_at) == ("connected", "", None)
    assert second.external_user_id == first.external_user_id
    assert second.access_token != first.access_token
    assert second.token_version == first.token_version + 1
    assert len(api.get(f"/v2/user/providers/{user.id}").json()["providers"]) == 1
    with team_scope(team.context):
        assert Pull.objects.count() == len(set(Pull.objects.values_list("resource", flat=True)))
    assert [event_type for event_type, _ in events_of(team)] == ["provider.connection.created"] * 2


def test_no_secret_reaches_a_log(team: Tenant, user: User, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    client = browser()
    page = token_make(team, user)
    address = departed(client, opened(client, page), "oura")
    back = Person().decide(address)
    client.get(path_of(back))
    with team_scope(team.context):
        connection = Connection.objects.get()
        verifier = OAuthState.objects.get().code_verifier
    secrets = [query_of(page)["token"], query_of(back)["code"], query_of(back)["state"], verifier]
    secrets += [connection.access_token, connection.refresh_token, "simulator-secret"]
    secrets += [morsel.value for morsel in client.cookies.values()]
    assert [secret for secret in secrets if secret in caplog.text] == []
