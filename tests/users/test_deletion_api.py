"""DELETE /v2/user/{user_id}, undoing it, and the erasure that can be asked for."""

import base64
from io import StringIO
from typing import Any
from uuid import uuid4

import orjson
import pytest
from django.core.management import call_command

from healthsvc.kernel.scope import team_scope
from links.models import Connection, Revocation
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.granting import stored
from tests.users.erasing import after_grace, deleted, erased, later
from users.constants import ERASURE_GRACE_SECONDS
from users.models import Erasure, User
from users.receipts import KEPT, SignedReceipt, receipt_is_true, user_hash

pytestmark = pytest.mark.django_db

_UNKNOWN = "The user does not or no longer exists in this team"
_SCHEDULED = "The user has been scheduled for deletion as per your previous request"


def undo(api: ApiClient, **query: Any) -> tuple[int, Any]:
    """Status, and what is told."""
    named = "&".join(f"{name}={value}" for name, value in query.items())
    response = api.post(f"/v2/user/undo_delete?{named}")
    return response.status_code, response.json().get("detail", response.json())


@pytest.fixture
def user(team: Tenant) -> User:
    """Who is deleted."""
    return user_make(team, client_user_id="ada")


def test_a_deleted_user_vanishes_at_once(api: ApiClient, team: Tenant, user: User) -> None:
    kept = user_make(team)
    response = api.delete(f"/v2/user/{user.id}")
    assert response.status_code == 200
    with team_scope(team.context):
        erasure = Erasure.objects.get()
        assert User.objects.get(pk=user.pk).deleted_at == erasure.requested_at
    assert response.json() == {
        "success": True,
        "erasure_id": str(erasure.id),
        "due_at": erasure.due_at.isoformat(),
    }
    assert (erasure.due_at - erasure.requested_at).total_seconds() == 7 * 86_400
    assert (erasure.user_id, erasure.status, erasure.not_before) == (user.id, "pending", erasure.due_at)
    assert [one["user_id"] for one in api.get("/v2/user").json()["users"]] == [str(kept.id)]
    told = api.get(f"/v2/user/{user.id}")
    assert (told.status_code, told.json()["detail"]) == (404, "You have scheduled this user for deletion.")
    assert api.get("/v2/user/resolve/ada").status_code == 404
    assert api.patch(f"/v2/user/{user.id}", {"fallback_time_zone": "UTC"}).status_code == 404


def test_the_second_deletion_says_that_there_was_a_first(api: ApiClient, team: Tenant, user: User) -> None:
    assert api.delete(f"/v2/user/{user.id}").status_code == 200
    again = api.delete(f"/v2/user/{user.id}")
    assert (again.status_code, again.json()["detail"]) == (404, _SCHEDULED)
    with team_scope(team.context):
        assert Erasure.objects.count() == 1


def test_an_unknown_user_and_anothers_can_t_be_deleted(
    api: ApiClient, team: Tenant, other_team: Tenant, production: Tenant
) -> None:
    strangers = [user_make(other_team), user_make(production)]
    for user_id in (uuid4(), *(stranger.id for stranger in strangers)):
        response = api.delete(f"/v2/user/{user_id}")
        assert (response.status_code, response.json()["detail"]) == (404, _UNKNOWN)
    for tenant, stranger in zip((other_team, production), strangers, strict=True):
        with team_scope(tenant.context):
            assert User.objects.get(pk=stranger.pk).deleted_at is None
            assert Erasure.objects.count() == 0


def test_connections_end_and_their_grants_are_owed_back(api: ApiClient, team: Tenant, user: User) -> None:
    made = stored(team, user)
    api.delete(f"/v2/user/{user.id}")
    with team_scope(team.context):
        assert Connection.objects.get(pk=made.pk).disconnected_at is not None
        (revocation,) = Revocation.objects.all()
    assert (revocation.user_id, revocation.status, revocation.refresh_token) == (user.id, "owed", "refresh-1")


@pytest.mark.parametrize("by", ["user_id", "client_user_id"])
def test_a_deletion_is_undone_within_the_days(api: ApiClient, team: Tenant, user: User, by: str) -> None:
    stored(team, user)
    erasure = deleted(team, user.id)
    name = {by: user.id if by == "user_id" else "ada"}
    with later(ERASURE_GRACE_SECONDS - 5):
        assert undo(api, **name) == (200, {"success": True})
    back = api.get(f"/v2/user/{user.id}").json()
    assert (back["client_user_id"], back["connected_sources"]) == ("ada", [])
    shown = api.get(f"/v2/user/erasure/{erasure.id}").json()
    assert (shown["status"], shown["erased_at"], shown["receipt"]) == ("undone", None, None)
    assert shown["undone_at"] is not None
    again = api.delete(f"/v2/user/{user.id}")
    assert again.status_code == 200
    assert again.json()["erasure_id"] != str(erasure.id)


@pytest.mark.parametrize("query", [{}, {"user_id": uuid4(), "client_user_id": "ada"}])
def test_undoing_names_the_user_in_one_way(api: ApiClient, team: Tenant, user: User, query: dict[str, Any]) -> None:
    deleted(team, user.id)
    status, detail = undo(api, **query)
    assert (status, detail[0]["loc"]) == (422, ["query"])
    with team_scope(team.context):
        assert Erasure.objects.get().status == "pending"


def test_undoing_takes_sound_names_only(api: ApiClient, team: Tenant) -> None:
    for query in ({"user_id": "nobody"}, {"client_user_id": ""}, {"client_user_id": "x" * 256}):
        assert undo(api, **query)[0] == 422


