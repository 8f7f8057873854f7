"""POST /v2/link/token, and the link token as a credential."""

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import RequestFactory
from pytest_django import Settings
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from healthsvc.kernel import clock
from healthsvc.kernel.principal import Principal, PrincipalKind
from healthsvc.kernel.scope import team_scope
from links.authentication import LinkTokenAuthentication
from links.models import LinkToken
from links.services.tokens import link_token_find, link_tokens_purge
from links.services.walk import walk
from links.states import TOKEN_TRANSITIONS, TokenCommand
from management.models import TeamSettings
from tests.clients import ApiClient
from tests.factories import Tenant, user_make

PATH = "/v2/link/token"


def test_a_token_with_every_field(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    body = {
        "user_id": str(user.id),
        "provider": "oura",
        "redirect_url": "https://app.example/done?x=1",
        "filter_on_providers": ["oura", "withings", "oura"],
        "on_error": "redirect",
        "on_close": "redirect",
    }
    response = api.post(PATH, body)
    assert response.status_code == 200
    assert set(response.json()) == {"link_token", "link_web_url"}
    text = response.json()["link_token"]
    assert re.fullmatch(r"lk_[0-9A-Za-z]{49}", text)
    assert response.json()["link_web_url"] == f"http://localhost:8000/link/open?token={text}"
    with team_scope(team.context):
        row = LinkToken.objects.get()
    assert (row.user_id, row.provider, row.status) == (user.id, "oura", "new")
    assert row.redirect_url == "https://app.example/done?x=1"
    assert row.filter_on_providers == ["oura", "withings"]
    assert (row.redirects_on_error, row.redirects_on_close) == (True, True)
    assert row.expires_at - row.created_at == timedelta(hours=1)
    assert text.encode() not in bytes(row.token_hash)
    assert len(bytes(row.token_hash)) == 32


def test_a_token_with_nothing_but_its_user(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    nulls = dict.fromkeys(["provider", "redirect_url", "filter_on_providers", "on_error", "on_close"])
    assert api.post(PATH, {"user_id": user.id.hex}).status_code == 200
    assert api.post(PATH, {"user_id": str(user.id), **nulls}).status_code == 200
    with team_scope(team.context):
        rows = LinkToken.objects.values_list(
            "provider", "redirect_url", "filter_on_providers", "redirects_on_error", "redirects_on_close"
        )
        assert list(rows) == [("", "", [], False, False)] * 2


@pytest.mark.parametrize("slug", ["manual", "google_health", "apple_health_kit", "freestyle_libre_ble"])
def test_every_known_slug_is_taken(api: ApiClient, team: Tenant, slug: str) -> None:
    body = {"user_id": str(user_make(team).id), "provider": slug, "filter_on_providers": [slug]}
    assert api.post(PATH, body).status_code == 200


@pytest.mark.parametrize(
    ("changes", "loc", "kind"),
    [
        ({"user_id": None}, ["body", "user_id"], "null_forbidden"),
        ({"user_id": "nobody"}, ["body", "user_id"], "uuid_parsing"),
        ({"user_id": 7}, ["body", "user_id"], "string_type"),
        ({"provider": "nokia"}, ["body", "provider"], "enum"),
        ({"provider": ""}, ["body", "provider"], "string_too_short"),
        ({"provider": ["oura"]}, ["body", "provider"], "string_type"),
        ({"redirect_url": "javascript://x"}, ["body", "redirect_url"], "url_scheme"),
        ({"redirect_url": "http://app.example/"}, ["body", "redirect_url"], "url_scheme"),
        ({"redirect_url": "https://app.example/" + "x" * 2000}, ["body", "redirect_url"], "string_too_long"),
        ({"redirect_url": 7}, ["body", "redirect_url"], "string_type"),
        ({"filter_on_providers": []}, ["body", "filter_on_providers"], "too_short"),
        ({"filter_on_providers": "oura"}, ["body", "filter_on_providers"], "list_type"),
        ({"filter_on_providers": ["oura"] * 101}, ["body", "filter_on_providers"], "string_too_long"),
        ({"on_error": "close"}, ["body", "on_error"], "enum"),
        ({"on_close": True}, ["body", "on_close"], "string_type"),
    ],
)
def test_bad_values_are_named_and_make_nothing(
    api: ApiClient, team: Tenant, changes: dict[str, Any], loc: list[str], kind: str
) -> None:
    response = api.post(PATH, {"user_id": str(user_make(team).id), **changes})
    assert response.status_code == 422
    assert [(problem["loc"], problem["type"]) for problem in response.json()["detail"]] == [(loc, kind)]
    with team_scope(team.context):
        assert LinkToken.objects.count() == 0


def test_an_unknown_slug_in_the_filter_is_named_by_its_place(api: ApiClient, team: Tenant) -> None:
    body = {"user_id": str(user_make(team).id), "filter_on_providers": ["oura", "nokia"]}
    problem = api.post(PATH, body).json()["detail"][0]
    assert problem["type"] == "enum"
    assert [str(part) for part in problem["loc"]] == ["body", "filter_on_providers", "1"]


def test_missing_user_id_is_422(api: ApiClient) -> None:
    detail = api.post(PATH, {}).json()["detail"]
    assert [(problem["loc"], problem["type"]) for problem in detail] == [(["body", "user_id"], "missing")]


def test_another_teams_user_answers_as_a_missing_one(api: ApiClient, other_team: Tenant, production: Tenant) -> None:
    missing = api.post(PATH, {"user_id": "00000000-0000-4000-8000-000000000000"})
    for tenant in (other_team, production):
        response = api.post(PATH, {"user_id": str(user_make(tenant).id)})
        assert response.status_code == missing.status_code == 404
        assert {**response.json(), "request_id": ""} == {**missing.json(), "request_id": ""}


def test_a_teams_allowlist_holds(api: ApiClient, team: Tenant) -> None:
    with team_scope(team.context):
        TeamSettings.objects.create(
            team=team.team, environment="sandbox", redirect_url_prefixes=["https://app.example/done"]
        )
    user_id = str(user_make(team).id)
    assert api.post(PATH, {"user_id": user_id, "redirect_url": "https://app.example/done/x"}).status_code == 200
    refused = api.post(PATH, {"user_id": user_id, "redirect_url": "https://app.example.evil.example/done"})
    assert refused.status_code == 422
    assert refused.json()["detail"][0]["type"] == "url_not_allowed"


def _authenticated(text: str | None, settings: Settings) -> Principal | None:
    headers = {} if text is None else {settings.LINK_TOKEN_HEADERS[0]: text}
    found = LinkTokenAuthentication().authenticate(Request(RequestFactory().get("/", headers=headers)))
    return found[0] if found else None


def test_a_link_token_opens_its_own_team_and_user_only(api: ApiClient, team: Tenant, settings: Settings) -> None:
    user = user_make(team)
    text = api.post(PATH, {"user_id": str(user.id)}).json()["link_token"]
    principal = _authenticated(text, settings)
    assert principal is not None
    assert (principal.kind, principal.team, principal.user_id) == (PrincipalKind.LINK_TOKEN, team.context, user.id)
    assert _authenticated(None, settings) is None


@pytest.mark.parametrize("change", ["unknown", "mistyped", "expired", "consumed"])
def test_a_spent_or_strange_link_token_opens_nothing(
    api: ApiClient, team: Tenant, settings: Settings, change: str
) -> None:
    text = api.post(PATH, {"user_id": str(user_make(team).id)}).json()["link_token"]
    if change == "unknown":
        text = "lk_" + "0" * 49
    elif change == "mistyped":
        text = text[:-1] + ("0" if text[-1] != "0" else "1")
    elif change == "consumed":
        with team_scope(team.context):
            for command in (TokenCommand.VALIDATE, TokenCommand.CONSUME):
                walk(LinkToken.objects.all(), TOKEN_TRANSITIONS, command)
    shift = timedelta(minutes=60) if change == "expired" else timedelta()
    with time_machine.travel(clock.now() + shift, tick=False), pytest.raises(AuthenticationFailed):
        _authenticated(text, settings)


def test_a_team_key_does_not_take_a_link_token(api: ApiClient, team: Tenant) -> None:
    text = api.post(PATH, {"user_id": str(user_make(team).id)}).json()["link_token"]
    assert ApiClient(team_key=text).post(PATH, {}).status_code == 401
    assert ApiClient().post(PATH, {}).status_code == 401


def test_old_tokens_are_purged(api: ApiClient, team: Tenant) -> None:
    text = api.post(PATH, {"user_id": str(user_make(team).id)}).json()["link_token"]
    with time_machine.travel(clock.now() + timedelta(days=6)):
        assert link_tokens_purge() == 0
    with time_machine.travel(clock.now() + timedelta(days=8)):
        assert link_tokens_purge() == 1
    assert link_token_find(text) is None
