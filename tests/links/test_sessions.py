"""Sign-in tokens and device sessions: begun once, kept by rotation, ended in every way there is."""

import logging
import re
from datetime import timedelta
from uuid import uuid4

import pytest
import time_machine

from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.models import DeviceSession, SessionToken, SignInToken
from links.services.connections import user_disconnect
from links.services.session_purge import sessions_purge
from management.models import AccessRecord, IdempotentReply
from tests.clients import ApiClient
from tests.factories import Tenant, environment_make, user_make
from tests.links.signing_in import Body, at_once, device, refresh, session_of, sign_in_token
from tests.links.test_link_codes import create, exchange
from users.models import User


@pytest.fixture
def user(team: Tenant) -> User:
    """Somebody of our team."""
    return user_make(team)


def alive(pair: Body) -> bool:
    """Whether the pair's access token opens anything."""
    return device(pair).get("/v2/session").status_code == 200


def end_reasons(tenant: Tenant) -> list[str]:
    """Why each session ended; '' for one that lives."""
    with team_scope(tenant.context):
        return list(DeviceSession.objects.order_by("id").values_list("end_reason", flat=True))


def test_signing_in(team: Tenant, api: ApiClient, user: User) -> None:
    made = api.post(f"/v2/user/{user.id}/sign_in_token").json()
    assert made["user_id"] == str(user.id)
    assert re.fullmatch(r"si_[0-9A-Za-z]{49}", made["sign_in_token"])
    pair = ApiClient().post("/v2/session/exchange", {"sign_in_token": made["sign_in_token"]}).json()
    assert re.fullmatch(r"sa_[0-9A-Za-z]{49}", pair["access_token"])
    assert re.fullmatch(r"sr_[0-9A-Za-z]{49}", pair["refresh_token"])
    assert (pair["token_type"], pair["expires_in"], pair["refresh_expires_in"]) == ("Bearer", 3600, 31_536_000)
    assert (pair["user_id"], pair["environment"], pair["region"]) == (str(user.id), "sandbox", "us")
    assert pair["team"] == {"name": "Our team", "logo_url": None}
    with team_scope(team.context):
        hashes = [bytes(one) for one in SessionToken.objects.values_list("token_hash", flat=True)]
        hashes += [bytes(one) for one in SignInToken.objects.values_list("token_hash", flat=True)]
    assert [len(one) for one in hashes] == [32, 32, 32]


def test_who_is_signed_in(api: ApiClient, user: User) -> None:
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False):
        pair = session_of(api, user)
        assert device(pair).get("/v2/session").json() == {
            "session_id": pair["session_id"],
            "created_at": "2026-03-01T12:00:00+00:00",
            "expires_at": "2027-03-01T12:00:00+00:00",
            "user_id": str(user.id),
            "team": {"name": "Our team", "logo_url": None},
            "environment": "sandbox",
            "sdk_per_device_activity_timeseries": False,
            "region": "us",
        }
    assert api.get("/v2/session").status_code == 403


def test_a_sign_in_token_is_good_once_and_for_an_hour(team: Tenant, api: ApiClient, user: User) -> None:
    used, late = sign_in_token(api, user), sign_in_token(api, user)
    assert ApiClient().post("/v2/session/exchange", {"sign_in_token": used}).status_code == 200
    tampered = used[:-1] + ("0" if used[-1] != "0" else "1")
    with time_machine.travel(clock.now() + timedelta(hours=1)):
        answers = [
            ApiClient().post("/v2/session/exchange", {"sign_in_token": text})
            for text in (used, late, tampered, "si_" + "0" * 49)
        ]
    assert [(one.status_code, one.json()["code"]) for one in answers] == [(401, "not_authenticated")] * 4
    assert ApiClient().post("/v2/session/exchange", {}).status_code == 422
    assert end_reasons(team) == [""]


def test_a_sign_in_token_needs_a_living_user_of_the_team(
    team: Tenant, api: ApiClient, other_api: ApiClient, user: User
) -> None:
    assert other_api.post(f"/v2/user/{user.id}/sign_in_token").status_code == 404
    production = ApiClient(team_key=environment_make(team, Environment.PRODUCTION).key)
    assert production.post(f"/v2/user/{user.id}/sign_in_token").status_code == 404
    token = sign_in_token(api, user)
    with team_scope(team.context):
        User.objects.filter(pk=user.pk).update(deleted_at=clock.now())
    assert ApiClient().post("/v2/session/exchange", {"sign_in_token": token}).status_code == 401
    assert end_reasons(team) == []


@pytest.mark.django_db(transaction=True)
def test_of_many_sign_ins_at_once_with_one_token_one_wins(team: Tenant, api: ApiClient, user: User) -> None:
    token = sign_in_token(api, user)
    found = at_once(4, lambda _: ApiClient().post("/v2/session/exchange", {"sign_in_token": token}).status_code)
    assert sorted(found) == [200, 401, 401, 401]
    assert end_reasons(team) == [""]


