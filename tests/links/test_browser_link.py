"""The hosted pages in a real browser: by mouse and by keyboard, without JavaScript, on a small telephone, for all."""

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.models import Connection, LinkToken
from management.services import team_logo_set
from tests.factories import Tenant, user_make
from tests.links.browsing import PHONE, customer_site, fits, sign_in
from tests.links.linking import query_of, token_make
from tests.links.pictures import png
from tests.links.simulators import Simulator
from tests.links.test_pages import settings_make
from users.models import User

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def user(team: Tenant) -> User:
    """Who connects."""
    return user_make(team, client_user_id="ada")


@pytest.mark.parametrize("slug", ["oura", "withings"])
def test_a_person_connects_and_comes_back(
    phone: BrowserContext, served: str, team: Tenant, user: User, slug: str
) -> None:
    page = phone.new_page()
    failed: list[str] = []
    page.on("console", lambda message: failed.append(message.text))
    with customer_site() as home:
        page.goto(served + token_make(team, user, redirect_url=f"{home}/done"))
        expect(page.get_by_role("heading", level=1)).to_have_text("Choose what to connect")
        assert "token" not in page.url
        assert fits(page)
        page.get_by_role("link", name=slug.title()).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Connect {slug.title()}")
        assert fits(page)
        page.get_by_role("button", name="Continue").click()
        sign_in(page)
        expect(page.get_by_role("heading", level=1)).to_have_text("Back home")
        assert page.url == f"{home}/done?state=success"
    assert failed == []
    with team_scope(team.context):
        assert Connection.objects.get().provider == slug


def test_denial_and_another_try(phone: BrowserContext, served: str, team: Tenant, user: User) -> None:
    page = phone.new_page()
    page.goto(served + token_make(team, user, filter_on_providers=["oura"]))
    page.get_by_role("link", name="Oura").click()
    page.get_by_role("button", name="Continue").click()
    sign_in(page, allow=False)
    expect(page.get_by_role("heading", level=1)).to_have_text("Oura was not connected")
    page.get_by_role("link", name="Try again").click()
    sign_in(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Oura is connected")
    assert "code=" not in page.url
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Oura is connected")


def test_a_token_for_one_provider_starts_at_its_login(
    phone: BrowserContext, served: str, team: Tenant, user: User, simulator: Simulator
) -> None:
    page = phone.new_page()
    with customer_site() as home:
        page.goto(served + token_make(team, user, provider="withings", redirect_url=home))
        assert page.url.startswith(f"{simulator.url}/withings/oauth/authorize")
        sign_in(page, allow=False)
        query = query_of(page.url)
    assert (query["state"], query["error_type"]) == ("error", "user_cancelled")


def test_close_leads_home(phone: BrowserContext, served: str, team: Tenant, user: User) -> None:
    page = phone.new_page()
    with customer_site() as home:
        page.goto(served + token_make(team, user, redirect_url=home, on_close="redirect"))
        page.get_by_role("link", name="Close").click()
        assert query_of(page.url)["error_type"] == "user_cancelled"


def test_an_unticked_part_is_not_asked_for(phone: BrowserContext, served: str, team: Tenant, user: User) -> None:
    page = phone.new_page()
    page.goto(served + token_make(team, user, filter_on_providers=["oura"]))
    page.get_by_role("link", name="Oura").click()
    for box in page.get_by_role("checkbox").all():
        box.uncheck()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("alert")).to_have_text("Leave at least one ticked, or choose Not now.")
    page.get_by_role("checkbox", name="Workouts").check()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_label("E-mail")).to_be_visible()
    sign_in(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Oura is connected")
    with team_scope(team.context):
        found = Connection.objects.get()
    assert set(found.scopes_granted) == {"personal", "workout"}


def test_search_finds_and_forgets(phone: BrowserContext, served: str, team: Tenant, user: User) -> None:
    page = phone.new_page()
    page.goto(served + token_make(team, user))
    page.get_by_role("searchbox").fill("zzzz")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_text("Nothing here is called that")).to_be_visible()
    page.get_by_role("link", name="Show all", exact=True).click()
    page.get_by_role("searchbox").fill("withings")
    page.get_by_role("button", name="Search").click()
    assert page.url.endswith("?q=withings")
    expect(page.locator("a.provider")).to_have_count(1)


