"""Parquet files made row group by row group, so that memory holds one of them, whatever the size of the file."""

import io
from collections.abc import Iterator
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from healthsvc.kernel.exporting import Piece


def parquet_pieces(schema: pa.Schema, groups: Iterator[pa.Table]) -> Iterator[Piece]:
    """A file with a row group for each table; one without rows where there are none."""
    sink = _Sink()
    with pq.ParquetWriter(cast("IO[bytes]", sink), schema, compression="zstd") as writer:
        for group in groups:
            writer.write_table(group, row_group_size=max(1, group.num_rows))
            yield Piece(sink.taken(), group.num_rows)
    yield Piece(sink.taken())


class _Sink(io.RawIOBase):
    """Where the writer writes; what has gathered is taken away after each row group."""

    def __init__(self) -> None:
        super().__init__()
        self._gathered = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._gathered += data
        return len(data)

    def taken(self) -> bytes:
        """What was written since the last time."""
        gathered = bytes(self._gathered)
        self._gathered.clear()
        return gathered
