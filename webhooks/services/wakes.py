"""Wake-ups: asking a worker for a pump, for many commits at once.

An event needs no wake-up of its own where one was sent for an event shortly before, in COVER_SECONDS, which is half of
PUMP_IDLE_SECONDS. Say e0 was committed at c0 and its wake-up was sent, and e is committed at c, less than COVER_SECONDS
after e0's was asked for, which was before c0: so c < c0 + COVER_SECONDS. Some pump finds e0 at a moment h >= c0, be it
the one that the wake-up starts or one that runs already, since a pump looks once more for what is owed after it has
given its slot back, and asks for a successor where there is something. After h that pump goes on looking for
PUMP_IDLE_SECONDS, which is beyond c, and once more after it has given its slot back; where its own time is over first,
it asks for a successor in any case. So e is found by it or by a successor. A pump of the command `webhooks_pump` has no
slot: after h it looks on too, with `--once` as well, and where its time is over it begins anew.

That holds while the broker keeps its messages and the pump that found e0 is not stopped or killed within a second of
it: then e waits for the sweep. A wake-up that could not be sent covers nothing.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.db import connection, transaction

from healthsvc.kernel.jobs import broker, enqueue
from webhooks.constants import PUMP_IDLE_SECONDS, PUMP_TASK

COVER_SECONDS: Final = PUMP_IDLE_SECONDS / 2


@dataclass(slots=True)
class Cover:
    """Until when this process's events need no wake-up, on the clock that is given."""

    clock: Callable[[], float] = time.monotonic
    until: float = 0.0


#: Threads share it: at worst two of them send at once.
cover: Final = Cover()


@dataclass(frozen=True, slots=True)
class _EventWake:
    """Sends one message for a transaction's events, unless one covers them. `asked_at` is before the commit."""

    asked_at: float

    def __call__(self) -> None:
        if cover.clock() < cover.until:
            return
        if broker.send(PUMP_TASK, {}):
            cover.until = self.asked_at + COVER_SECONDS


def event_wake() -> None:
    """Ask for a pump once the transaction commits; once, however many events it writes.

    Rolling back a savepoint takes back both its events and what was asked for them.
    """
    if not any(isinstance(part, _EventWake) for entry in connection.run_on_commit for part in entry):
        transaction.on_commit(_EventWake(cover.clock()))


def pump_wake() -> None:
    """Ask for a pump once the transaction commits. It covers no events: nobody says that there is one to find."""
    enqueue(PUMP_TASK)
