"""Receipts of erasures where the whole team goes: made for who was deleted before it, and read when no key opens it."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest

from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.models import Connection, Revocation
from management.models import Team
from management.services.team_erasure import team_erase
from tests.clients import ApiClient
from tests.factories import Tenant, environment_make, user_make
from tests.links.granting import stored
from tests.management.organising import bound_client, team_path
from tests.users.erasing import deleted, later, reloaded
from users.constants import ERASURE_WAIT_SECONDS
from users.erasure_selectors import team_erasures_page
from users.models import Erasure, User
from users.receipts import user_hash
from users.services import deletion

pytestmark = pytest.mark.django_db


def closed(tenant: Tenant) -> None:
    """The team's days are over."""
    now = clock.now()
    Team.objects.filter(pk=tenant.team.pk).update(deleted_at=now, erase_due_at=now)


def listed(api: ApiClient, tenant: Tenant, **query: Any) -> Any:
    """What the management address shows."""
    return api.get(f"{team_path(tenant)}/erasure", query).json()


def test_who_was_deleted_before_their_team_gets_a_receipt(team: Tenant, management_api: ApiClient) -> None:
    user, back = user_make(team), user_make(team)
    row, undone = deleted(team, user.pk), deleted(team, back.pk)
    with team_scope(team.context):
        deletion.user_delete_undo(team=team.context, user_id=back.pk)
    closed(team)
    assert team_erase(team_id=team.team.pk)
    done = reloaded(row)
    receipt = orjson.loads(done.receipt)
    assert (done.status, receipt["user_hash"]) == ("erased", user_hash(user.pk))
    assert (receipt["rows_erased"], receipt["grants_not_revoked"]) == ({"users_user": 1}, 0)
    with system_scope(SystemScope.PURGE):
        assert (Erasure.objects.filter(pk=undone.pk).exists(), User.objects.count()) == (False, 0)
    # Every key of the team is dead.
    assert ApiClient(team_key=team.key).get(f"/v2/user/erasure/{row.pk}").status_code == 401
    (shown,) = listed(management_api, team)["erasures"]
    assert (shown["erasure_id"], shown["receipt"]["text"]) == (str(row.pk), done.receipt)


def test_a_receipt_counts_what_the_team_had_of_the_person(team: Tenant) -> None:
    user = user_make(team)
    stored(team, user)
    row = deleted(team, user.pk)
    closed(team)
    assert team_erase(team_id=team.team.pk) is False
    with system_scope(SystemScope.PURGE):
        assert (reloaded(row).status, Connection.objects.count()) == ("erasing", 1)
        Revocation.objects.update(status="given_up", access_token="", refresh_token="")
    with later(ERASURE_WAIT_SECONDS + 1):
        assert team_erase(team_id=team.team.pk)
    done = reloaded(row)
    assert (done.grants_not_revoked, done.rows_erased["links_connection"]) == (1, 1)


def test_one_that_another_worker_has_is_waited_for(team: Tenant) -> None:
    row = deleted(team, user_make(team).pk)
    closed(team)
    with system_scope(SystemScope.PURGE):
        now = clock.now()
        held = {"status": "erasing", "due_at": now, "not_before": now, "lease_until": now + timedelta(seconds=60)}
        Erasure.objects.filter(pk=row.pk).update(**held)
    assert team_erase(team_id=team.team.pk) is False
    assert reloaded(row).status == "erasing"
    with later(61):
        assert team_erase(team_id=team.team.pk)
    assert reloaded(row).status == "erased"


def test_erasures_of_a_team_are_listed_by_environment_and_page(team: Tenant, management_api: ApiClient) -> None:
    production = environment_make(team, Environment.PRODUCTION)
    rows = [deleted(tenant, user_make(tenant).pk) for tenant in (team, production, team)]
    ids = [str(row.pk) for row in reversed(rows)]
    found = listed(management_api, team)
    assert ([one["erasure_id"] for one in found["erasures"]], found["next_cursor"]) == (ids, None)
    assert found["erasures"][0]["status"] == "pending"
    of_production = listed(management_api, team, environment="production")["erasures"]
    assert [one["erasure_id"] for one in of_production] == [str(rows[1].pk)]
    seen: list[str] = []
    cursor = None
    while len(seen) < 9:
        page = team_erasures_page(team.team.organisation_id, team.team.pk, environment=None, cursor=cursor, size=2)
        seen += [str(row.pk) for row in page.erasures]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == ids
    after = listed(management_api, team, next_cursor=ids[0])["erasures"]
    assert [one["erasure_id"] for one in after] == ids[1:]


def test_erasures_are_for_the_organisations_own_administrators(
    team: Tenant, other_team: Tenant, management_api: ApiClient
) -> None:
    deleted(team, user_make(team).pk)
    bound = bound_client(team.team.organisation, team.team.pk)
    assert bound.get(f"{team_path(team)}/erasure").status_code == 403
    theirs = f"/v1/org/{team.team.organisation_id}/team/{other_team.team.pk}/erasure"
    missing = f"/v1/org/{team.team.organisation_id}/team/{uuid4()}/erasure"
    assert [management_api.get(path).status_code for path in (theirs, missing)] == [404, 404]
    closed(team)
    assert bound.get(f"{team_path(team)}/erasure").status_code == 404
    assert len(listed(management_api, team)["erasures"]) == 1
    assert UUID(listed(management_api, team)["erasures"][0]["erasure_id"])
