"""`explain_query FILE [--user ID] [--team ID]`: how a query is understood, planned and, for a user, what it touches."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from aggregation.planning import query_plan
from aggregation.query import Plan, QueryError, query_parse, query_run
from aggregation.query.compile import QueryPlan
from aggregation.query.resolved import INDEX, Condition, Every, PairTest, ValueTest
from aggregation.query_reader import StoreReader, local_now_us
from aggregation.query_reader.watched import WatchedReader
from aggregation.store.days import instant_of_us
from healthsvc.kernel.errors import not_found
from healthsvc.kernel.json_io import json_decode
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import Team
from management.operator import OperatorCommand, uuid_argument
from users.models import User
from users.selectors import user_get

#: Where a node stands in the body: of use in errors, not in a tree that shows it.
_PLACE_FIELDS = frozenset({"at", "position"})


class Command(OperatorCommand):
    """Explain a query without showing a value of anybody's data, or of the query's conditions."""

    help = "Print a query's tree and plan; with --user also what it reads of that user's data."

    def declare(self, parser: CommandParser) -> None:
        """The query, and for whom."""
        parser.add_argument("file", type=Path, help="the body of POST /aggregate/v1/user/{user_id}/query, as JSON")
        parser.add_argument("--user", help="run it over this user's data and count what is touched")
        parser.add_argument("--team", help="plan it with this team's source priorities")
        parser.add_argument(
            "--environment",
            choices=[one.value for one in Environment],
            default=Environment.PRODUCTION.value,
            help="the environment of --team; a user has its own",
        )

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """Tree, plan and what was touched."""
        body = _body(options["file"])
        team = _team(options)
        if team is None:
            return _explained(None, None, body)
        with team_scope(team):
            user = user_get(team, uuid_argument(options["user"])) if options["user"] else None
            return _explained(team, user, body)


def _body(path: Path) -> object:
    if not path.is_file():
        raise CommandError("There is no such file.")
    body: object = json_decode(path.read_bytes())
    return body


def _team(options: dict[str, Any]) -> TeamContext | None:
    """The user's team and environment, or those that are named."""
    named = uuid_argument(options["team"]) if options["team"] else None
    if options["user"]:
        with system_scope(SystemScope.STAFF):
            user = User.objects.living().filter(pk=uuid_argument(options["user"])).first()
        if user is None or named not in (None, user.team_id):
            raise not_found()
        return TeamContext(user.team_id, Environment(user.environment))
    return None if named is None else _team_named(named, Environment(options["environment"]))


def _team_named(team_id: UUID, environment: Environment) -> TeamContext:
    with system_scope(SystemScope.STAFF):
        if not Team.objects.filter(pk=team_id).exists():
            raise not_found()
    return TeamContext(team_id, environment)


def _explained(team: TeamContext | None, user: User | None, body: object) -> dict[str, Any]:
    try:
        tree = query_parse(body)
        plan = query_plan(team, body)
        answer: dict[str, Any] = {
            "tree": [{"line": line} for line in _lines("batch", tree)],
            "window_start": instant_of_us(plan.window.start_us).isoformat()[:19],
            "window_end": instant_of_us(plan.window.end_us).isoformat()[:19],
            "plan": [_planned(place, one, plan) for place, one in enumerate(plan.queries)],
        }
        return answer if team is None or user is None else {**answer, **_touched(team, user, plan)}
    except QueryError as error:
        raise CommandError("\n".join(f"{_dotted(one.loc)}: {one.msg}" for one in error.problems)) from error


def _dotted(loc: Sequence[str | int]) -> str:
    return ".".join(map(str, loc))


def _lines(name: str, node: object, depth: int = 0) -> Iterator[str]:
    """A node and what is below it, one a line; what the node itself doesn't show (literals) is left out."""
    head = f"{'  ' * depth}{name}: "
    if is_dataclass(node):
        yield f"{head}{type(node).__name__}"
        for one in fields(node):
            if one.repr and one.name not in _PLACE_FIELDS:
                yield from _lines(one.name, getattr(node, one.name), depth + 1)
    elif isinstance(node, tuple | list) and node:
        for place, one in enumerate(node):
            yield from _lines(f"{name}[{place}]", one, depth)
    elif isinstance(node, Enum):
        yield f"{head}{node.value}"
    else:
        yield f"{head}{'none' if node is None or node == () else node}"


def _planned(place: int, plan: QueryPlan, whole: Plan) -> dict[str, str]:
    query = plan.query
    return {
        "query": f"query {place}",
        "table": f"table={query.table}",
        "resources": f"resources={_joined(query.resources)}",
        "columns": f"columns={_joined(plan.columns or (INDEX,))}",
        "keys": f"keys={_joined([type(key).__name__ for key in query.keys])}",
        "where": f"where={'none' if query.where is None else _tested(query.where)}",
        "sources": f"sources={_sources(plan, whole)}",
        "names": f"names={_joined([output.name for output in plan.outputs])}",
    }


def _tested(condition: Condition) -> str:
    """The condition as it is tested, NOT worked into the comparisons; what it compares with is left out."""
    if isinstance(condition, ValueTest):
        return f"{condition.ref.name} {condition.operator} …"
    if isinstance(condition, PairTest):
        return f"{condition.left.name} {condition.operator} {condition.right.name}"
    word = " AND " if isinstance(condition, Every) else " OR "
    return f"({word.join(map(_tested, condition.terms))})"


def _joined(names: Sequence[str]) -> str:
    return ",".join(names) or "none"


def _sources(plan: QueryPlan, whole: Plan) -> str:
    """How several sources of one group are settled, and the order of providers between equal source types."""
    if plan.merges_sources:
        how = "merge"
    elif plan.keeps_best_source:
        how = "best"
    else:
        return "all"
    order = whole.order.for_table(plan.query.table)
    listed = order.priorities.providers
    ranked = sorted(listed, key=lambda provider: (-listed[provider], provider))
    providers = [*order.overrides, *(one for one in ranked if one not in order.overrides)]
    return f"{how}({_joined(providers)})"


def _touched(team: TeamContext, user: User, plan: Plan) -> dict[str, Any]:
    reader = WatchedReader(team, user, StoreReader(team, user, rows_maximum=plan.budget.max_rows, order=plan.order))
    started = time.monotonic()
    tables = query_run(plan, reader, now_us=local_now_us(user))
    milliseconds = round((time.monotonic() - started) * 1_000, 3)
    touched = [
        {name: value if name == "what" else f"{name}={value}" for name, value in asdict(one).items()}
        for one in reader.touched
    ]
    return {"touched": touched, "rows_answered": sum(table.rows for table in tables), "milliseconds": milliseconds}
