"""`audit_verify`: hold the audit trail against its seals."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope
from management import trail_seals
from management.operator import OperatorCommand, uuid_argument
from management.trail_partitions import months_state
from management.trail_verification import Verification, teams_with_trail, trail_verify


class Command(OperatorCommand):
    """Every team's chain, or one team's."""

    help = "Hold the audit trail against its seals; names every record that is not as it was sealed."

    def declare(self, parser: CommandParser) -> None:
        """One team in one environment, and a head that was written down."""
        parser.add_argument("--team", metavar="ID", help="only this team")
        parser.add_argument("--environment", choices=[str(item) for item in Environment])
        parser.add_argument("--head", default="", help="a digest that must be in this team's chain still")

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """Exit code 1 where something is wrong."""
        if bool(options["team"]) != bool(options["environment"]) or (options["head"] and not options["team"]):
            raise CommandError("--team and --environment go together, and --head goes with both.")
        if options["team"]:
            teams = [TeamContext(uuid_argument(options["team"]), Environment(options["environment"]))]
        else:
            with system_scope(SystemScope.STAFF):
                teams = list(teams_with_trail())
        found = [trail_verify(team, head=options["head"]) for team in teams]
        findings = [finding for one in found for finding in _findings(one)]
        if findings:
            lines = [" ".join(str(value) for value in finding.values() if value) for finding in findings]
            raise CommandError("\n".join(["The audit trail is not as it was sealed:", *lines]))
        months = months_state()
        return {
            "whole": True,
            "public_key": trail_seals.public_key().hex(),
            "months_until": months.until,
            "outside_months": months.in_default,
            "teams": [_chain(one) for one in found],
        }


def _chain(found: Verification) -> dict[str, Any]:
    return {
        "team_id": found.team.team_id,
        "environment": str(found.team.environment),
        "seals": found.seals,
        "records": found.records,
        "dropped": found.dropped,
        "unsealed": found.unsealed,
        "head": found.head,
    }


def _findings(found: Verification) -> list[dict[str, Any]]:
    return [
        {
            "team_id": found.team.team_id,
            "environment": str(found.team.environment),
            "fault": str(finding.fault),
            "seal": finding.number,
            "record_id": finding.record_id,
        }
        for finding in found.findings
    ]
