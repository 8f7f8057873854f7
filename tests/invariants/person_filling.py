"""Puts a row of one person into every table that can hold one, with their mark in whatever takes a text."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from django.contrib.postgres.fields import ArrayField
from django.db import models

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import EncryptedJSONField, EncryptedTextField
from healthsvc.kernel.scope import team_scope
from tests.factories import Tenant
from tests.invariants.person_tables import Table, references
from users.models import User

#: What the rules below would make of a column wrongly, by table and column: a value, or one made of the person.
SPECIAL: Final[dict[str, Any]] = {
    # Says when, how and by whom something was read; ids only, but for the address.
    "management_access_record.action": "GET /v2/user/<user_id>",
    "management_access_record.actor_kind": "link_token",
    "management_access_record.actor_id": "some-id",
    "management_access_record.request_id": "some-id",
    "management_access_record.object_ids": lambda person: {"user_id": str(person.user.id)},
    # One that was undone; the deletion itself makes the other.
    "users_erasure.status": "undone",
    "users_erasure.error_code": "",
    "users_erasure.receipt": "",
    "users_erasure.receipt_signature": None,
    "users_erasure.receipt_public_key": None,
    "users_erasure.rows_erased": {},
    # The message stays, with nothing of the person in it.
    "webhooks_event.event_type": "daily.data.sleep.created",
    "webhooks_event.body": lambda person: f'{{"of": "{person.mark}"}}',
    "webhooks_event.channels": lambda person: [f"user.{person.user.id}"],
    "webhooks_delivery.next_attempt_at": lambda person: clock.now(),
    "webhooks_attempt.event_type": "daily.data.sleep.created",
    "webhooks_attempt.error": "timeout",
    # Of a team, and named by no clearing house.
    "users_payor.provider": "",
    "users_payor.provider_payor_id": "",
    # One without a grant that must be taken back first.
    "links_connection.login": "password",
    # One that is owed still is waited for.
    "links_revocation.status": "done",
}


@dataclass(slots=True)
class Person:
    """Somebody whose rows are told by `mark`, and the rows that were made so far."""

    tenant: Tenant
    user: User
    mark: str
    made: dict[Table, models.Model] = field(default_factory=dict)


def person_fill(person: Person, personal: list[Table]) -> None:
    """A row in every table."""
    person.made[User] = person.user
    with team_scope(person.tenant.context):
        for model in personal:
            _row(person, model, personal)


def _row(person: Person, model: Table, personal: list[Table]) -> models.Model:
    if model not in person.made:
        values = {
            column.attname: _value(person, model, column, personal)
            for column in model._meta.local_concrete_fields
            if not _made_by_itself(column)
        }
        row = model(**values)
        row.save(force_insert=True)
        person.made[model] = row
    return person.made[model]


def _made_by_itself(column: Any) -> bool:
    return isinstance(column, models.CompositePrimaryKey) or bool(
        column.primary_key and (column.has_default() or isinstance(column, models.AutoField))
    )


def _value(person: Person, model: Table, column: Any, personal: list[Table]) -> Any:
    special = SPECIAL.get(f"{model._meta.db_table}.{column.name}", _value)
    if special is not _value:
        return special(person) if callable(special) else special
    if column.attname == "team_id":
        return person.tenant.team.id
    if column.name == "environment":
        return str(person.tenant.context.environment)
    if column.attname == "user_id" or (column.name == "id" and model is User):
        return person.user.id
    leads_to = references(model, [table for table in personal if table is not model]).get(column.name)
    if leads_to is not None:
        return _row(person, leads_to, personal).pk
    if column.related_model is not None:
        return None if column.null else _row(person, column.related_model, personal).pk
    return _plain(person.mark if model in personal else "shared", column)


def _plain(mark: str, column: Any) -> Any:
    """A value for a column that refers to nothing. What takes the mark is filled even where it need not be."""
    if column.choices:
        return column.get_default() if column.has_default() else column.choices[0][0]
    for kind, make in _MARKED:
        if isinstance(column, kind):
            return make(mark, column)
    if column.has_default():
        return column.get_default()
    return None if column.null else next(make() for kind, make in _UNMARKED if isinstance(column, kind))


def _text(mark: str, column: Any) -> str:
    return mark[: column.max_length]


_MARKED: Final[list[tuple[Any, Callable[[str, Any], Any]]]] = [
    (EncryptedJSONField, lambda mark, _column: {"note": mark}),
    (EncryptedTextField, lambda mark, _column: mark),
    (models.JSONField, lambda mark, _column: {"note": mark}),
    (models.BinaryField, lambda mark, _column: mark.encode()),
    (ArrayField, lambda mark, column: [mark] if isinstance(column.base_field, models.CharField) else []),
    (models.CharField, _text),
    (models.TextField, _text),
]
_UNMARKED: Final[list[tuple[Any, Callable[[], Any]]]] = [
    (models.UUIDField, uuid4),
    (models.DateTimeField, clock.now),
    (models.DateField, lambda: clock.now().date()),
    (models.BooleanField, lambda: False),
    (models.IntegerField, lambda: 1),
]
