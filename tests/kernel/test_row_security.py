"""The database keeps teams apart by itself, whatever a query forgets to say."""

from uuid import uuid4

import pytest
from django.db import DatabaseError, ProgrammingError, connection, transaction

from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment, PrincipalKind, TeamContext
from healthsvc.kernel.scope import NOBODY, SystemScope, current_scope, system_scope, team_scope
from management.audit import access_record
from management.models import AccessRecord
from tests.factories import Tenant, user_make
from users.models import User


def _names() -> list[str]:
    return sorted(User.objects.values_list("client_user_id", flat=True))


def test_a_query_that_names_no_team_sees_only_the_scopes_rows(
    team: Tenant, production: Tenant, other_team: Tenant
) -> None:
    for tenant, name in ((team, "ours"), (production, "live"), (other_team, "theirs")):
        user_make(tenant, client_user_id=name)
    assert _names() == []
    with team_scope(team.context):
        assert _names() == ["ours"]
        with team_scope(production.context):
            assert _names() == ["live"]
        assert _names() == ["ours"]
    with system_scope(SystemScope.STAFF):
        assert _names() == ["live", "ours", "theirs"]
    with system_scope(SystemScope.KEY_LOOKUP):
        assert _names() == []
    assert _names() == []
    assert current_scope() == NOBODY


def test_rows_of_another_team_can_be_neither_written_changed_nor_removed(team: Tenant, other_team: Tenant) -> None:
    theirs = user_make(other_team)
    with team_scope(team.context):
        assert User.objects.filter(pk=theirs.pk).update(client_user_id="stolen") == 0
        assert User.objects.filter(pk=theirs.pk).delete() == (0, {})
        for values in (
            {"team_id": other_team.team.id, "environment": "sandbox"},
            {"team_id": team.team.id, "environment": "production"},
        ):
            with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
                User.objects.create(client_user_id="planted", created_at=clock.now(), **values)
    with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
        User.objects.create(client_user_id="x", created_at=clock.now(), team=team.team, environment="sandbox")


def test_a_scope_survives_a_rolled_back_transaction(team: Tenant) -> None:
    user_make(team, client_user_id="ours")
    with team_scope(team.context):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")
        assert _names() == ["ours"]
    failing = (pytest.raises(DatabaseError), transaction.atomic(), team_scope(team.context), connection.cursor())
    with failing[0], failing[1], failing[2], failing[3] as cursor:
        cursor.execute("SELECT 1 / 0")
    assert _names() == []


@pytest.mark.django_db(transaction=True)
def test_a_scope_follows_to_a_new_connection(transactional_db: None) -> None:
    team = TeamContext(uuid4(), Environment.SANDBOX)
    with team_scope(team):
        connection.close()
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('healthsvc.team_id'), current_setting('healthsvc.environment')")
            assert cursor.fetchone() == (str(team.team_id), "sandbox")
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('healthsvc.team_id', true)")
        assert cursor.fetchone() == ("",)


def test_the_audit_trail_can_be_added_to_but_not_changed(team: Tenant) -> None:
    with team_scope(team.context):
        access_record(team=team.context, actor_kind=PrincipalKind.SYSTEM, actor_id="t", action="test", ids={})
        assert AccessRecord.objects.update(action="forged") == 0
        assert AccessRecord.objects.all().delete()[0] == 0
        assert list(AccessRecord.objects.values_list("action", flat=True)) == ["test"]


def test_the_services_role_is_bound_by_policies(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper, rolbypassrls, rolcreatedb FROM pg_roles WHERE rolname = current_user")
        assert cursor.fetchone() == (False, False, False)
        with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic():
            cursor.execute("CREATE TABLE public.planted (id int)")
        with pytest.raises(ProgrammingError, match="must be owner"), transaction.atomic():
            cursor.execute("ALTER TABLE users_user DISABLE ROW LEVEL SECURITY")
