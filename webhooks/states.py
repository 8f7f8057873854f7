"""The life of a delivery as a table; `webhooks.walker` alone walks it."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class DeliveryStatus(StrEnum):
    """Where one event's way to one endpoint stands."""

    PENDING = "pending"  # waits for its time
    SENDING = "sending"  # claimed by a pump, until its lease runs out
    DELIVERED = "delivered"  # the endpoint answered 2xx
    FAILED = "failed"  # every attempt failed
    CANCELLED = "cancelled"  # the endpoint was disabled or deleted first, or the payload is gone


class DeliveryCommand(StrEnum):
    """What can happen to a delivery."""

    CLAIM = "claim"
    SUCCEED = "succeed"
    RETRY = "retry"
    EXHAUST = "exhaust"
    CANCEL = "cancel"
    RESEND = "resend"


_S, _C = DeliveryStatus, DeliveryCommand

#: (status, command) → status; a pair that is not here is refused.
TRANSITIONS: Final[Mapping[tuple[DeliveryStatus, DeliveryCommand], DeliveryStatus]] = MappingProxyType(
    {
        (_S.PENDING, _C.CLAIM): _S.SENDING,
        (_S.SENDING, _C.CLAIM): _S.SENDING,  # only once the lease ran out
        (_S.SENDING, _C.SUCCEED): _S.DELIVERED,
        (_S.SENDING, _C.RETRY): _S.PENDING,
        (_S.SENDING, _C.EXHAUST): _S.FAILED,
        (_S.PENDING, _C.CANCEL): _S.CANCELLED,
        (_S.SENDING, _C.CANCEL): _S.CANCELLED,
        (_S.PENDING, _C.RESEND): _S.PENDING,
        (_S.DELIVERED, _C.RESEND): _S.PENDING,
        (_S.FAILED, _C.RESEND): _S.PENDING,
        (_S.CANCELLED, _C.RESEND): _S.PENDING,
    }
)

#: Deliveries that are still owed.
OPEN: Final = (DeliveryStatus.PENDING, DeliveryStatus.SENDING)


def statuses_before(command: DeliveryCommand) -> list[DeliveryStatus]:
    """The statuses that a command may be given in."""
    return [status for status, given in TRANSITIONS if given is command]


def status_after(command: DeliveryCommand) -> DeliveryStatus:
    """The status that a command leads to; each leads to one."""
    (after,) = {after for (_before, given), after in TRANSITIONS.items() if given is command}
    return after