def test_an_expired_link_leads_back(phone: BrowserContext, served: str, team: Tenant, user: User) -> None:
    page = phone.new_page()
    with customer_site() as home:
        link = served + token_make(team, user, redirect_url=home)
        page.goto(link)
        with team_scope(team.context):
            LinkToken.objects.update(expires_at=clock.now())
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_have_text("This link has expired")
        page.get_by_role("link", name="Return to Our team").click()
        assert query_of(page.url)["error_type"] == "token_expired"


def test_only_what_the_token_allows_is_listed(phone: BrowserContext, served: str, team: Tenant, user: User) -> None:
    page = phone.new_page()
    page.goto(served + token_make(team, user, filter_on_providers=["withings", "eight_sleep"]))
    expect(page.locator("a.provider .provider-name")).to_have_text(["Withings", "Eight Sleep"])
    # A widget that asks for another one gets it.
    page.goto(served + token_make(team, user, filter_on_providers=["withings"]) + "&provider=oura")
    expect(page.get_by_label("E-mail")).to_be_visible()


def test_by_keyboard_alone(chrome: Browser, served: str, team: Tenant, user: User) -> None:
    page = chrome.new_page()
    page.goto(served + token_make(team, user))
    for words in ("Skip to content", "Close", "", "Search", "Oura"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent.trim()").startswith(words)
        assert page.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Connect Oura")
    page.close()


class _Everyone:
    """Holds each page against axe, and against the smallest screen."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def check(self, heading: str) -> None:
        expect(self.page.get_by_role("heading", level=1)).to_have_text(heading)
        results = Axe().run(self.page)
        assert results.violations_count == 0, f"{heading}: {results.generate_report()}"
        self.page.set_viewport_size(PHONE)
        assert fits(self.page), heading
        self.page.set_viewport_size({"width": 1280, "height": 800})

    def log_in(self, who: str) -> None:
        self.page.get_by_label("E-mail").fill(f"{who}@example.com")
        self.page.get_by_label("Password").fill("simulator")
        self.page.get_by_label("Region").select_option("Europe")
        self.page.get_by_role("button", name="Connect").click()


@pytest.mark.parametrize(("scheme", "color"), [("light", "#ffe600"), ("dark", "#1b1464")])
def test_every_page_is_for_everyone(
    chrome: Browser, served: str, team: Tenant, user: User, scheme: Literal["light", "dark"], color: str
) -> None:
    settings_make(team, brand_color=color, link_providers=["oura", "abbott_libreview", "apple_health_kit"])
    team_logo_set(team=team.context, content=png(160, 60))
    page = chrome.new_page(color_scheme=scheme)
    everyone = _Everyone(page)
    page.goto(served + token_make(team, user))
    session = page.url
    everyone.check("Choose what to connect")
    page.goto(f"{session}?q=zzzz")
    everyone.check("Choose what to connect")
    page.goto(f"{session}/provider/strava")
    everyone.check("That provider can't be connected here")
    page.goto(f"{session}/provider/apple_health_kit")
    everyone.check("Connect Apple Health in the app")
    page.goto(f"{session}/close")
    everyone.check("Nothing was connected")
    page.goto(f"{session}/provider/abbott_libreview/login")
    page.get_by_role("button", name="Connect").click()
    everyone.check("Log in to LibreView")
    everyone.log_in("expired-password")
    everyone.check("Log in to LibreView")
    everyone.log_in("mfa-sms")
    page.get_by_label("Code").fill("000000")
    page.get_by_role("button", name="Connect").click()
    everyone.check("Type the code from LibreView")
    page.goto(f"{session}/provider/oura")
    everyone.check("Connect Oura")
    page.goto(f"{session}/provider/oura/continue")
    sign_in(page, allow=False)
    everyone.check("Oura was not connected")
    page.get_by_role("link", name="Try again").click()
    sign_in(page)
    everyone.check("Oura is connected")
    page.goto(f"{served}/link/open?token=nonsense")
    everyone.check("This link doesn't work here")
    page.goto(served + token_make(team, user))
    page.goto(f"{page.url}/provider/oura")
    page.context.clear_cookies(name="csrftoken")
    page.get_by_role("button", name="Continue").click()
    everyone.check("Something went wrong")
    page.get_by_role("link", name="Open the page again").click()
    everyone.check("Connect Oura")
    page.close()
