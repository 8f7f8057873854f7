"""Rules about every table."""

import re
from io import StringIO

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, models

from healthsvc.kernel.scope import NOBODY, SystemScope, current_scope

OURS = ("management", "users", "webhooks", "aggregation", "links", "labs", "orders")
MODELS = [model for label in OURS for model in apps.get_app_config(label).get_models()]
#: Tables about people or teams without the two columns, each with its reason.
NOT_TEAM_OWNED = {
    "management_team": "the tenant itself; an organisation's, kept apart by the organisation's id",
    "management_management_key": "an organisation's",
    "management_member": "an organisation's",
    "management_invite": "an organisation's",
    "management_organisation_reply": "an organisation's; each of its keys has its own",
    "management_organisation_record": "an organisation's; append-only by its own policies",
    "links_provider_hook": "the operator's standing with a vendor; names no team and no person",
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


#: What PostgreSQL prints of the one policy there is: this team in this environment, or a system scope that is named.
TEAM_POLICY = re.compile(
    re.escape(
        "(((team_id = ( SELECT (NULLIF(current_setting('healthsvc.team_id'::text, true), ''::text))::uuid"
        ' AS "nullif")) AND ((environment)::text ='
        " ( SELECT current_setting('healthsvc.environment'::text, true) AS current_setting)))"
        " OR (( SELECT current_setting('healthsvc.system'::text, true) AS current_setting) = ANY ('{"
    )
    + r"(?P<scopes>[a-z_,]+)"
    + re.escape("}'::text[])))")
)
PURGE_POLICY = "(current_setting('healthsvc.system'::text, true) = 'purge'::text)"


def loose_expressions(expressions: list[str]) -> list[str]:
    """Policy expressions that are neither the team's nor the purge's, or that admit an unknown scope."""
    known = {str(scope) for scope in SystemScope}
    return [
        text
        for text in expressions
        if text != PURGE_POLICY
        and not ((match := TEAM_POLICY.fullmatch(text)) and set(match["scopes"].split(",")) <= known)
    ]


@pytest.mark.parametrize("model", TEAM_OWNED, ids=lambda model: model._meta.label)
def test_every_policy_is_the_teams_own(db: None, model: type[models.Model]) -> None:
    assert current_scope() == NOBODY
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)"
            " FROM pg_policy WHERE polrelid = %s::regclass",
            [model._meta.db_table],
        )
        expressions = [text for row in cursor.fetchall() for text in row if text is not None]
    assert expressions
    assert loose_expressions(expressions) == []


def test_a_policy_that_lets_others_in_is_found() -> None:
    good = TEAM_POLICY.pattern.replace("\\", "").replace("(?P<scopes>[a-z_,]+)", "staff,purge")
    assert loose_expressions([good, PURGE_POLICY]) == []
    assert loose_expressions([f"({good} OR true)", "true", good.replace("staff", "anybody")]) != []
    assert len(loose_expressions([f"({good} OR true)", "true", good.replace("staff", "anybody")])) == 3


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


#: Columns that hold the random id of a row of one team: a key with one of them can't be another team's too.
IDS_OF_ONE_TEAM = {"user_id", "event_id", "endpoint_id", "delivery_id", "connection_id", "op_id"}
#: Columns that are unique over all teams, each with its reason.
UNIQUE_EVERYWHERE = {
    "links_link_code.code_hash": "found before its team is known; of two that are alike the later is drawn again",
    "links_sign_in_token.token_hash": "a hash of 256 random bits; found before its team is known",
    "links_session_token.token_hash": "a hash of 256 random bits; found before its team is known",
    "links_link_token.token_hash": "a hash of 256 random bits; found before its team is known",
    "webhooks_portal_session.link_hash": "a hash of 256 random bits; found before its team is known",
    "webhooks_portal_session.cookie_hash": "a hash of 256 random bits; found before its team is known",
    "links_oauth_state.state_hash": "a hash of 256 random bits; found before its team is known",
    "management_team_key.public_id": "found before its team is known; random, tells nothing",
    "management_team_access_token.token_hash": "a hash of 256 random bits; found before its team is known",
    "management_stored_file.storage_name": "a random name in one folder",
}


@pytest.mark.parametrize("model", TEAM_OWNED, ids=lambda model: model._meta.label)
def test_unique_keys_of_team_owned_tables_name_the_team(model: type[models.Model]) -> None:
    for constraint in model._meta.constraints:
        if isinstance(constraint, models.UniqueConstraint):
            named = [field for field in model._meta.local_fields if field.name in constraint.fields]
            fields = {str(field.column) for field in named}
            assert {"team_id", "environment"} <= fields or fields & IDS_OF_ONE_TEAM, constraint.name


def test_columns_that_are_unique_everywhere_have_a_reason() -> None:
    found = {
        f"{model._meta.db_table}.{field.column}"
        for model in TEAM_OWNED
        for field in model._meta.local_fields
        if field.unique and not field.primary_key
    }
    assert found == set(UNIQUE_EVERYWHERE)


def test_no_migration_is_missing(db: None) -> None:
    out = StringIO()
    call_command("makemigrations", "--check", "--dry-run", stdout=out)
    assert "No changes" in out.getvalue()


def test_migrations_are_named_for_what_they_do() -> None:
    from healthsvc.settings import BASE_DIR

    names = [path.stem for label in OURS for path in (BASE_DIR / label / "migrations").glob("0*.py")]
    assert [name for name in names if name.endswith("_initial") or "_auto_" in name] == []
