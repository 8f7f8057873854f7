"""`encryption_rotate`: seal every value and stored file again under the first key of FIELD_ENCRYPTION_KEYS."""

from typing import Any

from management.encryption import column_rotate, files_rotate, sealed_columns
from management.operator import OperatorCommand


class Command(OperatorCommand):
    """Rotate the field encryption key."""

    help = (
        "Seal all sealed columns and stored files again under the current key. For each column: how many values were"
        " sealed again, and how many remain under old keys. Old keys may be dropped once nothing remains."
    )

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """What was sealed again and what remains."""
        rows: list[dict[str, Any]] = []
        for column in sealed_columns():
            done = column_rotate(column)
            rows.append({"column": column.place, "sealed_again": done.sealed_again, "remaining": done.remaining})
        files = files_rotate()
        return {
            "columns": rows,
            "columns_under_old_keys": sum(row["remaining"] > 0 for row in rows),
            "files_sealed_again": files.sealed_again,
            "files_under_old_keys": files.remaining,
        }
