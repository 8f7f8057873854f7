"""Requests that no document describes: broken texts, broken bodies, broken headers. Refused, or taken; never a 5xx."""

import re
from typing import Any, Final

import pytest
from werkzeug.test import Client

from healthsvc.kernel.json_io import json_decode
from tests.documents import MANAGEMENT_URLCONF, TEAM_URLCONF
from tests.fuzz.cast import Cast
from tests.fuzz.sending import service

#: In a path and in a query, as they are on the wire.
TEXTS: Final = (
    "%00", "%ff%fe", "%ed%a0%80", "%c0%af", "%", "%zz", "%2e%2e%2f", "%0d%0aX-Injected:%201", "%e2%80%ae",
    "%f0%9f%92%89", "%25s", "'", "\"", "9" * 400, "-1", "1e999", "NaN", "a" * 5000, "0001-01-01", "9999-12-31",
    "0000-00-00", "10000-01-01", "2026-02-30", "0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59:59-14:00",
)  # fmt: skip
BODIES: Final = (
    b"", b"null", b"[]", b'""', b"0", b"{", b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}", b"\x00", b'{"a": "\\u0000"}',
    b'{"\\u0000": 1}', b'{"user_id": "\\ud800"}', b'{"client_user_id": "\\ud800"}',
    b'{"client_user_id": "\xed\xa0\x80"}',
    b'{"client_user_id": ' + b"9" * 400 + b"}", b'{"client_user_id": 1e999}', b'{"client_user_id": NaN}',
    b"[" * 10_000 + b"]" * 10_000, b'{"a":' * 5_000 + b"1" + b"}" * 5_000, b'{"a": 1, "a": 2}',
    b'{"client_user_id": "' + b"a" * 100_000 + b'"}', b'{"client_user_id": "\xe2\x80\xae"}', b"\xff" * 100,
)  # fmt: skip
HEADERS: Final[tuple[dict[str, str], ...]] = (
    {"Content-Type": ""},
    {"Content-Type": "//"},
    {"Content-Type": "application/json; charset=utf-16"},
    {"Content-Type": "application/json; charset=nonsense"},
    {"Content-Type": "multipart/form-data"},
    {"Content-Type": "multipart/form-data; boundary="},
    {"Content-Type": "application/x-www-form-urlencoded"},
    {"Content-Encoding": "gzip"},
    {"Content-Length": "-1"},
    {"Content-Length": "nine"},
    {"Content-Length": "9" * 30},
    {"Transfer-Encoding": "chunked"},
    {"Accept": "text/html;q=nonsense,,;"},
    {"Accept-Encoding": "identity;q=0, *;q=0"},
    {"Authorization": "Bearer"},
    {"Authorization": "Bearer \xff\xfe"},
    {"Authorization": "Basic !!!"},
    {"x-service-api-key": "\xff" * 50},
    {"x-service-api-key": "sk_us_" + "0" * 10_000},
    {"x-service-link-token": "\xe9"},
    {"X-Management-Key": "mg_\xff"},
    {"Idempotency-Key": "\xff"},
    {"Idempotency-Key": "a" * 10_000},
    {"Idempotency-Key": ""},
    {"X-Request-Id": "\xff" * 100},
    {"X-Forwarded-For": "::::,\xff"},
    {"Cookie": "sessionid=\xff; csrftoken"},
    {"Host": "localhost:99999"},
    {"Host": "[::1"},
    {"If-None-Match": "\xff"},
    {"X-HTTP-Method-Override": "DELETE"},
)


#: By address; the text stands in each `{}`.
READS: Final = (
    (TEAM_URLCONF, "/{}"),
    (TEAM_URLCONF, "/v2/user/{}"),
    (TEAM_URLCONF, "/v2/user/resolve/{}"),
    (TEAM_URLCONF, "/v2/user?offset={}&limit={}"),
    (TEAM_URLCONF, "/v2/team/users/search?query_id={}"),
    (TEAM_URLCONF, "/v2/summary/sleep/<user_id>?start_date={}"),
    (TEAM_URLCONF, "/v2/timeseries/<user_id>/heartrate/grouped?start_date=2026-01-01&next_cursor={}"),
    (TEAM_URLCONF, "/v3/insurance/search/diagnosis?diagnosis_query={}"),
    (MANAGEMENT_URLCONF, "/v1/org/<org_id>/team?search_query={}"),
    (MANAGEMENT_URLCONF, "/v1/org/<org_id>/team/<team_id>/{}/webhook"),
    (MANAGEMENT_URLCONF, "/v1/org/<org_id>/team/<team_id>/sandbox/webhook_message?after={}"),
)
WRITES: Final = (
    (TEAM_URLCONF, "POST", "/v2/user"),
    (TEAM_URLCONF, "PATCH", "/v2/user/<user_id>/info"),
    (TEAM_URLCONF, "POST", "/v2/user/<user_id>/data"),
    (TEAM_URLCONF, "POST", "/v2/user/<user_id>/import/apple_health"),
    (TEAM_URLCONF, "POST", "/aggregate/v1/user/<user_id>/query"),
    (TEAM_URLCONF, "POST", "/v2/link/token/isValid"),
    (MANAGEMENT_URLCONF, "POST", "/v1/org/<org_id>/team"),
)


def answered(cast: Cast, urlconf: str, method: str, path: str, **more: Any) -> tuple[int, dict[str, Any]]:
    """The status and the body, of which a refusal has the one shape."""
    headers = {**cast.headers(urlconf), "Content-Type": "application/json", **more.pop("headers", {})}
    length = headers.pop("Content-Length", None)
    route, _, query = re.sub(r"<(\w+)>", lambda name: cast.known[urlconf][name[1]], path).partition("?")
    answer = Client(service(urlconf)).open(
        method=method,
        path=route,
        query_string=query,
        headers=headers,
        environ_overrides={} if length is None else {"CONTENT_LENGTH": length},
        **more,
    )
    body = json_decode(answer.get_data() or b"{}")
    assert answer.status_code < 500, body
    if answer.status_code >= 400:
        assert set(body) == {"detail", "code", "request_id"}
    return answer.status_code, body


@pytest.mark.parametrize(("urlconf", "path"), READS)
def test_broken_texts_in_an_address(cast: Cast, urlconf: str, path: str) -> None:
    for text in TEXTS:
        answered(cast, urlconf, "GET", path.replace("{}", text))


@pytest.mark.parametrize(("urlconf", "method", "path"), WRITES)
def test_broken_bodies(cast: Cast, urlconf: str, method: str, path: str) -> None:
    for body in BODIES:
        answered(cast, urlconf, method, path, data=body)


@pytest.mark.parametrize(("urlconf", "method", "path"), WRITES)
def test_broken_headers(cast: Cast, urlconf: str, method: str, path: str) -> None:
    for headers in HEADERS:
        answered(cast, urlconf, method, path, data=b'{"client_user_id": "a"}', headers=headers)


@pytest.mark.parametrize("length", ["nine", "-1", "+1", "1e3", "9" * 30, "9" * 5000])
def test_a_length_that_is_no_number_is_refused(cast: Cast, length: str) -> None:
    status, body = answered(cast, TEAM_URLCONF, "POST", "/v2/user", data=b"{}", headers={"Content-Length": length})
    assert (status, body["code"]) == (400, "bad_request")
