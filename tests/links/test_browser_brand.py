"""A team's own logo and footer in a real browser: on a small telephone and a desk, fetched from nowhere else."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Route, ViewportSize, expect

from tests.factories import Tenant, user_make
from tests.links.browsing import PHONE, fits
from tests.links.linking import token_make
from tests.links.pictures import png
from tests.links.test_pages import settings_make

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

DESK: ViewportSize = {"width": 1280, "height": 900}


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_the_footer_fits_and_the_logo_comes_from_the_one_place(
    chrome: Browser, served: str, team: Tenant, size: ViewportSize
) -> None:
    settings_make(
        team,
        company_name="Acme Health and Longevity Cooperative",
        brand_color="#7a1fa2",
        logo_url="https://cdn.acme.example/logo.png",
        company_website="https://www.acme.example/",
        support_email="a-rather-long-address-for-questions@support.acme.example",
        support_contact="+1 555 0100, on weekdays",
        company_address="1 Long Street, Suite 400, Springfield, IL 62701",
    )
    context = chrome.new_context(viewport=size)
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        assert "referer" not in route.request.headers
        route.fulfill(body=png(300, 80), content_type="image/png")

    context.route(re.compile("^https://"), answer)
    page = context.new_page()
    failed: list[str] = []
    page.on("console", lambda message: failed.append(message.text))
    page.goto(served + token_make(team, user_make(team), filter_on_providers=["oura"]))
    for _step in range(2):
        logo = page.locator(".team img")
        expect(logo).to_be_visible()
        assert logo.evaluate("image => image.naturalWidth") == 300
        assert fits(page)
        expect(page.get_by_role("link", name="a-rather-long-address")).to_be_visible()
        found = Axe().run(page).response["violations"]
        assert [one["id"] for one in found] == []
        if page.get_by_role("link", name="Oura").count():
            page.get_by_role("link", name="Oura").click()
    assert set(asked) == {"https://cdn.acme.example/logo.png"}
    assert failed == []
    context.close()
