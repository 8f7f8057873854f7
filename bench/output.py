"""A large answer as JSON and as a Parquet archive, against orjson and pyarrow on what is ready in memory."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings

from aggregation.query import Table, render_json, render_parquet_archive
from bench.answers import WrongAnswerError
from bench.engine import tables_of
from bench.filled import Filled, filled
from bench.heart import LAST_ON
from bench.options import options_read
from bench.queries import query_path
from bench.server import Client, server
from bench.stage import medians
from healthsvc.kernel.scope import team_scope

#: Days of minutes that come to 100,000 rows.
_DAYS = 70
_NUMBERS: list[object] = [
    {"index": "heartrate"},
    {"heartrate": "value"},
    {"heartrate": "timezone_offset"},
]
_TEXTS: list[object] = [{"heartrate": "source_provider"}, {"heartrate": "source_type"}]


def _body(select: list[object]) -> dict[str, object]:
    return {
        "timeframe": {"type": "relative", "anchor": LAST_ON.isoformat(), "past": {"unit": "day", "value": _DAYS}},
        "queries": [{"select": select}],
    }


def _ready(table: Table) -> dict[str, Any]:
    """The columns as a library likes them best: arrays of numbers and times, lists of texts."""
    ready: dict[str, Any] = {}
    for name, column in table.columns:
        if column.categories:
            ready[name] = [column.categories[int(code)] for code in column.values]
        elif name == "index":
            ready[name] = np.ascontiguousarray(column.values).astype("M8[us]")
        else:
            ready[name] = np.ascontiguousarray(column.values)
    return ready


def _parquet_floor(arrow: "pa.Table") -> bytes:
    buffer = pa.BufferOutputStream()
    pq.write_table(arrow, buffer, compression="none", use_dictionary=False)
    return buffer.getvalue().to_pybytes()


def _archive_of(pieces: bytes) -> "pa.Table":
    with tarfile.open(fileobj=io.BytesIO(pieces), mode="r:gz") as archive:
        member = archive.extractfile("0.parquet")
        assert member is not None
        return pq.read_table(io.BytesIO(member.read()))


def _checked(ready: dict[str, Any], as_json: bytes, archive: bytes) -> None:
    """Raise unless both carry the columns as they are."""
    if orjson.loads(as_json)["results"][0]["table"] != orjson.loads(orjson.dumps(ready, option=_OPTION)):
        raise WrongAnswerError("the JSON differs from orjson's")
    if not _archive_of(archive).equals(pa.table(ready)):
        raise WrongAnswerError("the Parquet archive differs from pyarrow's")


_OPTION = orjson.OPT_SERIALIZE_NUMPY


def measure(store: Filled, rounds: int) -> None:
    """Print both, with numbers only and with texts."""
    with server() as port, team_scope(store.tenant.context):
        client = Client(port, store.tenant.key)
        for name, select in (("numbers", _NUMBERS), ("numbers and texts", [*_NUMBERS, *_TEXTS])):
            _output(store, name, select, client, rounds)
        client.close()


def _output(store: Filled, name: str, select: list[object], client: Client, rounds: int) -> None:
    tables = tables_of(store.tenant, store.asked, _body(select))
    ready = _ready(tables[0])
    arrow = pa.table(ready)
    path, body = query_path(store), json.dumps(_body(select)).encode()
    archived = {"Accept": settings.PARQUET_MEDIA_TYPE}
    as_json, archive = client.send("POST", path, body), client.send("POST", path, body, archived)
    assert (as_json.status, archive.status) == (200, 200), as_json.body[:300]
    _checked(ready, as_json.body, archive.body)
    _checked(ready, render_json(tables), b"".join(render_parquet_archive(tables)))
    json_bytes, parquet_bytes = len(as_json.body), len(_parquet_floor(arrow))
    calls: dict[str, tuple[int, Callable[[], object]]] = {
        "JSON: orjson on what is ready": (json_bytes, lambda: orjson.dumps(ready, option=_OPTION)),
        "JSON: healthsvc": (json_bytes, lambda: render_json(tables)),
        "JSON: whole query over HTTP": (json_bytes, lambda: client.send("POST", path, body)),
        "Parquet: pyarrow on what is ready": (parquet_bytes, lambda: _parquet_floor(arrow)),
        "Parquet: the same, then gzip 1": (parquet_bytes, lambda: gzip.compress(_parquet_floor(arrow), 1)),
        "Parquet: healthsvc, gzipped tar": (parquet_bytes, lambda: b"".join(render_parquet_archive(tables))),
        "Parquet: whole query over HTTP": (parquet_bytes, lambda: client.send("POST", path, body, archived)),
    }
    found = medians({label: call for label, (_, call) in calls.items()}, rounds=rounds)
    print(f"\nOutput of {tables[0].rows:,} rows x {len(select)} columns, {name}; MB are before gzip")
    for label, seconds in found.items():
        floor = found["JSON: orjson on what is ready" if label.startswith("JSON") else "Parquet: the same, then gzip 1"]
        megabytes = calls[label][0] / 1e6
        print(
            f"  {label:<36} {seconds * 1000:8.1f} ms {megabytes / seconds:8.0f} MB/s ({megabytes:.1f} MB)"
            f"   {seconds / floor:6.2f} x floor"
        )


if __name__ == "__main__":
    chosen = options_read()
    with filled(chosen) as the_store:
        measure(the_store, chosen.rounds)
