"""Bulk operations: import, export, pause, trigger, and their list."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.constants import BULK_ITEMS_MAXIMUM, BULK_LEASE_SECONDS
from links.models import BulkOp, BulkOpItem, Connection, Pull
from links.services.bulk import bulk_op_run, bulk_ops_wake
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.events import event_types_of, events_of
from tests.links.linking import connected
from tests.links.simulators import Simulator
from users.models import User

SCOPES = ["personal", "daily", "heartrate", "workout"]


def recipe(user: User, **values: Any) -> dict[str, Any]:
    """A connection as another system had it."""
    return {
        "user_id": str(user.id),
        "access_token": "access-of-elsewhere",
        "refresh_token": "refresh-of-elsewhere",
        "provider_id": f"account-{user.client_user_id}",
        "expires_at": int((clock.now() + timedelta(hours=1)).timestamp()),
        "oauth_scopes": SCOPES,
        **values,
    }


def imported(api: ApiClient, *recipes: dict[str, Any], **values: Any) -> None:
    """An import that is queued."""
    answer = api.post("/v2/link/bulk_import", {"provider": "oura", "connections": list(recipes), **values})
    assert (answer.status_code, answer.content) == (202, b"")


def ops(tenant: Tenant) -> list[BulkOp]:
    """The team's operations."""
    with team_scope(tenant.context):
        return list(BulkOp.objects.for_team(tenant.context).order_by("id"))


def worked(tenant: Tenant) -> BulkOp:
    """The team's only operation, worked to its end."""
    (op,) = ops(tenant)
    bulk_op_run(op_id=op.pk)
    (op,) = ops(tenant)
    return op


def connections(tenant: Tenant) -> list[Connection]:
    """The team's living connections."""
    with team_scope(tenant.context):
        return list(Connection.objects.for_team(tenant.context).filter(disconnected_at=None).order_by("id"))


def test_an_import_makes_connections_as_a_login_does(api: ApiClient, team: Tenant, simulator: Simulator) -> None:
    ada, bob = user_make(team), user_make(team)
    imported(api, recipe(ada), recipe(bob, oauth_scopes=["daily"]))
    op = worked(team)
    assert (op.status, op.total, op.processed, op.failed) == ("success", 2, 2, 0)
    first, second = connections(team)
    assert (first.user_id, first.external_user_id) == (ada.id, f"account-{ada.client_user_id}")
    assert (first.access_token, first.refresh_token) == ("access-of-elsewhere", "refresh-of-elsewhere")
    assert set(SCOPES) <= set(first.scopes_granted)
    assert second.scopes_granted == ["daily"]
    assert "heartrate" in second.scopes_denied
    assert event_types_of(team) == ["provider.connection.created"] * 2
    with team_scope(team.context):
        assert set(Pull.objects.filter(connection=second).values_list("kind", flat=True)) == {"backfill"}
        assert BulkOpItem.objects.filter(access_token=None, refresh_token=None).count() == 2


def test_users_that_cannot_be_imported_are_named_and_hinder_nobody(
    api: ApiClient, team: Tenant, other_team: Tenant, simulator: Simulator
) -> None:
    good, strange = user_make(team), user_make(other_team)
    imported(api, recipe(strange), recipe(good), recipe(good, user_id=str(uuid4())))
    op = worked(team)
    assert (op.status, op.processed, op.failed) == ("success", 3, 2)
    assert [one.user_id for one in connections(team)] == [good.id]
    assert connections(other_team) == []
    with team_scope(team.context):
        codes = list(BulkOpItem.objects.order_by("id").values_list("status", "error_code"))
    assert [status for status, _ in codes] == ["failed", "processed", "failed"]
    assert codes[0] == codes[2]


def test_an_import_in_which_nobody_came_through_is_a_failure(
    api: ApiClient, team: Tenant, simulator: Simulator
) -> None:
    imported(api, recipe(user_make(team), user_id=str(uuid4())))
    assert worked(team).status == "failure"


def test_another_worker_goes_on_where_one_died(api: ApiClient, team: Tenant, simulator: Simulator) -> None:
    users = [user_make(team) for _ in range(3)]
    imported(api, *[recipe(user) for user in users])
    (op,) = ops(team)
    now = clock.now()
    with team_scope(team.context):
        # A worker that did the first user and was killed.
        BulkOp.objects.filter(pk=op.pk).update(lease_until=now + timedelta(seconds=BULK_LEASE_SECONDS), claim=1)
    bulk_op_run(op_id=op.pk)
    assert connections(team) == []
    with team_scope(team.context):
        BulkOp.objects.filter(pk=op.pk).update(lease_until=now - timedelta(seconds=1))
    assert bulk_ops_wake() == 1
    assert worked(team).processed == 3
    assert [one.user_id for one in connections(team)] == [user.id for user in users]
    assert bulk_ops_wake() == 0
    bulk_op_run(op_id=op.pk)
    assert len(event_types_of(team)) == 3


