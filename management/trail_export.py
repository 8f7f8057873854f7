"""The audit trail as a file: CSV or JSON Lines, made while it is sent."""

import csv
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final

import orjson

from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.typing import JSONObject
from management.models import AccessRecord

COLUMNS: Final = (
    "id", "occurred_at", "team_id", "environment", "user_id", "actor_kind", "actor_id", "action", "status_code",
    "object_ids", "request_id", "address", "position",
)  # fmt: skip
#: What a spreadsheet would take for a formula.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_ROWS_A_CHUNK: Final = 200


class ExportFormat(StrEnum):
    """What an export looks like."""

    CSV = "csv"
    JSONL = "jsonl"

    @property
    def media_type(self) -> str:
        """Its content type."""
        return "text/csv; charset=utf-8" if self is ExportFormat.CSV else "application/x-ndjson"


def record_json(record: AccessRecord) -> JSONObject:
    """A record with every field that its digest covers."""
    return {
        "id": str(record.pk),
        "occurred_at": utc_text(record.occurred_at),
        "team_id": str(record.team_id),
        "environment": record.environment,
        "user_id": None if record.user_id is None else str(record.user_id),
        "actor_kind": record.actor_kind,
        "actor_id": record.actor_id,
        "action": record.action,
        "status_code": record.status_code,
        "object_ids": record.object_ids,
        "request_id": record.request_id,
        "address": record.address,
        "position": record.position,
    }


def export_chunks(records: Iterable[AccessRecord], form: ExportFormat) -> Iterator[bytes]:
    """The file, some rows at a time."""
    lines = _csv_lines(records) if form is ExportFormat.CSV else _json_lines(records)
    chunk: list[bytes] = []
    for line in lines:
        chunk.append(line)
        if len(chunk) >= _ROWS_A_CHUNK:
            yield b"".join(chunk)
            chunk = []
    yield b"".join(chunk)


def _json_lines(records: Iterable[AccessRecord]) -> Iterator[bytes]:
    for record in records:
        yield orjson.dumps(record_json(record), option=orjson.OPT_APPEND_NEWLINE)


class _Line:
    """What a CSV writer writes to: hands the line on."""

    def write(self, text: str) -> str:
        return text


def _csv_lines(records: Iterable[AccessRecord]) -> Iterator[bytes]:
    writer = csv.writer(_Line())
    yield str(writer.writerow(COLUMNS)).encode()
    for record in records:
        row = record_json(record)
        row["object_ids"] = orjson.dumps(record.object_ids, option=orjson.OPT_SORT_KEYS).decode()
        yield str(writer.writerow([_cell(row[name]) for name in COLUMNS])).encode()


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
