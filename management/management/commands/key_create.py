"""`key_create --team ID|--org ID --label TEXT [--expires-on DAY]`: another key, shown once."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from healthsvc.kernel.principal import Environment
from management import services
from management.constants import KeyRole
from management.models import Organisation, Team
from management.operator import OperatorCommand, end_of_day_argument, uuid_argument


class Command(OperatorCommand):
    """Make a key beside those that live."""

    help = "Make another key for a team or an organisation; it is shown only now. Old keys live on until revoked."

    def declare(self, parser: CommandParser) -> None:
        """Whose key, and what for."""
        owner = parser.add_mutually_exclusive_group(required=True)
        owner.add_argument("--team", help="a team's id: makes a team key")
        owner.add_argument("--org", help="an organisation's id: makes a management key")
        parser.add_argument("--label", required=True)
        parser.add_argument("--environment", choices=[str(item) for item in Environment], default="sandbox")
        parser.add_argument("--role", choices=KeyRole.values, default=KeyRole.ORG_ADMIN.value)
        parser.add_argument("--expires-on", metavar="YYYY-MM-DD", help="the last day, in UTC, that it opens anything")
        parser.add_argument("--bind-team", action="append", default=[], help="team of a team_admin key; repeatable")

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """The key."""
        return self._team_key(options) if options["team"] else self._management_key(options)

    def _team_key(self, options: dict[str, Any]) -> dict[str, Any]:
        team = Team.objects.filter(pk=uuid_argument(options["team"])).first()
        if team is None:
            raise CommandError("No such team.")
        environment = Environment(options["environment"])
        made = services.team_key_create(
            team=team,
            environment=environment,
            label=options["label"],
            created_by="operator",
            expires_at=end_of_day_argument(options["expires_on"]),
        )
        return {"key_id": made.key_id, "team_id": team.id, "environment": str(environment), "api_key": made.text}

    def _management_key(self, options: dict[str, Any]) -> dict[str, Any]:
        organisation = Organisation.objects.filter(pk=uuid_argument(options["org"])).first()
        if organisation is None:
            raise CommandError("No such organisation.")
        team_ids = [uuid_argument(text) for text in options["bind_team"]]
        if bool(team_ids) != (options["role"] == KeyRole.TEAM_ADMIN):
            raise CommandError("A team_admin key needs --bind-team; an org_admin key takes none.")
        if organisation.teams.filter(pk__in=team_ids).count() != len(set(team_ids)):
            raise CommandError("A team of --bind-team is not one of this organisation.")
        made = services.management_key_create(
            organisation_id=organisation.id,
            label=options["label"],
            created_by="operator",
            role=options["role"],
            team_ids=team_ids,
            expires_at=end_of_day_argument(options["expires_on"]),
        )
        return {"key_id": made.key_id, "org_id": organisation.id, "management_key": made.text}
