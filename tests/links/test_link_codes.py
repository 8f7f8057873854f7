"""Link codes: made, shown, traded once, and not to be guessed."""

import logging
import re
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import time_machine
from pytest_django import Settings

from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.models import GuessCount, LinkCode, SignInToken
from links.services.session_purge import sessions_purge
from management.models import TeamSettings
from tests.clients import ApiClient
from tests.factories import Tenant, environment_make, tenant_make, user_make
from tests.links.signing_in import at_once
from users.models import User

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Answer

CREATE = "/v2/link/code/create"
EXCHANGE = "/v2/link/code/exchange"


def create(api: ApiClient, user: User, **query: str) -> dict[str, Any]:
    """A code that must be made."""
    answer = api.request("POST", f"{CREATE}?user_id={user.id}" + "".join(f"&{k}={v}" for k, v in query.items()))
    assert answer.status_code == 200, answer.content
    made: dict[str, Any] = answer.json()
    return made


def exchange(code: str, *, address: str = "192.0.2.1", **more: str) -> "Answer":
    """The answer to a code in the body."""
    client = ApiClient()
    client.client.defaults["REMOTE_ADDR"] = address
    return client.post(EXCHANGE, {"code": code, **more})


def guess(beginning: str = "skus") -> str:
    """A code that nobody made."""
    return f"{beginning}{secrets.token_hex(4)}"


def test_a_code_of_each_world_and_region(team: Tenant, api: ApiClient, settings: Settings) -> None:
    settings.LINK_CODE_SCHEME = "ourapp"
    made = create(api, user_make(team))
    assert re.fullmatch(r"skus[0-9a-f]{8}", made["code"])
    assert made["exchange_url"] == f"ourapp://ourapp?code={made['code']}"
    europe = tenant_make(region="eu", environment=Environment.PRODUCTION)
    assert re.fullmatch(r"pkeu[0-9a-f]{8}", create(ApiClient(team_key=europe.key), user_make(europe))["code"])
    with team_scope(team.context):
        row = LinkCode.objects.get()
    assert made["code"].encode() not in bytes(row.code_hash)
    assert row.expires_at - row.created_at == timedelta(hours=1)


@time_machine.travel("2026-03-01T12:00:00Z", tick=False)
def test_a_codes_end_may_be_chosen_within_a_week(team: Tenant, api: ApiClient) -> None:
    user = user_make(team)
    assert create(api, user, expires_at="2026-03-08T12:00:00Z")["expires_at"] == "2026-03-08T12:00:00+00:00"
    assert create(api, user, expires_at="2026-03-02T12:00:00%2B02:00")["expires_at"] == "2026-03-02T10:00:00+00:00"
    refused = {
        "2026-03-01T12:00:00Z": "datetime_future",
        "2020-01-01T00:00:00Z": "datetime_future",
        "2026-03-08T12:00:01Z": "less_than_equal",
        "9999-12-31T23:59:59Z": "less_than_equal",
        "soon": "value_error",
    }
    for text, kind in refused.items():
        answer = api.request("POST", f"{CREATE}?user_id={user.id}&expires_at={text}")
        assert answer.status_code == 422
        assert [(one["loc"], one["type"]) for one in answer.json()["detail"]] == [(["query", "expires_at"], kind)]
    with team_scope(team.context):
        assert LinkCode.objects.count() == 2


def test_a_code_is_for_a_living_user_of_the_team(team: Tenant, api: ApiClient, other_team: Tenant) -> None:
    assert api.request("POST", CREATE).status_code == 422
    gone = user_make(team)
    with team_scope(team.context):
        User.objects.filter(pk=gone.pk).update(deleted_at=clock.now())
    production = environment_make(team, Environment.PRODUCTION)
    for user in (user_make(other_team), user_make(production), gone):
        assert api.request("POST", f"{CREATE}?user_id={user.id}").status_code == 404
    with system_scope(SystemScope.KEY_LOOKUP):
        assert LinkCode.objects.count() == 0


def test_a_code_is_traded_once(team: Tenant, api: ApiClient) -> None:
    user = user_make(team)
    with team_scope(team.context):
        TeamSettings.objects.create(team=team.team, environment="sandbox", company_name="Example Health")
    code = create(api, user)["code"]
    answer = exchange(code, grant_type="sign_in_token")
    assert answer.status_code == 200
    body = answer.json()
    token = body.pop("sign_in_token")
    assert body == {
        "user_id": str(user.id),
        "team": {"name": "Example Health", "logo_url": None},
        "environment": "sandbox",
        "region": "us",
    }
    again = exchange(code)
    assert (again.status_code, again.json()["code"]) == (404, "not_found")
    assert ApiClient().post("/v2/session/exchange", {"sign_in_token": token}).json()["user_id"] == str(user.id)
    with team_scope(team.context):
        assert SignInToken.objects.count() == 1


def test_a_code_may_come_in_the_query_as_older_apps_send_it(
    team: Tenant, api: ApiClient, caplog: pytest.LogCaptureFixture
) -> None:
    code = create(api, user_make(team))["code"]
    with caplog.at_level(logging.DEBUG):
        answer = ApiClient().request("POST", f"{EXCHANGE}?code={code}&grant_type=sign_in_token")
    assert answer.status_code == 200
    assert "/v2/link/code/exchange" in caplog.text
    assert code not in caplog.text
    assert answer.json()["sign_in_token"] not in caplog.text


def test_grants_that_are_gone_or_unknown_use_nothing_up(team: Tenant, api: ApiClient) -> None:
    code = create(api, user_make(team))["code"]
    gone = exchange(code, grant_type="api_key")
    assert (gone.status_code, gone.json()["code"]) == (400, "bad_request")
    assert exchange(code, grant_type="password").status_code == 422
    assert ApiClient().post(EXCHANGE, {"grant_type": "sign_in_token"}).status_code == 422
    assert ApiClient().post(EXCHANGE).status_code == 422
    assert exchange(code).status_code == 200


