"""The hosted pages in a real browser: by mouse and by keyboard, without JavaScript, on a small telephone, for all."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from healthsvc.kernel.scope import team_scope
from links.models import Connection
from tests.factories import Tenant, user_make
from tests.links.browsing import chromium, customer_site
from tests.links.linking import query_of, token_make
from tests.links.simulators import Simulator
from users.models import User

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

_PHONE = {"width": 320, "height": 640}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The machine's Chromium. Playwright keeps an event loop in this thread, which Django has to be told of."""
    with pytest.MonkeyPatch.context() as patch, chromium() as running:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield running


@pytest.fixture(autouse=True)
def _here(live_server: LiveServer, simulator: Simulator, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.BASE_URL = live_server.url
    # Playwright keeps an event loop in this thread; the database is still used by one caller at a time.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")


@pytest.fixture
def user(team: Tenant) -> User:
    """Who connects."""
    return user_make(team, client_user_id="ada")


@pytest.fixture
def phone(browser: Browser) -> Iterator[BrowserContext]:
    """A small telephone with JavaScript switched off."""
    context = browser.new_context(viewport=_PHONE, java_script_enabled=False, is_mobile=True, has_touch=True)  # type: ignore[arg-type]
    context.set_default_timeout(10_000)
    yield context
    context.close()


def sign_in(page: Page, *, allow: bool = True) -> None:
    """Log in and decide at the simulated vendor."""
    page.get_by_label("E-mail").fill("ada@example.com")
    page.get_by_label("Password").fill("simulator")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name="Allow" if allow else "Deny").click()


def fits(page: Page) -> bool:
    """Whether nothing sticks out sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


@pytest.mark.parametrize("slug", ["oura", "withings"])
def test_a_person_connects_and_comes_back(
    phone: BrowserContext, live_server: LiveServer, team: Tenant, user: User, slug: str
) -> None:
    page = phone.new_page()
    failed: list[str] = []
    page.on("console", lambda message: failed.append(message.text))
    with customer_site() as home:
        page.goto(live_server.url + token_make(team, user, redirect_url=f"{home}/done"))
        expect(page.get_by_role("heading", level=1)).to_have_text("Choose what to connect")
        assert "token" not in page.url
        assert fits(page)
        page.get_by_role("link", name=slug.title()).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Connect {slug.title()}")
        assert fits(page)
        page.get_by_role("link", name="Continue").click()
        sign_in(page)
        expect(page.get_by_role("heading", level=1)).to_have_text("Back home")
        assert page.url == f"{home}/done?state=success"
    assert failed == []
    with team_scope(team.context):
        assert Connection.objects.get().provider == slug


def test_denial_and_another_try(phone: BrowserContext, live_server: LiveServer, team: Tenant, user: User) -> None:
    page = phone.new_page()
    page.goto(live_server.url + token_make(team, user, filter_on_providers=["oura"]))
    page.get_by_role("link", name="Oura").click()
    page.get_by_role("link", name="Continue").click()
    sign_in(page, allow=False)
    expect(page.get_by_role("heading", level=1)).to_have_text("Oura was not connected")
    page.get_by_role("link", name="Try again").click()
    sign_in(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Oura is connected")
    assert "code=" not in page.url
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Oura is connected")


def test_a_token_for_one_provider_starts_at_its_login(
    phone: BrowserContext, live_server: LiveServer, team: Tenant, user: User, simulator: Simulator
) -> None:
    page = phone.new_page()
    with customer_site() as home:
        page.goto(live_server.url + token_make(team, user, provider="withings", redirect_url=home))
        assert page.url.startswith(f"{simulator.url}/withings/oauth/authorize")
        sign_in(page, allow=False)
        query = query_of(page.url)
    assert (query["state"], query["error_type"]) == ("error", "user_cancelled")


def test_close_leads_home(phone: BrowserContext, live_server: LiveServer, team: Tenant, user: User) -> None:
    page = phone.new_page()
    with customer_site() as home:
        page.goto(live_server.url + token_make(team, user, redirect_url=home, on_close="redirect"))
        page.get_by_role("link", name="Close").click()
        assert query_of(page.url)["error_type"] == "user_cancelled"


def test_by_keyboard_alone(browser: Browser, live_server: LiveServer, team: Tenant, user: User) -> None:
    page = browser.new_page()
    page.goto(live_server.url + token_make(team, user))
    for words in ("Skip to content", "Close", "Oura", "Withings"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent.trim()").startswith(words)
        assert page.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Connect Oura")
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_for_everyone(
    browser: Browser, live_server: LiveServer, team: Tenant, user: User, scheme: str
) -> None:
    page = browser.new_page(color_scheme=scheme)  # type: ignore[arg-type]
    link = live_server.url + token_make(team, user)

    def check(heading: str) -> None:
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        results = Axe().run(page)
        assert results.violations_count == 0, f"{heading}: {results.generate_report()}"
        page.set_viewport_size(_PHONE)  # type: ignore[arg-type]
        assert fits(page), heading
        page.set_viewport_size({"width": 1280, "height": 800})

    page.goto(link)
    session = page.url
    check("Choose what to connect")
    page.goto(f"{session}/provider/oura")
    check("Connect Oura")
    page.goto(f"{session}/provider/strava")
    check("That provider can't be connected here")
    page.goto(f"{session}/close")
    check("All done here")
    page.goto(f"{session}/provider/oura/continue")
    sign_in(page, allow=False)
    check("Oura was not connected")
    page.goto(f"{session}/provider/oura/continue")
    sign_in(page)
    check("Oura is connected")
    page.goto(link)
    check("This link was used already")
    page.goto(f"{live_server.url}/link/open?token=nonsense")
    check("This link doesn't work here")
    page.close()
