"""The archive as a stream: one ZIP of every part's files, a manifest of what is in it and what is not, and a README."""

import hashlib
import zipfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import orjson

from healthsvc.kernel import clock
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.exporting import ExportedFile, ExportPart, Piece, Sink
from healthsvc.kernel.typing import JSONObject
from users.exporting.moments import one_moment
from users.models import Export, User
from users.registry import Exporter

SCHEMA_VERSION: Final = 1
MANIFEST_NAME: Final = "manifest.json"
README_NAME: Final = "README.txt"
#: Fast: the largest files are compressed already.
_DEFLATE_LEVEL: Final = 1

_README: Final = """\
Everything that is kept about one person.

manifest.json
    What is in each file: how many records, how large, its SHA-256, as of when; and what is left out, why.
{files}
*.jsonl is JSON Lines (UTF-8): one record a line, times as ISO 8601 in UTC. *.parquet is Apache Parquet: tables.
A table without a record has no file. A long one goes on in -2, -3 and so on. Each file shows one moment; two files
may show different ones, seconds or minutes apart. This archive and the work of making it are in none of them.

What stands in many records: `id` is the record's own, under which others name it. `user_id` is you; `team_id` is the
customer whose users you are one of, and `environment` its part of the service, sandbox (trials) or production.
`status` is how far something is; `attempts` and `failures` how often it was tried, `error_code` why it failed last.
Names that end in `_at` are instants, in `_on` days, in `_seconds` spans.
"""


@dataclass(slots=True)
class Progress:
    """How far an archive is: parts that are finished, records and files that were written."""

    parts: int = 0
    records: int = 0
    files: int = 0


@dataclass(slots=True)
class _Made:
    """A file that was written."""

    path: str
    as_of: datetime
    records: int = 0
    size_bytes: int = 0
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def add(self, piece: Piece) -> None:
        self.records += piece.rows
        self.size_bytes += len(piece.data)
        self.digest.update(piece.data)

    def as_json(self) -> JSONObject:
        return {
            "path": self.path,
            "records": self.records,
            "bytes": self.size_bytes,
            "sha256": self.digest.hexdigest(),
            "as_of": utc_text(self.as_of),
        }


@dataclass(slots=True)
class Archive:
    """An archive in the making. `on_step` is called between files, at the end of each part (`is_part_done`), and now
    and then within what is not of one moment; what it raises ends the archive.
    """

    export: Export
    user: User
    exporters: Sequence[Exporter]
    on_step: Callable[[Progress, bool], None]
    progress: Progress = field(default_factory=Progress)
    _parts: list[tuple[ExportPart, list[_Made]]] = field(default_factory=list)
    _begun_at: datetime = field(default_factory=clock.now)

    def chunks(self) -> Generator[bytes, None, None]:
        """The bytes of the archive, once. Memory: a page of rows, a row group or a piece of a file, whatever there is.

        To be closed where it is not read to its end: it may be inside a transaction.
        """
        sink = Sink()
        with zipfile.ZipFile(sink, "w") as packed:
            yield from self._file(packed, sink, ExportedFile(README_NAME, iter([Piece(self._readme())]), False))
            for exporter in self.exporters:
                for part in exporter.parts:
                    yield from self._part(packed, sink, part)
            manifest = orjson.dumps(self._manifest(), option=orjson.OPT_INDENT_2)
            yield from self._file(packed, sink, ExportedFile(MANIFEST_NAME, iter([Piece(manifest)]), False))
        yield sink.taken()

    def _part(self, packed: zipfile.ZipFile, sink: Sink, part: ExportPart) -> Iterator[bytes]:
        made: list[_Made] = []
        self._parts.append((part, made))
        for file in part.files(self.export.context, self.user.pk):
            made.append((yield from self._file(packed, sink, file)))
            self.progress.files += 1
            self.on_step(self.progress, False)
        self.progress.parts += 1
        self.on_step(self.progress, True)

    def _file(self, packed: zipfile.ZipFile, sink: Sink, file: ExportedFile) -> Generator[bytes, None, _Made]:
        """Write one file; what was written of it."""
        made = _Made(file.path, clock.now())
        entry = zipfile.ZipInfo(file.path, self._begun_at.timetuple()[:6])
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry._compresslevel = _DEFLATE_LEVEL  # type: ignore[attr-defined]
        entry.external_attr = 0o600 << 16
        with (
            one_moment() if file.is_of_one_moment else nullcontext(),
            packed.open(entry, "w", force_zip64=True) as opened,
        ):
            for piece in file.pieces:
                opened.write(piece.data)
                made.add(piece)
                self.progress.records += piece.rows
                yield sink.taken()
                if not file.is_of_one_moment:
                    self.on_step(self.progress, False)
        yield sink.taken()
        return made

    def _readme(self) -> bytes:
        """What the files are, a sentence each."""
        parts = (part for exporter in self.exporters for part in exporter.parts if part.about)
        return _README.format(files="".join(f"{part.pattern}\n    {part.about}\n" for part in parts)).encode()

    def _manifest(self) -> JSONObject:
        left_out = [(table, "", reason) for exporter in self.exporters for table, reason in exporter.left_out.items()]
        for part, _made in self._parts:
            for name, reason in part.left_out.items():
                table, _, column = name.partition(".")
                left_out.append((table, column, reason))
        return {
            "schema_version": SCHEMA_VERSION,
            "export_id": str(self.export.pk),
            "team_id": str(self.export.team_id),
            "environment": self.export.environment,
            "user_id": str(self.user.pk),
            "client_user_id": self.user.client_user_id,
            "requested_at": utc_text(self.export.requested_at),
            "begun_at": utc_text(self._begun_at),
            "ended_at": utc_text(clock.now()),
            "records": self.progress.records,
            "parts": [
                {
                    "name": part.name,
                    "tables": sorted(part.tables),
                    "records": sum(one.records for one in made),
                    "files": [one.as_json() for one in made],
                }
                for part, made in self._parts
            ],
            "left_out": [
                {"table": table, "column": column or None, "reason": reason}
                for table, column, reason in sorted(left_out)
            ],
        }
