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
    ERROR = "error"


class ConnectionCommand(StrEnum):
    """What can happen to a connection."""

    RECONNECT = "reconnect"
    BREAK = "break"


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
    (ConnectionStatus.CONNECTED, ConnectionCommand.BREAK): ConnectionStatus.ERROR,
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
