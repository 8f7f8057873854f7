"""The staff's lists of people and of the audit trail in a real browser: seen whole on a telephone and a desk."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ViewportSize
from pytest_django.live_server_helper import LiveServer

from management.models import StaffUser
from tests.factories import Tenant, user_make
from tests.links.browsing import chromium, fits
from tests.management.trailing import recorded, sealed_here
from tests.users.erasing import deleted, erased
from tests.users.exporting import asked

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

SIZES: list[ViewportSize] = [{"width": 390, "height": 844}, {"width": 1280, "height": 900}]
LISTS = ["management/accessrecord", "management/accessseal", "users/user", "users/erasure", "users/export"]


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    """The machine's Chromium. Playwright keeps an event loop in this thread, which Django has to be told of."""
    with pytest.MonkeyPatch.context() as patch, chromium() as running:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield running


def test_lists_are_seen_whole_and_the_receipt_too(chrome: Browser, live_server: LiveServer, team: Tenant) -> None:
    user = user_make(team, client_user_id="a-rather-long-name-of-the-customers-own-for-somebody@acme.example")
    recorded(team, 3, action="GET /v2/summary/sleep/{user_id}/raw", ids={"user_id": str(user.pk)}, status_code=200)
    sealed_here()
    asked(team, user.pk)
    deleted(team, user_make(team).id)
    erasure = erased(team, user_make(team).id)
    StaffUser.objects.create_superuser(username="ada", email="", password="correct horse battery")
    with chrome.new_context() as context:
        page = context.new_page()
        page.goto(f"{live_server.url}/admin/login/")
        page.get_by_label("Username").fill("ada")
        page.get_by_label("Password").fill("correct horse battery")
        page.get_by_role("button", name="Log in").click()
        for size in SIZES:
            page.set_viewport_size(size)
            for name in LISTS:
                page.goto(f"{live_server.url}/admin/{name}/")
                cells = page.locator("#result_list tbody tr").first.locator("td, th")
                for place in range(cells.count()):
                    box = cells.nth(place).bounding_box()
                    assert box is not None
                    assert box["x"] + box["width"] <= size["width"], (name, size, place)
                assert fits(page), (name, size)
            page.goto(f"{live_server.url}/admin/users/erasure/{erasure.pk}/change/")
            assert fits(page), size
            for text in page.locator(".readonly pre, .readonly .whole").all():
                assert text.evaluate("one => one.scrollWidth <= one.clientWidth || one.clientWidth === 0"), size
        with page.expect_download() as downloading:
            page.get_by_role("button", name="Download the receipt").click()
        assert downloading.value.suggested_filename == f"erasure_receipt_{erasure.pk}.json"
