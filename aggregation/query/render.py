"""Tables as an answer: columns in JSON, or a gzipped tar of numbered Parquet files, streamed."""

import gzip
import io
import tarfile
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from aggregation.query.columns import DAY_US, Column
from aggregation.query.run import Table
from aggregation.query.schema import ColumnType

#: How much of a Parquet file is compressed before its gzip output is handed on.
_PIECE_BYTES = 256 * 1024
_GZIP_LEVEL = 1
#: Arrow's types of what is kept as int64 here and needs no conversion.
_ARROW_TYPES: dict[ColumnType, pa.DataType] = {
    ColumnType.INT64: pa.int64(),
    ColumnType.INT16: pa.int16(),
    ColumnType.LOCAL_DATETIME: pa.timestamp("us"),
    ColumnType.UTC_DATETIME: pa.timestamp("us", tz="UTC"),
}


def render_json(tables: Sequence[Table]) -> bytes:
    """`{"results": [{"table": {<column>: […]}}]}`. Local times have no offset, UTC times end in +00:00."""
    results = [{"table": {name: _json_values(column) for name, column in table.columns}} for table in tables]
    return orjson.dumps({"results": results}, option=orjson.OPT_SERIALIZE_NUMPY)


def _json_values(column: Column) -> object:
    if column.type is ColumnType.FLOAT64:
        numbers = column.values if column.valid is None else np.where(column.valid, column.values, np.nan)
        return np.ascontiguousarray(numbers)  # NaN is written as null
    if column.type is ColumnType.LOCAL_DATETIME and column.valid is None:
        return np.ascontiguousarray(column.values).astype("M8[us]")
    if column.type in {ColumnType.INT64, ColumnType.INT16} and column.valid is None:
        return np.ascontiguousarray(column.values)
    values = _python_values(column)
    if column.valid is None:
        return values
    return [value if valid else None for value, valid in zip(values, column.valid.tolist(), strict=True)]


def _python_values(column: Column) -> list[object]:
    """As JSON writes them, whatever stands where there is no value."""
    if column.type is ColumnType.STRING:
        names = column.categories or ("",)
        return [names[code] for code in column.values.tolist()]
    if column.type is ColumnType.BOOL:
        return [bool(value) for value in column.values.tolist()]
    if column.type is ColumnType.DATE:
        return [str(text) for text in (column.values // DAY_US).astype("M8[D]").astype(str).tolist()]
    if column.type in {ColumnType.LOCAL_DATETIME, ColumnType.UTC_DATETIME}:
        suffix = "+00:00" if column.type is ColumnType.UTC_DATETIME else ""
        return [f"{_iso(text)}{suffix}" for text in column.values.astype("M8[us]").astype(str).tolist()]
    return [int(value) for value in column.values.tolist()]


def _iso(text: str) -> str:
    """Without a fraction where it is zero, as arrays of times are written."""
    return text.removesuffix(".000000")


def render_parquet_archive(tables: Iterable[Table]) -> Iterator[bytes]:
    """A gzipped tar of `0.parquet`, `1.parquet` …, piece by piece, with one file in memory at a time.

    The same tables give the same bytes: no file carries a time. Parquet pages are not compressed, gzip is enough.
    """
    sink = _Sink()
    with gzip.GzipFile(filename="", mode="wb", fileobj=sink, compresslevel=_GZIP_LEVEL, mtime=0) as packed:
        for number, table in enumerate(tables):
            contents = _parquet(table)
            packed.write(_tar_header(f"{number}.parquet", len(contents)))
            for start in range(0, len(contents), _PIECE_BYTES):
                packed.write(contents[start : start + _PIECE_BYTES])
                yield from sink.taken()
            packed.write(bytes(-len(contents) % tarfile.BLOCKSIZE))
        packed.write(bytes(2 * tarfile.BLOCKSIZE))
    yield from sink.taken()


class _Sink(io.RawIOBase):
    """Where gzip writes; what has gathered is taken away between two pieces."""

    def __init__(self) -> None:
        super().__init__()
        self._gathered: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: "bytes | bytearray | memoryview", /) -> int:  # type: ignore[override]
        self._gathered.append(bytes(data))
        return len(data)

    def taken(self) -> Iterator[bytes]:
        gathered = b"".join(self._gathered)
        self._gathered.clear()
        if gathered:
            yield gathered


def _tar_header(name: str, size_bytes: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = size_bytes
    return info.tobuf(tarfile.USTAR_FORMAT)


def _parquet(table: Table) -> memoryview:
    names = [name for name, _ in table.columns]
    arrow = pa.table([_arrow_values(column) for _, column in table.columns], names=names)
    buffer = pa.BufferOutputStream()
    pq.write_table(arrow, buffer, compression="none", use_dictionary=False)
    return memoryview(buffer.getvalue())


def _arrow_values(column: Column) -> "pa.Array[pa.Scalar[pa.DataType]]":
    missing = None if column.valid is None else ~column.valid
    if column.type is ColumnType.STRING:
        names = pa.array([*column.categories, ""], pa.string())
        return names.take(pa.array(column.values.astype(np.int64), pa.int64(), mask=missing))
    if column.type is ColumnType.DATE:
        days = (column.values // DAY_US).astype(np.int32)
        return pa.array(days, pa.int32(), mask=missing).cast(pa.date32())
    if column.type is ColumnType.BOOL:
        return pa.array(column.values.astype(np.bool_), pa.bool_(), mask=missing)
    if column.type is ColumnType.FLOAT64:
        return pa.array(column.values, pa.float64(), mask=missing)
    return pa.array(column.values, pa.int64(), mask=missing).cast(_ARROW_TYPES[column.type])
