"""`samples_verify [--team ID] [--user ID]`: whether every stored sample can be read."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from aggregation.store.verify import user_verify
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.scope import team_scope
from management.models import Team
from management.operator import OperatorCommand, uuid_argument
from users.models import User

#: Damaged places that are listed; all are counted.
_LISTED_MAXIMUM: Final = 1_000
_USERS_AT_ONCE: Final = 500


class Command(OperatorCommand):
    """Walk through the store; exit code 1 where anything is damaged."""

    help = (
        "Decode every block of samples and check it against its row: checksum, number, order, time and values."
        " Answers counts, and the ids of what is damaged; exit code 1 if anything is. Reads only, never locks."
    )

    def declare(self, parser: CommandParser) -> None:
        """Optional filters."""
        parser.add_argument("--team", help="only users of this team")
        parser.add_argument("--user", help="only this user")

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """Counts, and the places that are damaged."""
        counts: Counter[str] = Counter({"users": 0, "series": 0, "blocks": 0, "tail_rows": 0, "samples": 0})
        damaged: list[dict[str, Any]] = []
        only = uuid_argument(options["user"]) if options["user"] else None
        for team in _teams(options["team"]):
            with team_scope(team):
                for user_id in _users(team, only):
                    counts["users"] += 1
                    _user_count(team, user_id, counts, damaged)
        self.damaged = counts["damaged"]
        return {**counts, "damaged": counts["damaged"], "places": damaged}

    def handle(self, *args: Any, **options: Any) -> None:
        """Print what was found; then fail if anything is damaged."""
        super().handle(*args, **options)
        if self.damaged:
            raise CommandError(f"{self.damaged} blocks or rows of tails are damaged.")


def _teams(team_id: str | None) -> Iterator[TeamContext]:
    teams = Team.objects.order_by("id")
    if team_id:
        teams = teams.filter(pk=uuid_argument(team_id))
    for found in teams.values_list("pk", flat=True).iterator(chunk_size=_USERS_AT_ONCE):
        for environment in Environment:
            yield TeamContext(found, environment)


def _users(team: TeamContext, only: UUID | None) -> Iterator[UUID]:
    users = User.objects.for_team(team).living()
    if only is not None:
        users = users.filter(pk=only)
    yield from users.order_by("-created_at", "-id").values_list("pk", flat=True).iterator(chunk_size=_USERS_AT_ONCE)


def _user_count(team: TeamContext, user_id: UUID, counts: Counter[str], damaged: list[dict[str, Any]]) -> None:
    series_id = None
    for one in user_verify(user_id):
        counts["series"] += one.series_id != series_id
        series_id = one.series_id
        counts["tail_rows" if one.seq else "blocks"] += 1
        counts["samples"] += one.samples
        if one.problem:
            counts["damaged"] += 1
            if len(damaged) < _LISTED_MAXIMUM:
                place = {"user_id": user_id, "series_id": one.series_id, "bucket": one.bucket, "seq": one.seq}
                damaged.append(
                    {"problem": one.problem, "team_id": team.team_id, "environment": str(team.environment), **place}
                )
