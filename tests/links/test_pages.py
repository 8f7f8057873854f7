"""The hosted pages without a provider: choosing, what will be shared, closing, and links that lead nowhere."""

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.models import LinkSession, LinkToken, OAuthState
from links.services.logins import link_session_find
from links.services.walk import walk
from links.states import TOKEN_TRANSITIONS, TokenCommand
from management.models import TeamSettings
from tests.factories import Tenant, environment_make, user_make
from tests.links.linking import browser, opened, query_of, token_make, told_by

RETURN = "https://app.example/done?x=1"


def _consume(tenant: Tenant) -> None:
    with team_scope(tenant.context):
        walk(LinkToken.objects.all(), TOKEN_TRANSITIONS, TokenCommand.VALIDATE)
        walk(LinkToken.objects.all(), TOKEN_TRANSITIONS, TokenCommand.CONSUME)


def listed_slugs(body: str) -> list[str]:
    """The providers of a list, in its order."""
    return re.findall(r"/provider/(\w+)\"", body)


def settings_make(tenant: Tenant, **values: Any) -> None:
    """A team's switches."""
    with team_scope(tenant.context):
        TeamSettings.objects.create(team=tenant.team, environment="sandbox", **values)


def test_the_token_leaves_the_address_bar_for_a_cookie(team: Tenant, caplog: pytest.LogCaptureFixture) -> None:
    client, page = browser(), token_make(team, user_make(team))
    token = query_of(page)["token"]
    response = client.get(page)
    assert response.status_code == 303
    assert re.fullmatch(r"/link/[0-9a-f-]{36}", response["Location"])
    assert response["Referrer-Policy"] == "no-referrer"
    assert response["Cache-Control"] == "no-store"
    (name,) = response.cookies
    cookie = response.cookies[name]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/link/")
    assert token not in str(response.headers) + str(response.cookies) + caplog.text
    with team_scope(team.context):
        assert LinkToken.objects.get().status == "validated"
        assert cookie.value.encode() not in bytes(LinkSession.objects.get().cookie_hash)
    listed = client.get(response["Location"])
    assert listed.status_code == 200
    assert token not in listed.content.decode() + str(listed.headers)


def test_the_list_shows_what_works_within_the_filter(team: Tenant) -> None:
    user = user_make(team)
    client = browser()
    body = client.get(opened(client, token_make(team, user))).content.decode()
    assert {"oura", "withings", "eight_sleep", "freestyle_libre"} <= set(listed_slugs(body))
    assert len(listed_slugs(body)) == len(set(listed_slugs(body)))
    assert not {"apple_health_kit", "accuchek_ble", "manual"} & set(listed_slugs(body))
    assert "Our team" in body
    filtered = token_make(team, user, filter_on_providers=["withings", "manual"])
    body = client.get(opened(client, filtered)).content.decode()
    assert listed_slugs(body) == ["withings"]
    empty = token_make(team, user, filter_on_providers=["manual"])
    body = client.get(opened(client, empty)).content.decode()
    assert re.findall(r"/provider/(\w+)\"", body) == []
    assert "None of the providers that Our team asked for" in body


