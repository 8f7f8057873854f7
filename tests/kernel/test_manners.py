"""Every refusal has one body, no input makes a 500, and every answer carries its id and its headers."""

import logging
import os
import subprocess
import sys
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
from django.conf import settings as project_settings
from django.core.checks import run_checks
from django.test import Client
from pytest_django import Settings

from healthsvc import documents
from healthsvc.kernel import limits
from healthsvc.kernel.scope import team_scope
from management.models import AccessRecord, Organisation
from management.tasks import worker_seen
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from users import selectors


def _is_error_body(body: dict[str, Any]) -> bool:
    return set(body) == {"detail", "code", "request_id"} and bool(UUID(body["request_id"]))


@pytest.mark.parametrize(
    "raw",
    [b"{", b"nonsense", b'{"client_user_id": NaN}', b"\xff\xfe", b'{"a":' * 2000, b'"\\ud800"', b"\x00", b"[1,"],
)
def test_malformed_json_is_422(api: ApiClient, raw: bytes) -> None:
    response = api.request("POST", "/v2/user", data=raw)
    assert response.status_code == 422
    assert _is_error_body(response.json())
    assert response.json()["detail"][0]["loc"] == ["body"]


def test_deep_json_is_422(api: ApiClient) -> None:
    raw = b'{"client_user_id":' + b"[" * 200 + b"]" * 200 + b"}"
    response = api.request("POST", "/v2/user", data=raw)
    assert (response.status_code, response.json()["detail"][0]["type"]) == (422, "json_too_deep")


def test_too_large_is_413(api: ApiClient) -> None:
    response = api.request("POST", "/v2/user", data=b'{"client_user_id": "' + b"x" * 1_000_001 + b'"}')
    assert (response.status_code, response.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "multipart/form-data; boundary=x"])
