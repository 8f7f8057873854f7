"""The token endpoint and its vendors' oddities: what we send, what we make of an answer, what a refusal means."""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from authlib.oauth2 import client as authlib_client
from pytest_django import Settings

from links.catalogue.shapes import ClientAuthentication, TokenEnvelope
from links.connectors.failures import FailureKind, GrantRefused, ProviderFailure
from links.connectors.oauth import authorize_address, code_exchange, token_revoke, tokens_refresh
from tests.links.vendors import application_make, form_of, json_answer
from tests.webhooks.receiving import Answer, Receiver, receiver

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
PAIR = {"access_token": "a-2", "refresh_token": "r-2", "expires_in": 3600, "token_type": "bearer"}


@pytest.fixture
def vendor(settings: Settings) -> Iterator[Receiver]:
    """A token endpoint."""
    with receiver() as found:
        settings.LOOPBACK_ORIGINS = [found.url]
        yield found


def test_a_code_is_traded_with_its_verifier_and_our_secret(vendor: Receiver) -> None:
    vendor.answers = [json_answer(PAIR)]
    with time_machine.travel(NOW, tick=False):
        tokens = code_exchange(application_make(vendor), code="c/1+é", verifier="v" * 43)
    assert (tokens.access_token, tokens.refresh_token, tokens.scopes) == ("a-2", "r-2", None)
    assert tokens.expires_at == NOW + timedelta(hours=1)
    (request,) = vendor.received
    assert (request.method, request.path, request.headers["accept"]) == ("POST", "/token", "application/json")
    assert form_of(request) == {
        "grant_type": "authorization_code",
        "code": "c/1+é",
        "code_verifier": "v" * 43,
        "redirect_uri": form_of(request)["redirect_uri"],
        "client_id": "our client/1",
        "client_secret": "s%cr:t é",
    }
    assert form_of(request)["redirect_uri"].endswith("/link/callback/oura")


def test_a_basic_secret_is_encoded_and_stays_out_of_the_library_s_defaults(vendor: Receiver) -> None:
    vendor.answers = [json_answer(PAIR)]
    before = dict(authlib_client.DEFAULT_HEADERS)
    basic = application_make(vendor, client_authentication=ClientAuthentication.BASIC)
    code_exchange(basic, code="c", verifier="")
    (request,) = vendor.received
    encoded = request.headers["authorization"].removeprefix("Basic ")
    assert base64.b64decode(encoded).decode() == "our%20client%2F1:s%25cr%3At%20%C3%A9"
    assert set(form_of(request)) == {"grant_type", "code", "redirect_uri"}
    assert before == authlib_client.DEFAULT_HEADERS


def test_a_vendor_s_own_parameters_go_with_codes_and_refreshes(vendor: Receiver) -> None:
    vendor.otherwise = json_answer({"status": 0, "body": {**PAIR, "userid": 77, "scope": "user.info,user.metrics"}})
    application = application_make(vendor, "withings")
    code_exchange(application, code="c", verifier="")
    tokens = tokens_refresh(application, refresh_token="r-1")
    assert [form_of(request)["action"] for request in vendor.received] == ["requesttoken"] * 2
    assert form_of(vendor.received[1])["refresh_token"] == "r-1"
    assert (tokens.external_user_id, tokens.scopes) == ("77", ("user.info", "user.metrics"))


@pytest.mark.parametrize(
    ("path", "document", "account"),
    [
        ("athlete.id", {"athlete": {"id": 9_000_000_001}}, "9000000001"),
        ("x_user_id", {"x_user_id": "p-1"}, "p-1"),
        ("athlete.id", {"athlete": None}, ""),
        ("athlete.id", {"athlete": {"id": True}}, ""),
        ("athlete.id", {"athlete": {"id": "a\x00b"}}, ""),
        ("", {"userid": 5}, ""),
    ],
)
def test_the_account_is_where_the_catalogue_says(
    vendor: Receiver, path: str, document: dict[str, Any], account: str
) -> None:
    vendor.answers = [json_answer({**PAIR, **document})]
    application = application_make(vendor, account_field=path)
    assert code_exchange(application, code="c", verifier="").external_user_id == account


