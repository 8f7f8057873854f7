"""The aggregation query over windows of a day to five years, against numpy, DuckDB on Parquet, and SQL over rows."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson

from aggregation.query import Table
from bench import parquet, rows
from bench.answers import Hours, Window, agreed, hours_by_numpy
from bench.engine import tables_of
from bench.filled import Filled, filled
from bench.options import options_read
from bench.parquet import DuckFiles, parquet_write
from bench.server import Client, server
from bench.stage import connected_to, database_name, medians, table
from bench.targets import Targets
from healthsvc.kernel.scope import team_scope

_FLOOR = "numpy on arrays in memory"
_IN_PROCESS = "healthsvc in process"
_YEAR = "1 year"
_SWITCHES = 4


def in_process(store: Filled, window: Window) -> list[Table]:
    """The window's query of the asked person."""
    return tables_of(store.tenant, store.asked, window.body())


def hours_of_tables(tables: list[Table]) -> Hours:
    """The answer of `in_process`."""
    columns = {name: column.values for name, column in tables[0].columns}
    numbers = (np.asarray(columns[name], np.float64) for name in ("mean", "min", "max", "newest"))
    return Hours(np.asarray(columns["index"], np.int64), *numbers)


def hours_of_json(body: bytes) -> Hours:
    """The answer over HTTP."""
    found = orjson.loads(body)["results"][0]["table"]
    bucket_us = np.array(found["index"], "M8[us]").astype(np.int64)
    return Hours(bucket_us, *(np.array(found[name], np.float64) for name in ("mean", "min", "max", "newest")))


def query_path(store: Filled) -> str:
    """Where the asked person is queried."""
    return f"/aggregate/v1/user/{store.asked.pk}/query"


def measure(store: Filled, targets: Targets, rounds: int) -> None:
    """Print a table a window; every method must have answered the same."""
    print("\nHourly mean, minimum, maximum and newest of one person; warm, medians, in turns")
    with (
        tempfile.TemporaryDirectory() as folder,
        server() as port,
        team_scope(store.tenant.context),
    ):
        files = parquet_write(Path(folder), store.ready)
        client = Client(port, store.tenant.key)
        for window in store.windows:
            found = _window(store, window, DuckFiles(files), client, rounds)
            if window.name == _YEAR:
                _year_targets(found, targets)
        client.close()
    _others(store, targets, rounds)


def _window(store: Filled, window: Window, duck: DuckFiles, client: Client, rounds: int) -> dict[str, float]:
    bounds_us, path, body = window.bounds_us, query_path(store), json.dumps(window.body()).encode()
    over_http = f"{_IN_PROCESS.split()[0]} over HTTP"
    candidates: dict[str, Callable[[], object]] = {
        _FLOOR: lambda: hours_by_numpy(store.ready, bounds_us),
        _IN_PROCESS: lambda: in_process(store, window),
        over_http: lambda: client.send("POST", path, body),
        "DuckDB on Parquet, a file a month": lambda: duck.query(bounds_us),
    }
    candidates |= {f"rows, SQL, {name}": rows.rows_querier(store.asked.pk, bounds_us, name) for name in rows.STATEMENTS}
    expected = hours_by_numpy(store.ready, bounds_us)
    reply = client.send("POST", path, body)
    assert reply.status == 200, reply.body[:500]
    agreed(_IN_PROCESS, hours_of_tables(in_process(store, window)), expected)
    agreed(over_http, hours_of_json(reply.body), expected)
    agreed("DuckDB", parquet.hours_of(duck.query(bounds_us)), expected)
    for name, statement in rows.STATEMENTS.items():
        agreed(f"SQL, {name}", rows.hours_of(rows.rows_query(statement, store.asked.pk, bounds_us)), expected)
    found = medians(candidates, rounds=rounds)
    samples = int(np.diff(np.searchsorted(store.ready.start_us, bounds_us))[0])
    table(f"{window.name}: {samples:,} samples, {len(expected.bucket_us):,} hours", found, _FLOOR)
    return found


def _year_targets(found: dict[str, float], targets: Targets) -> None:
    sql = min(seconds for name, seconds in found.items() if name.startswith("rows, SQL"))
    targets.at_most("1 year in process, times the numpy floor", found[_IN_PROCESS] / found[_FLOOR], 10)
    targets.at_least("1 year in process, times faster than rows with SQL", sql / found[_IN_PROCESS], 8)


def _others(store: Filled, targets: Targets, rounds: int) -> None:
    """The longest window up to a year with and without other people's data, by turns in two databases."""
    window = [one for one in store.windows if one.days <= 366][-1]
    seconds: dict[str, list[float]] = {"alone": [], "among all": []}
    for _ in range(_SWITCHES):
        for name, database in (("alone", store.alone), ("among all", database_name())):
            with connected_to(database), team_scope(store.tenant.context):
                found = medians({name: lambda: in_process(store, window)}, rounds=rounds)
                seconds[name].append(found[name])
    alone, among = (float(np.median(seconds[name])) for name in ("alone", "among all"))
    print(f"\n{window.name} in process, with other people's data and without")
    print(f"  the person alone {alone * 1000:9.3f} ms   among all {among * 1000:9.3f} ms   {among / alone:5.2f} x")
    targets.at_most("among all others' data, times the person alone", among / alone, 1.25)


if __name__ == "__main__":
    reached = Targets()
    chosen = options_read()
    with filled(chosen) as the_store:
        measure(the_store, reached, chosen.rounds)
    reached.told()
