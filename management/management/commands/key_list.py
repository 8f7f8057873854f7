"""`key_list [--team ID|--org ID]`: what keys there are, never their secrets."""

from typing import Any

from django.core.management.base import CommandParser

from healthsvc.kernel.scope import SystemScope, system_scope
from management.models import KeyRow, ManagementKey, TeamKey
from management.operator import OperatorCommand, uuid_argument


class Command(OperatorCommand):
    """List keys."""

    help = "List team and management keys with label, creation, last use, expiry and revocation."

    def declare(self, parser: CommandParser) -> None:
        """Optional filters."""
        parser.add_argument("--team", help="only keys of this team")
        parser.add_argument("--org", help="only keys of this organisation and of its teams")

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """Rows of keys, oldest first."""
        team_keys, management_keys = TeamKey.objects.all(), ManagementKey.objects.all()
        if options["team"]:
            team_keys = team_keys.filter(team_id=uuid_argument(options["team"]))
            management_keys = management_keys.none()
        if options["org"]:
            organisation_id = uuid_argument(options["org"])
            team_keys = team_keys.filter(team__organisation_id=organisation_id)
            management_keys = management_keys.filter(organisation_id=organisation_id)
        with system_scope(SystemScope.STAFF):
            rows = [
                _row(key, owner=f"team {key.team_id}", kind=key.environment) for key in team_keys.order_by("created_at")
            ]
        rows += [
            _row(key, owner=f"org {key.organisation_id}", kind=key.role)
            for key in management_keys.order_by("created_at")
        ]
        return {"keys": rows}


def _row(key: KeyRow, *, owner: str, kind: str) -> dict[str, Any]:
    return {
        "key_id": key.id,
        "owner": owner,
        "kind": kind,
        "label": key.label,
        "ends_with": key.last_characters,
        "created_at": key.created_at,
        "last_used_at": key.last_used_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
    }
