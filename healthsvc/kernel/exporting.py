"""What apps put into the archive of everything about a person: files made piece by piece, and tables as JSON Lines."""

import io
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import orjson
from django.core.exceptions import ImproperlyConfigured
from django.db.models import BinaryField, CompositePrimaryKey, Model, QuerySet

from healthsvc.kernel.principal import TeamContext

#: A file ends after so much, and the next one goes on: each is read at one moment, which must not last.
FILE_ROWS: Final = 20_000
FILE_BYTES: Final = 32 * 1024 * 1024
#: Rows that are in memory at once, where they are small.
PAGE_ROWS: Final = 500
_PIECE_BYTES: Final = 128 * 1024
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_OURS: Final = "how the service's own workers share the work; tells nothing of the person"


class UnreadableError(Exception):
    """Something that is kept of the person can't be read, so that there can be no archive of everything."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of a file, and how many records end in them."""

    data: bytes
    rows: int = 0


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of the archive. `pieces` can be taken once. Of one moment: read in a transaction that sees no changes."""

    path: str
    pieces: Iterator[Piece]
    is_of_one_moment: bool = True


class Sink(io.RawIOBase):
    """Where a writer of archives or tables writes; what has gathered is taken away piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self._gathered = bytearray()

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: "bytes | bytearray | memoryview", /) -> int:  # type: ignore[override]
        """Gather."""
        self._gathered += data
        return len(data)

    def taken(self) -> bytes:
        """What was written since the last time."""
        gathered = bytes(self._gathered)
        self._gathered.clear()
        return gathered


#: The files of a part, for (team, user id); each is read to its end before the next one is asked for.
Files = Callable[[TeamContext, UUID], Iterator[ExportedFile]]
Rows = Callable[[TeamContext, UUID], QuerySet[Any]]
#: A row as the user may have it, where it tells of others too, or is no good to read as it is kept.
Shown = Callable[[UUID, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ExportPart:
    """Something that is exported: from which tables, as which files, and the columns left out, each with its reason.

    `about` says in a sentence what the files hold, for the person; `pattern` is their path.
    """

    name: str
    tables: frozenset[str]
    files: Files
    left_out: Mapping[str, str] = field(default_factory=dict)
    about: str = ""
    pattern: str = ""


def internal(*columns: str) -> dict[str, str]:
    """Columns by which workers share the work, left out."""
    return dict.fromkeys(columns, _OURS)


def table_part(
    name: str,
    model: type[Model],
    rows: Rows,
    *,
    opened: Collection[str] = (),
    left_out: Mapping[str, str] = _NOTHING,
    page_rows: int = PAGE_ROWS,
    shown: Shown = lambda _user_id, record: record,
    about: str = "",
) -> ExportPart:
    """All columns of a table's rows as JSON Lines, in the order of their ids.

    Sealed and binary columns are `opened` by name or `left_out` for a reason: ImproperlyConfigured where one is
    neither, or where a name is no column's, so that no secret gets out because nobody thought of it.
    """
    columns = [column for column in model._meta.concrete_fields if not isinstance(column, CompositePrimaryKey)]
    names = {column.attname for column in columns}
    sealed = {column.attname for column in columns if isinstance(column, BinaryField)}
    undecided, unknown = sealed - {*opened, *left_out}, {*opened, *left_out} - names
    if undecided or unknown:
        raise ImproperlyConfigured(f"Export of {model._meta.db_table}: decide {undecided}, remove {unknown}.")
    table, stem = model._meta.db_table, name.replace(".", "/")
    told = [column.attname for column in columns if column.attname not in left_out]

    def files(team: TeamContext, user_id: UUID) -> Iterator[ExportedFile]:
        walk = _TableWalk(rows(team, user_id), told, page_rows, partial(shown, user_id))
        yield from numbered_files(stem, "jsonl", walk.has_more, walk.pieces)

    reasons = {f"{table}.{column}": reason for column, reason in left_out.items()}
    return ExportPart(name, frozenset({table}), files, reasons, about, f"{stem}.jsonl")


def numbered_files(
    stem: str, suffix: str, has_more: Callable[[], bool], pieces: Callable[[], Iterator[Piece]]
) -> Iterator[ExportedFile]:
    """`stem.suffix`, `stem-2.suffix` …, for as long as there is more; none where there is nothing."""
    number = 1
    while has_more():
        yield ExportedFile(f"{stem}.{suffix}" if number == 1 else f"{stem}-{number}.{suffix}", pieces())
        number += 1


class _TableWalk:
    """Goes through rows by their ids, a file's worth at a time."""

    def __init__(
        self,
        rows: QuerySet[Any],
        columns: list[str],
        page_rows: int,
        shown: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> None:
        self._rows = rows.order_by("id")
        self._shown = shown
        self._columns = columns
        self._page_rows = page_rows
        self._after: object = None

    def has_more(self) -> bool:
        """Whether there are rows after those that were taken."""
        return self._rest().exists()

    def pieces(self) -> Iterator[Piece]:
        """The next file."""
        found = self._rest().values_list(*self._columns)[:FILE_ROWS].iterator(chunk_size=self._page_rows)
        yield from lines_pieces(self._taken(found))

    def _taken(self, found: Iterator[tuple[Any, ...]]) -> Iterator[bytes]:
        place, size = self._columns.index("id"), 0
        for values in found:
            line = json_line(self._shown(dict(zip(self._columns, values, strict=True))))
            self._after = values[place]
            yield line
            size += len(line)
            if size >= FILE_BYTES:
                return

    def _rest(self) -> QuerySet[Any]:
        return self._rows if self._after is None else self._rows.filter(id__gt=self._after)


def json_line(record: Mapping[str, Any]) -> bytes:
    """A line of JSON Lines: instants as ISO 8601 in UTC, ids as text."""
    return orjson.dumps(record, default=str, option=orjson.OPT_APPEND_NEWLINE)


def lines_pieces(lines: Iterator[bytes]) -> Iterator[Piece]:
    """Lines in pieces of a good size."""
    gathered, rows = bytearray(), 0
    for line in lines:
        gathered += line
        rows += 1
        if len(gathered) >= _PIECE_BYTES:
            yield Piece(bytes(gathered), rows)
            gathered, rows = bytearray(), 0
    if rows:
        yield Piece(bytes(gathered), rows)


def own_rows(model: type[Model]) -> Rows:
    """Rows with a `user_id` of their own."""

    def rows(team: TeamContext, user_id: UUID) -> QuerySet[Any]:
        return model._default_manager.filter(team_id=team.team_id, environment=str(team.environment), user_id=user_id)

    return rows
