"""`import_apple_health USER FILE`: store an Apple Health export for a user, with a progress bar."""

from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from aggregation.apple_health.limits import ExportRefusedError
from aggregation.imports import export_import
from healthsvc.kernel.errors import not_found
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from healthsvc.kernel.typing import JSONObject
from management.operator import OperatorCommand, uuid_argument
from users.models import User


class Command(OperatorCommand):
    """Import a file at once, without a job."""

    help = "Store an Apple Health export.zip or export.xml for a user. Repeating it changes nothing."

    def declare(self, parser: CommandParser) -> None:
        """The user and the file."""
        parser.add_argument("user", help="the user's id")
        parser.add_argument("file", type=Path, help="export.zip or export.xml")

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """The receipt."""
        user_id, path = uuid_argument(options["user"]), options["file"]
        if not path.is_file():
            raise CommandError("There is no such file.")
        team = _team_of(user_id)
        with team_scope(team), tqdm(unit="B", unit_scale=True, desc="read", disable=options["json"]) as bar:

            def show(read_bytes: int, total_bytes: int) -> None:
                bar.total = total_bytes
                bar.update(read_bytes - bar.n)

            try:
                receipt, _state = export_import(team=team, user_id=user_id, file=path, on_progress=show)
            except ExportRefusedError as refusal:
                raise CommandError(refusal.code.meaning) from refusal
        return receipt if options["json"] else _for_people(receipt)


def _team_of(user_id: UUID) -> TeamContext:
    with system_scope(SystemScope.STAFF):
        user = User.objects.living().filter(pk=user_id).first()
    if user is None:
        raise not_found()
    return TeamContext(user.team_id, Environment(user.environment))


def _for_people(receipt: JSONObject) -> dict[str, Any]:
    """Counts as `word name count` lines, then what was refused or left out, and why."""
    lines: list[dict[str, Any]] = []
    for word in ("read", "stored", "replaced", "unchanged"):
        counts = receipt[word]
        if isinstance(counts, dict):
            lines += [{"word": word, "name": name, "count": count} for name, count in counts.items()]
    for word in ("refused", "left_out"):
        rows = receipt[word]
        if isinstance(rows, list):
            lines += [{"word": word, **row} for row in rows if isinstance(row, dict)]
    return {"receipt": lines}
