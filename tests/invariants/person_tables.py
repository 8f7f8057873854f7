"""Which tables hold something of a person, and what of a person they hold: found from the models and the database."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import connection, models
from django.db.models import Q, QuerySet

from healthsvc.kernel.scope import SystemScope, system_scope
from users.models import User

OURS = ("management", "users", "webhooks", "aggregation", "links", "labs", "orders")
Table = type[models.Model]

_REFERRING = """
WITH RECURSIVE personal (id) AS (
    SELECT 'users_user'::regclass::oid
    UNION
    SELECT attribute.attrelid FROM pg_attribute AS attribute JOIN pg_class AS class ON class.oid = attribute.attrelid
     WHERE attribute.attname = 'user_id' AND NOT attribute.attisdropped AND class.relkind IN ('r', 'p')
       AND NOT class.relispartition
    UNION
    SELECT reference.conrelid FROM pg_constraint AS reference JOIN personal ON personal.id = reference.confrelid
     WHERE reference.contype = 'f'
)
SELECT class.relname FROM personal JOIN pg_class AS class ON class.oid = personal.id
"""


def our_models() -> list[Table]:
    """Every model of the project."""
    return [model for label in OURS for model in apps.get_app_config(label).get_models()]


def label_of(field: Any) -> str:
    """A column that refers to another table's row without a foreign key is named for it: `connection_id`."""
    return str(field.attname).removesuffix("_id")


def references(model: Table, personal: Iterable[Table]) -> dict[str, Table]:
    """The fields that lead to a row of one of these tables, by name."""
    found: dict[str, Table] = {}
    for field in model._meta.local_fields:
        for table in personal:
            same_app = table._meta.app_label == model._meta.app_label
            named = isinstance(field, models.UUIDField) and same_app and label_of(field) == table._meta.model_name
            if field.related_model is table or (named and not field.primary_key):
                found[field.name] = table
    return found


def names_user(model: Table) -> bool:
    """Whether its rows have a user id of their own."""
    return model is User or any(field.attname == "user_id" for field in model._meta.local_fields)


def personal_models(among: Iterable[Table]) -> list[Table]:
    """Those with a user id, or with a path to one; parents before their children."""
    rest = list(among)
    found = [model for model in rest if names_user(model)]
    while more := [model for model in rest if model not in found and references(model, found)]:
        found += more
    return found


def personal_tables_of_database() -> set[str]:
    """Tables with a user id or a foreign key path to one, whatever the models say."""
    with connection.cursor() as cursor:
        cursor.execute(_REFERRING)
        return {row[0] for row in cursor.fetchall()}


def rows_of(model: Table, user_id: UUID, personal: list[Table]) -> QuerySet[Any]:
    """Rows that name a user or lead to them."""
    if model is User:
        return model._base_manager.filter(pk=user_id)
    leads = Q(user_id=user_id) if names_user(model) else Q(pk__in=[])
    for name, table in references(model, personal).items():
        if table not in (User, model) and not names_user(model):
            leads |= Q(**{f"{name}__in": rows_of(table, user_id, personal).values("pk")})
    return model._base_manager.filter(leads)


def snapshot(user_id: UUID, personal: list[Table]) -> dict[str, list[str]]:
    """Everything there is of a user, by table; tables without a row are left out."""
    with system_scope(SystemScope.PURGE):
        listed = {model._meta.db_table: rows_of(model, user_id, personal) for model in personal}
        return {table: sorted(map(row_text, rows)) for table, rows in listed.items() if rows.exists()}


def tables_that_tell(text: str) -> set[str]:
    """Tables with this text anywhere in any row, sealed or not."""
    with system_scope(SystemScope.PURGE):
        return {
            model._meta.db_table
            for model in our_models()
            if any(text in row_text(row) for row in model._base_manager.all())
        }


def row_text(row: models.Model) -> str:
    """A row with all its values, opened."""
    values = {field.attname: getattr(row, field.attname) for field in row._meta.local_fields}
    plain = {name: bytes(value) if isinstance(value, memoryview) else value for name, value in values.items()}
    return repr({name: str(value) if isinstance(value, UUID) else value for name, value in plain.items()})
