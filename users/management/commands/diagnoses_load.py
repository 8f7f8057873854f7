"""`diagnoses_load`: the database holds the ICD-10-CM code set of the installed package, as after an upgrade of it."""

from dataclasses import asdict
from typing import Any

from management.operator import OperatorCommand
from users.services.diagnoses import code_set_load


class Command(OperatorCommand):
    """Load the code set where another is held."""

    help = "Load the ICD-10-CM code set of the installed package, unless the database holds it already."

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """The code set's name, and the rows that were written."""
        return asdict(code_set_load())