def test_other_media_types_are_415(api: ApiClient, content_type: str) -> None:
    response = api.request("POST", "/v2/user", data=b"x=1", content_type=content_type)
    assert (response.status_code, response.json()["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "path", ["/nowhere", "/v2", "/v2/users", "/v2/user/a/b/c/d", "/v9/user", "/%00", "/v2/user/%00"]
)
def test_unknown_paths_are_404_with_the_body(api: ApiClient, path: str) -> None:
    response = api.get(path)
    assert (response.status_code, response.json()["code"]) == (404, "not_found")
    assert _is_error_body(response.json())


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE"])
def test_other_methods_are_405(api: ApiClient, method: str) -> None:
    response = api.request(method, "/v2/user")
    assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")
    assert "GET" in response["Allow"]


def test_nul_in_a_query_is_422(api: ApiClient) -> None:
    assert api.get("/v2/user?limit=1%00").status_code == 422


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html", "nonsense", "application/xml;q=0.9", ""])
def test_json_is_answered_whatever_is_accepted(api: ApiClient, accept: str) -> None:
    response = api.get("/v2/user", Accept=accept)
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")


def test_request_ids_are_taken_over_where_harmless(api: ApiClient) -> None:
    for given in (str(uuid4()), uuid4().hex.upper(), "01ARZ3NDEKTSV4RRFFQ69G5FAV"):
        assert api.get("/v2/user", X_Request_Id=given)["X-Request-Id"] == given
    for given in ("short", "jane.doe-1987", "4111111111111111", "x" * 65, "white space", "<script>alert(1)</script>"):
        made = api.get("/v2/user", X_Request_Id=given)["X-Request-Id"]
        assert made != given
        assert UUID(made).version == 7


def test_answers_are_not_cached_sniffed_or_framed(api: ApiClient) -> None:
    response = api.get("/v2/user")
    assert response["Cache-Control"] == "no-store"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"


def test_a_500_tells_only_its_id_and_logs_no_values(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_args: Any, **_kwargs: Any) -> None:
        raise RuntimeError("glucose 9.9 of Anna")

    monkeypatch.setattr(selectors, "user_page", fail)
    with caplog.at_level(logging.DEBUG):
        response = api.get("/v2/user")
    assert response.status_code == 500
    assert response.json() == {
        "detail": "Something failed on our side; quote the request id.",
        "code": "internal_error",
        "request_id": response["X-Request-Id"],
    }
    assert "Anna" not in caplog.text
    assert "RuntimeError" in caplog.text
    assert "test_manners.py" in caplog.text


def test_rate_limit_headers_and_429(api: ApiClient, settings: Settings) -> None:
    settings.RATE_LIMIT_REQUESTS, settings.RATE_LIMIT_WINDOW_SECONDS = 2, 3600
    answers = [api.get("/v2/user") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[0]["RateLimit-Policy"] == '"default";q=2;w=3600'
    assert [answer["RateLimit"].split(";")[1] for answer in answers] == ["r=1", "r=0", "r=0"]
    assert 1 <= int(answers[2]["Retry-After"]) <= 3600
    assert answers[2].json()["code"] == "rate_limited"
    assert answers[2].json()["detail"] == "More than 2 requests with this key in 3600 seconds."


@pytest.mark.parametrize(
    ("method", "path", "words"),
    [
        ("get", "/v2/user", "Send a team key (sk_… or pk_…) in the header x-service-api-key."),
        (
            "get",
            "/v2/link/state",
            "Send a team key (sk_… or pk_…) in the header x-service-api-key, or a link token in x-service-link-token.",
        ),
        (
            "get",
            "/v2/session",
            (
                "Send a team key (sk_… or pk_…) in the header x-service-api-key,"
                " or a session's access token in Authorization: Bearer …."
            ),
        ),
    ],
)
def test_a_refused_key_is_told_which_header_takes_which(db: None, method: str, path: str, words: str) -> None:
    response = getattr(ApiClient(), method)(path)
    assert response.status_code == 401
    assert response.json()["detail"].endswith(words), response.json()["detail"]


def test_limits_are_counted_by_key(api: ApiClient, other_api: ApiClient, settings: Settings) -> None:
    settings.RATE_LIMIT_REQUESTS, settings.RATE_LIMIT_WINDOW_SECONDS = 1, 3600
    assert [client.get("/v2/user").status_code for client in (api, other_api, api)] == [200, 200, 429]


def test_without_redis_requests_go_through(api: ApiClient, settings: Settings) -> None:
    settings.REDIS_URL = "unix:///nonexistent/socket?db=0"
    limits._redis.cache_clear()
    response = api.get("/v2/user")
    limits._redis.cache_clear()
    assert response.status_code == 200
    assert "RateLimit" not in response


def test_each_answered_request_leaves_one_audit_row(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    asked = [str(uuid4()), str(uuid4())]
    api.get(f"/v2/user/{user.id}", X_Request_Id=asked[0])
    nobody = UUID("00000000-0000-4000-8000-000000000000")
    api.get(f"/v2/user/{nobody}", X_Request_Id=asked[1])
    api.get("/v2/user", {"limit": 0})
    shared = {"action": "GET /v2/user/<user_id>", "actor_kind": "team_key", "address": "127.0.0.1"}
    with team_scope(team.context):
        rows = list(AccessRecord.objects.order_by("pk").values(*shared, "user_id", "request_id", "status_code"))
    assert rows == [
        {**shared, "user_id": user.id, "request_id": asked[0], "status_code": 200},
        {**shared, "user_id": nobody, "request_id": asked[1], "status_code": 404},
    ]


def test_log_lines_name_routes_not_values(api: ApiClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        api.get("/v2/user/resolve/unmistakable-person")
    assert "/v2/user/resolve/<path:client_user_id>" in caplog.text
    assert "unmistakable" not in caplog.text


@pytest.mark.parametrize("at", ["team", "management"])
def test_health_and_documents_at_both_addresses(db: None, at: str) -> None:
    client = ApiClient(at=at)
    assert client.get("/healthz").json() == {"status": "ok"}
    document = orjson.loads(client.get("/openapi.json").content)
    assert document["openapi"].startswith("3.1")
    expected = "/v1/org/{org_id}/team" if at == "management" else "/v2/user"
    other = "/v2/user" if at == "management" else "/v1/org/{org_id}/team"
    assert expected in document["paths"]
    assert other not in document["paths"]
    page = client.get("/docs").content.decode()
    assert "//" not in page.replace("<!doctype", "")


def test_readyz_names_what_is_missing(db: None) -> None:
    before = ApiClient().get("/readyz")
    assert (before.status_code, before.json()["worker"], before.json()["database"]) == (503, "failed", "ok")
    worker_seen()
    after = ApiClient().get("/readyz")
    assert (after.status_code, after.json()["status"], after.json()["worker_seen_seconds_ago"]) == (200, "ready", 0)


def test_a_foreign_host_header_is_refused(db: None) -> None:
    for path in ("/admin/login/", "/v2/user", "/docs", "/link/open"):
        response = Client(raise_request_exception=False).get(path, headers={"host": "evil.example"})
        assert (response.status_code, response.json()["code"]) == (400, "bad_request")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"SECRET_KEY": "short"}, "healthsvc.E001"),
        ({"FIELD_ENCRYPTION_KEYS": "k1:zzz"}, "healthsvc.E003"),
        ({"HEALTHSVC_EMBEDDED": "false", "HEALTHSVC_LOOPBACK_ORIGINS": "http://127.0.0.1:1"}, "healthsvc.E007"),
        ({"DATABASE_URL": os.environ.get("TEST_SUPERUSER_URL", "")}, "healthsvc.E008"),
    ],
)
@pytest.mark.slow
def test_an_unsafe_environment_is_refused_by_number(changes: dict[str, str], expected: str) -> None:
    command = [sys.executable, "manage.py", "check", "--database", "default"]
    environment = {**os.environ, **changes}
    done = subprocess.run(command, cwd=project_settings.BASE_DIR, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert expected in done.stderr


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, set()),
        ({"KEY_PEPPER": "short"}, {"healthsvc.E002"}),
        ({"EMBEDDED": False, "BASE_URL": "https://a.example", "MANAGEMENT_URL": "https://b.example"}, set()),
        ({"EMBEDDED": False, "DEBUG": True}, {"healthsvc.E004", "healthsvc.E005"}),
        ({"EMBEDDED": False, "BASE_URL": "https://a.example"}, {"healthsvc.E005"}),
        ({"EMBEDDED": False, "ALLOWED_HOSTS": ["*"]}, {"healthsvc.E005", "healthsvc.E006"}),
    ],
)
def test_unsafe_settings_are_refused_by_number(changes: dict[str, Any], expected: set[str], settings: Settings) -> None:
    settings.LOOPBACK_ORIGINS = frozenset()
    for name, value in changes.items():
        setattr(settings, name, value)
    found = {message.id for message in run_checks() if str(message.id).startswith("healthsvc.E")}
    assert found == expected


