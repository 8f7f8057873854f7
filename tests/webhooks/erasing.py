"""Erasing a person's payloads, as an erasure does."""

from uuid import UUID

from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope
from webhooks.erasure import user_portion_erase


def user_erase(team: TeamContext, user_id: UUID) -> dict[str, int]:
    """Portion by portion until nothing is left, as an erasure does; how many rows, by table."""
    erased: dict[str, int] = {}
    with system_scope(SystemScope.PURGE):
        while portion := user_portion_erase(team, user_id):
            erased = {table: erased.get(table, 0) + rows for table, rows in portion.items()}
    return erased
