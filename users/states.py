"""The life of an erasure as a table; `users.services.erasure` alone walks it. Imports nothing of ours."""

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
