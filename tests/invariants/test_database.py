"""Rules about every table."""

import re
from io import StringIO

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, models
from psycopg import sql

from healthsvc.kernel.scope import NOBODY, current_scope

OURS = ("management", "users", "webhooks", "aggregation", "links", "labs", "orders")
MODELS = [model for label in OURS for model in apps.get_app_config(label).get_models()]
#: Tables about people or teams without the two columns, each with its reason.
NOT_TEAM_OWNED = {
    "management_team": "the tenant itself; an organisation's, kept apart by the organisation's id",
    "management_management_key": "an organisation's",
}


def columns(model: type[models.Model]) -> set[str]:
    """Column names of a model."""
    return {str(field.column) for field in model._meta.local_fields}


TEAM_OWNED = [model for model in MODELS if {"team_id", "environment"} <= columns(model)]


def test_tables_that_name_a_team_or_user_are_team_owned() -> None:
    named = {
        model._meta.db_table
        for model in MODELS
        if columns(model) & {"team_id", "user_id", "organisation_id", "environment"} and model not in TEAM_OWNED
    }
    assert named == set(NOT_TEAM_OWNED)


def unprotected(tables: list[str]) -> list[str]:
    """Tables without forced row-level security, or without a policy."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname = ANY (%s) AND relrowsecurity AND relforcerowsecurity"
            " AND EXISTS (SELECT FROM pg_policy WHERE polrelid = pg_class.oid)",
            [tables],
        )
        protected = {row[0] for row in cursor.fetchall()}
    return sorted(set(tables) - protected)


def test_every_team_owned_table_has_forced_row_security(db: None) -> None:
    assert unprotected([model._meta.db_table for model in TEAM_OWNED]) == []


def test_the_check_for_row_security_fails_for_a_table_without(db: None) -> None:
    assert unprotected(["management_team"]) == ["management_team"]


@pytest.mark.parametrize("model", TEAM_OWNED, ids=lambda model: model._meta.label)
def test_outside_a_scope_a_table_shows_nothing_and_takes_nothing(db: None, model: type[models.Model]) -> None:
    assert current_scope() == NOBODY
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(model._meta.db_table)))
        assert cursor.fetchone() == (0,)
        cursor.execute(
            "SELECT polname, pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)"
            " FROM pg_policy WHERE polrelid = %s::regclass",
            [model._meta.db_table],
        )
        policies = cursor.fetchall()
    for _name, condition, check in policies:
        for expression in filter(None, (condition, check)):
            assert "healthsvc.team_id" in expression or "healthsvc.system" in expression


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_choices_are_backed_by_constraints(model: type[models.Model]) -> None:
    constrained = {
        name
        for constraint in model._meta.constraints
        if isinstance(constraint, models.CheckConstraint)
        for name in re.findall(r"'(\w+)__in'", str(constraint.condition))
    }
    chosen = {field.name for field in model._meta.local_fields if field.choices}
    assert chosen - constrained == set()


@pytest.mark.parametrize("model", TEAM_OWNED, ids=lambda model: model._meta.label)
def test_unique_keys_of_team_owned_tables_name_the_team(model: type[models.Model]) -> None:
    """Ids are unique by themselves; anything else that must be unique is so within its team and environment."""
    for constraint in model._meta.constraints:
        if isinstance(constraint, models.UniqueConstraint):
            named = [field for field in model._meta.local_fields if field.name in constraint.fields]
            fields = {str(field.column) for field in named}
            owned = {"team_id", "environment"} <= fields
            by_id = any(field.endswith("_id") and field != "team_id" for field in fields)
            assert owned or by_id, constraint.name


def test_no_migration_is_missing(db: None) -> None:
    out = StringIO()
    call_command("makemigrations", "--check", "--dry-run", stdout=out)
    assert "No changes" in out.getvalue()


def test_migrations_are_named_for_what_they_do() -> None:
    from healthsvc.settings import BASE_DIR

    names = [path.stem for label in OURS for path in (BASE_DIR / label / "migrations").glob("0*.py")]
    assert [name for name in names if name.endswith("_initial") or "_auto_" in name] == []
