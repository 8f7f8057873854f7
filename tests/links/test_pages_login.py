"""Our own forms for passwords, e-mail addresses and codes, against the simulated vendors."""

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.models import Connection, LinkSession, LinkToken, PasswordLogin
from links.services.password_logins import password_login
from simulator.passwords import MFA_CODE
from tests.factories import Tenant, environment_make, user_make
from tests.links.linking import browser, opened, query_of, token_make, told_by
from tests.links.simulators import Simulator
from tests.links.test_pages import settings_make
from users.models import User

RETURN = "https://app.example/done?x=1"
RIGHT = {"username": "ada@example.com", "password": "simulator", "region": "eu"}
SLUG = "abbott_libreview"


@pytest.fixture(autouse=True)
def _vendors(simulator: Simulator) -> None:
    """The simulator runs."""


def _form(team: Tenant, slug: str = SLUG, **values: Any) -> tuple[Client, str]:
    """A browser, and the address of a provider's form in it."""
    client = browser()
    page = opened(client, token_make(team, user_make(team), **values))
    return client, f"{page.partition('/provider/')[0]}/provider/{slug}/login"


def _connections(team: Tenant) -> int:
    with team_scope(team.context):
        return Connection.objects.count()


def _home(client: Client, response: Any) -> str:
    """Where a form's answer leads in the end, by way of our own pages only."""
    assert response.status_code == 303
    assert response["Location"].startswith("/link/")
    page = client.get(response["Location"]).content.decode()
    onward = re.findall(r'http-equiv="refresh" content="0; url=([^"]+)"', page)[0]
    assert onward.startswith("/link/")
    left = client.get(onward)
    assert left.status_code == 307
    location: str = left["Location"]
    return location


def test_a_form_asks_for_what_the_provider_needs(team: Tenant) -> None:
    client, form = _form(team)
    body = client.get(form).content.decode()
    for part in ('autocomplete="username"', 'autocomplete="current-password"', 'name="region"', "Germany"):
        assert part in body
    assert "What Our team would see" in body
    assert "Glucose" in body
    assert 'name="region"' not in client.get(form.replace(SLUG, "eight_sleep")).content.decode()
    email = client.get(form.replace(SLUG, "freestyle_libre")).content.decode()
    assert 'type="email"' in email
    assert 'type="password"' not in email


def test_the_right_password_connects(team: Tenant) -> None:
    client, form = _form(team)
    response = client.post(form, RIGHT)
    assert response.status_code == 303
    body = client.get(response["Location"]).content.decode()
    assert "LibreView is connected" in body
    with team_scope(team.context):
        assert Connection.objects.get().provider == SLUG
        assert LinkToken.objects.get().status == "consumed"
        assert (LinkSession.objects.get().provider, LinkSession.objects.get().error_type) == (SLUG, "")
    again = client.post(form, RIGHT)
    assert (again.status_code, again["Location"]) == (303, response["Location"])


def test_a_form_goes_back_to_the_customer_by_our_own_page(team: Tenant) -> None:
    client, form = _form(team, redirect_url=RETURN)
    assert _home(client, client.post(form, RIGHT)) == f"{RETURN}&state=success"


def test_a_token_for_a_password_provider_goes_straight_to_its_form(team: Tenant) -> None:
    client = browser()
    page = opened(client, token_make(team, user_make(team), provider=SLUG))
    response = client.get(page)
    assert response.status_code == 303
    assert "Log in to LibreView" in client.get(response["Location"]).content.decode()


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"password": "wrong"}, "password", "does not know this name and password"),
        ({"username": "wrong-region@example.com"}, "region", "knows no such account in that region"),
        ({"username": "expired-password@example.com"}, None, "password has expired"),
        ({"username": "vendor-down@example.com"}, None, "can&#x27;t be reached from here right now"),
        ({"username": ""}, "username", "Type your e-mail address."),
        ({"password": ""}, "password", "Type your password."),
        ({"region": ""}, "region", "Choose the region your account was made in."),
        ({"region": "mars"}, "region", "mars is not one of the available choices"),
    ],
)
def test_a_mistake_is_told_beside_its_field(team: Tenant, given: dict[str, str], field: str | None, words: str) -> None:
    client, form = _form(team, redirect_url=RETURN)
    response = client.post(form, {**RIGHT, **given})
    assert response["Location"] == form
    body = told_by(client, response)
    assert words in body
    assert 'role="alert"' in body
    assert "<title>Error: " in body
    if field:
        assert f'id="{field}-error"' in body
        assert re.search(rf'name="{field}"[^>]*aria-invalid="true"[^>]*aria-describedby="{field}-error"', body)
    # What was typed is there again, the password never is.
    assert 'value="ada@example.com"' in body or "username" in given
    assert "simulator" not in body
    assert "/close" in body
    # It is told once: a page that is opened again begins anew.
    assert 'role="alert"' not in client.get(form).content.decode()
    assert _connections(team) == 0
    with team_scope(team.context):
        assert LinkToken.objects.get().status == "validated"


