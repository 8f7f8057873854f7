"""The lives of erasures and exports as tables, walked by `users.services.erasure` and `users.services.exports` alone.

Imports nothing of ours.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class ErasureStatus(StrEnum):
    """Where the erasure of a deleted user stands."""

    PENDING = "pending"
    UNDONE = "undone"
    ERASING = "erasing"
    ERASED = "erased"


class ErasureCommand(StrEnum):
    """What can happen to an erasure. `claim` of one that runs already is for one whose worker died or made way."""

    UNDO = "undo"
    CLAIM = "claim"
    CONTINUE = "continue"
    FINISH = "finish"


#: (status, command) → status; a pair that is not here is refused.
TRANSITIONS: Final[Mapping[tuple[ErasureStatus, ErasureCommand], ErasureStatus]] = MappingProxyType(
    {
        (ErasureStatus.PENDING, ErasureCommand.UNDO): ErasureStatus.UNDONE,
        (ErasureStatus.PENDING, ErasureCommand.CLAIM): ErasureStatus.ERASING,
        (ErasureStatus.ERASING, ErasureCommand.CLAIM): ErasureStatus.ERASING,
        (ErasureStatus.ERASING, ErasureCommand.CONTINUE): ErasureStatus.ERASING,
        (ErasureStatus.ERASING, ErasureCommand.FINISH): ErasureStatus.ERASED,
    }
)

#: What still has a user to erase.
OPEN: Final = frozenset({ErasureStatus.PENDING, ErasureStatus.ERASING})


def statuses_before(command: ErasureCommand) -> list[ErasureStatus]:
    """The statuses that a command may be given in."""
    return [status for status, given in TRANSITIONS if given is command]


def status_after(command: ErasureCommand) -> ErasureStatus:
    """The status that a command leads to; each leads to one."""
    (after,) = {after for (_before, given), after in TRANSITIONS.items() if given is command}
    return after


class ExportStatus(StrEnum):
    """Where the archive of a user stands."""

    MAKING = "making"
    READY = "ready"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class ExportCommand(StrEnum):
    """What can happen to an archive. `cancel`: the user is deleted while it is made."""

    FINISH = "finish"
    FAIL = "fail"
    CANCEL = "cancel"
    EXPIRE = "expire"


#: (status, command) → status; a pair that is not here is refused.
EXPORT_TRANSITIONS: Final[Mapping[tuple[ExportStatus, ExportCommand], ExportStatus]] = MappingProxyType(
    {
        (ExportStatus.MAKING, ExportCommand.FINISH): ExportStatus.READY,
        (ExportStatus.MAKING, ExportCommand.FAIL): ExportStatus.FAILED,
        (ExportStatus.MAKING, ExportCommand.CANCEL): ExportStatus.CANCELLED,
        (ExportStatus.READY, ExportCommand.EXPIRE): ExportStatus.EXPIRED,
    }
)


def export_step(command: ExportCommand) -> tuple[ExportStatus, ExportStatus]:
    """The one status that a command may be given in, and the one that it leads to."""
    ((before, after),) = {(before, after) for (before, given), after in EXPORT_TRANSITIONS.items() if given is command}
    return before, after
