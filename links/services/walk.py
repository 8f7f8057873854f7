"""The one place that changes a status: a guarded update by the tables of `links.states`."""

from enum import StrEnum
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from links.states import Transitions, sources_by_target

M = TypeVar("M", bound=Model)


def walk(rows: QuerySet[M], transitions: Transitions, command: StrEnum, **values: Any) -> int:
    """Carry out `command` on those of `rows` whose status allows it; how many that were.

    The status is part of the update's condition, so of two that race one finds nothing to change.
    """
    changed = 0
    for after, befores in sources_by_target(transitions, command).items():
        changed += rows.filter(status__in=befores).update(status=after, **values)
    return changed
