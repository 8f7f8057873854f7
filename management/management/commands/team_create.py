"""`team_create --org ID --name NAME --region us|eu`: a new team and a sandbox key, shown once."""

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from healthsvc.kernel.principal import Environment
from management import services
from management.operator import OperatorCommand, uuid_argument


class Command(OperatorCommand):
    """Make a team."""

    help = "Make a team; prints org_id, team_id and a sandbox api_key, which is shown only now."

    def declare(self, parser: CommandParser) -> None:
        """Organisation, name and region."""
        parser.add_argument("--org", required=True, help="the organisation's id")
        parser.add_argument("--name", required=True)
        parser.add_argument("--region", required=True, help="us or eu")

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """The team's id and key."""
        organisation_id = uuid_argument(options["org"])
        with transaction.atomic():
            team = services.team_create(organisation_id=organisation_id, name=options["name"], region=options["region"])
            key = services.team_key_create(
                team=team, environment=Environment.SANDBOX, label="first key", created_by="operator"
            )
        return {"org_id": organisation_id, "team_id": team.id, "api_key": key.text}
