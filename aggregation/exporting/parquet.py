"""Parquet files made row group by row group, so that memory holds one of them, whatever the size of the file."""

from collections.abc import Iterator
from typing import IO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from healthsvc.kernel.exporting import Piece, Sink


def parquet_pieces(schema: pa.Schema, groups: Iterator[pa.Table]) -> Iterator[Piece]:
    """A file with a row group for each table; one without rows where there are none."""
    sink = Sink()
    with pq.ParquetWriter(cast("IO[bytes]", sink), schema, compression="zstd") as writer:
        for group in groups:
            writer.write_table(group, row_group_size=max(1, group.num_rows))
            yield Piece(sink.taken(), group.num_rows)
    yield Piece(sink.taken())
