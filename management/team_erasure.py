"""Erasing a team: rows go portion by portion, and what this app itself keeps of a team goes last.

The trail stays as it does for an erased person: ids only. The team's row and its keys' rows stay without their names,
so that no id is ever given again and the trail can be read.
"""

from collections.abc import Iterator
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet

from healthsvc.kernel.principal import TeamContext
from management.files import files_empty, files_forget
from management.models import (
    AccessNamed,
    AccessRecord,
    AccessSeal,
    BackgroundJob,
    IdempotentReply,
    ScopeRequirement,
    StoredFile,
    TeamAccessToken,
    TeamKey,
    TeamLogo,
    TeamSettings,
)
from management.registry import TeamEraser
from management.trail_seals import PERSONS_OWN

_REMOVED: Final = (IdempotentReply, BackgroundJob, TeamAccessToken, TeamSettings, TeamLogo, ScopeRequirement)
#: The trail and its seals, and the keys that it names: ids and digests.
_KEPT: Final = (AccessRecord, AccessNamed, AccessSeal, TeamKey)
TABLES: Final = frozenset(model._meta.db_table for model in (*_REMOVED, *_KEPT, StoredFile))
_ROWS: Final = 1_000


def rows_erased(rows: QuerySet[Any], *, most: int = _ROWS) -> Iterator[int]:
    """Remove these rows, a portion and a transaction a step; how many each.

    Nothing is opened, and nothing that refers to them is looked for: whoever calls has removed that before.
    """
    while True:
        with transaction.atomic():
            ids = list(rows.values_list("pk", flat=True)[:most])
            removed = rows.model._base_manager.filter(pk__in=ids)._raw_delete(rows.db) if ids else 0
        if not ids:
            return
        yield removed


def rows_changed(rows: QuerySet[Any], **values: object) -> Iterator[int]:
    """Write these values into rows that do not have them yet, as `rows_erased` removes rows."""
    while True:
        with transaction.atomic():
            ids = list(rows.values_list("pk", flat=True)[:_ROWS])
            changed = rows.model._base_manager.filter(pk__in=ids).update(**values) if ids else 0
        if not ids:
            return
        yield changed


def team_portions(team: TeamContext) -> Iterator[int]:
    """Erase files with their bytes, jobs, kept replies, what the team chose, and names and addresses in what stays."""
    yield from _files_erased(team)
    for model in _REMOVED:
        yield from rows_erased(model._base_manager.filter(team_id=team.team_id, environment=team.environment))
    yield from rows_changed(TeamKey.objects.for_team(team).exclude(label=""), label="")
    own = AccessRecord.objects.for_team(team).filter(actor_kind__in=PERSONS_OWN)
    yield from rows_changed(own.exclude(address=""), address="")


def _files_erased(team: TeamContext) -> Iterator[int]:
    """The bytes before the row: interrupted between the two, the row is still there and it is done again."""
    while emptied := files_empty(StoredFile.objects.for_team(team)):
        with transaction.atomic():
            removed = files_forget(emptied)
        yield removed


#: What this app keeps; asked after all others.
OWN: Final = TeamEraser(TABLES, team_portions, is_referred_to=True)
