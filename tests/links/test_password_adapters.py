"""Adapters: an operator's own in production, and what the generic one makes of answers that are none."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection as database
from pytest_django import Settings

from healthsvc.kernel.http import HttpReply
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import team_scope
from links.catalogue import catalogue, catalogue_reload
from links.connectors import password_adapters
from links.connectors.failures import FailureKind, GrantRefused, ProviderFailure
from links.connectors.password_adapters import GenericAdapter, adapter_of, api_url_of, email_adapter_of
from links.connectors.passwords import LoggedIn, LoginFailed
from links.constants import LinkErrorType
from links.models import Connection
from links.services.renewal import access_get
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.password_steps import failed, logged_in, shown, token_text
from tests.links.simulators import Simulator

pytestmark = pytest.mark.django_db

FILE = """
slug = "renpho"
name = "RENPHO"
description = "Weight from RENPHO scales, by an agreement of the operator's own."
login = "password"
state = "partner"
backfill_days = 30
connector = "acme_scales:ScaleConnector"
password_adapter = "acme_scales:ScaleAdapter"

[password]
regions = ["eu"]

[resources]
weight = { granularity = "each weighing" }
"""

MODULE = '''
"""An operator's adapter, of a vendor that gives no refresh token and wants the password again."""

from links.connectors.base import Pulled
from links.connectors.passwords import LoggedIn, LoginFailed
from links.constants import LinkErrorType


class ScaleConnector:
    window_days = {"weight": 30}

    def account_id(self, access):
        return ""

    def pull(self, access, resource, start_on, end_on):
        return Pulled()


class ScaleAdapter:
    def login(self, api_url, *, username, password, region):
        if password != "correct-horse":
            raise LoginFailed(LinkErrorType.PROVIDER_CREDENTIAL_ERROR)
        return LoggedIn(username, f"first-{region}", credentials=password)

    def mfa_complete(self, api_url, *, challenge, code, region):
        raise LoginFailed(LinkErrorType.INCORRECT_MFA_CODE)

    def renew(self, api_url, *, refresh_token, credentials, region):
        assert (refresh_token, credentials, region) == ("", "correct-horse", "eu")
        return LoggedIn("", "second", credentials=credentials)
