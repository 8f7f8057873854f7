"""After an erasure nothing of the person is left in any table, and everything of everybody else is."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.apps.registry import Apps
from django.db import connection, models

from healthsvc.kernel.scope import SystemScope, system_scope
from tests.factories import Tenant, user_make
from tests.invariants.person_filling import Person, person_fill
from tests.invariants.person_tables import (
    Table,
    our_models,
    personal_models,
    personal_tables_of_database,
    snapshot,
    tables_that_tell,
)
from tests.users.erasing import after_grace, deleted, reloaded
from users import registry
from users.services.erasure import erasure_run
from webhooks.models import Event

PERSONAL = personal_models(our_models())
#: Tables that still name an erased person, each with its reason.
STILL_NAMING = {
    "management_access_record": "the trail of who read or changed the data says whose they were, by id alone",
    "management_access_named": "the trail's index of whom its records name among others, by id alone",
}

#: Tables whose `user_id` is no person's whose data the service keeps, each with its reason.
OTHER_USERS = {"django_admin_log": "what staff did in the admin; its user is of the staff"}


def unregistered(personal: set[str]) -> set[str]:
    """Tables with something of a person that no eraser answers for."""
    return personal - frozenset().union(*(eraser.tables for eraser in registry.erasers))


def tables(models_: list[Table]) -> set[str]:
    """Their names in the database."""
    return {model._meta.db_table for model in models_}


def person_make(tenant: Tenant) -> Person:
    """Somebody with a row in every table."""
    mark = uuid4().hex[:8]
    person = Person(tenant, user_make(tenant, client_user_id=mark), mark)
    person_fill(person, PERSONAL)
    return person


def test_every_table_with_a_path_to_a_user_has_an_eraser(db: None) -> None:
    assert unregistered(tables(PERSONAL)) == set()
    assert personal_tables_of_database() - tables(PERSONAL) == set(OTHER_USERS)


def test_no_eraser_answers_for_what_holds_nothing_of_a_person() -> None:
    answered = [table for eraser in registry.erasers for table in eraser.tables]
    assert sorted(answered) == sorted(set(answered))
    assert set(answered) - tables(PERSONAL) == set()


def test_a_new_table_that_nobody_registers_is_found() -> None:
    elsewhere = Apps()

    class Planted(models.Model):
        user_id = models.UUIDField()

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

    found = personal_models([*our_models(), Planted, Child, Named])
    assert unregistered(tables(found)) == {"links_planted", "links_planted_child", "links_planted_by_name"}


def test_a_new_table_that_no_model_describes_is_found(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE planted (id int PRIMARY KEY, user_id uuid)")
        cursor.execute("CREATE TEMP TABLE planted_child (planted_id int REFERENCES planted)")
        found = personal_tables_of_database() - tables(PERSONAL) - set(OTHER_USERS)
        assert found == {"planted", "planted_child"}
        cursor.execute("DROP TABLE planted_child, planted")


@pytest.fixture
def _marks_are_no_events(db: None) -> Iterator[None]:
    """What stands in the bodies of filled events is none that a receiver could read."""
    yield
    with system_scope(SystemScope.PURGE):
        Event.objects.update(body=None)


@pytest.mark.slow
@pytest.mark.usefixtures("_marks_are_no_events")
def test_nothing_of_the_erased_is_left_and_everything_of_others(team: Tenant, other_team: Tenant) -> None:
    gone = Person(team, user_make(team, client_user_id="gone-mark"), "gone-mark")
    erasure = deleted(team, gone.user.id)
    person_fill(gone, PERSONAL)
    others = [person_make(team), person_make(other_team)]
    # Every table has something: a table that is left out here would be found clean for no reason.
    assert set(snapshot(gone.user.id, PERSONAL)) == tables(PERSONAL)
    before = [snapshot(other.user.id, PERSONAL) for other in others]
    assert [set(found) for found in before] == [tables(PERSONAL)] * 2
    with after_grace():
        erasure_run(erasure_id=erasure.pk)
    row = reloaded(erasure)
    assert row.status == "erased"
    assert tables_that_tell(gone.mark) == set()
    assert tables_that_tell(str(gone.user.id)) | tables_that_tell(gone.user.id.hex) == set(STILL_NAMING)
    assert set(snapshot(gone.user.id, PERSONAL)) == set(STILL_NAMING), "left behind, or a stale exemption"
    assert [snapshot(other.user.id, PERSONAL) for other in others] == before
    assert set(row.rows_erased) == tables(PERSONAL) - {"users_erasure", "management_access_named"}


@pytest.mark.slow
@pytest.mark.usefixtures("_marks_are_no_events")
def test_tables_that_are_passed_over_are_found(team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [one for one in registry.erasers if "aggregation_block" not in one.tables]
    passed_over = frozenset().union(*(one.tables for one in registry.erasers if one not in kept))
    monkeypatch.setattr(registry, "erasers", kept)
    gone = Person(team, user_make(team, client_user_id="gone-mark"), "gone-mark")
    erasure = deleted(team, gone.user.id)
    person_fill(gone, PERSONAL)
    with after_grace():
        erasure_run(erasure_id=erasure.pk)
    assert set(snapshot(gone.user.id, PERSONAL)) == passed_over | set(STILL_NAMING)
    assert tables_that_tell(gone.mark) == passed_over
    assert unregistered(tables(PERSONAL)) == passed_over
