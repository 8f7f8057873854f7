"""Erasing a user: what this app itself keeps of them. The user's own row is the last of all to go."""

from collections.abc import Mapping
from functools import cache
from uuid import UUID

from django.apps import apps
from django.db.models import Field, Model

from healthsvc.kernel.principal import TeamContext
from users.models import Erasure, User

_ROWS = 500
#: The user's own row, and what names them until then.
_LAST: frozenset[type[Model]] = frozenset({User, Erasure})


def tables() -> frozenset[str]:
    """Those that this app answers for."""
    return frozenset(model._meta.db_table for model in (*_LAST, *_models()))


def user_portion_erase(team: TeamContext, user_id: UUID) -> Mapping[str, int]:
    """Erase some rows of a user; how many, by table. In the caller's transaction."""
    for model in _models():
        rows = model._default_manager.filter(team_id=team.team_id, environment=team.environment, user_id=user_id)
        ids = list(rows.values_list("pk", flat=True)[:_ROWS])
        if ids:
            model._default_manager.filter(pk__in=ids).only("pk").delete()
            return {model._meta.db_table: len(ids)}
    return {}


@cache
def _models() -> tuple[type[Model], ...]:
    """Every table of this app with a user id; those made later may refer to those made before, and come first."""
    found = [model for model in apps.get_app_config("users").get_models() if model not in _LAST]
    return tuple(model for model in reversed(found) if any(_names_user(field) for field in model._meta.local_fields))


def _names_user(field: "Field[object, object]") -> bool:
    return field.attname == "user_id"
