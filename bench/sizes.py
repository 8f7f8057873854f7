"""Bytes a sample: the store with its indexes, a row a sample, Parquet, and the codec alone on other times."""

import tempfile
from pathlib import Path

from aggregation.codec import block_encode
from aggregation.store.columns import block_of
from bench.filled import STORE_TABLES, Filled, filled
from bench.heart import MINUTES_A_DAY, heart_rate
from bench.options import options_read
from bench.parquet import parquet_write
from bench.rows import relation_bytes
from bench.targets import Targets

_CODEC_DAYS = 60
#: What the times look like, and how far into its minute a sample may fall.
_TIMES_MS = (("whole minutes", 0), ("any millisecond of a second", 1_000), ("any millisecond of the minute", 60_000))


def _codec_bytes(jitter_ms: int) -> float:
    rate = heart_rate(0, _CODEC_DAYS, jitter_ms=jitter_ms)
    days = (rate.columns(first, first + MINUTES_A_DAY) for first in range(0, len(rate), MINUTES_A_DAY))
    return sum(len(block_encode(block_of(day, interval=False))) for day in days) / len(rate)


def measure(store: Filled, targets: Targets) -> None:
    """Print them. The store's times are of the hardest kind."""
    ours = relation_bytes(*STORE_TABLES) / store.samples
    row = store.rows.total_bytes / store.rows.rows
    with tempfile.TemporaryDirectory() as folder:
        files = parquet_write(Path(folder), store.ready).bytes_a_sample
    print("\nBytes a sample: minutes, one decimal, any millisecond of the minute")
    print(f"  {'store: series, blocks and tails with indexes':<52} {ours:8.2f}")
    print(f"  {'a row a sample with its key':<52} {row:8.2f}   {row / ours:6.1f} x the store")
    print(f"  {'Parquet with zstd, a file a person and month':<52} {files:8.2f}   {files / ours:6.1f} x the store")
    for name, jitter_ms in _TIMES_MS:
        print(f"  {f'codec alone, {name}':<52} {_codec_bytes(jitter_ms):8.2f}")
    targets.at_most("bytes a sample in the store", ours, 6)


if __name__ == "__main__":
    reached = Targets()
    with filled(options_read()) as the_store:
        measure(the_store, reached)
    reached.told()
