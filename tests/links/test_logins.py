"""What a login asks for, and what it makes of the way back: scopes left out, parameters twice, errors by name."""

from typing import Any

import pytest

from healthsvc.kernel.scope import team_scope
from links.models import Connection, LinkSession, OAuthState
from links.services.logins import Returned, login_finish, returned_read
from links.services.visits import visit_leave_out
from tests.factories import Tenant, user_make
from tests.links.linking import browser, departed, opened, path_of, query_of, token_make
from tests.links.simulators import Person, Simulator
from users.models import User

pytestmark = [pytest.mark.slow, pytest.mark.django_db]


@pytest.fixture
def user(team: Tenant, simulator: Simulator) -> User:
    """Who connects."""
    return user_make(team)


def left_out(team: Tenant, *scopes: str) -> None:
    """The person's choice on our own page."""
    with team_scope(team.context):
        visit_leave_out(session=LinkSession.objects.get(), scopes=scopes)


def test_what_was_left_out_is_not_asked_for_and_counts_as_denied(team: Tenant, user: User) -> None:
    client = browser()
    session = opened(client, token_make(team, user))
    left_out(team, "heartrate", "workout", "personal")
    address = departed(client, session, "oura")
    asked = query_of(address)["scope"].split()
    # What the login itself needs is asked for whatever a page says.
    assert "personal" in asked
    assert not {"heartrate", "workout"} & set(asked)
    with team_scope(team.context):
        assert OAuthState.objects.get().scopes_asked == asked
    client.get(path_of(Person().decide(address, refuse=["spo2"])))
    with team_scope(team.context):
        connection = Connection.objects.get()
    assert set(connection.scopes_granted) == set(asked) - {"spo2"}
    assert set(connection.scopes_denied) == {"heartrate", "workout", "spo2"}


def test_leaving_out_everything_is_refused_before_anybody_leaves(team: Tenant, user: User) -> None:
    client = browser()
    session = opened(client, token_make(team, user, redirect_url="https://app.example/done"))
    left_out(team, "daily", "heartrate", "workout", "spo2", "ring_configuration")
    response = client.get(f"{session}/provider/oura/continue")
    assert query_of(response["Location"])["error_type"] == "required_scopes_not_granted"
    with team_scope(team.context):
        assert OAuthState.objects.count() == 0


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"state": ["s"], "code": ["c"]}, Returned("oura", "s", "c", "", "")),
        ({"state": ["s"], "error": ["x"], "scope": ["a b"]}, Returned("oura", "s", "", "x", "a b")),
        ({"state": ["s"], "code": ["c", "d"]}, Returned("oura", "s", "c", "", "", repeated=True)),
        ({"state": ["s"], "code": ["c", "c"]}, Returned("oura", "s", "c", "", "", repeated=True)),
        ({"state": ["s", "t"], "code": ["c"]}, Returned("oura", "", "c", "", "", repeated=True)),
        ({"state": ["s"], "utm": ["1", "2"]}, Returned("oura", "s", "", "", "")),
        ({"state": ["s" * 5000]}, Returned("oura", "s" * 4000, "", "", "")),
        ({"state": []}, Returned("oura", "", "", "", "")),
    ],
)
def test_a_redirect_is_read_with_all_its_values(given: dict[str, list[str]], read: Returned) -> None:
    assert returned_read(provider="oura", given=given) == read


@pytest.mark.parametrize(
    ("more", "error_type"),
    [
        ({"code": ["first", "second"]}, "provider_api_error"),
        ({"error": ["access_denied"], "code": []}, "user_cancelled"),
        ({"error": ["server_error"], "code": []}, "provider_api_error"),
        ({"error": ["invalid_scope"]}, "provider_api_error"),
        ({"code": []}, "provider_api_error"),
        ({"code": ["unknown"]}, "provider_credential_error"),
    ],
)
def test_a_way_back_that_went_wrong_has_a_name_and_trades_no_code(
    team: Tenant, user: User, simulator: Simulator, more: dict[str, Any], error_type: str
) -> None:
    client = browser()
    address = departed(client, opened(client, token_make(team, user)), "oura")
    given = {"state": [query_of(address)["state"]], "code": ["c"], **more}
    returned = returned_read(provider="oura", given=given)
    session = login_finish(
        returned=returned, cookie_of=lambda session_id: client.cookies[f"link_{session_id.hex}"].value
    )
    assert session is not None
    assert (session.provider, session.error_type) == ("oura", error_type)
    assert simulator.count("oura", "/{slug}/oauth/token") == int(more == {"code": ["unknown"]})
    # It came back once; the same again changes nothing.
    with team_scope(team.context):
        assert OAuthState.objects.get().used_at is not None
        assert Connection.objects.count() == 0


def test_a_state_that_came_twice_is_no_state(team: Tenant, user: User) -> None:
    client = browser()
    address = departed(client, opened(client, token_make(team, user)), "oura")
    state = query_of(address)["state"]
    returned = returned_read(provider="oura", given={"state": [state, state], "code": ["c"]})
    assert login_finish(returned=returned, cookie_of=lambda _: "") is None
    with team_scope(team.context):
        assert OAuthState.objects.get().used_at is None
