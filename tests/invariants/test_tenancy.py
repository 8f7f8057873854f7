"""The database itself shows, takes and changes no row of another team, in every table, whatever a query forgets."""

from collections.abc import Iterator
from typing import Final

import pytest
from django.db import ProgrammingError, connection, models, transaction
from psycopg import sql
from pytest_django import DjangoDbBlocker

from healthsvc.kernel.scope import team_scope
from tests.invariants.closed_asking import undone
from tests.invariants.closed_cast import Cast, Estate, cast_make, team_owned
from tests.invariants.person_tables import Table

#: A table's partitions can be named too, and their rows are as much a team's.
_PARTITIONS: Final = """
SELECT child.relname FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
  JOIN pg_class AS parent ON parent.oid = inhparent WHERE parent.relname = %s
"""
_ANYTHING: Final = "UPDATE {} SET environment = environment"


@pytest.fixture(scope="module")
def cast(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Cast]:
    """Everybody, with a row in every table."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield cast_make()
        transaction.set_rollback(True)


def _run(statement: str, table: str) -> tuple[int, str]:
    """How many rows a statement met, or that it is refused."""
    with undone(), connection.cursor() as cursor:
        try:
            with transaction.atomic():
                cursor.execute(sql.SQL(statement).format(sql.Identifier(table)).as_string())
                return cursor.rowcount, ""
        except ProgrammingError as error:
            return 0, str(error)


def _reached(table: str) -> dict[str, int]:
    """How many rows each statement without a condition meets."""
    statements = {"read": "SELECT FROM {}", "changed": _ANYTHING, "removed": "DELETE FROM {}"}
    return {what: count for what, text in statements.items() if (count := _run(text, table)[0])}


def _partitions(table: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(_PARTITIONS, [table])
        return [row[0] for row in cursor.fetchall()]


def _row(estate: Estate, model: Table) -> models.Model:
    with team_scope(estate.tenant.context):
        found = model._base_manager.first()
    assert found is not None, f"closed_cast fills no row of {model._meta.db_table}"
    return found


@pytest.mark.parametrize("model", team_owned(), ids=lambda model: model._meta.db_table)
def test_without_a_scope_no_row_is_met(cast: Cast, model: Table) -> None:
    _row(cast.theirs, model)
    for table in (model._meta.db_table, *_partitions(model._meta.db_table)):
        assert _reached(table) == {}, table


@pytest.mark.parametrize("model", team_owned(), ids=lambda model: model._meta.db_table)
def test_in_a_scope_no_others_row_is_met_or_made(cast: Cast, model: Table) -> None:
    table = model._meta.db_table
    for other in cast.others(cast.ours):
        theirs = _row(other, model)
        values = {field.attname: getattr(theirs, field.attname) for field in model._meta.local_concrete_fields}
        with team_scope(cast.ours.tenant.context):
            met = model._base_manager.filter(team_id=values["team_id"], environment=values["environment"])
            assert (met.count(), met.update(environment=values["environment"])) == (0, 0)
            planted = model(**values)
            with undone(), pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
                planted.save_base(force_insert=True)
    with team_scope(cast.ours.tenant.context):
        everything = model._base_manager.count()
        own = model._base_manager.filter(
            team_id=cast.ours.tenant.team.pk, environment=str(cast.ours.tenant.context.environment)
        )
        assert (own.count(), own.exists()) == (everything, True)
        count, refusal = _run("UPDATE {} SET environment = 'production'", table)
    # What may only be added to has no row that an update could meet.
    assert count == 0
    assert not refusal or "row-level security" in refusal


def test_a_table_that_shows_itself_to_everybody_is_found(cast: Cast) -> None:
    with undone(), connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE planted (team_id uuid, environment text)")
        cursor.execute("INSERT INTO planted VALUES (gen_random_uuid(), 'sandbox')")
        assert _reached("planted") == {"read": 1, "changed": 1, "removed": 1}
