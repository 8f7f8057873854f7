"""`encryption_rotate`: seal every value again under the first key of FIELD_ENCRYPTION_KEYS."""

from typing import Any

from management.encryption import column_rotate, sealed_columns
from management.operator import OperatorCommand


class Command(OperatorCommand):
    """Rotate the field encryption key."""

    help = "Seal all sealed columns again under the current key; run until it reports 0. Files stay as they are."

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """How many values of each column were sealed again."""
        return {column.place: column_rotate(column) for column in sealed_columns()}
