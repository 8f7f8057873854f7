"""After a team's erasure nothing of it is left in any table, and everything of every other team is."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.apps.registry import Apps
from django.db import connection, models
from django.db.models import Q

from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management import registry, services
from management.files import file_store
from management.models import ManagementKey, StoredFile
from management.services.team_erasure import team_erase
from management.storage import default_storage
from management.team_erasure import OWN
from tests.factories import Tenant, environment_make, management_key_make, user_make
from tests.invariants.person_filling import Person, person_fill
from tests.invariants.person_tables import Table, label_of, our_models, row_text
from tests.users.erasing import after_grace
from webhooks.models import Event

#: Tables that still name an erased team, each with its reason.
STILL_NAMING = {
    "management_access_record": "the trail of who read or changed the data says whose they were, by id alone",
    "management_access_named": "the trail's index of whom its records name among others, by id alone",
    "management_access_seal": "the trail's seals hold digests of it and nothing else",
    "management_team_key": "no key's id is ever given again, and the trail names keys",
}
#: Columns that name a team and lead nowhere, by table, each with its reason.
TEAMS_BY_LIST = {
    "management_management_key": "an organisation's key outlives a team that it is bound to",
    "management_member": "so does a member",
    "management_invite": "so does an invitation",
}

_OF_TEAMS = """
WITH RECURSIVE owned (id) AS (
    SELECT attribute.attrelid FROM pg_attribute AS attribute JOIN pg_class AS class ON class.oid = attribute.attrelid
     WHERE attribute.attname = 'team_id' AND NOT attribute.attisdropped AND class.relkind IN ('r', 'p')
       AND NOT class.relispartition
    UNION
    SELECT reference.conrelid FROM pg_constraint AS reference JOIN owned ON owned.id = reference.confrelid
     WHERE reference.contype = 'f'
)
SELECT class.relname FROM owned JOIN pg_class AS class ON class.oid = owned.id
"""
#: Columns that name another table's row without a foreign key, and not by that table's own name.
NAMED_OTHERWISE = {("links_provider_hook", "application_id"): "links_provider_application"}


def names_team(model: Table) -> bool:
    """Whether its rows have a team id of their own."""
    return any(field.attname == "team_id" for field in model._meta.local_fields)


def leads(model: Table, owned: Iterable[Table]) -> dict[str, Table]:
    """The fields that lead to a row of one of these tables, by name."""
    found: dict[str, Table] = {}
    for field in model._meta.local_fields:
        for table in owned:
            named = isinstance(field, models.UUIDField) and label_of(field) == table._meta.model_name
            same_app = table._meta.app_label == model._meta.app_label
            other = NAMED_OTHERWISE.get((model._meta.db_table, field.attname)) == table._meta.db_table
            if field.related_model is table or other or (named and same_app and not field.primary_key):
                found[field.name] = table
    return found


def team_models(among: Iterable[Table]) -> list[Table]:
    """Those with a team id, or with a path to one; parents before their children."""
    rest = list(among)
    found = [model for model in rest if names_team(model)]
    while more := [model for model in rest if model not in found and leads(model, found)]:
        found += more
    return found


OWNED = team_models(our_models())


def tables(of: Iterable[Table]) -> set[str]:
    """Their names in the database."""
    return {model._meta.db_table for model in of}


def unregistered(owned: set[str]) -> set[str]:
    """Tables with something of a team that no eraser answers for."""
    return owned - frozenset().union(*(eraser.tables for eraser in (*registry.team_erasers, OWN)))


def rows_of(model: Table, team_id: UUID) -> models.QuerySet[Any]:
    """Rows that name a team or lead to it."""
    if names_team(model):
        return model._base_manager.filter(team_id=team_id)
    ways = Q(pk__in=[])
    for name, table in leads(model, OWNED).items():
        if table is not model:
            ways |= Q(**{f"{name}__in": rows_of(table, team_id).values("pk")})
    return model._base_manager.filter(ways)


def snapshot(team_id: UUID) -> dict[str, list[str]]:
    """Everything there is of a team, by table; tables without a row are left out."""
    with system_scope(SystemScope.PURGE):
        listed = {model._meta.db_table: rows_of(model, team_id) for model in OWNED}
        return {table: sorted(map(row_text, rows)) for table, rows in listed.items() if rows.exists()}


def digest(found: dict[str, list[str]]) -> dict[str, str]:
    """The same, short enough to read where it differs."""
    return {table: hashlib.sha256("\n".join(rows).encode()).hexdigest()[:12] for table, rows in found.items()}


def team_fill(tenant: Tenant) -> str:
    """A row in every table for a person of this team, and a file with its bytes; the mark of all that."""
    mark = uuid4().hex[:8]
    person = Person(tenant, user_make(tenant, client_user_id=mark), mark)
    management_key_make(tenant.team.organisation)
    person.made[ManagementKey] = ManagementKey.objects.filter(organisation=tenant.team.organisation).latest("id")
    person_fill(person, [model for model in OWNED if model not in KEPT_BY_TENANT])
    with team_scope(tenant.context):
        StoredFile.objects.for_team(tenant.context).delete()
        file_store(team=tenant.context, user_id=person.user.id, purpose="export", chunks=iter([mark.encode()]))
    return mark


#: Rows that a tenant has from the beginning.
KEPT_BY_TENANT = {model for model in OWNED if model._meta.db_table == "management_team_key"}


def team_end(tenant: Tenant) -> None:
    """Delete a team and let its days pass; one sweep."""
    services.team_delete(team_id=tenant.team.id)
    with after_grace():
        assert team_erase(team_id=tenant.team.id) is True


def files_of(team_id: UUID) -> list[str]:
    """Sealed files of a team in the storage."""
    folder = Path(default_storage().location) / str(team_id)
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.fixture(autouse=True)
def _marks_are_no_events(db: None) -> Iterator[None]:
    """What stands in the bodies of filled events is none that a receiver could read."""
    yield
    with system_scope(SystemScope.PURGE):
        Event.objects.update(body=None)


def test_every_table_with_a_path_to_a_team_has_an_eraser(db: None) -> None:
    assert unregistered(tables(OWNED)) == set()
    with connection.cursor() as cursor:
        cursor.execute(_OF_TEAMS)
        assert {row[0] for row in cursor.fetchall()} - tables(OWNED) == set()


def test_no_eraser_answers_for_what_is_no_teams() -> None:
    answered = [table for eraser in (*registry.team_erasers, OWN) for table in eraser.tables]
    assert sorted(answered) == sorted(set(answered))
    assert set(answered) - tables(OWNED) == set()


def test_lists_of_teams_are_known() -> None:
    found = {
        model._meta.db_table
        for model in our_models()
        if any(field.attname == "team_ids" for field in model._meta.local_fields)
    }
    assert found == set(TEAMS_BY_LIST)


def test_a_new_table_that_nobody_registers_is_found() -> None:
    elsewhere = Apps()

    class Planted(models.Model):
        team_id = models.UUIDField()

        class Meta:
            apps = elsewhere
            app_label = "links"
            db_table = "links_planted"

    class Child(models.Model):
        parent = models.ForeignKey(Planted, models.CASCADE)

        class Meta:
            apps = elsewhere
            app_label = "links"
            db_table = "links_planted_child"

    class Named(models.Model):
        planted_id = models.UUIDField()

        class Meta:
            apps = elsewhere
            app_label = "links"
            db_table = "links_planted_by_name"

    found = team_models([*our_models(), Planted, Child, Named])
    assert unregistered(tables(found)) == {"links_planted", "links_planted_child", "links_planted_by_name"}


@pytest.mark.slow
def test_nothing_of_an_erased_team_is_left_and_everything_of_others(team: Tenant, other_team: Tenant) -> None:
    production = environment_make(team, Environment.PRODUCTION)
    marks = [team_fill(team), team_fill(production)]
    kept = team_fill(other_team)
    # Every table has something: a table that is left out here would be found clean for no reason.
    assert set(snapshot(team.team.id)) == tables(OWNED)
    before = snapshot(other_team.team.id)
    assert set(before) == tables(OWNED)
    assert (len(files_of(team.team.id)), len(files_of(other_team.team.id))) == (2, 1)
    team_end(team)
    left = snapshot(team.team.id)
    assert set(left) == set(STILL_NAMING), "left behind, or a stale exemption"
    told = {table: rows for table, rows in left.items() if table != "management_access_seal"}
    for mark in marks:
        assert not [table for table, rows in told.items() if any(mark in row for row in rows)]
    assert digest(snapshot(other_team.team.id)) == digest(before)
    assert (files_of(team.team.id), len(files_of(other_team.team.id))) == ([], 1)
    assert any(kept in row for row in before["users_user"])


@pytest.mark.slow
def test_tables_that_are_passed_over_are_found(team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [one for one in registry.team_erasers if "aggregation_block" not in one.tables]
    passed_over = frozenset().union(*(one.tables for one in registry.team_erasers if one not in kept))
    monkeypatch.setattr(registry, "team_erasers", kept)
    monkeypatch.setattr("management.services.team_erasure.team_erasers", kept)
    team_fill(team)
    users = snapshot(team.team.id)["users_user"]
    team_end(team)
    assert users
    assert set(snapshot(team.team.id)) == passed_over | set(STILL_NAMING)
    assert unregistered(tables(OWNED)) == passed_over
