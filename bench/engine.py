"""The query engine in process: what a request does, without HTTP and rendering."""

from collections.abc import Mapping

from aggregation.planning import query_plan
from aggregation.query import Table, query_run
from aggregation.query_reader import StoreReader
from tests.factories import Tenant
from users.models import User


def tables_of(tenant: Tenant, user: User, body: Mapping[str, object]) -> list[Table]:
    """The answers to the queries of a body; the team's scope must be open."""
    plan = query_plan(tenant.context, body)
    return query_run(plan, StoreReader(tenant.context, user, rows_maximum=plan.budget.max_rows, order=plan.order))
