"""Reads an Apple Health export as a stream: samples in batches, nights, days, meals and workouts as summaries."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import BinaryIO, TypeAlias

from aggregation.apple_health.archive import DamagedStreamError, ExportStream, open_export
from aggregation.apple_health.collector import READABLE, Collector, ExportItem
from aggregation.apple_health.elements import ElementParser
from aggregation.apple_health.limits import ExportLimits
from aggregation.apple_health.tally import DOCUMENT_KIND, ExportTally, RefusalReason

OnProgress: TypeAlias = Callable[[int, int], None]

_DEFAULT_LIMITS = ExportLimits()


def read_export(
    file: BinaryIO | Path,
    *,
    tally: ExportTally,
    on_progress: OnProgress | None = None,
    limits: ExportLimits = _DEFAULT_LIMITS,
    resources: Collection[str] = READABLE,
) -> Iterator[ExportItem]:
    """Yield what an export.zip or export.xml holds, as it is read; what is gathered over the whole file comes last.

    file: a path, or a seekable binary stream, which stays open. tally: filled while reading; final once the
    iterator is exhausted. on_progress: called with inflated bytes read and their total, after every piece.
    resources: what the caller can store; records of others are left out.

    Nothing is read before the first item is asked for. Raises ExportRefusedError where the file as a whole is no
    export or too large; one that breaks off is read as far as it goes and `truncated` is refused in `tally`.
    Memory: bounded by `limits`, whatever the size of the file.
    """
    tally.max_kinds = limits.max_kinds
    with open_export(file, limits, tally) as stream:
        collector = Collector(tally, limits, resources, stream.attachments)
        for item in _items(stream, collector, tally, limits, on_progress):
            tally.yielded += 1
            yield item


def _items(
    stream: ExportStream,
    collector: Collector,
    tally: ExportTally,
    limits: ExportLimits,
    on_progress: OnProgress | None,
) -> Iterator[ExportItem]:
    parser = ElementParser(collector.take, collector.malformed, limits)
    tally.bytes_total = stream.total_bytes
    while not parser.finished:
        try:
            data = stream.read(limits.read_bytes)
        except DamagedStreamError:
            break
        if not data:
            break
        parser.feed(data)
        yield from collector.ready(at_least=limits.chunk_samples)
        tally.bytes_read += len(data)
        if on_progress is not None:
            on_progress(tally.bytes_read, tally.bytes_total)
    if not parser.close():
        tally.refuse_unread(DOCUMENT_KIND, RefusalReason.TRUNCATED)
    yield from collector.rest()
