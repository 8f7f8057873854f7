"""Idempotency keys on POST."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope
from management import idempotency
from management.models import IdempotentReply
from management.tasks import idempotency_purge
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.test_api_connections import connection_make
from users import services

BODY = {"client_user_id": "anna"}


def _rows() -> list[IdempotentReply]:
    with system_scope(SystemScope.PURGE):
        return list(IdempotentReply.objects.all())


@pytest.mark.parametrize("header", ["Idempotency-Key", "X-Idempotency-Key"])
def test_a_repeat_gets_the_first_answer(api: ApiClient, header: str) -> None:
    first = api.post("/v2/user", BODY, **{header: "k1"})
    again = api.post("/v2/user", BODY, **{header: "k1"})
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert again["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first
    assert api.get("/v2/user").json()["total"] == 1


def test_without_the_key_a_repeat_is_a_second_request(api: ApiClient) -> None:
    assert [api.post("/v2/user", BODY).status_code for _ in range(2)] == [200, 400]
    assert _rows() == []


def test_a_changed_body_is_refused(api: ApiClient) -> None:
    api.post("/v2/user", BODY, Idempotency_Key="k1")
    other = api.post("/v2/user", {"client_user_id": "ben"}, Idempotency_Key="k1")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert api.get("/v2/user").json()["total"] == 1


def test_refusals_of_the_business_are_kept_validation_is_not(api: ApiClient) -> None:
    api.post("/v2/user", BODY)
    kept = [api.post("/v2/user", BODY, Idempotency_Key="k1") for _ in range(2)]
    assert [answer.status_code for answer in kept] == [400, 400]
    assert kept[1]["Idempotent-Replayed"] == "true"
    assert api.post("/v2/user", {}, Idempotency_Key="k2").status_code == 422
    assert api.post("/v2/user", {"client_user_id": "ben"}, Idempotency_Key="k2").status_code == 200


def test_keys_are_the_teams_own(api: ApiClient, other_api: ApiClient, production: Tenant) -> None:
    clients = [api, other_api, ApiClient(team_key=production.key)]
    answers = [client.post("/v2/user", BODY, Idempotency_Key="k1") for client in clients]
    assert len({answer.json()["user_id"] for answer in answers}) == 3


def test_a_running_twin_is_409_and_an_abandoned_one_is_taken_over(api: ApiClient) -> None:
    api.post("/v2/user", BODY, Idempotency_Key="k1")
    with system_scope(SystemScope.PURGE):
        IdempotentReply.objects.update(state="running", reply=None, status_code=None)
    twin = api.post("/v2/user", BODY, Idempotency_Key="k1")
    assert (twin.status_code, twin.json()["code"], twin["Retry-After"]) == (409, "request_running", "1")
    with system_scope(SystemScope.PURGE):
        IdempotentReply.objects.update(started_at=clock.now() - timedelta(seconds=121))
    assert api.post("/v2/user", {"client_user_id": "ben"}, Idempotency_Key="k1").status_code == 200


def test_a_reply_is_forgotten_after_a_day_and_purged(api: ApiClient) -> None:
    api.post("/v2/user", BODY, Idempotency_Key="k1")
    assert [row.expires_at - row.started_at for row in _rows()] == [timedelta(hours=24)]
    with system_scope(SystemScope.PURGE):
        IdempotentReply.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    assert api.post("/v2/user", {"client_user_id": "ben"}, Idempotency_Key="k1").status_code == 200
    with system_scope(SystemScope.PURGE):
        IdempotentReply.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    idempotency_purge()
    assert _rows() == []


def test_replies_are_sealed_and_name_their_user(api: ApiClient) -> None:
    user_id = api.post("/v2/user", {"client_user_id": "unmistakable"}, Idempotency_Key="k1").json()["user_id"]
    assert [str(row.user_id) for row in _rows()] == [user_id]
    with connection.cursor() as cursor, system_scope(SystemScope.PURGE):
        cursor.execute("SELECT reply FROM management_idempotent_reply")
        sealed = bytes(cursor.fetchone()[0])
    assert b"unmistakable" not in sealed


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_bad_keys_are_refused(api: ApiClient, key: str) -> None:
    response = api.post("/v2/user", BODY, Idempotency_Key=key)
    assert (response.status_code, response.json()["detail"][0]["loc"]) == (422, ["header", "Idempotency-Key"])


def test_a_crash_after_the_change_undoes_it_with_the_claim_still_there(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from management.idempotency import DatabaseReplyKeeper

    kept = DatabaseReplyKeeper.keep

    def die(self: Any, request: Any, response: Any) -> None:
        raise SystemExit  # as a killed process: no handler of ours runs

    monkeypatch.setattr(DatabaseReplyKeeper, "keep", die)
    with pytest.raises(SystemExit):
        api.post("/v2/user", BODY, Idempotency_Key="k1")
    monkeypatch.setattr(DatabaseReplyKeeper, "keep", kept)
    assert api.get("/v2/user").json()["total"] == 0
    assert [row.state for row in _rows()] == ["running"]


def test_a_request_whose_claim_was_taken_over_changes_nothing(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    create = services.user_create

    def slow(**values: Any) -> Any:
        made = create(**values)
        with system_scope(SystemScope.PURGE):
            assert IdempotentReply.objects.all().delete()[0] == 1
        return made

    monkeypatch.setattr(services, "user_create", slow)
    late = api.post("/v2/user", BODY, Idempotency_Key="k1")
    assert (late.status_code, late.json()["code"]) == (409, "request_running")
    assert api.get("/v2/user").json()["total"] == 0


def test_an_answer_committed_just_now_is_not_taken_for_abandoned(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = api.post("/v2/user", BODY, Idempotency_Key="k1")
    with system_scope(SystemScope.PURGE):
        IdempotentReply.objects.update(state="running", started_at=clock.now() - timedelta(seconds=121))

    def committed_meanwhile(row: IdempotentReply) -> bool:
        abandoned = row.state == "running"
        IdempotentReply.objects.update(state="answered")
        return abandoned

    monkeypatch.setattr(idempotency, "_abandoned", committed_meanwhile)
    again = api.post("/v2/user", BODY, Idempotency_Key="k1")
    assert (again.json(), again["Idempotent-Replayed"]) == (first.json(), "true")


def test_a_reply_about_a_user_of_the_body_names_them(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    connection_make(team, user)
    # A refusal that is kept: the user has a connected provider.
    body = {"user_id": str(user.pk), "provider": "oura"}
    assert api.post("/v2/link/connect/demo", body, Idempotency_Key="k1").status_code == 400
    assert [row.user_id for row in _rows()] == [user.pk]
