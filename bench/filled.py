"""The filled store: several people's years of heart rate, stored through the service function in turns."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from uuid import UUID

from aggregation.models import Block, Series, Tail
from aggregation.records import SeriesBatch
from aggregation.services import health_data_store
from bench.answers import WINDOWS, Window
from bench.heart import FIVE_YEARS_DAYS, MINUTES_A_DAY, RESOURCE, SOURCE, HeartRate, heart_rate
from bench.options import Options
from bench.rows import RowTable, row_table
from bench.stage import connected_to, database_copied, database_name, stage, vacuumed
from healthsvc.kernel.scope import team_scope
from tests.factories import Tenant, user_make
from users.models import User

#: Samples a write; no whole number of days, so that every write reopens the block where the last one ended.
POST_SAMPLES = 10_000
STORE_TABLES = tuple(model._meta.db_table for model in (Series, Block, Tail))


@dataclass(frozen=True, slots=True)
class Filled:
    """The store as it stands.

    asked: the person whose data the queries are over; `ready` are those data in memory. samples: stored in all.
    alone: the name of a database that holds the same team, and samples of the asked person only.
    windows: those of the queries that the data are long enough for.
    """

    tenant: Tenant
    asked: User
    ready: HeartRate
    samples: int
    alone: str
    rows: RowTable
    windows: tuple[Window, ...]


#: Autovacuum would come more often: 100,000 people with a sample a minute send a 25th of this between two rounds.
_VACUUM_SAMPLES = 2_500_000


@contextmanager
def filled(options: Options) -> Iterator[Filled]:
    """A database of its own with about `options.samples` samples in the store, told as samples a second."""
    people, days = _size(options.samples)
    with ExitStack() as stack:
        tenant = stack.enter_context(stage())
        users = [user_make(tenant) for _ in range(people)]
        rates = [heart_rate(person, days) for person in range(people)]
        alone = f"{database_name()}_alone"
        stack.enter_context(database_copied(alone))
        with connected_to(alone):
            _fill(tenant, users[:1], rates[:1])
            vacuumed(*STORE_TABLES)
        print(f"Store: {people} people, {days} days of minutes, {POST_SAMPLES:,} a write in turns")
        started = time.perf_counter()
        _fill(tenant, users, rates)
        seconds = time.perf_counter() - started
        samples = sum(map(len, rates))
        print(f"  filled with {samples:,} samples in {seconds:.1f} s, {samples / seconds:,.0f} samples/s", flush=True)
        vacuumed(*STORE_TABLES)
        rows = row_table(_for_rows(users, rates, options.row_samples))
        windows = tuple(window for window in WINDOWS if window.days <= days)
        yield Filled(tenant, users[0], rates[0], samples, alone, rows, windows)


def _size(samples: int) -> tuple[int, int]:
    """People and days: as many people with five years each as it takes, or two with as many days as there are."""
    people = -(-samples // (FIVE_YEARS_DAYS * MINUTES_A_DAY))
    return (people, FIVE_YEARS_DAYS) if people > 1 else (2, max(1, samples // 2 // MINUTES_A_DAY))


def _fill(tenant: Tenant, users: Sequence[User], rates: Sequence[HeartRate]) -> None:
    """Five years are written in seconds, so that autovacuum, which comes once a minute, is done by hand."""
    with team_scope(tenant.context):
        waiting = 0
        for first in range(0, max(map(len, rates)), POST_SAMPLES):
            waiting += POST_SAMPLES * len(users)
            if waiting >= _VACUUM_SAMPLES:
                vacuumed("aggregation_block")
                waiting = 0
            for user, rate in zip(users, rates, strict=True):
                batch = SeriesBatch(RESOURCE, SOURCE, rate.columns(first, first + POST_SAMPLES))
                health_data_store(team=tenant.context, user_id=user.pk, series=[batch], emit=False)


def _for_rows(users: Sequence[User], rates: Sequence[HeartRate], samples: int) -> list[tuple[UUID, HeartRate]]:
    """The asked person's data and as many others' as come to the number, but at least one's."""
    count = max(2, samples // len(rates[0]))
    return [(user.pk, rate) for user, rate in zip(users[:count], rates[:count], strict=True)]
