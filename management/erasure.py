"""Erasing a user: kept replies, files with their bytes and jobs go; of the audit trail only ids stay.

The trail says who read or changed a person's data, also after there are none: that is owed to the person too. It
holds ids and addresses; the address a person called from with a credential of their own is theirs, and goes.
"""

from collections.abc import Callable, Mapping
from typing import Final
from uuid import UUID

from django.db.models import Model, QuerySet

from healthsvc.kernel.principal import TeamContext
from management.files import files_empty, files_forget
from management.models import AccessNamed, AccessRecord, BackgroundJob, IdempotentReply, StoredFile
from management.trail_seals import PERSONS_OWN

TABLES: Final = frozenset(
    model._meta.db_table for model in (IdempotentReply, StoredFile, BackgroundJob, AccessRecord, AccessNamed)
)
#: Of these the rows stay.
EMPTIED: Final = frozenset({AccessRecord._meta.db_table})
_ROWS: Final = 2_000


def user_portion_begin(team: TeamContext, user_id: UUID) -> Callable[[TeamContext, UUID], Mapping[str, int]]:
    """Remove the bytes of some files, outside of a transaction; what erases their rows, or else other rows, in one.

    Interrupted between the two, the row is still there, and it is done again.
    """
    emptied = files_empty(StoredFile.objects.for_team(team).filter(user_id=user_id))

    def portion(team: TeamContext, user_id: UUID) -> Mapping[str, int]:
        return _counted(StoredFile, files_forget(emptied)) or user_portion_erase(team, user_id)

    return portion


def user_portion_erase(team: TeamContext, user_id: UUID) -> Mapping[str, int]:
    """Erase some of what this app keeps of a user but files; how many rows, by table. In the caller's transaction."""
    return (
        _removed(IdempotentReply.objects.for_team(team).filter(user_id=user_id))
        or _removed(BackgroundJob.objects.for_team(team).filter(user_id=user_id))
        or _addresses_emptied(team, user_id)
    )


def _removed(rows: QuerySet[IdempotentReply] | QuerySet[BackgroundJob]) -> dict[str, int]:
    ids = list(rows.values_list("pk", flat=True)[:_ROWS])
    return _counted(rows.model, rows.filter(pk__in=ids).delete()[0] if ids else 0)


def _addresses_emptied(team: TeamContext, user_id: UUID) -> dict[str, int]:
    rows = AccessRecord.objects.for_team(team).filter(user_id=user_id, actor_kind__in=PERSONS_OWN).exclude(address="")
    ids = list(rows.values_list("pk", flat=True)[:_ROWS])
    return _counted(AccessRecord, AccessRecord.objects.filter(pk__in=ids).update(address="") if ids else 0)


def _counted(model: type[Model], rows: int) -> dict[str, int]:
    return {model._meta.db_table: rows} if rows else {}
