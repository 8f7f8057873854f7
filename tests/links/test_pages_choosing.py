"""Choosing on the hosted pages: search, order, a widget's wish, what only the app connects, and leaving parts out."""

import re

import pytest
from django.test import Client

from healthsvc.kernel.scope import team_scope
from links.catalogue import catalogue
from links.choices import choices_of, is_something, scopes_left_out
from links.models import LinkSession, OAuthState
from tests.factories import Tenant, user_make
from tests.links.linking import browser, opened, query_of, token_make, told_by
from tests.links.test_pages import listed_slugs, settings_make


def _page(team: Tenant, **values: object) -> tuple[Client, str]:
    client = browser()
    return client, opened(client, token_make(team, user_make(team), **values))


def test_words_find_names_first_and_what_is_measured_after(team: Tenant) -> None:
    client, page = _page(team)
    found = client.get(page, {"q": "  LIBRE view "}).content.decode()
    assert listed_slugs(found) == ["abbott_libreview"]
    assert 'value="LIBRE view"' in found
    assert listed_slugs(client.get(page, {"q": "libre"}).content.decode()) == ["freestyle_libre", "abbott_libreview"]
    by_resource = listed_slugs(client.get(page, {"q": "glucose"}).content.decode())
    assert {"abbott_libreview", "freestyle_libre", "dexcom"} <= set(by_resource)
    assert "oura" not in by_resource
    accents = listed_slugs(client.get(page, {"q": "Oúra"}).content.decode())
    assert accents == ["oura"]


def test_nothing_found_has_a_way_on(team: Tenant) -> None:
    client, page = _page(team)
    body = client.get(page, {"q": '<b>"zzzz'}).content.decode()
    assert listed_slugs(body) == []
    assert "&lt;b&gt;&quot;zzzz" in body
    assert "<b>" not in body
    assert f'href="{page}">Show all' in body


def test_a_long_list_is_grouped_and_a_teams_own_order_is_kept(team: Tenant) -> None:
    client, page = _page(team)
    body = client.get(page).content.decode()
    assert body.index("Most used") < body.index("/provider/oura") < body.index("All others, A to Z")
    rest = [catalogue()[slug].name.casefold() for slug in listed_slugs(body)[6:]]
    assert rest == sorted(rest)
    settings_make(team, link_providers=["withings", "eight_sleep", "oura"])
    body = client.get(page).content.decode()
    assert listed_slugs(body) == ["withings", "eight_sleep", "oura"]
    assert "Most used" not in body
    assert 'role="search"' not in body


def test_what_the_app_connects_is_named_only_where_the_team_names_it(team: Tenant) -> None:
    client, page = _page(team)
    assert "apple_health_kit" not in client.get(page).content.decode()
    assert client.get(f"{page}/provider/apple_health_kit").status_code == 404
    settings_make(team, link_providers=["apple_health_kit", "oura", "accuchek_ble"], company_name="Acme")
    assert listed_slugs(client.get(page).content.decode()) == ["oura", "apple_health_kit", "accuchek_ble"]
    for ending in ("", "/continue"):
        body = client.get(f"{page}/provider/apple_health_kit{ending}").content.decode()
        assert "Connect Apple Health in the app" in body
        assert "Open Acme&#x27;s app on that phone" in body
    assert "talks to your phone only" in client.get(f"{page}/provider/accuchek_ble").content.decode()


def test_a_token_for_the_app_alone_says_so(team: Tenant) -> None:
    client, page = _page(team, provider="health_connect")
    assert "in the app" in client.get(page).content.decode()


def test_a_widgets_wish_leads_straight_there_past_the_filter(team: Tenant) -> None:
    client = browser()
    link = token_make(team, user_make(team), filter_on_providers=["oura"])
    page = opened(client, f"{link}&provider=withings")
    assert page.endswith("/provider/withings/continue")
    assert client.get(page)["Location"].startswith("http://127.0.0.1:8002/withings/oauth/authorize?")
    with team_scope(team.context):
        assert LinkSession.objects.get().asked_provider == "withings"
    home = page.partition("/provider/")[0]
    assert listed_slugs(client.get(home).content.decode()) == ["oura"]
    assert client.get(f"{home}/provider/strava/continue").status_code == 404


@pytest.mark.parametrize(
    ("values", "asked"), [({"provider": "oura"}, "withings"), ({}, "nonsense"), ({"provider": "oura"}, "nonsense")]
)
def test_a_wish_that_the_token_does_not_grant_is_refused(team: Tenant, values: dict[str, str], asked: str) -> None:
    client = browser()
    page = opened(client, f"{token_make(team, user_make(team), **values)}&provider={asked}")
    response = client.get(page)
    assert response.status_code == 404
    assert "That provider can&#x27;t be connected here" in response.content.decode()
    with team_scope(team.context):
        assert LinkSession.objects.get().asked_provider == ""
        assert OAuthState.objects.count() == 0