@pytest.mark.parametrize(
    ("lasting", "seconds"),
    [
        ({"expires_in": 21_600, "expires_at": 1}, 21_600),
        ({"expires_at": int(NOW.timestamp()) + 500}, 500),
        ({"expires_in": "900"}, 900),
        ({"expires_in": 899.5}, 899),
        ({}, 3600),
        ({"expires_in": 0}, 3600),
        ({"expires_in": -5, "expires_at": "soon"}, 3600),
        ({"expires_in": True}, 3600),
        ({"expires_in": 10**15}, 3600),
        ({"expires_at": 12}, 3600),
    ],
)
def test_a_lifetime_is_read_or_taken_to_be_an_hour(vendor: Receiver, lasting: dict[str, Any], seconds: int) -> None:
    answer = {name: value for name, value in PAIR.items() if name != "expires_in"} | lasting
    vendor.answers = [json_answer(answer)]
    with time_machine.travel(NOW, tick=False):
        tokens = code_exchange(application_make(vendor), code="c", verifier="")
    assert tokens.expires_at == NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("scope", "read"),
    [
        ("read,activity:read", ("read", "activity:read")),
        ("read activity:read read", ("read", "activity:read")),
        (["read", 5, "activity:read"], ("read", "activity:read")),
        ("", None),
        (None, None),
        ("x" * 201, None),
    ],
)
def test_scopes_are_read_in_any_form(vendor: Receiver, scope: Any, read: tuple[str, ...] | None) -> None:
    vendor.answers = [json_answer({**PAIR, "scope": scope})]
    application = application_make(vendor, scope_separator=",")
    assert code_exchange(application, code="c", verifier="").scopes == read


@pytest.mark.parametrize("answered", [{}, {"refresh_token": None}, {"refresh_token": ""}])
def test_without_a_new_refresh_token_the_old_one_stays(vendor: Receiver, answered: dict[str, Any]) -> None:
    vendor.answers = [json_answer({"access_token": "a-2", "expires_in": 60, **answered})]
    assert tokens_refresh(application_make(vendor), refresh_token="r-1").refresh_token == "r-1"


@pytest.mark.parametrize(
    ("answer", "error_type"),
    [
        (json_answer({"error": "invalid_grant", "error_description": '"späť"'}, 400), "token_refresh_failed"),
        (json_answer({"error": "invalid_grant"}), "token_refresh_failed"),
        (json_answer({"error": "invalid_request"}, 400), "token_refresh_failed"),
        (json_answer({"errors": [{"resource": "RefreshToken", "field": "code"}]}, 400), "token_refresh_failed"),
        (json_answer({"detail": "no"}, 401), "token_refresh_failed"),
        (json_answer({"error": "user_not_found"}, 400), "user_not_found"),
        (json_answer({"error": "consent_required"}, 403), "deregistered_per_provider"),
    ],
)
def test_a_refused_grant_is_the_person_s(vendor: Receiver, answer: Answer, error_type: str) -> None:
    vendor.answers = [answer]
    with pytest.raises(GrantRefused) as caught:
        tokens_refresh(application_make(vendor), refresh_token="r-1")
    assert caught.value.error_type == error_type


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (json_answer({"error": "invalid_client"}, 401), FailureKind.REFUSED),
        (json_answer({"error": "unauthorized_client"}, 400), FailureKind.REFUSED),
        (json_answer({"error": "unsupported_grant_type"}, 400), FailureKind.REFUSED),
        (json_answer({"errors": [{"resource": "Application", "field": "client_id"}]}, 400), FailureKind.REFUSED),
        (json_answer({"error": "not_found"}, 404), FailureKind.REFUSED),
        (json_answer({"error": "server_error"}, 400), FailureKind.UNAVAILABLE),
        (json_answer({"error": "invalid_grant"}, 500), FailureKind.UNAVAILABLE),
        (json_answer({"error": "invalid_grant"}, 408), FailureKind.UNAVAILABLE),
        (Answer(429, {"Retry-After": "40"}, b"slow down"), FailureKind.RATE_LIMITED),
        (Answer(200, {}, b"<html>"), FailureKind.TRANSPORT),
        (Answer(400, {}, b"<html>"), FailureKind.TRANSPORT),
        (json_answer(["access_token"]), FailureKind.TRANSPORT),
        (json_answer({"refresh_token": "r-2"}), FailureKind.TRANSPORT),
        (json_answer({"access_token": 5}), FailureKind.TRANSPORT),
        (Answer(302, {"Location": "https://vendor.example/login"}, b"{}"), FailureKind.REFUSED),
        (Answer(200, {}, b" " * 70_000), FailureKind.REFUSED),
    ],
)
def test_whatever_else_goes_wrong_is_not_held_against_the_person(
    vendor: Receiver, answer: Answer, kind: FailureKind
) -> None:
    vendor.answers = [answer]
    with pytest.raises(ProviderFailure) as caught:
        tokens_refresh(application_make(vendor), refresh_token="r-1")
    assert (caught.value.kind, caught.value.retry_after_seconds) == (kind, 40 if answer.status == 429 else 0)
    assert "r-1" not in str(caught.value)


