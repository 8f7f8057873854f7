"""JSON and the Parquet archive say the same; the archive is streamed and repeatable."""

import gzip
import io
import tarfile
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from aggregation.query import ColumnType, Table, render_json, render_parquet_archive
from aggregation.query.columns import Column, empty_column, float_column, labels_column

TIMES = np.array([0, 86_400_000_000, 90_000_000_001], np.int64)
SECOND_MISSING = np.array([True, False, True])


def everything() -> Table:
    """Every type, with and without missing values."""
    ints = np.array([-1, 0, 2**53 + 1], np.int64)
    columns: list[tuple[str, Column]] = [("mean", float_column(np.array([1.5, np.nan, -0.0])))]
    for column_type in (ColumnType.INT64, ColumnType.BOOL, ColumnType.DATE):
        values = np.array([1, 0, 1]) if column_type is ColumnType.BOOL else ints
        values = TIMES if column_type is ColumnType.DATE else values
        columns.append((column_type.value, Column(column_type, values)))
        columns.append((f"{column_type}.null", Column(column_type, values, SECOND_MISSING)))
    columns.append(("int16", Column(ColumnType.INT16, np.array([180, -1, 7]), SECOND_MISSING)))
    for column_type in (ColumnType.LOCAL_DATETIME, ColumnType.UTC_DATETIME):
        columns.append((column_type.value, Column(column_type, TIMES)))
        columns.append((f"{column_type}.null", Column(column_type, TIMES, SECOND_MISSING)))
    columns.append(("type", labels_column(["b", None, "ä"])))
    columns.append(("empty", empty_column(ColumnType.STRING, 3)))
    return Table(tuple(columns))


def unpacked(archive: bytes) -> dict[str, pa.Table]:
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        return {name: pq.read_table(io.BytesIO(_member(tar, name))) for name in tar.getnames()}


def _member(tar: tarfile.TarFile, name: str) -> bytes:
    extracted = tar.extractfile(name)
    assert extracted is not None
    return extracted.read()


def as_json(cell: object) -> object:
    return cell.isoformat() if isinstance(cell, date | datetime) else cell


def test_json() -> None:
    assert orjson.loads(render_json([everything()])) == {
        "results": [
            {
                "table": {
                    "mean": [1.5, None, -0.0],
                    "int64": [-1, 0, 2**53 + 1],
                    "int64.null": [-1, None, 2**53 + 1],
                    "bool": [True, False, True],
                    "bool.null": [True, None, True],
                    "date": ["1970-01-01", "1970-01-02", "1970-01-02"],
                    "date.null": ["1970-01-01", None, "1970-01-02"],
                    "int16": [180, None, 7],
                    "local_datetime": ["1970-01-01T00:00:00", "1970-01-02T00:00:00", "1970-01-02T01:00:00.000001"],
                    "local_datetime.null": ["1970-01-01T00:00:00", None, "1970-01-02T01:00:00.000001"],
                    "utc_datetime": [
                        "1970-01-01T00:00:00+00:00",
                        "1970-01-02T00:00:00+00:00",
                        "1970-01-02T01:00:00.000001+00:00",
                    ],
                    "utc_datetime.null": ["1970-01-01T00:00:00+00:00", None, "1970-01-02T01:00:00.000001+00:00"],
                    "type": ["b", None, "ä"],
                    "empty": [None, None, None],
                }
            }
        ]
    }


def test_the_archive_equals_the_json() -> None:
    nothing = Table((("index", Column(ColumnType.LOCAL_DATETIME, TIMES[:0])), ("mean", float_column(np.zeros(0)))))
    tables = [everything(), nothing]
    files = unpacked(b"".join(render_parquet_archive(tables)))
    assert list(files) == ["0.parquet", "1.parquet"]
    results = orjson.loads(render_json(tables))["results"]
    for result, parquet in zip(results, files.values(), strict=True):
        columns: dict[str, list[Any]] = parquet.to_pydict()
        assert {name: [as_json(cell) for cell in cells] for name, cells in columns.items()} == result["table"]


def test_the_archives_types() -> None:
    schema = unpacked(b"".join(render_parquet_archive([everything()])))["0.parquet"].schema
    assert {field.name: str(field.type) for field in schema} == {
        "mean": "double",
        "int64": "int64",
        "int64.null": "int64",
        "bool": "bool",
        "bool.null": "bool",
        "date": "date32[day]",
        "date.null": "date32[day]",
        "int16": "int16",
        "local_datetime": "timestamp[us]",
        "local_datetime.null": "timestamp[us]",
        "utc_datetime": "timestamp[us, tz=UTC]",
        "utc_datetime.null": "timestamp[us, tz=UTC]",
        "type": "string",
        "empty": "string",
    }


def test_the_archive_is_the_same_every_time_and_carries_no_time() -> None:
    first = b"".join(render_parquet_archive([everything()]))
    assert first == b"".join(render_parquet_archive([everything()]))
    assert first[4:8] == bytes(4)
    with tarfile.open(fileobj=io.BytesIO(first), mode="r:gz") as tar:
        assert [(member.name, member.mtime, member.mode) for member in tar] == [("0.parquet", 0, 0o644)]


def test_the_archive_is_handed_on_in_pieces_as_tables_come() -> None:
    numbers = np.random.default_rng(1).normal(size=200_000)
    taken: list[int] = []

    def tables() -> Iterator[Table]:
        for number in range(3):
            taken.append(number)
            yield Table((("value", float_column(numbers)),))

    stream = render_parquet_archive(tables())
    first = next(stream)
    assert taken == [0]
    pieces = [first, *stream]
    assert taken == [0, 1, 2]
    assert max(map(len, pieces)) < 600_000
    assert list(unpacked(b"".join(pieces))) == ["0.parquet", "1.parquet", "2.parquet"]


def test_no_tables_give_an_empty_archive() -> None:
    assert gzip.decompress(b"".join(render_parquet_archive([]))) == bytes(1024)
    assert render_json([]) == b'{"results":[]}'