def test_the_access_token_is_good_for_an_hour_only(api: ApiClient, user: User) -> None:
    with time_machine.travel(clock.now(), tick=False) as traveller:
        pair = session_of(api, user)
        traveller.shift(timedelta(minutes=59, seconds=59))
        assert alive(pair)
        traveller.shift(timedelta(seconds=1))
        answer = device(pair).get("/v2/session")
        assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
        assert alive(refresh(pair).json())


def test_tokens_are_good_for_what_they_are_only(api: ApiClient, team: Tenant, user: User) -> None:
    pair = session_of(api, user)
    swapped = {"access_token": pair["refresh_token"], "refresh_token": pair["access_token"]}
    assert not alive(swapped)
    assert refresh(swapped).status_code == 401
    tampered = pair["access_token"][:-8] + "00000000"
    assert not alive({"access_token": tampered})
    for header in ("Bearer", f"Bearer  {pair['access_token']} x", f"Bearer {team.key}", "Bearer é"):
        client = ApiClient()
        client.headers["Authorization"] = header
        assert client.get("/v2/session").status_code == 401
    assert ApiClient(team_key=pair["access_token"]).get("/v2/user").status_code == 401
    assert device(pair).get("/v2/user").status_code == 401
    assert device(pair).get(f"/v2/user/{user.id}").status_code == 401
    assert alive(pair)


def test_other_schemes_are_left_alone_and_a_session_counts_before_a_key(
    api: ApiClient, team: Tenant, user: User
) -> None:
    pair = session_of(api, user)
    basic = ApiClient(team_key=team.key)
    basic.headers["Authorization"] = "Basic cHJveHk6cHJveHk="
    assert basic.get("/v2/session").status_code == 403
    both = ApiClient(team_key=team.key)
    both.headers["Authorization"] = f"bearer {pair['access_token']}"
    assert both.get("/v2/session").json()["session_id"] == pair["session_id"]
    both.headers["Authorization"] = f"Bearer {pair['refresh_token']}"
    assert both.get("/v2/session").status_code == 401


def test_refreshing_slides_the_end_and_keeps_the_session(team: Tenant, api: ApiClient, user: User) -> None:
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as traveller:
        pair = first = session_of(api, user)
        for _ in range(3):
            traveller.shift(timedelta(days=300))
            answer = refresh(pair)
            assert answer.status_code == 200
            pair = answer.json()
            assert pair["session_id"] == first["session_id"]
            assert alive(pair)
        traveller.shift(timedelta(days=365))
        assert refresh(pair).status_code == 401
    assert end_reasons(team) == [""]


def test_an_older_access_token_lives_out_its_hour_after_a_refresh(api: ApiClient, user: User) -> None:
    pair = session_of(api, user)
    assert refresh(pair).status_code == 200
    assert alive(pair)


def test_a_refresh_token_shown_again_ends_the_session(
    team: Tenant, api: ApiClient, user: User, caplog: pytest.LogCaptureFixture
) -> None:
    with time_machine.travel(clock.now(), tick=False) as traveller:
        pair = session_of(api, user)
        newer = refresh(pair).json()
        traveller.shift(timedelta(seconds=61))
        with caplog.at_level(logging.INFO):
            assert refresh(pair).status_code == 401
        assert not alive(newer)
        assert refresh(newer).status_code == 401
    assert end_reasons(team) == ["token_reused"]
    assert "session_token_reused" in caplog.text
    assert pair["refresh_token"] not in caplog.text


def test_an_answer_that_was_lost_may_be_asked_for_again(team: Tenant, api: ApiClient, user: User) -> None:
    with time_machine.travel(clock.now(), tick=False) as traveller:
        pair = session_of(api, user)
        lost = refresh(pair).json()
        traveller.shift(timedelta(seconds=30))
        lost_too = refresh(pair).json()
        traveller.shift(timedelta(seconds=30))
        got = refresh(pair).json()
        assert alive(got)
        # What was lost is dead, and whoever found its refresh token ends the session with it.
        assert (alive(lost), alive(lost_too)) == (False, False)
        assert refresh(got).status_code == 200
        assert refresh(lost).status_code == 401
    assert end_reasons(team) == ["token_reused"]


@pytest.mark.parametrize("use", ["access", "refresh"])
def test_an_answer_that_arrived_is_not_given_again(team: Tenant, api: ApiClient, user: User, use: str) -> None:
    pair = session_of(api, user)
    arrived = refresh(pair).json()
    if use == "access":
        assert alive(arrived)
    else:
        assert refresh(arrived).status_code == 200
    assert refresh(pair).status_code == 401
    assert not alive(arrived)
    assert end_reasons(team) == ["token_reused"]


