"""DuckDB over Parquet files, one a person and month, of which a query is told only those that its window needs."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.answers import Hours
from bench.heart import HeartRate

_QUERY = """
SELECT time_bucket(INTERVAL 1 HOUR, start_at) AS bucket, avg(value) AS mean, min(value) AS low, max(value) AS high,
    arg_max(value, start_at) AS newest
FROM read_parquet($files)
WHERE start_at >= make_timestamp($first) AND start_at < make_timestamp($last)
GROUP BY bucket
ORDER BY bucket
"""


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """One person's files in order of months, and what they weigh."""

    paths: dict[date, Path]
    samples: int

    @property
    def bytes_a_sample(self) -> float:
        """On disk."""
        return sum(path.stat().st_size for path in self.paths.values()) / self.samples


def parquet_write(folder: Path, rate: HeartRate) -> ParquetFiles:
    """Timestamps in microseconds, offsets and values, zstd."""
    months = rate.start_us.astype("M8[us]").astype("M8[M]")
    paths: dict[date, Path] = {}
    for month in np.unique(months):
        picked = months == month
        columns: Any = {
            "start_at": pa.array(rate.start_us[picked], pa.int64()).cast(pa.timestamp("us")),
            "offset_seconds": pa.array(np.zeros(int(picked.sum()), np.int32), pa.int32()),
            "value": pa.array(rate.value[picked], pa.float64()),
        }
        path = folder / f"{month}.parquet"
        pq.write_table(pa.table(columns), path, compression="zstd")
        paths[month.astype("M8[D]").astype(object)] = path
    return ParquetFiles(paths, len(rate))


class DuckFiles:
    """An open DuckDB that answers the query from the files."""

    def __init__(self, files: ParquetFiles) -> None:
        self._files = files
        self._duck = duckdb.connect()

    def query(self, bounds_us: tuple[int, int]) -> dict[str, Any]:
        """Columns as numpy arrays."""
        first, last = (np.datetime64(bound, "us").astype("M8[M]").astype("M8[D]") for bound in bounds_us)
        files = [str(path) for month, path in self._files.paths.items() if first <= np.datetime64(month) <= last]
        parameters = {"files": files, "first": bounds_us[0], "last": bounds_us[1]}
        found: dict[str, Any] = self._duck.execute(_QUERY, parameters).fetchnumpy()
        return found


def hours_of(found: dict[str, Any]) -> Hours:
    """The answer of `DuckFiles.query`."""
    numbers = {name: np.asarray(found[name], np.float64) for name in ("mean", "low", "high", "newest")}
    return Hours(np.asarray(found["bucket"]).astype("M8[us]").astype(np.int64), **numbers)
