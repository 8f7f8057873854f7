"""The portal's logs, pictures and repairs in a real browser: on a telephone without a script, and for all."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Literal
from uuid import UUID

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope
from management.models import BackgroundJob
from tests.factories import Tenant, user_make
from tests.links.browsing import PHONE, fits
from tests.webhooks.conftest import attempts, deliveries, emit, endpoint_make, make_due, pump
from tests.webhooks.portal_visiting import link_make
from tests.webhooks.receiving import Answer, Receiver
from webhooks import services
from webhooks.models import Endpoint, Tally
from webhooks.states import DeliveryStatus

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

DESK: ViewportSize = {"width": 1280, "height": 900}
TYPE = "daily.data.sleep.created"
LONG_TYPE = "daily.data.electrocardiogram_voltage.updated"


@pytest.fixture
def failed(team: Tenant, endpoint: Endpoint, hook: Receiver) -> UUID:
    """A message of a user that the endpoint refused in every attempt, and many that it took."""
    user = user_make(team)
    hook.otherwise = Answer(500, body=b"the queue is full")
    event_id = emit(team, TYPE, user_id=user.id, channels=["provider.oura"])
    for _ in range(8):
        pump()
        make_due()
    hook.otherwise = Answer()
    for _ in range(4):
        emit(team, LONG_TYPE, user_id=user.id)
    pump()
    return event_id


@pytest.fixture(params=["phone", "desk"])
def page(request: pytest.FixtureRequest, chrome: Browser, served: str, team: Tenant) -> Iterator[Page]:
    """The portal, opened by its link: without a script, on a small telephone or at a desk."""
    size = PHONE if request.param == "phone" else DESK
    context = chrome.new_context(viewport=size, java_script_enabled=False, base_url=served)
    context.set_default_timeout(10_000)
    opened = context.new_page()
    opened.goto(link_make(team))
    opened.get_by_role("button", name="Open").click()
    yield opened
    context.close()


def heading(page: Page, text: str) -> None:
    """The page that is reached, and that nothing of it sticks out."""
    expect(page.get_by_role("heading", level=1)).to_have_text(text)
    assert fits(page)


def test_a_failed_message_is_found_and_sent_again(page: Page, endpoint: Endpoint, failed: UUID) -> None:
    page.get_by_role("link", name="Messages").click()
    heading(page, "Messages")
    page.get_by_text("Filter", exact=True).click()
    page.get_by_label("What became of it").select_option("Failed somewhere")
    page.get_by_label("Event type").fill("daily.data")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="Last hour").click()
    assert {"outcome=failed", "event_type=daily.data", "last=1h"} == set(page.url.partition("?")[2].split("&"))
    page.get_by_role("main").get_by_role("link", name=TYPE).click()
    heading(page, TYPE)
    assert page.locator("ul.log a[href*='/attempt/']").count() == 8
    page.locator("ul.log a[href*='/attempt/']").first.click()
    heading(page, "The receiver failed")
    expect(page.get_by_label("Beginning of the answer")).to_have_text("the queue is full")
    page.get_by_role("button", name="Send again").click()
    expect(page.get_by_role("status")).to_contain_text("on its way again")
    pump()
    page.reload()
    expect(page.locator("ul.log .tag").first).to_have_text("Delivered")
    assert {one.status for one in deliveries()} >= {DeliveryStatus.DELIVERED}
    assert next(one for one in deliveries() if one.event_id == failed).status == DeliveryStatus.DELIVERED


def test_what_failed_is_recovered_on_a_page_that_looks_again_by_itself(
    page: Page, endpoint: Endpoint, failed: UUID
) -> None:
    page.goto(f"/portal/endpoint/{endpoint.id}/recover")
    heading(page, "Recover what failed")
    page.get_by_label("The last hour").check()
    page.get_by_role("button", name="Recover").click()
    heading(page, "Recovering what failed")
    expect(page.get_by_role("progressbar")).to_be_visible()
    with system_scope(SystemScope.DELIVERY):
        (job,) = BackgroundJob.objects.all()
    services.repair_run(job_id=job.pk)
    expect(page.get_by_text("1 message is on the way to the endpoint.")).to_be_visible()
    pump()
    page.get_by_role("link", name="See the attempts").click()
    heading(page, "Attempts")
    expect(page.locator("ul.log .tag").first).to_have_text("204")


def test_an_event_is_found_and_sent_by_keyboard(page: Page, hook: Receiver, endpoint: Endpoint) -> None:
    page.goto("/portal/event_types")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to content")
    page.get_by_label("Find an event type").focus()
    page.keyboard.type("sleep created")
    page.keyboard.press("Enter")
    page.get_by_role("main").get_by_role("link", name=TYPE, exact=True).focus()
    page.keyboard.press("Enter")
    heading(page, TYPE)
    page.get_by_role("button", name="Send one now").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("on its way")
    pump()
    assert len(hook.received) == 1


def test_event_types_are_a_screen_and_open_by_group(chrome: Browser, served: str, team: Tenant) -> None:
    context = chrome.new_context(viewport={"width": 390, "height": 844}, java_script_enabled=False, base_url=served)
    context.set_default_timeout(10_000)
    page = context.new_page()
    page.goto(link_make(team))
    page.get_by_role("button", name="Open").click()
    page.get_by_role("link", name="Event types").click()
    heading(page, "Event types")
    height = "document.documentElement.scrollHeight"
    assert page.evaluate(height) <= 1_000
    link = page.get_by_role("link", name=TYPE, exact=True)
    expect(link).to_be_hidden()
    page.get_by_text("Daily summaries").click()
    expect(link).to_be_visible()
    assert page.evaluate(height) <= 3_000
    page.get_by_label("Find an event type").fill("sleep")
    page.get_by_role("button", name="Search").click()
    expect(link).to_be_visible()
    link.click()
    heading(page, TYPE)
    context.close()


@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "light"), (DESK, "dark")], ids=["phone by day", "desk at night"])
def test_every_page_is_for_all(
    chrome: Browser,
    served: str,
    team: Tenant,
    endpoint: Endpoint,
    failed: UUID,
    size: ViewportSize,
    scheme: Literal["light", "dark"],
) -> None:
    tallies_make(team, endpoint)
    endpoint_make(team, "https://api.example.com/" + "a-very-long-path/" * 12, description="Second")
    context = chrome.new_context(viewport=size, color_scheme=scheme, base_url=served)
    context.set_default_timeout(10_000)
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.goto(link_make(team))
    page.get_by_role("button", name="Open").click()
    page.wait_for_url("**/portal/")
    refused = next(one for one in attempts() if one.status_code == 500)
    for address in (
        "/portal/messages",
        "/portal/messages?event_type=webhook",
        f"/portal/message/{failed}",
        f"/portal/endpoint/{endpoint.id}/attempts?outcome=failed",
        f"/portal/attempt/{refused.id}",
        "/portal/activity",
        f"/portal/endpoint/{endpoint.id}/activity?range=6h",
        f"/portal/endpoint/{endpoint.id}/recover",
        f"/portal/endpoint/{endpoint.id}/replay",
        "/portal/event_types",
        "/portal/event_types?q=electrocardiogram",
        f"/portal/event_type/{LONG_TYPE}",
    ):
        page.goto(address)
        page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
        assert fits(page), address
        found = Axe().run(page)
        assert found.violations_count == 0, f"{address}\n{found.generate_report()}"
    assert problems == []
    context.close()


def test_a_filter_that_is_wrong_and_a_repair_are_for_all(
    chrome: Browser, served: str, team: Tenant, endpoint: Endpoint
) -> None:
    context: BrowserContext = chrome.new_context(viewport=PHONE, base_url=served)
    page = context.new_page()
    page.goto(link_make(team))
    page.get_by_role("button", name="Open").click()
    page.wait_for_url("**/portal/")
    page.goto("/portal/messages?user_id=ada&after=never")
    assert Axe().run(page).violations_count == 0
    assert page.get_by_label("User id").get_attribute("aria-invalid") == "true"
    page.goto(f"/portal/endpoint/{endpoint.id}/replay")
    page.get_by_role("button", name="Replay").click()
    heading(page, "Replaying what was never sent")
    assert Axe().run(page).violations_count == 0
    context.close()


def tallies_make(team: Tenant, endpoint: Endpoint) -> None:
    """A day of attempts in spans of five minutes."""
    begin = clock.now().replace(minute=0, second=0, microsecond=0)
    with system_scope(SystemScope.DELIVERY):
        Tally.objects.bulk_create(
            Tally(
                **team_values(team.context),
                id=uuid_ordered(),
                endpoint=endpoint,
                span_at=begin - timedelta(minutes=5 * number),
                delivered=number * 17 % 400,
                failed=number % 7,
                duration_milliseconds=number * 17 % 400 * 90,
            )
            for number in range(24, 288)
        )


def test_labels_and_fields_of_a_filter_stand_in_rows(chrome: Browser, served: str, team: Tenant) -> None:
    page = chrome.new_page(viewport=DESK)
    page.goto(served + link_make(team))
    page.get_by_role("button", name="Open").click()
    page.goto(f"{served}/portal/messages?outcome=failed")
    tops = "labels => labels.slice(0, 4).map(one => Math.round(one.getBoundingClientRect().top))"
    for part in ("label", "input, .filter-fields select"):
        found = page.eval_on_selector_all(f".filter-fields {part}", tops)
        assert (len(found), len(set(found))) == (4, 1), part
    page.close()