@pytest.mark.django_db(transaction=True)
def test_of_refreshes_at_once_with_one_token_the_last_pair_lives(team: Tenant, api: ApiClient, user: User) -> None:
    pair = session_of(api, user)
    answers = at_once(4, lambda _: refresh(pair))
    assert [one.status_code for one in answers] == [200] * 4
    with team_scope(team.context):
        assert DeviceSession.objects.get().generation == 5
        assert SessionToken.objects.filter(kind="access", generation__gt=1).count() == 1
    living = [one.json() for one in answers if alive(one.json())]
    assert len(living) == 1
    assert refresh(living[0]).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_a_thief_and_the_owner_at_once_end_the_session(team: Tenant, api: ApiClient, user: User) -> None:
    pair = session_of(api, user)
    newer = refresh(pair).json()
    assert alive(newer)
    found = at_once(2, lambda number: refresh((pair, newer)[number]).status_code)
    assert found[0] == 401
    assert refresh(newer).status_code == 401
    assert end_reasons(team) == ["token_reused"]


@pytest.mark.django_db(transaction=True)
def test_revoking_leaves_nothing_that_began_meanwhile(team: Tenant, api: ApiClient, user: User) -> None:
    pair, waiting = session_of(api, user), sign_in_token(api, user)

    def act(number: int) -> Body:
        if number == 0:
            return {"revoked": api.post(f"/v2/user/{user.id}/sessions/revoke").status_code}
        if number == 1:
            return dict(refresh(pair).json())
        return dict(ApiClient().post("/v2/session/exchange", {"sign_in_token": waiting}).json())

    revoked, refreshed, begun = at_once(3, act)
    assert revoked == {"revoked": 200}
    for one in (pair, refreshed, begun):
        assert "access_token" not in one or not alive(one)
        assert "refresh_token" not in one or refresh(one).status_code == 401


def test_signing_out(team: Tenant, api: ApiClient, user: User) -> None:
    pair, other = session_of(api, user), session_of(api, user)
    for _ in range(2):
        answer = ApiClient().post("/v2/session/revoke", {"refresh_token": pair["refresh_token"]})
        assert (answer.status_code, answer.json()) == (200, {"success": True})
    assert ApiClient().post("/v2/session/revoke", {"refresh_token": "sr_nonsense"}).json() == {"success": True}
    assert ApiClient().post("/v2/session/revoke", {"refresh_token": pair["access_token"]}).status_code == 200
    assert (alive(pair), refresh(pair).status_code, alive(other)) == (False, 401, True)
    assert end_reasons(team) == ["signed_out", ""]


def test_a_server_lists_and_ends_sessions(team: Tenant, api: ApiClient, user: User) -> None:
    pairs = [session_of(api, user) for _ in range(3)]
    session_of(api, user_make(team))
    first = api.get(f"/v2/user/{user.id}/sessions", {"page_size": 2}).json()
    second = api.get(f"/v2/user/{user.id}/sessions", {"page_size": 2, "next_cursor": first["next_cursor"]}).json()
    shown = [one["session_id"] for page in (first, second) for one in page["sessions"]]
    assert shown == [pair["session_id"] for pair in reversed(pairs)]
    assert second["next_cursor"] is None
    path = f"/v2/user/{user.id}/sessions/{pairs[0]['session_id']}/revoke"
    assert [api.post(path).status_code for _ in range(2)] == [200, 404]
    assert [alive(pair) for pair in pairs] == [False, True, True]
    token, code = sign_in_token(api, user), create(api, user)["code"]
    answer = api.post(f"/v2/user/{user.id}/sessions/revoke")
    assert answer.json() == {"success": True, "sessions_ended": 2}
    assert api.get(f"/v2/user/{user.id}/sessions").json() == {"sessions": [], "next_cursor": None}
    assert [alive(pair) for pair in pairs] == [False] * 3
    assert ApiClient().post("/v2/session/exchange", {"sign_in_token": token}).status_code == 401
    assert exchange(code).status_code == 404
    assert end_reasons(team) == ["revoked"] * 3 + [""]


def test_the_older_name_of_ending_all_sessions(api: ApiClient, user: User) -> None:
    pair = session_of(api, user)
    answer = api.post(f"/v2/user/{user.id}/revoke_app_api_key")
    assert (answer.status_code, answer.json()) == (200, {"success": True, "sessions_ended": 1})
    assert not alive(pair)