@pytest.mark.parametrize(
    "change", [{"provider_id": " "}, {"oauth_scopes": [" "]}, {"oauth_scopes": ["daily personal"]}]
)
def test_blanks_are_no_account_and_no_scope(api: ApiClient, team: Tenant, change: dict[str, Any]) -> None:
    body = {"provider": "oura", "connections": [recipe(user_make(team), **change)]}
    answer = api.post("/v2/link/bulk_import", body)
    assert [problem["loc"][3] for problem in answer.json()["detail"]] == list(change)
    assert (answer.status_code, ops(team)) == (422, [])


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"provider": "whoop"}, ["body", "provider"]),
        ({"provider": "gadget"}, ["body", "provider"]),
        ({"connections": []}, ["body", "connections"]),
        ({"connections": [{"user_id": "x"}]}, ["body", "connections", 0, "user_id"]),
        ({"wait_for_completion": "perhaps"}, ["body", "wait_for_completion"]),
    ],
)
def test_a_malformed_import_changes_nothing(
    api: ApiClient, team: Tenant, change: dict[str, Any], where: list[str | int]
) -> None:
    body = {"provider": "oura", "connections": [recipe(user_make(team))], **change}
    answer = api.post("/v2/link/bulk_import", body)
    assert answer.status_code == 422
    assert where in [problem["loc"] for problem in answer.json()["detail"]]
    assert ops(team) == []