@pytest.mark.parametrize(
    ("who", "error_type"),
    [
        ("wrong-password", "provider_credential_error"),
        ("expired-password", "provider_password_expired"),
        ("wrong-region", "unsupported_region"),
        ("vendor-down", "provider_api_error"),
    ],
)
def test_on_error_redirect_sends_failures_home(team: Tenant, who: str, error_type: str) -> None:
    client, form = _form(team, redirect_url=RETURN, on_error="redirect")
    home = _home(client, client.post(form, {**RIGHT, "username": f"{who}@example.com"}))
    assert home.startswith(RETURN)
    query = query_of(home)
    assert (query["state"], query["error_type"]) == ("error", error_type)
    assert query["error"]


def test_on_error_redirect_leaves_half_a_form_alone(team: Tenant) -> None:
    client, form = _form(team, redirect_url=RETURN, on_error="redirect")
    assert "Type your password." in told_by(client, client.post(form, {**RIGHT, "password": ""}))


@pytest.mark.parametrize(("who", "told"), [("mfa-sms", "text message"), ("mfa-email", "e-mail")])
def test_a_code_is_asked_for_and_connects(team: Tenant, who: str, told: str) -> None:
    client, form = _form(team, redirect_url=RETURN)
    response = client.post(form, {**RIGHT, "username": f"{who}@example.com"})
    code_page = response["Location"]
    assert code_page.endswith("/code")
    body = client.get(code_page).content.decode()
    assert f"sent it by {told}" in body
    assert 'autocomplete="one-time-code"' in body
    wrong = client.post(code_page, {"code": "000 111"})
    assert "That is not the code LibreView sent" in told_by(client, wrong)
    assert "digits and letters only" in told_by(client, client.post(code_page, {"code": "; drop"}))
    spaced = f"{MFA_CODE[:3]} {MFA_CODE[3:]}"
    assert _home(client, client.post(code_page, {"code": spaced})) == f"{RETURN}&state=success"
    assert _connections(team) == 1


def test_a_code_without_a_login_leads_to_the_login(team: Tenant) -> None:
    client, form = _form(team)
    code_page = form.replace("/login", "/code")
    assert client.get(code_page)["Location"] == form
    client.post(form, {**RIGHT, "username": "mfa-sms@example.com"})
    assert client.get(code_page).status_code == 200
    with time_machine.travel(clock.now() + timedelta(minutes=11)):
        assert client.get(code_page)["Location"] == form


def test_after_too_many_codes_the_login_begins_again(team: Tenant) -> None:
    client, form = _form(team)
    code_page = client.post(form, {**RIGHT, "username": "mfa-sms@example.com"})["Location"]
    bodies = [told_by(client, client.post(code_page, {"code": "000111"})) for _ in range(6)]
    assert "That is not the code" in bodies[0]
    assert "takes no more codes for that login" in bodies[-1]
    assert 'name="password"' in bodies[-1]
    with team_scope(team.context):
        assert PasswordLogin.objects.filter(ended_at=None).count() == 0


def test_a_wrong_code_goes_home_where_the_customer_wants_it(team: Tenant) -> None:
    client, form = _form(team, redirect_url=RETURN, on_error="redirect")
    code_page = client.post(form, {**RIGHT, "username": "mfa-sms@example.com"})["Location"]
    home = _home(client, client.post(code_page, {"code": "000111"}))
    assert query_of(home)["error_type"] == "incorrect_mfa_code"


def test_an_address_connects_and_one_that_shares_nothing_does_not(team: Tenant) -> None:
    client, form = _form(team, "freestyle_libre")
    refused = client.post(form, {"email": "not-shared@example.com", "region": "us"})
    assert "has shared no account with this address" in told_by(client, refused)
    assert "Type a whole address" in told_by(client, client.post(form, {"email": "no address", "region": "us"}))
    right = client.post(form, {"email": "ada@example.com", "region": "us"})
    assert "FreeStyle Libre is connected" in client.get(right["Location"]).content.decode()


