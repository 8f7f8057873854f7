"""How long a program that ended waits before it is started again."""

from dataclasses import dataclass

FIRST_SECONDS = 1.0
LONGEST_SECONDS = 30.0
#: A program that lived this long had recovered: the next end starts counting anew.
HEALTHY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """`failures` ends in a row, each after a short life."""

    failures: int = 0

    def ended(self, lived_seconds: float) -> "Backoff":
        return Backoff(1 if lived_seconds >= HEALTHY_SECONDS else self.failures + 1)

    @property
    def wait_seconds(self) -> float:
        """0 before the first end, then 1, 2, 4 … 30."""
        if self.failures == 0:
            return 0.0
        return min(LONGEST_SECONDS, FIRST_SECONDS * 2.0 ** min(self.failures - 1, 10))