def test_a_user_twice_or_too_many_users_are_refused(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    twice = {"provider": "oura", "connections": [recipe(user), recipe(user)]}
    assert api.post("/v2/link/bulk_import", twice).status_code == 422
    many = {"provider": "oura", "user_ids": [str(uuid4()) for _ in range(BULK_ITEMS_MAXIMUM + 1)]}
    assert api.post("/v2/link/bulk_trigger_historical_pull", many).status_code == 422
    assert ops(team) == []


def test_an_export_is_what_an_import_takes(
    api: ApiClient, team: Tenant, other_team: Tenant, other_api: ApiClient, simulator: Simulator
) -> None:
    user = user_make(team)
    made = connected(team, user, "oura")
    answer = api.post("/v2/link/bulk_export", {"provider": "oura"}).json()
    assert answer["next_token"] is None
    (one,) = answer["data"]
    assert one["user_id"] == str(user.id)
    assert (one["access_token"], one["refresh_token"]) == (made.access_token, made.refresh_token)
    assert (one["provider_id"], sorted(one["oauth_scopes"])) == (made.external_user_id, sorted(made.scopes_granted))
    assert other_api.post("/v2/link/bulk_export", {"provider": "oura"}).json()["data"] == []
    moved = {**one, "user_id": str(user_make(other_team).id)}
    assert other_api.post("/v2/link/bulk_import", {"provider": "oura", "connections": [moved]}).status_code == 202
    assert worked(other_team).status == "success"
    (taken,) = connections(other_team)
    assert (taken.access_token, taken.external_user_id) == (made.access_token, made.external_user_id)


def test_an_export_pages_and_keeps_to_named_users(
    api: ApiClient, team: Tenant, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("links.bulk_selectors.BULK_EXPORT_PAGE_SIZE", 2)
    users = [user_make(team) for _ in range(3)]
    imported(api, *[recipe(user) for user in users])
    worked(team)
    first = api.post("/v2/link/bulk_export", {"provider": "oura"}).json()
    second = api.post("/v2/link/bulk_export", {"provider": "oura", "next_token": first["next_token"]}).json()
    found = [one["user_id"] for one in first["data"] + second["data"]]
    assert (found, second["next_token"]) == ([str(user.id) for user in users], None)
    named = {"provider": "oura", "user_ids": [str(users[1].id)]}
    assert [one["user_id"] for one in api.post("/v2/link/bulk_export", named).json()["data"]] == [str(users[1].id)]
    stolen = api.post("/v2/link/bulk_export", {**named, "next_token": first["next_token"]})
    assert stolen.status_code == 422


def test_a_pause_stops_pulls_until_the_person_is_back(
    api: ApiClient, team: Tenant, other_team: Tenant, simulator: Simulator
) -> None:
    user, strange = user_make(team), user_make(other_team)
    imported(api, recipe(user))
    worked(team)
    body = {"provider": "oura", "user_ids": [str(user.id), str(strange.id), str(uuid4())]}
    assert api.post("/v2/link/bulk_pause", body).json() == {"success": True, "paused": 1}
    assert api.post("/v2/link/bulk_pause", body).json() == {"success": True, "paused": 0}
    (shown,) = api.get(f"/v2/user/providers/{user.id}").json()["providers"]
    assert (shown["status"], shown["error_details"]) == ("paused", None)
    trigger = {"provider": "oura", "user_ids": [str(user.id)]}
    assert api.post("/v2/link/bulk_trigger_historical_pull", trigger).status_code == 202
    last = ops(team)[-1]
    bulk_op_run(op_id=last.pk)
    assert ops(team)[-1].status == "failure"


def test_a_trigger_owes_the_history_again(api: ApiClient, team: Tenant, simulator: Simulator) -> None:
    user = user_make(team)
    imported(api, recipe(user))
    worked(team)
    (connection,) = connections(team)
    with team_scope(team.context):
        Pull.objects.filter(connection=connection).delete()
    body = {"provider": "oura", "user_ids": [str(user.id), str(uuid4())]}
    assert api.post("/v2/link/bulk_trigger_historical_pull", body).status_code == 202
    bulk_op_run(op_id=ops(team)[-1].pk)
    op = ops(team)[-1]
    assert (op.status, op.processed, op.failed) == ("success", 2, 1)
    with team_scope(team.context):
        pulls = Pull.objects.filter(connection=connection, status="scheduled")
        assert set(pulls.values_list("kind", flat=True)) == {"backfill"}
    assert event_types_of(team) == ["provider.connection.created"]


def test_the_list_pages_and_keeps_to_the_team(api: ApiClient, team: Tenant, other_api: ApiClient) -> None:
    assert api.get("/v2/link/bulk_op").json() == {"data": [], "next_cursor": None}
    for _ in range(3):
        body = {"provider": "oura", "user_ids": [str(uuid4())]}
        assert api.post("/v2/link/bulk_trigger_historical_pull", body).status_code == 202
    first = api.get("/v2/link/bulk_op", {"page_size": 2}).json()
    second = api.get("/v2/link/bulk_op", {"page_size": 2, "next_cursor": first["next_cursor"]}).json()
    found = [one["id"] for one in first["data"] + second["data"]]
    assert found == [str(op.pk) for op in reversed(ops(team))]
    assert second["next_cursor"] is None
    assert first["data"][0] == {
        "id": found[0],
        "type": "link_bulk_historical_trigger",
        "status": "in_progress",
        "provider": "oura",
        "pending": 1,
        "processed": 0,
        "failed": 0,
        "started_at": first["data"][0]["started_at"],
        "ended_at": None,
    }
    assert other_api.get("/v2/link/bulk_op").json()["data"] == []
    assert api.get("/v2/link/bulk_op", {"page_size": 51}).status_code == 422
    assert api.get("/v2/link/bulk_op", {"next_cursor": "x"}).status_code == 422
    assert api.get("/v2/link/bulk_op", {"page_size": 0}).json()["data"] == []


def test_the_older_client_s_team_id_is_ignored(api: ApiClient, team: Tenant) -> None:
    assert api.get("/v2/link/bulk_op", {"team_id": "infer_from_context"}).status_code == 200


def test_waiting_answers_with_the_users(
    api: ApiClient, team: Tenant, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, gone = user_make(team), uuid4()
    looks: list[int] = []

    def worker(_seconds: float) -> None:
        looks.append(1)
        worked(team)

    # The worker does its work while the caller waits.
    monkeypatch.setattr("links.services.bulk.time.sleep", worker)
    body = {"provider": "oura", "connections": [recipe(good), recipe(good, user_id=str(gone))]}
    answer = api.post("/v2/link/bulk_import", {**body, "wait_for_completion": True})
    assert answer.status_code == 200
    assert answer.json() == {"user_ids_imported": [str(good.id)], "user_ids_failed": [str(gone)]}
    assert looks == [1]
    assert [event_type for event_type, _ in events_of(team)] == ["provider.connection.created"]


@pytest.mark.parametrize("name", ["access_token", "refresh_token", "provider_id"])
@pytest.mark.parametrize("text", ["a\r\nX-Evil: 1", "a\nb", "a\tb", "a\x7fb", "a\u2028b", "\u202eb"])
def test_what_goes_into_requests_has_no_control_characters(api: ApiClient, team: Tenant, name: str, text: str) -> None:
    one = recipe(user_make(team), **{name: text})
    answer = api.post("/v2/link/bulk_import", {"provider": "oura", "connections": [one]})
    assert answer.status_code == 422
    assert [problem["loc"][-1] for problem in answer.json()["detail"]] == [name]
    assert ops(team) == []


def test_a_token_is_visible_ascii(api: ApiClient, team: Tenant) -> None:
    user = user_make(team)
    for text in ("a b", "ä", "a\u00a0b"):
        body = {"provider": "oura", "connections": [recipe(user, access_token=text)]}
        assert api.post("/v2/link/bulk_import", body).status_code == 422
    imported(api, recipe(user, access_token="a.b-c_d~e+f/g=", provider_id="Ä account"))
