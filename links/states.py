"""The lifecycles of the links app: statuses, commands and what leads where. Imports nothing of ours."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias


class TokenStatus(StrEnum):
    """A link token's life. `expired` is written when the token is next looked at after its hour."""

    NEW = "new"
    VALIDATED = "validated"
    CONSUMED = "consumed"
    EXPIRED = "expired"


class TokenCommand(StrEnum):
    """What can happen to a link token."""

    VALIDATE = "validate"
    CONSUME = "consume"
    EXPIRE = "expire"


class ConnectionStatus(StrEnum):
    """A connection's life, as `GET /v2/user/providers/{user_id}` shows it."""

    CONNECTED = "connected"
    PAUSED = "paused"
    ERROR = "error"


class ConnectionCommand(StrEnum):
    """What can happen to a connection."""

    RECONNECT = "reconnect"
    PAUSE = "pause"
    BREAK = "break"


class RevocationStatus(StrEnum):
    """The life of a grant that is to be taken back at the provider."""

    OWED = "owed"
    DONE = "done"
    GIVEN_UP = "given_up"


class RevocationCommand(StrEnum):
    """What can happen to a revocation."""

    COMPLETE = "complete"
    GIVE_UP = "give_up"


class HookStatus(StrEnum):
    """The life of a subscription to a provider's notifications."""

    WANTED = "wanted"
    ACTIVE = "active"
    UNWANTED = "unwanted"
    FAILED = "failed"


class HookCommand(StrEnum):
    """What can happen to a subscription. `want` is also its renewal."""

    WANT = "want"
    ACTIVATE = "activate"
    FAIL = "fail"
    DROP = "drop"


class BulkOpStatus(StrEnum):
    """A bulk operation's life, in the interface's words."""

    IN_PROGRESS = "in_progress"
    SUCCESS = "success"
    FAILURE = "failure"
    ABORTED = "aborted"


class BulkItemStatus(StrEnum):
    """What became of one user of a bulk operation."""

    PENDING = "pending"
    PROCESSED = "processed"
    FAILED = "failed"


class BulkItemCommand(StrEnum):
    """What can happen to one user of a bulk operation."""

    PROCESS = "process"
    FAIL = "fail"


class BulkOpCommand(StrEnum):
    """How a bulk operation ends."""

    COMPLETE = "complete"
    FAIL = "fail"


class PullStatus(StrEnum):
    """A pull's life, in the words of the interface's historical pulls."""

    SCHEDULED = "scheduled"
    IN_PROGRESS = "in_progress"
    RETRYING = "retrying"
    SUCCESS = "success"
    FAILURE = "failure"


class PullCommand(StrEnum):
    """What can happen to a pull. `claim` of one in progress is for a pull whose worker died."""

    CLAIM = "claim"
    COMPLETE = "complete"
    RETRY = "retry"
    GIVE_UP = "give_up"


Transitions: TypeAlias = Mapping[tuple[StrEnum, StrEnum], StrEnum]

TOKEN_TRANSITIONS: Transitions = {
    (TokenStatus.NEW, TokenCommand.VALIDATE): TokenStatus.VALIDATED,
    (TokenStatus.VALIDATED, TokenCommand.VALIDATE): TokenStatus.VALIDATED,
    (TokenStatus.VALIDATED, TokenCommand.CONSUME): TokenStatus.CONSUMED,
    (TokenStatus.NEW, TokenCommand.EXPIRE): TokenStatus.EXPIRED,
    (TokenStatus.VALIDATED, TokenCommand.EXPIRE): TokenStatus.EXPIRED,
}

CONNECTION_TRANSITIONS: Transitions = {
    (ConnectionStatus.CONNECTED, ConnectionCommand.RECONNECT): ConnectionStatus.CONNECTED,
    (ConnectionStatus.ERROR, ConnectionCommand.RECONNECT): ConnectionStatus.CONNECTED,
    (ConnectionStatus.PAUSED, ConnectionCommand.RECONNECT): ConnectionStatus.CONNECTED,
    (ConnectionStatus.CONNECTED, ConnectionCommand.PAUSE): ConnectionStatus.PAUSED,
    (ConnectionStatus.CONNECTED, ConnectionCommand.BREAK): ConnectionStatus.ERROR,
    (ConnectionStatus.PAUSED, ConnectionCommand.BREAK): ConnectionStatus.ERROR,
}

REVOCATION_TRANSITIONS: Transitions = {
    (RevocationStatus.OWED, RevocationCommand.COMPLETE): RevocationStatus.DONE,
    (RevocationStatus.OWED, RevocationCommand.GIVE_UP): RevocationStatus.GIVEN_UP,
}

HOOK_TRANSITIONS: Transitions = {
    (HookStatus.ACTIVE, HookCommand.WANT): HookStatus.WANTED,
    (HookStatus.FAILED, HookCommand.WANT): HookStatus.WANTED,
    (HookStatus.UNWANTED, HookCommand.WANT): HookStatus.WANTED,
    (HookStatus.WANTED, HookCommand.ACTIVATE): HookStatus.ACTIVE,
    (HookStatus.WANTED, HookCommand.FAIL): HookStatus.FAILED,
    (HookStatus.WANTED, HookCommand.DROP): HookStatus.UNWANTED,
    (HookStatus.ACTIVE, HookCommand.DROP): HookStatus.UNWANTED,
    (HookStatus.FAILED, HookCommand.DROP): HookStatus.UNWANTED,
}

BULK_ITEM_TRANSITIONS: Transitions = {
    (BulkItemStatus.PENDING, BulkItemCommand.PROCESS): BulkItemStatus.PROCESSED,
    (BulkItemStatus.PENDING, BulkItemCommand.FAIL): BulkItemStatus.FAILED,
}

BULK_OP_TRANSITIONS: Transitions = {
    (BulkOpStatus.IN_PROGRESS, BulkOpCommand.COMPLETE): BulkOpStatus.SUCCESS,
    (BulkOpStatus.IN_PROGRESS, BulkOpCommand.FAIL): BulkOpStatus.FAILURE,
}

PULL_TRANSITIONS: Transitions = {
    (PullStatus.SCHEDULED, PullCommand.CLAIM): PullStatus.IN_PROGRESS,
    (PullStatus.RETRYING, PullCommand.CLAIM): PullStatus.IN_PROGRESS,
    (PullStatus.IN_PROGRESS, PullCommand.CLAIM): PullStatus.IN_PROGRESS,
    (PullStatus.IN_PROGRESS, PullCommand.COMPLETE): PullStatus.SUCCESS,
    (PullStatus.IN_PROGRESS, PullCommand.RETRY): PullStatus.RETRYING,
    (PullStatus.IN_PROGRESS, PullCommand.GIVE_UP): PullStatus.FAILURE,
    (PullStatus.SCHEDULED, PullCommand.GIVE_UP): PullStatus.FAILURE,
    (PullStatus.RETRYING, PullCommand.GIVE_UP): PullStatus.FAILURE,
}

#: Pulls that still owe something.
PULL_OPEN = (PullStatus.SCHEDULED, PullStatus.RETRYING, PullStatus.IN_PROGRESS)


def sources_by_target(transitions: Transitions, command: StrEnum) -> dict[StrEnum, list[StrEnum]]:
    """Where `command` leads, and from which statuses."""
    found: dict[StrEnum, list[StrEnum]] = {}
    for (before, known), after in transitions.items():
        if known is command:
            found.setdefault(after, []).append(before)
    return found
