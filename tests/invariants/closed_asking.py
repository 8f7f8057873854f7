"""One request that names objects, its answer without what differs between any two requests, and what it wrote."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.db import connection, transaction
from psycopg import sql

from healthsvc.kernel.scope import team_scope
from tests.clients import ApiClient
from tests.invariants.closed_bodies import PLACES, PLACES_HERE, QUERIES, QUERIES_HERE, RAW_BODIES
from tests.invariants.closed_cast import Cast, Estate, team_owned
from tests.invariants.closed_slots import Slot, placed, query_names, sample_body
from tests.invariants.person_tables import our_models
from tests.invariants.test_routes import Route

#: Differ between any two requests of one caller: its own name, and how many more may come.
_OF_THE_MOMENT: Final = {"x-request-id", "ratelimit"}
#: What pg_stat_xact_user_tables says, at a tenth of its cost.
_WRITTEN: Final = """
SELECT coalesce(pg_partition_root(oid), oid)::regclass::text, sum(rows)::bigint
  FROM (SELECT oid, pg_stat_get_xact_tuples_inserted(oid) + pg_stat_get_xact_tuples_updated(oid)
                  + pg_stat_get_xact_tuples_deleted(oid) AS rows
          FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace) AS counted
 WHERE rows > 0 GROUP BY 1
"""
_ROWS: Final = "SELECT md5(coalesce(string_agg(r::text, '|' ORDER BY r::text), '')) FROM {} AS r WHERE {} = %s"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, with each id that was asked for replaced by its kind."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    #: As it came, for what must not be in it.
    whole: str

    @property
    def compared(self) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
        """What must be alike."""
        return (self.status, self.headers, self.body)

    def __str__(self) -> str:
        return f"{self.status} {self.body[:300]!r} {self.headers}"


def ask(client: ApiClient, route: Route, named: Mapping[Slot, str]) -> Answer:
    """The answer to a request that names these objects; everything else about it is in order."""
    at = {slot.name: value for slot, value in named.items() if slot.place == "path"}
    places = {**PLACES, **PLACES_HERE.get(str(route), {}), **at}
    path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda match: places[match[1]], route.route)
    query = {name: QUERIES[name] for name in query_names(route)} | QUERIES_HERE.get(str(route), {})
    query |= {slot.name: value for slot, value in named.items() if slot.place == "query"}
    body = deepcopy(sample_body(route))
    for slot, value in named.items():
        if slot.place == "body":
            placed(route, body, slot, value)
    kind, raw = RAW_BODIES.get(str(route), ("application/json", None))
    path += f"?{urlencode(query)}" if query else ""
    return _answer(client.request(route.method, path, json=body, data=raw, content_type=kind), named)


def _answer(response: Any, named: Mapping[Slot, str]) -> Answer:
    content: bytes = b"".join(response.streaming_content) if response.streaming else response.content
    headers = [(name.lower(), str(value)) for name, value in response.items()]
    headers += [("set-cookie", str(cookie)) for cookie in response.cookies.values()]
    request_id = response.get("X-Request-Id", "")
    kept = [(name, _without(value, named)) for name, value in sorted(headers) if name not in _OF_THE_MOMENT]
    body = _without(content.decode("utf-8", "backslashreplace").replace(request_id, ""), named).encode()
    whole = f"{headers} {content.decode('utf-8', 'backslashreplace')}"
    return Answer(response.status_code, tuple(kept), body, whole)


def _without(text: str, named: Mapping[Slot, str]) -> str:
    for slot, value in named.items():
        text = text.replace(value, f"<{slot.kind}>")
        bare = value.removeprefix("msg_").removeprefix("user.")
        text = text.replace(bare, f"<{slot.kind}>").replace(bare.replace("-", ""), f"<{slot.kind}>")
    return text


@contextmanager
def undone() -> Iterator[None]:
    """What is done inside is looked at and taken back."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def written() -> dict[str, int]:
    """How many rows this transaction has written so far, by table; what was taken back counts too."""
    with connection.cursor() as cursor:
        cursor.execute(_WRITTEN)
        return dict(cursor.fetchall())


class Rows:
    """How everybody's rows were when the curtain rose."""

    def __init__(self, cast: Cast) -> None:
        self._cast = cast
        self._of_teams = {model._meta.db_table for model in team_owned()}
        self._of_organisations = {
            model._meta.db_table
            for model in our_models()
            if "organisation_id" in {column.attname for column in model._meta.local_fields}
        }
        tables = self._of_teams | self._of_organisations
        self._before = {(one.mark, table): self._now(one, table) for one in cast.everybody for table in tables}

    def changed(self, tables: set[str], *, but: Estate) -> list[str]:
        """Whose rows of these tables are not as they were, `but`'s own and its organisation's aside."""
        others = self._cast.others(but)
        strangers = [one for one in others if one.ids["organisation"] != but.ids["organisation"]]
        asked = [(one, table) for one in others for table in tables & self._of_teams]
        asked += [(one, table) for one in strangers for table in tables & self._of_organisations]
        return [
            f"{table} of {one.name}" for one, table in asked if self._now(one, table) != self._before[one.mark, table]
        ]

    def _now(self, estate: Estate, table: str) -> str:
        column, value = "team_id", estate.ids["team"]
        if table in self._of_organisations:
            column, value = "organisation_id", estate.ids["organisation"]
        query = sql.SQL(_ROWS).format(sql.Identifier(table), sql.Identifier(column)).as_string()
        with team_scope(estate.tenant.context), connection.cursor() as cursor:
            cursor.execute(query, [value])
            found: str = cursor.fetchone()[0]
            return found