def test_a_token_endpoint_that_is_no_public_address_is_not_called(vendor: Receiver, settings: Settings) -> None:
    settings.LOOPBACK_ORIGINS = []
    with pytest.raises(ProviderFailure) as caught:
        tokens_refresh(application_make(vendor), refresh_token="r-1")
    assert (caught.value.kind, vendor.received) == (FailureKind.REFUSED, [])


def test_the_login_s_address_carries_pkce_scopes_and_the_vendor_s_own(vendor: Receiver) -> None:
    application = application_make(vendor, authorize_parameters={"access_type": "offline"}, scope_separator=",")
    address = authorize_address(application, state="st", verifier="v" * 43, scopes=("a", "b c"))
    found = parse_qs(urlsplit(address).query)
    assert address.startswith("https://vendor.example/authorize?")
    assert found == {
        "response_type": ["code"],
        "client_id": ["our client/1"],
        "redirect_uri": found["redirect_uri"],
        "scope": ["a,b c"],
        "state": ["st"],
        "access_type": ["offline"],
        # Of 43 times "v", by RFC 7636, 4.2.
        "code_challenge": ["7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM"],
        "code_challenge_method": ["S256"],
    }
    bare = parse_qs(urlsplit(authorize_address(application, state="st", verifier="", scopes=())).query)
    assert not {"scope", "code_challenge", "code_challenge_method"} & set(bare)


@pytest.mark.parametrize(
    ("parameter", "refresh_token", "sent"),
    [
        ("token", "r-1", {"token": "r-1", "token_type_hint": "refresh_token"}),
        ("token", "", {"token": "a-1", "token_type_hint": "access_token"}),
        ("access_token", "r-1", {"access_token": "a-1", "token_type_hint": "access_token"}),
    ],
)
def test_a_grant_is_revoked_in_the_body_of_a_post(
    vendor: Receiver, parameter: str, refresh_token: str, sent: dict[str, str]
) -> None:
    vendor.answers = [Answer(200)]
    token_revoke(application_make(vendor, revoke_parameter=parameter), access_token="a-1", refresh_token=refresh_token)
    (request,) = vendor.received
    assert (request.method, request.path) == ("POST", "/revoke")
    assert form_of(request) == {**sent, "client_id": "our client/1", "client_secret": "s%cr:t é"}


@pytest.mark.parametrize(
    "answer", [Answer(204), json_answer({"error": "invalid_token"}, 400), json_answer({"message": "gone"}, 401)]
)
def test_a_grant_that_has_ended_already_is_as_good(vendor: Receiver, answer: Answer) -> None:
    vendor.answers = [answer]
    token_revoke(application_make(vendor), access_token="a-1", refresh_token="r-1")
    assert len(vendor.received) == 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (json_answer({"error": "invalid_client"}, 401), FailureKind.REFUSED),
        (json_answer({"error": "invalid_request"}, 400), FailureKind.REFUSED),
        (json_answer({}, 404), FailureKind.REFUSED),
        (json_answer({}, 503), FailureKind.UNAVAILABLE),
    ],
)
def test_a_revocation_that_did_not_hold_is_told(vendor: Receiver, answer: Answer, kind: FailureKind) -> None:
    vendor.answers = [answer]
    with pytest.raises(ProviderFailure) as caught:
        token_revoke(application_make(vendor), access_token="a-1", refresh_token="r-1")
    assert caught.value.kind is kind


def test_an_envelope_that_refuses_our_client_is_not_the_person_s(vendor: Receiver) -> None:
    application = application_make(vendor, token_envelope=TokenEnvelope.STATUS_AND_BODY)
    vendor.answers = [
        json_answer({"status": 503, "body": {}, "error": "Invalid Params: invalid client_id/client_secret"}),
        json_answer({"status": 503, "body": {}, "error": "Invalid Params: invalid refresh_token"}),
        json_answer({"status": 601, "body": {}, "error": "Too Many Requests"}),
    ]
    with pytest.raises(ProviderFailure) as caught:
        tokens_refresh(application, refresh_token="r-1")
    assert caught.value.kind is FailureKind.REFUSED
    with pytest.raises(GrantRefused):
        tokens_refresh(application, refresh_token="r-1")
    with pytest.raises(ProviderFailure) as caught:
        tokens_refresh(application, refresh_token="r-1")
    assert (caught.value.kind, caught.value.retry_after_seconds) == (FailureKind.RATE_LIMITED, 60)
