"""What a request asks of one team's data: the plan of its queries, with the team's source priorities."""

from django.conf import settings

from aggregation.priorities import query_priorities
from aggregation.query import Budget, Plan, query_compile, query_parse
from aggregation.query_reader import SCHEMA
from healthsvc.kernel.principal import TeamContext


def query_plan(team: TeamContext | None, body: object) -> Plan:
    """The plan of a request's body, with a team's priorities. Raises QueryError with every problem found."""
    return query_compile(
        query_parse(body),
        SCHEMA,
        priorities=None if team is None else query_priorities(team),
        budget=Budget(),
        qualified_names=bool(settings.QUALIFIED_COLUMN_NAMES),
    )