def test_a_wish_for_the_tokens_own_provider_is_granted(team: Tenant) -> None:
    client = browser()
    page = opened(client, f"{token_make(team, user_make(team), provider='oura')}&provider=oura")
    assert page.endswith("/provider/oura/continue")


def test_opening_consumes_nothing(team: Tenant) -> None:
    """Messengers open links to draw a picture of them."""
    link = token_make(team, user_make(team))
    for _ in range(3):
        client = browser()
        assert client.get(opened(client, link)).status_code == 200


def test_what_is_unticked_is_not_asked_for(team: Tenant) -> None:
    client, page = _page(team)
    consent = f"{page}/provider/oura"
    names = re.findall(r'name="keep" value="(\w+)"', client.get(consent).content.decode())
    kept = [name for name in names if name != "heartrate"]
    response = client.post(consent, {"keep": kept})
    assert (response.status_code, response["Location"]) == (303, f"{consent}/onward")
    onward = client.get(f"{consent}/onward").content.decode()
    assert f'content="0; url={consent}/continue"' in onward
    assert f'href="{consent}/continue"' in onward
    asked = query_of(client.get(f"{consent}/continue")["Location"])["scope"].split()
    assert "heartrate" not in asked
    assert {"daily", "workout", "personal"} <= set(asked)
    # What was left out stays so when the page is opened again.
    again = client.get(consent).content.decode()
    assert re.findall(r'value="(\w+)" checked', again) == kept


def test_leaving_out_everything_is_no_consent(team: Tenant) -> None:
    client, page = _page(team)
    response = client.post(f"{page}/provider/oura", {})
    body = told_by(client, response)
    assert "Leave at least one ticked" in body
    assert " checked" not in body
    again = client.get(f"{page}/provider/oura").content.decode()
    assert "Leave at least one ticked" not in again
    assert again.count(" checked") == again.count('type="checkbox"')
    with team_scope(team.context):
        assert LinkSession.objects.get().scopes_left_out == []


def test_what_was_left_out_at_one_provider_does_not_count_at_another(team: Tenant) -> None:
    client, page = _page(team)
    client.post(f"{page}/provider/oura", {"keep": ["sleep"]})
    with team_scope(team.context):
        assert LinkSession.objects.get().scopes_left_out
    withings = catalogue()["withings"]
    kept = [choice.name for choice in choices_of(withings)]
    client.post(f"{page}/provider/withings", {"keep": kept})
    asked = query_of(client.get(f"{page}/provider/withings/continue")["Location"])["scope"].split(",")
    assert set(asked) == set(withings.scopes)


def test_a_form_from_elsewhere_is_refused(team: Tenant) -> None:
    client = Client(enforce_csrf_checks=True)
    page = opened(client, token_make(team, user_make(team)))
    consent = f"{page}/provider/oura"
    refused = client.post(consent, {"keep": ["sleep"]})
    assert refused.status_code == 403
    assert "links/link.css" in refused.content.decode()
    assert f'href="{consent}">Open the page again' in refused.content.decode()
    body = client.get(consent).content.decode()
    token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', body)[0]
    assert client.post(consent, {"keep": ["sleep"], "csrfmiddlewaretoken": token}).status_code == 303
    foreign = {"HTTP_ORIGIN": "https://evil.example"}
    answer = client.post(consent, {"keep": ["sleep"], "csrfmiddlewaretoken": token}, **foreign)  # type: ignore[arg-type]
    assert answer.status_code == 403


def test_pages_with_forms_let_browsers_name_their_origin(team: Tenant) -> None:
    client, page = _page(team)
    assert client.get(f"{page}/provider/oura")["Referrer-Policy"] == "same-origin"
    assert client.get(page)["Referrer-Policy"] == "no-referrer"


def test_choices_go_by_the_scopes_that_resources_share() -> None:
    choices = choices_of(catalogue()["oura"])
    by_name = {choice.name: choice for choice in choices}
    assert by_name["sleep"].scopes == ("daily",)
    assert [one.words.title for one in by_name["sleep"].resources][:2] == ["Sleep", "Sleep stages"]
    assert by_name["profile"].fixed
    everything = set(by_name)
    assert scopes_left_out(choices, everything) == []
    assert scopes_left_out(choices, everything - {"workouts"}) == ["workout"]
    assert not is_something(choices, {"profile"})
    assert is_something(choices, {"workouts"})
