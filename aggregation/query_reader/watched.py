"""A reader that tells what it touched: how many series, blocks, samples, bytes and rows, and never a value."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Count, Q, Sum
from django.db.models.functions import Length

from aggregation.models import Block, Tail
from aggregation.query import SeriesArrays, TableArrays
from aggregation.query_reader.reader import StoreReader
from aggregation.query_reader.samples import spans_of
from aggregation.store import read
from aggregation.store.read import Span
from healthsvc.kernel.principal import TeamContext
from users.models import User

_NOTHING: Final = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Touched:
    """One read. blocks, tails, stored_samples and stored_bytes are of the whole blocks that a window falls into.

    what: the table, or the timeseries' resource. rows: samples or summaries of the window, handed to the engine.
    """

    what: str
    series: int
    blocks: int
    tails: int
    stored_samples: int
    stored_bytes: int
    rows: int
    milliseconds: float


class WatchedReader:
    """A `StoreReader` that keeps count; two or three statements more a timeseries."""

    def __init__(self, team: TeamContext, user: User, reader: StoreReader) -> None:
        self._team = team
        self._user = user
        self._reader = reader
        self.touched: list[Touched] = []

    def read_series(self, resource: str, window_start_us: int, window_end_us: int) -> Sequence[SeriesArrays]:
        """As `StoreReader`."""
        spans = spans_of(read.series_of(self._team, self._user.pk, resource), window_start_us, window_end_us)
        blocks, block_samples, block_bytes = self._sizes(Block, spans)
        tails, tail_samples, tail_bytes = self._sizes(Tail, spans)
        started = time.monotonic()
        found = self._reader.read_series(resource, window_start_us, window_end_us)
        self.touched.append(
            Touched(
                what=resource,
                series=len(spans),
                blocks=blocks,
                tails=tails,
                stored_samples=block_samples + tail_samples,
                stored_bytes=block_bytes + tail_bytes,
                rows=sum(map(len, found)),
                milliseconds=_since(started),
            )
        )
        return found

    def read_table(self, table: str, columns: Sequence[str], window_start_us: int, window_end_us: int) -> TableArrays:
        """As `StoreReader`."""
        started = time.monotonic()
        found = self._reader.read_table(table, columns, window_start_us, window_end_us)
        self.touched.append(Touched(table, 0, 0, 0, 0, 0, len(found), _since(started)))
        return found

    def _sizes(self, model: type[Block] | type[Tail], spans: Sequence[Span]) -> tuple[int, int, int]:
        """Rows, samples and bytes of the spans."""
        if not spans:
            return _NOTHING
        wanted = Q()
        for span in spans:
            wanted |= Q(series_id=span.series.series_id, bucket__gte=span.first_bucket, bucket__lte=span.last_bucket)
        rows = model.objects.for_team(self._team).filter(wanted, user_id=self._user.pk)
        counted = rows.aggregate(rows=Count("bucket"), samples=Sum("n"), bytes=Sum(Length("data")))
        return counted["rows"], counted["samples"] or 0, counted["bytes"] or 0


def _since(started: float) -> float:
    return round((time.monotonic() - started) * 1_000, 3)