def test_too_many_tries_are_told_with_the_wait(team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("links.services.password_logins.LOGINS_MAXIMUM", 1)
    client, form = _form(team)
    bodies = [told_by(client, client.post(form, {**RIGHT, "password": "wrong"})) for _ in range(2)]
    assert "does not know this name and password" in bodies[0]
    assert re.search(r"That was tried too often. Wait \d+ minutes?", bodies[1])


def test_a_form_on_an_ended_link_says_so(team: Tenant) -> None:
    client, form = _form(team, redirect_url=RETURN)
    with time_machine.travel(clock.now() + timedelta(minutes=61)):
        assert client.post(form, RIGHT)["Location"] == form
        for response in (client.get(form), client.get(client.post(form, RIGHT)["Location"])):
            assert response.status_code == 410
            assert "This link has expired" in response.content.decode()
            assert "error_type=token_expired" in response.content.decode()
        closed = client.get(form.partition("/provider/")[0] + "/close")
        assert "You can close this window now" in closed.content.decode()
    assert _connections(team) == 0


def test_close_works_on_every_form(team: Tenant) -> None:
    client, form = _form(team, redirect_url=RETURN, on_close="redirect")
    client.post(form, {**RIGHT, "username": "mfa-sms@example.com"})
    for address in (form, form.replace("/login", "/code"), form.removesuffix("/login")):
        close = re.findall(r'class="close" href="([^"]+)"', client.get(address).content.decode())[0]
        response = client.get(close)
        assert response.status_code == 307
        assert query_of(response["Location"])["error_type"] == "user_cancelled"


@pytest.mark.parametrize("ending", ["login", "code"])
def test_forms_are_for_providers_that_have_them(team: Tenant, ending: str) -> None:
    client, form = _form(team, "oura")
    address = form.replace("/login", f"/{ending}")
    assert client.get(address).status_code == 404
    assert client.post(address, RIGHT).status_code == 404
    filtered, other = _form(team, filter_on_providers=["oura"])
    assert filtered.post(other, RIGHT).status_code == 404
    assert _connections(team) == 0


def test_a_form_without_its_token_is_refused(team: Tenant) -> None:
    client = Client(enforce_csrf_checks=True)
    page = opened(client, token_make(team, user_make(team)))
    assert client.post(f"{page}/provider/{SLUG}/login", RIGHT).status_code == 403
    assert _connections(team) == 0


def test_nothing_typed_is_logged(team: Tenant, caplog: pytest.LogCaptureFixture) -> None:
    client, form = _form(team)
    client.post(form, {**RIGHT, "username": "quite-secret@example.com", "password": "top-secret"})
    assert "secret" not in caplog.text


def test_an_account_that_somebody_else_has_is_told_with_a_way_on(team: Tenant) -> None:
    settings_make(team, duplicate_account_policy="refuse", company_name="Acme")
    client, form = _form(team)
    assert client.post(form, RIGHT).status_code == 303
    second, other = _form(team)
    response = second.post(other, RIGHT)
    assert "already connected to another person at Acme" in told_by(second, response)
    assert second.post(other, {**RIGHT, "username": "bo@example.com"}).status_code == 303
    assert _connections(team) == 2


@pytest.mark.parametrize("on_error", [None, "redirect"])
def test_a_login_of_somebody_who_was_deleted_meanwhile(
    team: Tenant, on_error: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, user = browser(), user_make(team)
    page = opened(client, token_make(team, user, redirect_url=RETURN, on_error=on_error))

    def deleted_first(**values: Any) -> Any:
        User.objects.filter(pk=user.pk).update(deleted_at=clock.now())
        return password_login(**values)

    # After the page has looked whether its session's user lives.
    monkeypatch.setattr("links.pages.logins.password_login", deleted_first)
    response = client.post(f"{page}/provider/{SLUG}/login", RIGHT)
    assert response.status_code == 303
    with team_scope(team.context):
        assert LinkSession.objects.get().error_type == "invalid_token"
    # Its pages are nobody's by then, as a deleted team's are.
    after = client.get(response["Location"])
    assert (after.status_code, "This link doesn&#x27;t work here" in after.content.decode()) == (404, True)
    assert _connections(team) == 0


def test_what_a_form_tells_is_sealed_and_kept_in_no_database(team: Tenant) -> None:
    client, form = _form(team)
    response = client.post(form, {**RIGHT, "password": "quite-wrong"})
    (name,) = [one for one in response.cookies if one.endswith("_form")]
    cookie = response.cookies[name]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["max-age"]) == (True, "Lax", "/link/", 600)
    assert all(word not in str(cookie) for word in ("ada", "wrong", "quite"))
    assert len(cookie.value) < 1500
    assert client.get(form).cookies[name].value == ""
    # Another session's, another page's, an old one or a changed one tells nothing.
    client.cookies[name] = cookie.value
    with time_machine.travel(clock.now() + timedelta(minutes=11)):
        assert 'role="alert"' not in client.get(form).content.decode()
    client.cookies[name] = cookie.value
    assert 'role="alert"' not in client.get(form.replace(SLUG, "zwift")).content.decode()
    for changed in (cookie.value[:-4] + "AAAA", "nonsense", "ä"):
        client.cookies[name] = changed
        assert client.get(form).status_code == 200


def test_a_very_long_name_breaks_nothing(team: Tenant) -> None:
    client, form = _form(team)
    body = told_by(client, client.post(form, {**RIGHT, "username": "ä" * 60_000}))
    assert "at most 200 characters" in body


def test_a_provider_that_nobody_can_connect_asks_for_no_password(team: Tenant) -> None:
    production = environment_make(team, team.context.environment.PRODUCTION)
    client = browser()
    page = opened(client, token_make(production, user_make(production), provider="zwift"))
    form = page.replace("/continue", "/login")
    assert client.get(form)["Location"] == page
    body = told_by(client, client.get(page))
    assert "Zwift was not connected" in body
    assert "Zwift can&#x27;t be connected here. No public interface is known" in body
    assert "Try again" not in body
