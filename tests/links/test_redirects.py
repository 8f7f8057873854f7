"""Where a person may be sent: the rule, a team's allowlist, and how the outcome is written."""

import pytest

from links.redirects import redirect_allowed, redirect_problem, redirect_with


@pytest.mark.parametrize(
    "url",
    [
        "https://app.example/linked",
        "https://app.example:8443/linked?from=health&x=1#part",
        "http://localhost:3000/back",
        "http://127.0.0.1/back",
        "http://[::1]:9000/back",
        "myapp://linked",
        "com.example.app://oauth/back",
    ],
)
def test_addresses_a_person_may_be_sent_to(url: str) -> None:
    assert redirect_problem(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/relative",
        "//app.example/x",
        "app.example",
        "http://app.example/x",
        "http://localhost.evil.example/",
        "javascript:alert(1)",
        "javascript://%0aalert(1)",
        "JAVASCRIPT://x",
        "data:text/html,x",
        "data://x",
        "vbscript://x",
        "file:///etc/passwd",
        "blob:https://app.example/1",
        "intent://x#Intent;end",
        "view-source://x",
        "mailto:a@b.example",
        "myapp:linked",
        "https://user:secret@app.example/",
        "https://app.example\\@evil.example/",
        "https://app.example/a b",
        "https://app.example/\r\nSet-Cookie:x",
        "https://äpp.example/",
        "https://",
        "https://app.example:port/",
        "https://app.example/" + "x" * 2000,
    ],
)
def test_addresses_nobody_is_sent_to(url: str) -> None:
    assert redirect_problem(url) is not None


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://app.example/done", True),
        ("https://app.example/done/deep?x=1", True),
        ("https://APP.example/done", True),
        ("https://app.example/donezo", False),
        ("https://app.example/", False),
        ("https://app.example.evil.example/done", False),
        ("https://app.example:8443/done", False),
        ("http://app.example/done", False),
        ("https://app.example/done/../other", False),
        ("https://app.example/done/%2e%2e/other", False),
        ("https://app.example/done/%252e%252e/other", False),
        ("https://app.example/done/%25252e%25252e/other", False),
        ("https://app.example/done/%252525252e%252525252e/other", False),
        ("https://app.example/done/..;/other", False),
        ("https://app.example/done/..;x=1/other", False),
        ("https://app.example/done/.;/other", False),
        ("https://app.example/done/%2e%2e%3b/other", False),
        ("https://app.example/done/..%23/other", False),
        ("https://app.example/done/..%20/other", False),
        ("https://app.example/done/..%00/other", False),
        ("https://app.example/done/..%5cother", False),
        ("https://app.example/done/x%2f..%2fother", False),
        ("https://app.example/done/%c0%ae%c0%ae/other", False),
        ("https://app.example/done/%e0%80%ae%e0%80%ae/other", False),
        ("https://app.example/done/%ef%bc%8e%ef%bc%8e/other", False),
        ("https://app.example/done/%e2%80%a5/other", False),
        ("https://app.example/done/.well-known/a..b/...", True),
        ("https://app.example/done/caf%C3%A9/100%25/x;y=1/a%20b", True),
        ("https://app.example/done/deep?to=/../x#/../y", True),
        ("https://whole.example", True),
        ("https://whole.example/any/path", True),
    ],
)
def test_a_teams_allowlist_compares_hosts_and_segments(url: str, allowed: bool) -> None:
    prefixes = ["https://app.example/done", "https://whole.example/"]
    assert redirect_allowed(url, prefixes) is allowed


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://app.example/x", "https://app.example/x?state=a+b"),
        ("https://app.example/x?y=1", "https://app.example/x?y=1&state=a+b"),
        ("https://app.example/x#part", "https://app.example/x?state=a+b#part"),
        ("myapp://linked", "myapp://linked?state=a+b"),
    ],
)
def test_the_outcome_is_added_and_nothing_else_changed(url: str, expected: str) -> None:
    assert redirect_with(url, state="a b") == expected
