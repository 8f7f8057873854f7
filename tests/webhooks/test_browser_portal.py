"""The portal in a real browser: a link is opened, an endpoint is made, sees its event arrive, and is enabled again."""

from collections.abc import Iterator
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize, expect

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from tests.factories import Tenant
from tests.links.browsing import PHONE, fits
from tests.webhooks.conftest import emit, endpoint_make, pump
from tests.webhooks.portal_visiting import link_make
from tests.webhooks.receiving import Answer, Receiver
from webhooks.models import Endpoint

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

SMARTPHONE: ViewportSize = {"width": 390, "height": 844}
DESKTOP: ViewportSize = {"width": 1280, "height": 800}


@pytest.fixture(params=[SMARTPHONE, DESKTOP], ids=["phone", "desktop"])
def plain(chrome: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A browser without JavaScript."""
    context = chrome.new_context(viewport=request.param, java_script_enabled=False)
    context.set_default_timeout(10_000)
    yield context.new_page()
    context.close()


def headed(page: Page, words: str) -> None:
    """The page is the one with this heading, and nothing sticks out of it."""
    expect(page.get_by_role("heading", level=1)).to_have_text(words)


def test_a_link_is_opened_by_a_person_and_leaves_no_trace(chrome: Browser, served: str, team: Tenant) -> None:
    page = chrome.new_page(viewport=SMARTPHONE)
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    link = link_make(team)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.headers.get("referer", "")))
    page.goto(served + link)
    # Whoever only looks, and be it with a browser, opens nothing.
    page.wait_for_load_state("networkidle")
    headed(page, "Webhooks of Our team")
    page.get_by_role("button", name="Open the webhooks").click()
    page.wait_for_url(f"{served}/portal/")
    headed(page, "Endpoints")
    assert page.evaluate("document.cookie") == ""
    assert not any("token" in referer for referer in asked)
    # The way back to a link that was used leads on to what it opened, and the token is not on it.
    page.go_back()
    page.wait_for_url(f"{served}/portal/")
    page.goto(f"{served}/portal/open")
    headed(page, "Endpoints")
    page.get_by_role("button", name="Sign out").click()
    headed(page, "You are signed out")
    page.goto(f"{served}/portal/")
    headed(page, "This link has ended")
    page.goto(served + link)
    headed(page, "This link has ended")
    assert [text for text in told if "401" not in text and "410" not in text] == []
    page.close()


def test_an_endpoint_from_nothing_to_its_first_event(plain: Page, served: str, team: Tenant, hook: Receiver) -> None:
    plain.goto(served + link_make(team))
    headed(plain, "Webhooks of Our team")
    plain.get_by_role("button", name="Open").click()
    headed(plain, "Endpoints")
    plain.get_by_role("link", name="Add an endpoint").click()
    plain.get_by_label("Address").fill("http://example.com/hook")
    plain.get_by_label("Description").fill("Ours")
    # Enter saves, though a search comes first on the page.
    plain.get_by_label("Description").press("Enter")
    expect(plain.locator("#url-error")).to_have_text("Must begin with https://.")
    plain.get_by_label("Address").fill(f"{hook.url}/hook")
    plain.get_by_label("Only those ticked below").check()
    plain.get_by_label("Find event types").fill("sleep")
    plain.get_by_label("Find event types").press("Enter")
    expect(plain.locator(".count")).to_contain_text("event types with “sleep”")
    expect(plain.get_by_label("Address")).to_have_value(f"{hook.url}/hook")
    plain.get_by_label("sleep", exact=True).check()
    assert fits(plain)
    plain.get_by_role("button", name="Add the endpoint").click()
    headed(plain, f"{hook.url}/hook")
    with team_scope(team.context):
        assert Endpoint.objects.get().filter_types == ["daily.data.sleep"]
    plain.get_by_role("link", name="Send an event now").click()
    plain.get_by_label("Event type").select_option("daily.data.sleep.created")
    plain.get_by_role("button", name="Show its sample").click()
    plain.get_by_role("button", name="Send daily.data.sleep.created").click()
    expect(plain.get_by_role("heading", name="On its way…")).to_be_visible()
    pump()
    # The page looks again by itself.
    expect(plain.get_by_role("heading", name="It was sent")).to_be_visible()
    plain.get_by_role("link", name="daily.data.sleep.created").click()
    assert [request.path for request in hook.received] == ["/hook"]
    assert fits(plain)


def test_an_endpoint_is_enabled_after_its_failures(plain: Page, served: str, team: Tenant, hook: Receiver) -> None:
    endpoint_make(team, f"{hook.url}/hook")
    hook.answers = [Answer(410)]
    emit(team)
    pump()
    plain.goto(served + link_make(team))
    plain.get_by_role("button", name="Open").click()
    expect(plain.locator(".card .tag")).to_have_text("Disabled")
    plain.get_by_role("link", name=f"{hook.url}/hook").click()
    expect(plain.locator("main")).to_contain_text("It answered 410 Gone")
    plain.get_by_role("button", name="Enable it").click()
    expect(plain.get_by_role("status")).to_have_text("The endpoint is enabled again.")
    with team_scope(team.context):
        assert not Endpoint.objects.get().disabled


class _Everyone:
    """Holds each page against axe, and against the smallest screen."""

    def __init__(self, page: Page, served: str) -> None:
        self.page = page
        self.served = served

    def check(self, path: str, heading: str, *, press: str = "") -> None:
        if path:
            self.page.goto(self.served + path)
        if press:
            self.page.get_by_role("button", name=press, exact=True).click()
        headed(self.page, heading)
        results = Axe().run(self.page)
        assert results.violations_count == 0, f"{heading}: {results.generate_report()}"
        self.page.set_viewport_size(PHONE)
        assert fits(self.page), heading
        self.page.set_viewport_size(DESKTOP)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_for_everyone(
    chrome: Browser, served: str, team: Tenant, hook: Receiver, scheme: Literal["light", "dark"]
) -> None:
    page = chrome.new_page(color_scheme=scheme, viewport=DESKTOP)
    everyone = _Everyone(page, served)
    everyone.check("/portal/", "This link has ended")
    page.goto(served + link_make(team))
    page.get_by_role("button", name="Open").click()
    page.wait_for_url(f"{served}/portal/")
    everyone.check("", "Endpoints")
    url = "https://example.com/" + "a-long-path/" * 20
    endpoint = endpoint_make(team, url, description="Ours " * 40, filter_types=["daily.data.sleep", "provider"])
    ours = endpoint_make(team, f"{hook.url}/hook")
    hook.answers = [Answer(500, body=b"failed")]
    emit(team, "provider.connection.created")
    pump()
    with team_scope(team.context):
        Endpoint.objects.filter(pk=endpoint.pk).update(
            disabled=True, disabled_reason="failing", disabled_at=clock.now()
        )
    everyone.check("/portal/", "Endpoints")
    everyone.check(f"/portal/endpoint/{endpoint.id}", url)
    everyone.check(f"/portal/endpoint/{ours.id}", f"{hook.url}/hook")
    everyone.check("/portal/endpoint/new", "Add an endpoint")
    everyone.check("", "Add an endpoint", press="Add the endpoint")
    at = f"/portal/endpoint/{ours.id}"
    everyone.check(f"/portal/endpoint/{endpoint.id}/edit", "Edit the endpoint")
    everyone.check(f"/portal/endpoint/{endpoint.id}/edit?search=sleep", "Edit the endpoint")
    everyone.check(f"{at}/headers", "Custom headers")
    page.get_by_label("Value").first.fill("1")
    everyone.check("", "Custom headers", press="Save")
    everyone.check(f"{at}/secret", "The secret of this endpoint")
    everyone.check("", "The secret of this endpoint", press="Show the secret")
    everyone.check(f"{at}/secret/rotate", "Replace the secret")
    page.get_by_label("A secret of your own").fill("short")
    everyone.check("", "Replace the secret", press="Replace it")
    everyone.check(f"{at}/delete", "Delete this endpoint?")
    everyone.check(f"{at}/send", "Send an event now")
    everyone.check(f"{at}/send?event_type=daily.data.electrocardiogram_voltage.updated", "Send an event now")
    everyone.check(f"{at}x", "Something went wrong")
    everyone.check("/portal/endpoint/00000000-0000-4000-8000-000000000000", "Not found")
    page.close()


def test_by_keyboard_alone(chrome: Browser, served: str, team: Tenant) -> None:
    page = chrome.new_page(viewport=DESKTOP)
    page.goto(served + link_make(team))
    page.get_by_role("button", name="Open").click()
    page.wait_for_url(f"{served}/portal/")
    for words in ("Skip to content", "Sign out", "Endpoints", "Messages"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent.trim()").startswith(words)
        assert page.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"
    page.close()