def test_a_page_that_fails_is_logged_without_values(
    db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_args: Any, **_kwargs: Any) -> None:
        raise RuntimeError("glucose 9.9 of Anna")

    monkeypatch.setattr(documents, "render", fail)
    response = ApiClient().get("/docs")
    assert (response.status_code, response.json()["code"]) == (500, "internal_error")
    assert "page_failed" in caplog.text
    assert "Anna" not in caplog.text


def test_pages_may_not_be_framed(db: None) -> None:
    assert ApiClient().get("/docs")["X-Frame-Options"] == "DENY"


def test_a_chunked_body_is_refused_and_changes_nothing(api: ApiClient) -> None:
    response = api.request("POST", "/v2/user", data=b"", headers={"Transfer-Encoding": "chunked"})
    assert (response.status_code, response.json()["code"]) == (411, "length_required")
    assert api.get("/v2/user").json()["total"] == 0


def test_more_parameters_than_are_read_are_422(api: ApiClient) -> None:
    response = api.get("/v2/user?" + "&".join(["a=b"] * 1500))
    assert response.status_code == 422
    assert [problem["loc"] for problem in response.json()["detail"]] == [["query"]]


@pytest.mark.parametrize("path", ["/link/open", "/docs", "/openapi.json"])
def test_pages_without_forms_take_no_body(db: None, path: str) -> None:
    assert ApiClient().post(path, {}).status_code == 405


def test_a_wrong_choice_is_not_repeated(management_api: ApiClient, organisation: Organisation) -> None:
    response = management_api.get(f"/v1/org/{organisation.id}/team", {"region": "MARKER9"})
    assert response.status_code == 422
    assert b"MARKER9" not in response.content