def test_production_lists_only_what_the_operator_is_registered_for(
    team: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    production = environment_make(team, team.context.environment.PRODUCTION)
    monkeypatch.setenv("PROVIDER_OURA_CLIENT_ID", "operator")
    monkeypatch.setenv("PROVIDER_OURA_CLIENT_SECRET", "hidden")
    client = browser()
    page = opened(client, token_make(production, user_make(production)))
    body = client.get(page).content.decode()
    assert re.findall(r"/provider/(\w+)\"", body) == ["oura"]
    assert "Sandbox" not in body
    departure = client.get(f"{page}/provider/oura/continue")
    assert departure["Location"].startswith("https://cloud.ouraring.com/oauth/authorize?")


def test_consent_says_in_words_what_will_be_shared(team: Tenant) -> None:
    with team_scope(team.context):
        TeamSettings.objects.create(team=team.team, environment="sandbox", company_name="Köhler & Søn <b>")
    client = browser()
    page = opened(client, token_make(team, user_make(team)))
    body = client.get(f"{page}/provider/withings").content.decode()
    for words in ("Sleep", "When you sleep, how long, in which stages", "Heart rate", "Steps", "Workouts"):
        assert words in body
    assert "Köhler &amp; Søn &lt;b&gt;" in body
    assert body.count('type="checkbox"') == body.count(" checked") > 1
    assert f'href="{page}/close"' in body
    assert "<script" not in body
    with team_scope(team.context):
        assert OAuthState.objects.count() == 0


@pytest.mark.parametrize("slug", ["manual", "nonsense", "withings"])
def test_a_provider_that_is_not_offered_has_no_page(team: Tenant, slug: str) -> None:
    client = browser()
    page = opened(client, token_make(team, user_make(team), filter_on_providers=["oura"]))
    for address in (f"{page}/provider/{slug}", f"{page}/provider/{slug}/continue"):
        response = client.get(address)
        assert response.status_code == 404
        assert f'href="{page}"' in response.content.decode()
    with team_scope(team.context):
        assert OAuthState.objects.count() == 0


def test_a_token_that_names_its_provider_goes_straight_there(team: Tenant) -> None:
    client = browser()
    page = opened(client, token_make(team, user_make(team), provider="oura"))
    assert page.endswith("/provider/oura/continue")
    response = client.get(page)
    assert response.status_code == 303
    assert response["Location"].startswith("http://127.0.0.1:8002/oura/oauth/authorize?")


def test_a_token_that_names_its_provider_leads_nowhere_else(team: Tenant) -> None:
    client = browser()
    page = opened(client, token_make(team, user_make(team), provider="oura"))
    for ending in ("", "/continue"):
        address = page.removesuffix("/oura/continue") + f"/withings{ending}"
        assert client.get(address).status_code == 404
    with team_scope(team.context):
        assert OAuthState.objects.count() == 0


@pytest.mark.parametrize("redirect_url", [None, RETURN])
def test_a_token_for_a_provider_without_a_connector_says_so(team: Tenant, redirect_url: str | None) -> None:
    client = browser()
    page = opened(client, token_make(team, user_make(team), provider="manual", redirect_url=redirect_url))
    response = client.get(page)
    if redirect_url:
        assert response.status_code == 307
        query = query_of(response["Location"])
        assert query["error_type"] == "provider_api_error"
        assert query["error"] == "This provider can't be connected here: there is nothing to log in to."
        return
    body = client.get(response["Location"]).content.decode()
    assert "Manual entry was not connected" in body
    assert "There is nothing to log in to at Manual entry" in body
    assert "can&#x27;t be reached" not in body
    assert "Try again" not in body


@pytest.mark.parametrize(
    ("slug", "words", "text"),
    [
        ("oura", "it is not set up for Our team", "This provider can't be connected here: it is not set up."),
        ("fitbit", "Connect Google Health", "This provider can't be connected here. Its Web API was shut down."),
        ("zwift", "No public interface is known", "This provider can't be connected here. No public interface is"),
    ],
)
def test_production_says_why_nobody_was_asked(team: Tenant, slug: str, words: str, text: str) -> None:
    production = environment_make(team, team.context.environment.PRODUCTION)
    user = user_make(production)
    client = browser()
    left = client.get(opened(client, token_make(production, user, provider=slug, redirect_url=RETURN)))
    query = query_of(left["Location"])
    assert query["error_type"] == "provider_api_error"
    assert query["error"].startswith(text)
    body = told_by(client, client.get(opened(client, token_make(production, user, provider=slug))))
    assert words in body
    assert "can&#x27;t be reached" not in body
    assert "Try again" not in body


def test_close_goes_back_where_the_token_says_so(team: Tenant) -> None:
    client = browser()
    page = opened(client, token_make(team, user_make(team), redirect_url=RETURN, on_close="redirect"))
    response = client.get(f"{page}/close")
    assert response.status_code == 307
    assert response["Location"].startswith(RETURN + "&state=error&error_type=user_cancelled&error=")
    assert query_of(response["Location"])["error"] == "The person closed or cancelled."
    assert query_of(response["Location"])["x"] == "1"


@pytest.mark.parametrize("values", [{}, {"redirect_url": RETURN}, {"on_close": "redirect"}])
def test_close_shows_a_page_otherwise(team: Tenant, values: dict[str, str]) -> None:
    client = browser()
    page = opened(client, token_make(team, user_make(team), **values))
    response = client.get(f"{page}/close")
    assert response.status_code == 200
    body = response.content.decode()
    assert "Nothing was connected" in body
    assert "You can close this window now" in body
    assert f'href="{page}">Back to all providers' in body
    assert ("error_type=user_cancelled" in body) is ("redirect_url" in values)


def test_close_of_one_provider_leads_back_to_it(team: Tenant) -> None:
    client = browser()
    page = opened(client, token_make(team, user_make(team), provider="oura"))
    home = page.partition("/provider/")[0]
    body = client.get(f"{home}/close").content.decode()
    assert f'href="{home}/provider/oura">Back to Oura' in body
    assert "all providers" not in body


def test_close_after_a_connection_says_that_there_is_one(team: Tenant) -> None:
    client = browser()
    page = opened(client, token_make(team, user_make(team)))
    _consume(team)
    body = client.get(f"{page}/close").content.decode()
    assert "That is connected" in body
    assert "Nothing was connected" not in body
    assert "Back to" not in body
    with team_scope(team.context):
        LinkSession.objects.update(provider="oura")
    assert "Oura is connected" in client.get(f"{page}/close").content.decode()


def test_another_browser_sees_nothing_of_a_session(team: Tenant) -> None:
    client, other = browser(), browser()
    page = opened(client, token_make(team, user_make(team)))
    opened(other, token_make(team, user_make(team)))
    for address in ("", "/close", "/result", "/provider/oura", "/provider/oura/continue"):
        response = other.get(page + address)
        assert response.status_code == 404
        body = response.content.decode()
        assert "This link doesn&#x27;t work here" in body
        assert "Our team" not in body
    assert client.get(page).status_code == 200


def test_two_links_side_by_side_do_not_mix(team: Tenant) -> None:
    client = browser()
    first = opened(client, token_make(team, user_make(team), filter_on_providers=["oura"]))
    second = opened(client, token_make(team, user_make(team), filter_on_providers=["withings"]))
    assert "/provider/oura" in client.get(first).content.decode()
    assert "/provider/withings" in client.get(second).content.decode()


def _token_free(client: Client, address: str) -> str:
    """Where a link that leads nowhere sends the browser, so that its token is in no address bar."""
    if "token=" not in address:
        return address
    response = client.get(address)
    assert response.status_code == 303
    location: str = response["Location"]
    assert location.startswith("/link/ended?why=")
    assert query_of(address)["token"] not in location
    return location


def test_what_a_link_ended_with_is_written_by_nobody_else(team: Tenant) -> None:
    client = browser()
    page = token_make(team, user_make(team), redirect_url=RETURN)
    _consume(team)
    told = _token_free(client, page)
    assert "Our team" in client.get(told).content.decode()
    for wrong in ("", "nonsense", query_of(told)["why"] + "x", "x" * 5000):
        response = client.get("/link/ended", {"why": wrong})
        assert response.status_code == 404
        assert "Our team" not in response.content.decode()
    with time_machine.travel(clock.now() + timedelta(minutes=61)):
        assert client.get(told).status_code == 404


@pytest.mark.parametrize("query", ["", "?token=", "?token=lk_" + "0" * 49, "?token=" + "x" * 9000])
def test_a_link_that_is_none_has_a_plain_page(db: None, query: str) -> None:
    client = browser()
    assert client.get(f"/link/open{query}")["Location"] == "/link/ended"
    response = client.get("/link/ended")
    assert response.status_code == 404
    body = response.content.decode()
    assert "This link doesn&#x27;t work here" in body
    assert "start again" in body
    assert not response.cookies


def test_an_expired_link_says_so_and_shows_the_way_back(team: Tenant) -> None:
    client = browser()
    page = token_make(team, user_make(team), redirect_url=RETURN)
    session = opened(client, page)
    with time_machine.travel(clock.now() + timedelta(minutes=60)):
        for address in (page, session, f"{session}/provider/oura", f"{session}/provider/oura/continue"):
            response = client.get(_token_free(client, address))
            assert response.status_code == 410
            body = response.content.decode()
            assert "This link has expired" in body
            assert "error_type=token_expired" in body
    with team_scope(team.context):
        assert LinkToken.objects.get().status == "expired"
        assert LinkSession.objects.count() == 1


def test_a_consumed_link_says_so(team: Tenant) -> None:
    client = browser()
    page = token_make(team, user_make(team), redirect_url=RETURN)
    session = opened(client, page)
    _consume(team)
    for address in (page, session, f"{session}/provider/oura/continue"):
        response = client.get(_token_free(client, address))
        assert response.status_code == 410
        assert "This link was used already" in response.content.decode()
        assert "error_type=token_consumed" in response.content.decode()
    with team_scope(team.context):
        assert LinkSession.objects.count() == 1
        assert OAuthState.objects.count() == 0


def test_an_error_of_another_release_breaks_no_page(team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database admits only what this release knows; a later release's row is read all the same."""
    client = browser()
    page = opened(client, token_make(team, user_make(team), redirect_url=RETURN))

    def later(**values: Any) -> LinkSession | None:
        session = link_session_find(**values)
        if session is not None:
            session.provider, session.error_type = "oura", "a_later_word"
        return session

    monkeypatch.setattr("links.pages.sessions.link_session_find", later)
    response = client.get(f"{page}/result")
    assert response.status_code == 200
    body = response.content.decode()
    assert "Oura can&#x27;t be reached from here right now" in body
    assert "error_type=provider_api_error" in body


def test_pages_take_get_only_and_keep_browsers_strict(team: Tenant) -> None:
    client = browser()
    page = opened(client, token_make(team, user_make(team)))
    response = client.get(page)
    policy = response["Content-Security-Policy"]
    for part in ("default-src 'none'", "style-src 'self'", "frame-ancestors 'none'", "form-action 'self'"):
        assert part in policy
    assert response["Cache-Control"] == "no-store"
    assert response["Referrer-Policy"] == "no-referrer"
    for method in ("post", "put", "delete", "head"):
        assert getattr(client, method)(page).status_code == 405
    assert client.put(f"{page}/provider/oura").status_code == 405


def test_the_cookie_is_secure_where_the_service_is(team: Tenant, settings: Settings) -> None:
    settings.SESSION_COOKIE_SECURE = True
    response = browser().get(token_make(team, user_make(team)))
    assert all(cookie["secure"] for cookie in response.cookies.values())


def test_pages_take_few_queries(team: Tenant) -> None:
    client = browser()
    page = opened(client, token_make(team, user_make(team)))
    # Of the consent page the seventh is what the team requires of its people at the provider.
    for address, queries in ((page, 6), (f"{page}/provider/oura", 7)):
        with CaptureQueriesContext(connection) as captured:
            client.get(address)
        # session with its token, that its user lives, the team's settings, its logo, its name, and the settings once
        # more for the list
        assert len(captured) == queries, [query["sql"] for query in captured]