def test_unknown_used_and_expired_codes_answer_alike(team: Tenant, api: ApiClient) -> None:
    user = user_make(team)
    used, expired = create(api, user)["code"], create(api, user)["code"]
    exchange(used)
    answers = [exchange(text) for text in (used, guess(), "nonsense", "skus1234567", "skus1234567G", "mgus12345678")]
    with time_machine.travel(clock.now() + timedelta(hours=1)):
        answers.append(exchange(expired))
    bodies = [{**answer.json(), "request_id": ""} for answer in answers]
    assert [answer.status_code for answer in answers] == [404] * 7
    assert bodies == [bodies[0]] * 7


def test_a_code_of_a_deleted_user_is_dead(team: Tenant, api: ApiClient) -> None:
    user = user_make(team)
    code = create(api, user)["code"]
    with team_scope(team.context):
        User.objects.filter(pk=user.pk).update(deleted_at=clock.now())
    assert exchange(code).status_code == 404
    with team_scope(team.context):
        assert SignInToken.objects.count() == 0
        assert LinkCode.objects.get().used_at is None


def test_one_network_gets_ten_guesses_an_hour(team: Tenant, api: ApiClient) -> None:
    code = create(api, user_make(team))["code"]
    with time_machine.travel(clock.now(), tick=False) as traveller:
        # An IPv6 customer has a whole /64 to guess from.
        assert [exchange(guess(), address=f"2001:db8::{n:x}").status_code for n in range(10)] == [404] * 10
        refused = exchange(code, address="2001:db8::ffff")
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert 3590 <= int(refused.headers["Retry-After"]) <= 3601
        assert exchange(guess("pkus"), address="2001:db8::1").status_code == 429
        assert exchange(guess(), address="2001:db8:0:1::1").status_code == 404
        traveller.shift(timedelta(minutes=59))
        assert exchange(code, address="2001:db8::1").status_code == 429
        traveller.shift(timedelta(minutes=1))
        assert exchange(guess(), address="2001:db8::1").status_code == 404
        later = create(api, user_make(team))["code"]
        assert exchange(later, address="2001:db8::1").status_code == 200


def test_everybody_together_gets_twenty_guesses_an_hour_in_each_world(team: Tenant, api: ApiClient) -> None:
    code = create(api, user_make(team))["code"]
    production = environment_make(team, Environment.PRODUCTION)
    elsewhere = create(ApiClient(team_key=production.key), user_make(production))["code"]
    for number in range(20):
        assert exchange(guess(), address=f"192.0.2.{number}").status_code == 404
    # Nobody learns whether a code was right while guesses are used up.
    for text in (code, guess()):
        assert exchange(text, address="198.51.100.7").status_code == 429
    assert exchange(elsewhere, address="198.51.100.7").status_code == 200
    with time_machine.travel(clock.now() + timedelta(minutes=61)):
        assert exchange(create(api, user_make(team))["code"], address="198.51.100.7").status_code == 200


def test_codes_that_were_made_and_texts_that_are_none_are_no_guesses(team: Tenant, api: ApiClient) -> None:
    code = create(api, user_make(team))["code"]
    exchange(code)
    for _ in range(30):
        assert exchange(code).status_code == 404
        assert exchange("skus-1234").status_code == 404
    assert GuessCount.objects.get().failures == 0
    assert exchange(create(api, user_make(team))["code"]).status_code == 200


def test_guessing_stays_counted_without_redis(team: Tenant, api: ApiClient, settings: Settings) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock?db=0"
    assert [exchange(guess()).status_code for _ in range(11)] == [404] * 10 + [429]


def test_an_address_is_kept_as_a_hash_only_and_not_for_long(team: Tenant) -> None:
    exchange(guess(), address="192.0.2.77")
    assert [key for key in GuessCount.objects.values_list("key", flat=True) if "192" in key] == []
    assert sessions_purge() == 0
    with time_machine.travel(clock.now() + timedelta(hours=2)):
        assert sessions_purge() == 1
    assert list(GuessCount.objects.values_list("key", flat=True)) == ["code:skus"]


@pytest.mark.django_db(transaction=True)
def test_of_many_exchanges_at_once_one_wins(team: Tenant, api: ApiClient) -> None:
    code = create(api, user_make(team))["code"]
    assert sorted(at_once(4, lambda _: exchange(code).status_code)) == [200, 404, 404, 404]
    with team_scope(team.context):
        assert SignInToken.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_guesses_at_once_are_as_few_as_one_after_another(team: Tenant) -> None:
    for number in range(17):
        exchange(guess(), address=f"192.0.2.{number}")
    found = at_once(8, lambda number: exchange(guess(), address=f"198.51.100.{number}").status_code)
    assert sorted(found) == [404] * 3 + [429] * 5


def test_a_code_that_is_drawn_twice_is_drawn_again(
    team: Tenant, api: ApiClient, other_team: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter(["0000000a", "0000000a", "0000000b"])
    monkeypatch.setattr(secrets, "token_hex", lambda _: next(drawn))
    assert create(ApiClient(team_key=other_team.key), user_make(other_team))["code"] == "skus0000000a"
    assert create(api, user_make(team))["code"] == "skus0000000b"


def test_old_codes_are_purged(team: Tenant, api: ApiClient) -> None:
    create(api, user_make(team))
    with time_machine.travel(clock.now() + timedelta(days=7)):
        assert sessions_purge() == 0
    with time_machine.travel(clock.now() + timedelta(days=7, hours=2)):
        assert sessions_purge() == 1
