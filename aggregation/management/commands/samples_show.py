"""`samples_show USER RESOURCE [--from] [--to] [--provider] [--limit]`: a user's samples, for an operator."""

from collections.abc import Iterator
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.codec import BlockColumns, LabelColumn
from aggregation.constants import EARLIEST_US, LATEST_US, PAGE_SAMPLES_MAXIMUM
from aggregation.records import OFFSET_UNKNOWN, DataSource
from aggregation.selectors import SampleQuery, sample_page
from aggregation.store.columns import label_texts
from aggregation.store.days import Moment, Window, instant_of_us, us_of_instant
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.errors import not_found
from healthsvc.kernel.principal import Environment, PrincipalKind, TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.audit import access_record
from management.operator import OperatorCommand, uuid_argument
from users.models import User

_SHOWN: Final = 1_000


class Command(OperatorCommand):
    """Print samples as they are stored."""

    help = (
        "Print a user's samples of a resource with their sources, each source's oldest first."
        " Leaves a row in the team's audit trail."
    )

    def declare(self, parser: CommandParser) -> None:
        """Whose, of what, and when."""
        parser.add_argument("user", help="the user's id")
        parser.add_argument("resource", help="the resource's slug, as in events")
        parser.add_argument("--team", help="the user's team; refused where the user is of another one")
        parser.add_argument("--from", dest="start", help="the first instant, ISO 8601; UTC unless it says otherwise")
        parser.add_argument("--to", dest="end", help="the instant to stop before, likewise")
        parser.add_argument("--provider", default="", help="only samples of this provider")
        parser.add_argument("--limit", type=int, default=_SHOWN, help=f"how many at most; {_SHOWN} unless said")

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """The samples, and whether there are more."""
        spec = SERIES_BY_SLUG.get(options["resource"])
        if spec is None:
            near = get_close_matches(options["resource"], SERIES_BY_SLUG)
            hint = f" Did you mean {' or '.join(near)}?" if near else " docs/resources.md lists them."
            raise CommandError(f"There is no such timeseries resource.{hint}")
        if not 0 < options["limit"] <= PAGE_SAMPLES_MAXIMUM:
            raise CommandError(f"The limit is from 1 to {PAGE_SAMPLES_MAXIMUM}.")
        first = Moment(_instant_us(options["start"], EARLIEST_US), local=False)
        last = Moment(_instant_us(options["end"], LATEST_US) - 1, local=False)
        user = _user_of(options["user"], options["team"])
        team = TeamContext(user.team_id, Environment(user.environment))
        query = SampleQuery(user, spec, Window(first, last), options["provider"])
        with team_scope(team):
            access_record(
                team=team,
                actor_kind=PrincipalKind.SYSTEM,
                actor_id="operator",
                action="samples_show",
                ids={"user_id": str(user.pk), "resource": spec.slug},
            )
            page = sample_page(team, query, after=None, limit=options["limit"])
        shown = [row for source, block in page.groups for row in _rows(source, block)]
        return {"samples": shown, "more": page.next is not None}


def _instant_us(text: str | None, otherwise: int) -> int:
    if text is None:
        return otherwise
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError("Not a day or time as ISO 8601.") from None
    return us_of_instant(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _user_of(user_id: str, team_id: str | None) -> User:
    with system_scope(SystemScope.STAFF):
        users = User.objects.living().filter(pk=uuid_argument(user_id))
        if team_id is not None:
            users = users.filter(team_id=uuid_argument(team_id))
        user = users.first()
    if user is None:
        raise not_found()
    return user


def _rows(source: DataSource, block: BlockColumns) -> Iterator[dict[str, Any]]:
    size = len(block)
    ends = (block.start_us if block.end_us is None else block.end_us).tolist()
    columns: dict[str, list[Any]] = {
        "value": [None] * size if block.value is None else block.value.tolist(),
        "type": label_texts(block.type, size),
        "unit": label_texts(block.unit, size),
    }
    for name, extra in block.extra.items():
        columns[name] = label_texts(extra, size) if isinstance(extra, LabelColumn) else extra.tolist()
    for row, (start_us, end_us, offset) in enumerate(
        zip(block.start_us.tolist(), ends, block.offset_seconds.tolist(), strict=True)
    ):
        yield {
            "start": utc_text(instant_of_us(start_us)),
            "end": utc_text(instant_of_us(end_us)),
            "offset_seconds": None if offset == OFFSET_UNKNOWN else offset,
            "provider": source.provider,
            "source_type": source.type,
            "app_id": source.app_id,
            "device_id": source.device_id,
            **{name: column[row] for name, column in columns.items()},
        }
