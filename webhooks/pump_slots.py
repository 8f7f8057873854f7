"""Slots of pumps: advisory locks on the database session, so that each goes with the worker that held it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import InterfaceError, OperationalError, connection

from webhooks.constants import PUMP_LOCK


@dataclass(slots=True)
class PumpSlot:
    """A slot that this session holds."""

    number: int
    held: bool = True

    def give_back(self) -> None:
        """Let another pump have it. Does nothing the second time."""
        if not self.held:
            return
        self.held = False
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [PUMP_LOCK, self.number])
        except (OperationalError, InterfaceError):
            connection.close()  # the session is gone, and the lock with it

    def take_again(self) -> bool:
        """Hold it once more, unless another pump does; whether it is held."""
        self.held = self.held or _try(self.number)
        return self.held


@contextmanager
def slot_taken(count: int) -> Iterator[PumpSlot | None]:
    """Hold one of `count` slots; None where all are held."""
    slot = next((PumpSlot(number) for number in range(count) if _try(number)), None)
    try:
        yield slot
    finally:
        if slot is not None:
            slot.give_back()


def _try(number: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [PUMP_LOCK, number])
        (taken,) = cursor.fetchone()
    return bool(taken)
