"""`org_create --name NAME`: a new organisation and its first management key, shown once."""

from typing import Any

from django.core.management.base import CommandParser

from management import services
from management.operator import OperatorCommand


class Command(OperatorCommand):
    """Make an organisation."""

    help = "Make an organisation; prints org_id and a management_key, which is shown only now."

    def declare(self, parser: CommandParser) -> None:
        """The name."""
        parser.add_argument("--name", required=True)

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """The organisation's id and key."""
        organisation, key = services.organisation_create(name=options["name"], created_by="operator")
        return {"org_id": organisation.id, "management_key": key.text}