def test_another_teams_sessions_do_not_exist(
    team: Tenant, api: ApiClient, other_api: ApiClient, user: User, other_team: Tenant
) -> None:
    pair = session_of(api, user)
    theirs = user_make(other_team)
    for user_id in (user.id, theirs.id, uuid4()):
        assert other_api.post(f"/v2/user/{user_id}/sessions/{pair['session_id']}/revoke").status_code == 404
    assert other_api.post(f"/v2/user/{user.id}/sessions/revoke").status_code == 404
    assert other_api.get(f"/v2/user/{user.id}/sessions").status_code == 404
    neighbour = user_make(team)
    assert api.post(f"/v2/user/{neighbour.id}/sessions/{pair['session_id']}/revoke").status_code == 404
    assert alive(pair)


def test_sessions_of_a_deleted_user_are_dead_at_once(team: Tenant, api: ApiClient, user: User) -> None:
    pair = session_of(api, user)
    with team_scope(team.context):
        User.objects.filter(pk=user.pk).update(deleted_at=clock.now())
    assert (alive(pair), refresh(pair).status_code) == (False, 401)


def test_the_last_use_is_noted_once_an_access_token(team: Tenant, api: ApiClient, user: User) -> None:
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as traveller:
        pair = session_of(api, user)
        seen = []
        for minutes in (10, 10, 10):
            traveller.shift(timedelta(minutes=minutes))
            assert alive(pair)
            seen.append(api.get(f"/v2/user/{user.id}/sessions").json()["sessions"][0]["last_used_at"])
    assert seen == ["2026-03-01T12:10:00+00:00"] * 3


def test_each_session_has_its_own_limit_and_its_audit_trail(team: Tenant, api: ApiClient, user: User) -> None:
    one, other = session_of(api, user), session_of(api, user)
    remaining = [device(pair).get("/v2/session").headers["RateLimit"] for pair in (one, one, other)]
    assert [text.split("r=")[1].split(";")[0] for text in remaining] == ["5999", "5998", "5999"]
    with team_scope(team.context):
        rows = AccessRecord.objects.filter(actor_kind="device_session").order_by("id")
        found = list(rows.values_list("actor_id", "action", "user_id"))
    assert found[:2] == [
        (one["session_id"], "POST /v2/session/exchange", user.id),
        (other["session_id"], "POST /v2/session/exchange", user.id),
    ]
    assert found[2][:2] == (one["session_id"], "GET /v2/session")


def test_no_secret_is_logged(api: ApiClient, user: User, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        token = sign_in_token(api, user)
        pair = ApiClient().post("/v2/session/exchange", {"sign_in_token": token}).json()
        newer = refresh(pair).json()
        alive(newer)
        refresh(pair)
    for secret in (token, pair["access_token"], pair["refresh_token"], newer["access_token"], newer["refresh_token"]):
        assert secret not in caplog.text


def test_no_reply_that_holds_a_secret_is_kept(team: Tenant, api: ApiClient, user: User) -> None:
    key = {"Idempotency-Key": "the same"}
    tokens = {api.post(f"/v2/user/{user.id}/sign_in_token", **key).json()["sign_in_token"] for _ in range(2)}
    codes = {api.post(f"/v2/link/code/create?user_id={user.id}", **key).json()["code"] for _ in range(2)}
    assert (len(tokens), len(codes)) == (2, 2)
    with team_scope(team.context):
        assert IdempotentReply.objects.count() == 0


def test_what_is_spent_is_purged(team: Tenant, api: ApiClient, user: User) -> None:
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as traveller:
        pair, ended = session_of(api, user), session_of(api, user)
        pair = refresh(pair).json()
        ApiClient().post("/v2/session/revoke", {"refresh_token": ended["refresh_token"]})
        traveller.shift(timedelta(days=7, hours=2))
        # Two sign-in tokens, three access tokens, the ended session and its refresh token.
        assert sessions_purge() == 7
        traveller.shift(timedelta(days=30))
        # The refresh token that was used.
        assert sessions_purge() == 1
        pair = refresh(pair).json()
        assert alive(pair)
        traveller.shift(timedelta(days=373))
        assert sessions_purge() == 4
    with system_scope(SystemScope.KEY_LOOKUP):
        assert (DeviceSession.objects.count(), SessionToken.objects.count()) == (0, 0)


def test_whose_user_was_disconnected_stays_out_though_the_deletion_is_undone(
    team: Tenant, api: ApiClient, user: User
) -> None:
    pair, waiting, code = session_of(api, user), sign_in_token(api, user), create(api, user)["code"]
    neighbour = session_of(api, user_make(team))
    with team_scope(team.context):
        User.objects.filter(pk=user.pk).update(deleted_at=clock.now())
        assert user_disconnect(team.context, user.id) == 0
        User.objects.filter(pk=user.pk).update(deleted_at=None)
    assert end_reasons(team) == ["user_deleted", ""]
    assert (alive(pair), refresh(pair).status_code, alive(neighbour)) == (False, 401, True)
    assert ApiClient().post("/v2/session/exchange", {"sign_in_token": waiting}).status_code == 401
    assert exchange(code).status_code == 404
