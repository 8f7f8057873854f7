"""The pages: a person logs in, chooses what to share, and goes back to the client with a code or an error."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.simulator.running import CALLBACK, Browser, RunningSimulator


def at_consent(simulator: RunningSimulator, slug: str = "oura", **query: str) -> Browser:
    browser = Browser(simulator.url)
    browser.begin(slug, **query)
    browser.log_in("ada@example.com")
    return browser


def test_allow_returns_to_the_client_with_code_and_state(simulator: RunningSimulator) -> None:
    browser = Browser(simulator.url)
    assert "Log in to Oura" in browser.begin("oura", state="a b&c=\"'<>").text
    assert "Share your data with 127.0.0.1:9?" in browser.log_in("ada@example.com").text
    answer = browser.submit(decision="allow")
    assert answer.status == 303
    assert answer.headers["location"].startswith(CALLBACK + "&code=")
    assert answer.location == {
        "tenant": "1",
        "code": answer.location["code"],
        "scope": "email personal daily heartrate workout",
        "state": "a b&c=\"'<>",
    }


def test_deny_returns_with_access_denied_and_no_code(simulator: RunningSimulator) -> None:
    answer = at_consent(simulator).submit(decision="deny")
    assert answer.location == {
        "tenant": "1",
        "error": "access_denied",
        "error_description": "The user denied the request.",
        "state": "s1",
    }


@pytest.mark.parametrize(("email", "password"), [("ada@example.com", "wrong"), ("ada", "simulator"), ("", "")])
def test_a_wrong_login_stays_on_the_page_and_can_be_mended(
    simulator: RunningSimulator, email: str, password: str
) -> None:
    browser = Browser(simulator.url)
    browser.begin("oura")
    failed = browser.log_in(email, password)
    assert (failed.status, "The e-mail address or the password is wrong." in failed.text) == (401, True)
    assert f'value="{email}"' in failed.text
    assert browser.log_in("ada@example.com").status == 200
    assert "code" in browser.submit(decision="allow").location


def test_unticked_scopes_are_not_granted(simulator: RunningSimulator) -> None:
    browser = at_consent(simulator)
    assert browser.submit(scopes=("daily",), decision="allow").location["scope"] == "daily"


def test_a_scope_that_was_not_asked_for_cannot_be_ticked(simulator: RunningSimulator) -> None:
    browser = at_consent(simulator, scope="daily")
    assert browser.submit(scopes=("daily", "heartrate"), decision="allow").location["scope"] == "daily"


def test_a_fixed_scope_cannot_be_unticked(simulator: RunningSimulator) -> None:
    browser = at_consent(simulator, "withings")
    assert browser.submit(scopes=("user.metrics",), decision="allow").location["scope"] == "user.info,user.metrics"


def test_allow_with_nothing_ticked_asks_again(simulator: RunningSimulator) -> None:
    browser = at_consent(simulator)
    assert "Tick at least one line, or choose Deny." in browser.submit(scopes=(), decision="allow").text
    assert browser.submit(scopes=("daily",), decision="allow").location["scope"] == "daily"


@pytest.mark.parametrize(
    "query",
    [
        {"client_id": ""},
        {"redirect_uri": ""},
        {"redirect_uri": "javascript:alert(1)"},
        {"redirect_uri": "/relative"},
        {"redirect_uri": "http://user@host/"},
        {"redirect_uri": "https://host/#fragment"},
        {"redirect_uri": "https://host/\r\nX: y"},
        {"redirect_uri": "http://[bad/"},
    ],
)
def test_nobody_is_redirected_where_nobody_vouches_for(simulator: RunningSimulator, query: dict[str, str]) -> None:
    answer = Browser(simulator.url).begin("oura", **query)
    assert (answer.status, "location" in answer.headers) == (400, False)


@pytest.mark.parametrize(
    ("slug", "query", "error"),
    [
        ("oura", {"response_type": "token"}, "unsupported_response_type"),
        ("oura", {"state": ""}, "invalid_request"),
        ("oura", {"scope": "daily everything"}, "invalid_scope"),
        ("polar", {"scope": 'a"b'}, "invalid_scope"),
        ("oura", {"code_challenge": "x" * 43, "code_challenge_method": "plain"}, "invalid_request"),
        ("oura", {"code_challenge": "short", "code_challenge_method": "S256"}, "invalid_request"),
        ("garmin", {}, "invalid_request"),
    ],
)
def test_a_wrong_request_goes_back_with_its_error(
    simulator: RunningSimulator, slug: str, query: dict[str, str], error: str
) -> None:
    answer = Browser(simulator.url).begin(slug, **query)
    assert answer.location["error"] == error
    assert answer.location.get("state") == (None if "state" in query else "s1")


def test_without_a_scope_everything_is_asked_for(simulator: RunningSimulator) -> None:
    text = at_consent(simulator, "withings", scope="").page.text
    assert re.findall(r'value="(user\.[a-z]+)"', text) == [
        "user.info",
        "user.metrics",
        "user.activity",
        "user.sleepevents",
    ]


def test_any_slug_has_a_login(simulator: RunningSimulator) -> None:
    browser = at_consent(simulator, "polar", scope="accesslink.read_all")
    assert "Polar" in browser.page.text
    assert browser.submit(decision="allow").location["scope"] == "accesslink.read_all"


def test_a_form_needs_its_own_token(simulator: RunningSimulator) -> None:
    browser = Browser(simulator.url)
    browser.begin("oura")
    form = browser.page
    assert browser.submit(email="ada@example.com", password="simulator", form_token="").status == 400
    browser.page = form
    assert browser.log_in("ada@example.com").status == 200
    consent = browser.page
    assert browser.submit(decision="allow", form_token="guess").status == 400
    browser.page = consent
    assert browser.submit(decision="allow").status == 303


def test_a_form_of_another_browser_is_refused(simulator: RunningSimulator) -> None:
    browser = at_consent(simulator)
    browser.cookies = {"simulator_browser": "somebody-else"}
    assert browser.submit(decision="allow").status == 400


def test_consent_before_login_is_refused(simulator: RunningSimulator) -> None:
    browser = Browser(simulator.url)
    page = browser.begin("oura")
    found = re.search(r'name="sign_in" value="([^"]+)"', page.text)
    assert found is not None
    assert browser.visit("GET", f"/oura/oauth/consent?sign_in={found.group(1)}").status == 400


def test_a_decision_is_taken_once(simulator: RunningSimulator) -> None:
    browser = at_consent(simulator)
    consent = browser.page
    assert browser.submit(decision="allow").status == 303
    browser.page = consent
    assert browser.submit(decision="allow").status == 400


def test_of_many_decisions_at_once_one_gets_a_code(simulator: RunningSimulator) -> None:
    browser = at_consent(simulator)

    def decide(_: int) -> int:
        tab = Browser(simulator.url)
        tab.cookies, tab.page = dict(browser.cookies), browser.page
        return tab.submit(decision="allow").status

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(decide, range(8))) == [303] + [400] * 7


def test_a_forgotten_login_page_expires(simulator: RunningSimulator) -> None:
    browser = Browser(simulator.url)
    browser.begin("oura")
    simulator.stop_clock("2026-11-01T13:00:01+00:00")
    assert browser.log_in("ada@example.com").status == 400


def test_two_tabs_of_one_browser_do_not_disturb_each_other(simulator: RunningSimulator) -> None:
    browser = Browser(simulator.url)
    first = browser.begin("oura", state="first")
    browser.begin("oura", state="second")
    browser.page = first
    browser.log_in("ada@example.com")
    assert browser.submit(decision="allow").location["state"] == "first"


def test_what_was_sent_in_is_shown_as_text(simulator: RunningSimulator) -> None:
    browser = Browser(simulator.url)
    page = browser.begin("polar", login_hint='"><script>x</script>', scope="<b>bold</b>")
    assert 'value="&quot;&gt;&lt;script&gt;x&lt;/script&gt;"' in page.text
    consent = browser.log_in("<i>@example.com")
    assert "<script>" not in page.text + consent.text
    assert "<i>" not in consent.text
    assert "<b>" not in consent.text
    assert browser.submit(decision="allow").location["scope"] == "<b>bold</b>"


def test_pages_allow_no_script_no_frame_and_no_cache(simulator: RunningSimulator) -> None:
    browser = Browser(simulator.url)
    login = browser.begin("oura")
    consent = browser.log_in("ada@example.com")
    style = re.search(r"style-src ('sha256-[^']+')", login.headers["content-security-policy"])
    assert style is not None
    shared = f"default-src 'none'; style-src {style.group(1)}; base-uri 'none'; frame-ancestors 'none'"
    assert login.headers["content-security-policy"] == shared + "; form-action 'self'"
    assert consent.headers["content-security-policy"] == shared
    for page in (login, consent):
        assert page.headers["x-frame-options"] == "DENY"
        assert page.headers["referrer-policy"] == "no-referrer"
        assert page.headers["cache-control"] == "no-store"
        assert "<script" not in page.text
    assert login.headers["set-cookie"].endswith("; Path=/oura/oauth; HttpOnly; SameSite=Lax")
