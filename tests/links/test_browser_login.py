"""Password, code and e-mail forms in a real browser without JavaScript, and the pages in a customer's frame."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from healthsvc.kernel.scope import team_scope
from links.models import Connection
from management.services import team_logo_set
from tests.factories import Tenant, user_make
from tests.links.browsing import customer_site, fits, sign_in
from tests.links.linking import query_of, token_make
from tests.links.pictures import png
from tests.links.test_pages import settings_make
from users.models import User

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

_FORM = {"provider": "abbott_libreview"}
_LIBREVIEW = re.compile("^LibreView")


@pytest.fixture
def user(team: Tenant) -> User:
    """Who connects."""
    return user_make(team, client_user_id="ada")


@pytest.fixture
def page(phone: BrowserContext) -> Iterator[Page]:
    """A page of the small telephone, on which the browser refuses nothing."""
    opened = phone.new_page()
    refused: list[str] = []
    opened.on("console", lambda message: refused.append(message.text))
    yield opened
    assert [text for text in refused if "Content Security" in text or "frame" in text] == []


def log_in(page: Page, who: str, *, right: bool = True) -> None:
    """Fill in LibreView's form and send it."""
    page.get_by_label("E-mail").fill(f"{who}@example.com")
    page.get_by_label("Password").fill("simulator" if right else "wrong")
    page.get_by_label("Region").select_option("Germany")
    page.get_by_role("button", name="Connect LibreView").click()


def test_wrong_then_right_and_home(page: Page, served: str, team: Tenant, user: User) -> None:
    with customer_site() as home:
        page.goto(served + token_make(team, user, redirect_url=f"{home}/done"))
        page.get_by_role("link", name=_LIBREVIEW).click()
        page.get_by_role("link", name="Continue").click()
        log_in(page, "ada", right=False)
        expect(page.get_by_role("alert")).to_contain_text("LibreView does not know this name and password")
        expect(page.get_by_label("E-mail")).to_have_value("ada@example.com")
        expect(page.get_by_label("Password")).to_have_value("")
        assert fits(page)
        log_in(page, "ada")
        expect(page.get_by_role("heading", level=1)).to_have_text("Back home")
        assert page.url == f"{home}/done?state=success"
    with team_scope(team.context):
        assert Connection.objects.get().region == "de"


def test_the_way_back_after_a_mistake_sends_nothing_again(page: Page, served: str, team: Tenant, user: User) -> None:
    page.goto(served + token_make(team, user))
    page.get_by_role("link", name=_LIBREVIEW).click()
    page.get_by_role("link", name="Continue").click()
    log_in(page, "ada", right=False)
    expect(page.get_by_role("alert")).to_contain_text("does not know this name")
    log_in(page, "ada")
    expect(page.get_by_role("heading", level=1)).to_have_text("LibreView is connected")
    for _ in range(2):
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("LibreView is connected")


def test_a_link_that_was_used_leaves_no_token_in_the_address_bar(
    page: Page, served: str, team: Tenant, user: User
) -> None:
    link = served + token_make(team, user, **_FORM)
    page.goto(link)
    log_in(page, "ada")
    expect(page.get_by_role("heading", level=1)).to_have_text("LibreView is connected")
    page.goto(link)
    expect(page.get_by_role("heading", level=1)).to_have_text("This link was used already")
    assert "token=" not in page.url
    assert fits(page)


def test_a_long_name_beside_a_logo_takes_two_lines(page: Page, served: str, team: Tenant, user: User) -> None:
    settings_make(team, company_name="The Institute of Health and Wellbeing International Research Association")
    team_logo_set(team=team.context, content=png(120, 40))
    page.goto(served + token_make(team, user))
    name = page.locator(".team span").bounding_box()
    assert name is not None
    assert name["height"] < 50
    assert fits(page)


def test_failures_go_home_where_the_customer_wants_them(page: Page, served: str, team: Tenant, user: User) -> None:
    with customer_site() as home:
        page.goto(served + token_make(team, user, redirect_url=home, on_error="redirect", **_FORM))
        log_in(page, "expired-password")
        expect(page.get_by_role("heading", level=1)).to_have_text("Back home")
        assert query_of(page.url)["error_type"] == "provider_password_expired"


@pytest.mark.parametrize(("who", "told"), [("mfa-sms", "text message"), ("mfa-email", "e-mail")])
def test_a_code_wrong_then_right(page: Page, served: str, team: Tenant, user: User, who: str, told: str) -> None:
    page.goto(served + token_make(team, user, **_FORM))
    log_in(page, who)
    expect(page.get_by_text(f"LibreView sent it by {told}")).to_be_visible()
    page.get_by_label("Code").fill("000000")
    page.get_by_role("button", name="Connect").click()
    expect(page.get_by_role("alert")).to_contain_text("That is not the code")
    assert fits(page)
    page.get_by_label("Code").fill("123 456")
    page.get_by_role("button", name="Connect").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("LibreView is connected")


def test_an_address_that_shares_and_one_that_does_not(page: Page, served: str, team: Tenant, user: User) -> None:
    page.goto(served + token_make(team, user, provider="freestyle_libre"))
    for who, done in (("not-shared", False), ("ada", True)):
        page.get_by_label("E-mail").fill(f"{who}@example.com")
        page.get_by_label("Region").select_option("United States")
        page.get_by_role("button", name="Connect").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(
            "FreeStyle Libre is connected" if done else "Log in to FreeStyle Libre"
        )


def test_close_in_the_middle_of_a_form(page: Page, served: str, team: Tenant, user: User) -> None:
    with customer_site() as home:
        page.goto(served + token_make(team, user, redirect_url=home, on_close="redirect", **_FORM))
        log_in(page, "mfa-sms")
        page.get_by_role("link", name="Close").click()
        assert query_of(page.url)["error_type"] == "user_cancelled"


def test_an_allowed_site_frames_the_whole_of_it(chrome: Browser, served: str, team: Tenant, user: User) -> None:
    page = chrome.new_page()
    with customer_site() as home:
        origin = home.replace("127.0.0.1", "localhost")
        settings_make(team, link_frame_origins=[origin])
        page.goto(f"{origin}/?frame={served}{token_make(team, user).replace('?', '%3F')}")
        frame = page.frame_locator("iframe")
        frame.get_by_role("link", name=_LIBREVIEW).click()
        frame.get_by_role("link", name="Continue").click()
        frame.get_by_label("E-mail").fill("ada@example.com")
        frame.get_by_label("Password").fill("wrong")
        frame.get_by_label("Region").select_option("Germany")
        frame.get_by_role("button", name="Connect").click()
        expect(frame.get_by_role("alert")).to_contain_text("does not know this name")
        frame.get_by_role("link", name="All providers").click()
        frame.get_by_role("link", name="Oura").click()
        frame.get_by_role("button", name="Continue").click()
        with page.expect_popup() as popup:
            frame.get_by_role("link", name="Continue to Oura (opens a new tab)").click()
        sign_in(popup.value)
        expect(popup.value.get_by_role("heading", level=1)).to_have_text("Oura is connected")
    page.close()


def test_any_other_site_frames_nothing(chrome: Browser, served: str, team: Tenant, user: User) -> None:
    page = chrome.new_page()
    with customer_site() as home:
        settings_make(team, link_frame_origins=["https://app.example"])
        with page.expect_event("console", lambda message: "frame-ancestors" in message.text):
            page.goto(f"{home}/?frame={served}{token_make(team, user).replace('?', '%3F')}")
        expect(page.frame_locator("iframe").get_by_role("heading")).to_have_count(0)
    page.close()