def test_undoing_too_late_is_refused(api: ApiClient, team: Tenant, user: User) -> None:
    deleted(team, user.id)
    too_late = (409, "The time in which the deletion could be undone is over.")
    with after_grace():
        assert undo(api, user_id=user.id) == too_late
        assert undo(api, client_user_id="ada") == too_late
    with team_scope(team.context):
        assert (Erasure.objects.get().status, User.objects.get().deleted_at is None) == ("pending", False)


def test_undoing_once_the_name_lives_again_is_refused(api: ApiClient, team: Tenant, user: User) -> None:
    erasure = deleted(team, user.id)
    other = api.post("/v2/user", {"client_user_id": "ada"}).json()["user_id"]
    refused = (409, "Another user was created with this client_user_id; the deletion can't be undone.")
    assert undo(api, user_id=user.id) == refused
    assert undo(api, client_user_id="ada") == refused
    assert api.get(f"/v2/user/erasure/{erasure.id}").json()["status"] == "pending"
    assert api.get("/v2/user/resolve/ada").json()["user_id"] == other
    api.patch(f"/v2/user/{other}", {"client_user_id": "eve"})
    assert undo(api, user_id=user.id) == (200, {"success": True})


def test_of_two_deleted_users_with_one_name_the_last_comes_back(api: ApiClient, team: Tenant, user: User) -> None:
    deleted(team, user.id)
    second = user_make(team, client_user_id="ada")
    deleted(team, second.id)
    assert undo(api, client_user_id="ada") == (200, {"success": True})
    assert api.get("/v2/user/resolve/ada").json()["user_id"] == str(second.id)


def test_who_is_not_deleted_can_t_come_back(
    api: ApiClient, team: Tenant, user: User, other_team: Tenant, production: Tenant
) -> None:
    not_scheduled = (409, "The user is not scheduled for deletion.")
    assert undo(api, user_id=user.id) == not_scheduled
    assert undo(api, client_user_id="ada") == not_scheduled
    for tenant in (other_team, production):
        stranger = user_make(tenant, client_user_id="theirs")
        erasure = deleted(tenant, stranger.id)
        assert undo(api, user_id=stranger.id) == undo(api, user_id=uuid4()) == (404, _UNKNOWN)
        assert undo(api, client_user_id="theirs") == (404, _UNKNOWN)
        assert api.get(f"/v2/user/erasure/{erasure.id}").status_code == 404
        with team_scope(tenant.context):
            assert Erasure.objects.get().status == "pending"


def test_an_erased_user_is_as_one_who_never_was(api: ApiClient, team: Tenant, user: User) -> None:
    erased(team, user.id)
    for response in (api.delete(f"/v2/user/{user.id}"), api.post(f"/v2/user/undo_delete?user_id={user.id}")):
        assert (response.status_code, response.json()["detail"]) == (404, _UNKNOWN)
    told, missing = api.get(f"/v2/user/{user.id}").json(), api.get(f"/v2/user/{uuid4()}").json()
    assert {**told, "request_id": ""} == {**missing, "request_id": ""}


def test_the_receipt_stays_and_proves_what_it_says(api: ApiClient, team: Tenant, user: User) -> None:
    row = erased(team, user.id)
    answer = api.get(f"/v2/user/erasure/{row.id}")
    shown = answer.json()
    text, erased_at = shown["receipt"]["text"], shown["erased_at"]
    assert (shown["status"], shown["rows_erased"]) == ("erased", {"users_user": 1})
    assert orjson.loads(text) == {
        "version": 1,
        "erasure_id": str(row.id),
        "team_id": str(team.team.id),
        "environment": "sandbox",
        "user_hash": user_hash(user.id),
        "requested_at": shown["requested_at"],
        "due_at": shown["due_at"],
        "erased_at": erased_at,
        "rows_erased": {"users_user": 1},
        "rows_emptied": {},
        "kept": KEPT,
        "grants_not_revoked": 0,
    }
    assert str(user.id) not in answer.content.decode()
    assert '"ada"' not in text
    signature = base64.b64decode(shown["receipt"]["signature"])
    public_key = base64.b64decode(shown["receipt"]["public_key"])
    assert receipt_is_true(SignedReceipt(text, signature, public_key))
    assert not receipt_is_true(SignedReceipt(text.replace("sandbox", "Sandbox"), signature, public_key))
    assert not receipt_is_true(SignedReceipt(text, bytes(64), public_key))
    second = erased(team, user_make(team).id)
    assert bytes(second.receipt_public_key or b"") == public_key
    told = StringIO()
    call_command("erasure_key", "--user", str(user.pk), "--json", stdout=told)
    assert orjson.loads(told.getvalue()) == {
        "algorithm": shown["receipt"]["algorithm"],
        "public_key": shown["receipt"]["public_key"],
        "user_hash": orjson.loads(text)["user_hash"],
    }


def test_an_erasure_that_waits_has_no_receipt(api: ApiClient, team: Tenant, user: User) -> None:
    erasure = deleted(team, user.id)
    shown = api.get(f"/v2/user/erasure/{erasure.id}").json()
    assert shown == {
        "erasure_id": str(erasure.id),
        "status": "pending",
        "requested_at": erasure.requested_at.isoformat(),
        "due_at": erasure.due_at.isoformat(),
        "undone_at": None,
        "erased_at": None,
        "rows_erased": {},
        "rows_emptied": {},
        "grants_not_revoked": 0,
        "receipt": None,
    }