'''


@pytest.fixture
def _operator(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    modules, files = tmp_path / "modules", tmp_path / "providers"
    modules.mkdir()
    files.mkdir()
    (modules / "acme_scales.py").write_text(MODULE)
    (files / "renpho.toml").write_text(FILE)
    monkeypatch.syspath_prepend(modules)
    settings.PROVIDER_CATALOGUE_DIR = str(files)
    catalogue_reload()
    yield
    settings.PROVIDER_CATALOGUE_DIR = ""
    catalogue_reload()
    sys.modules.pop("acme_scales", None)
    password_adapters._named.cache_clear()


@pytest.mark.usefixtures("_operator")
def test_an_operators_adapter(production: Tenant) -> None:
    user, widget = user_make(production, client_user_id="ada"), ApiClient()
    text = token_text(production, user)
    assert failed(logged_in(widget, text, "renpho", region="eu", password="guess")) == (
        "error",
        "provider_credential_error",
    )
    found = logged_in(widget, text, "renpho", region="eu", password="correct-horse")
    assert (found["state"], found["provider_id"]) == ("success", "ada@example.com")
    with team_scope(production.context):
        row = Connection.objects.get()
        assert (row.access_token, row.credentials, row.region) == ("first-eu", "correct-horse", "eu")
        with database.cursor() as cursor:
            cursor.execute("SELECT credentials FROM links_connection")
            sealed = bytes(cursor.fetchone()[0])
        assert b"correct-horse" not in sealed
        access, version = access_get(connection_id=row.pk, rejected_version=1)
        assert (access.access_token, version) == ("second", 2)


@pytest.mark.usefixtures("_operator")
def test_an_operators_code_may_be_refused(production: Tenant) -> None:
    text = token_text(production, user_make(production, client_user_id="ada"))
    path = "/v2/link/provider/password/renpho/complete_mfa"
    answer = ApiClient().post(path, {"mfa_code": "1"}, **shown(text))
    assert failed(answer.json()) == ("error", "provider_credential_error")


@pytest.mark.usefixtures("_operator")
def test_who_logs_in_where() -> None:
    assert type(adapter_of("renpho", Environment.PRODUCTION)).__name__ == "ScaleAdapter"
    assert isinstance(adapter_of("renpho", Environment.SANDBOX), GenericAdapter)
    # The class has no e-mail login, and the provider none either.
    assert email_adapter_of("renpho", Environment.PRODUCTION) is None
    assert api_url_of(catalogue()["renpho"], Environment.PRODUCTION) == ""


def test_who_logs_in_as_shipped(simulator: Simulator) -> None:
    for slug in ("whoop", "freestyle_libre", "hammerhead"):
        assert adapter_of(slug, Environment.PRODUCTION) is None
        assert isinstance(adapter_of(slug, Environment.SANDBOX), GenericAdapter)
    for slug in ("oura", "manual", "nothing_such"):
        assert adapter_of(slug, Environment.SANDBOX) is None
    assert isinstance(email_adapter_of("freestyle_libre", Environment.SANDBOX), GenericAdapter)
    assert email_adapter_of("freestyle_libre", Environment.PRODUCTION) is None
    assert email_adapter_of("whoop", Environment.SANDBOX) is None
    assert api_url_of(catalogue()["whoop"], Environment.SANDBOX) == f"{simulator.url}/whoop"
    assert api_url_of(catalogue()["hammerhead"], Environment.PRODUCTION) == "https://api.hammerhead.io"


def replied(monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, **headers: str) -> None:
    """Let the vendor answer this."""

    def fetch(*_: Any, **__: Any) -> HttpReply:
        return HttpReply(status, headers, body)

    monkeypatch.setattr(password_adapters, "fetch", fetch)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (500, b"", FailureKind.UNAVAILABLE),
        (408, b"", FailureKind.UNAVAILABLE),
        (429, b"{}", FailureKind.RATE_LIMITED),
        (403, b'{"error": "something_new"}', FailureKind.REFUSED),
        (403, b"<html>", FailureKind.TRANSPORT),
        (200, b"[]", FailureKind.TRANSPORT),
        (200, b'{"status": "ok"}', FailureKind.TRANSPORT),
        (200, b'{"account_id": "1", "access_token": ""}', FailureKind.TRANSPORT),
        (200, b'{"account_id": 1, "access_token": "a"}', FailureKind.TRANSPORT),
        (200, b'{"account_id": "1", "access_token": "a", "refresh_token": 7}', FailureKind.TRANSPORT),
        (200, b'{"status": "mfa_required"}', FailureKind.TRANSPORT),
        (200, b'{"status": "mfa_required", "challenge": "c", "method": "owl", "hint": ""}', FailureKind.TRANSPORT),
    ],
)
def test_answers_that_are_none(monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, kind: FailureKind) -> None:
    replied(monkeypatch, status, body)
    with pytest.raises(ProviderFailure) as failure:
        GenericAdapter().login("", username="ada", password="horse", region="")
    assert failure.value.kind is kind


@pytest.mark.parametrize(("lasts", "told"), [(b"60", True), (b"0", False), (b"true", False), (b'"60"', False)])
def test_lifetimes(monkeypatch: pytest.MonkeyPatch, lasts: bytes, told: bool) -> None:
    replied(monkeypatch, 200, b'{"account_id": "1", "access_token": "a", "expires_in": %b}' % lasts)
    found = GenericAdapter().login("", username="ada", password="horse", region="")
    assert isinstance(found, LoggedIn)
    assert (found.expires_at is not None) is told


@pytest.mark.parametrize(
    ("code", "error_type"),
    [
        (b"invalid_credentials", LinkErrorType.PROVIDER_CREDENTIAL_ERROR),
        (b"not_shared", LinkErrorType.PROVIDER_CREDENTIAL_ERROR),
        (b"challenge_ended", LinkErrorType.PROVIDER_CREDENTIAL_ERROR),
        (b"password_expired", LinkErrorType.PROVIDER_PASSWORD_EXPIRED),
        (b"unsupported_region", LinkErrorType.UNSUPPORTED_REGION),
        (b"incorrect_mfa_code", LinkErrorType.INCORRECT_MFA_CODE),
    ],
)
def test_refusals(monkeypatch: pytest.MonkeyPatch, code: bytes, error_type: LinkErrorType) -> None:
    replied(monkeypatch, 403, b'{"error": "%b"}' % code)
    with pytest.raises(LoginFailed) as failure:
        GenericAdapter().mfa_complete("", challenge={}, code="1", region="")
    assert failure.value.error_type is error_type


def test_a_refused_refresh_token(monkeypatch: pytest.MonkeyPatch) -> None:
    replied(monkeypatch, 401, b'{"error": "invalid_refresh_token"}')
    with pytest.raises(GrantRefused):
        GenericAdapter().renew("", refresh_token="r", credentials="", region="")
