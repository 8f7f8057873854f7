"""A process of its own that writes random batches, or folds tails, until it is done or killed.

`python -m tests.aggregation.store_writer TEAM ENVIRONMENT USER WRITER LOG`: each batch is noted in LOG before it is
written and after it was acknowledged, as `begun NUMBER` and `done NUMBER`. The writer `fold` folds for ever.
"""

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import django

WRITES_EACH = 40
BASE_US = 1_772_323_200_000_000
MINUTE_US = 60_000_000


def batch_of(writer: int, number: int) -> tuple[float, list[int]]:
    """The value of a batch, which no other has, and its times: a few minutes of live data, or many of any day."""
    chance = random.Random(writer * 1_000 + number)
    if chance.random() < 0.7:
        first = chance.randrange(0, 1_440)
        minutes = list(range(first, first + chance.choice([1, 1, 3, 20])))
    else:
        minutes = chance.sample(range(4_000), 400)
    return 50.0 + writer * WRITES_EACH + number, [BASE_US + minute * MINUTE_US for minute in minutes]


def _numbers(log: Path) -> Iterator[int]:
    """The batches that were not begun by a process before this one."""
    begun = sum(line.startswith("begun") for line in log.read_text().splitlines()) if log.exists() else 0
    yield from range(begun, WRITES_EACH)


def _write(team_id: UUID, environment: str, user_id: UUID, writer: int, log: Path) -> None:
    from aggregation.services import health_data_store
    from healthsvc.kernel.principal import Environment, TeamContext
    from healthsvc.kernel.scope import team_scope
    from tests.aggregation.samples import heartrates

    team = TeamContext(team_id, Environment(environment))
    with team_scope(team), log.open("a", buffering=1) as out:
        for number in _numbers(log):
            value, times = batch_of(writer, number)
            out.write(f"begun {number}\n")
            samples = heartrates(dict.fromkeys(times, value))
            health_data_store(team=team, user_id=user_id, series=[samples], emit=False)
            out.write(f"done {number}\n")


def _fold() -> None:
    from aggregation import services
    from aggregation.store import tail

    # Whatever waits is old enough.
    setattr(tail, "TAIL_AGE_SECONDS", 0)  # noqa: B010
    while True:
        services.tails_fold_due(limit=10)


if __name__ == "__main__":
    django.setup()
    if sys.argv[4] == "fold":
        _fold()
    else:
        _write(UUID(sys.argv[1]), sys.argv[2], UUID(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
