"""What keeps users' API quick for a team of any size: indexes that answer alone, and statements kept prepared."""

import re
from datetime import UTC, date, datetime
from typing import LiteralString
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.scope import team_scope
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from users import selectors, services, user_rows
from users.models import User

#: Each with its index, and how many conditions it is searched by. Not the one whose client_user_id is named in full:
#: without statistics, which a test's tables have none of, any index of the team's seems as good.
_STATEMENTS: dict[str, tuple[LiteralString, str, int]] = {
    "one": (user_rows.ONE, "users_user_pkey", 1),
    "names": (user_rows.NAMES_WITHIN, "users_user_by_client_user_id", 4),
    "ids": (user_rows.IDS_WITHIN, "users_user_by_id", 4),
}
_TYPES = {"limit": "bigint", "environment": "text", "after": "text", "last": "uuid"}
#: Enough for the sizes of indexes to count.
_MANY: LiteralString = """
INSERT INTO users_user (
    id, team_id, environment, client_user_id, created_at, fallback_time_zone_source, fallback_birth_date_source
)
SELECT gen_random_uuid(), %s, %s, 'person-' || n, now(), '', '' FROM generate_series(1, 3000) AS n
"""


@pytest.fixture
def many(in_team: Tenant) -> Tenant:
    """A team with some thousands of users, and no way to them but by an index."""
    with connection.cursor() as cursor:
        cursor.execute(_MANY, (in_team.context.team_id, str(in_team.context.environment)))
        for setting in ("enable_seqscan", "enable_bitmapscan", "enable_sort"):
            cursor.execute(f"SET LOCAL {setting} = off")
    return in_team


def test_users_are_counted_in_the_small_index_alone(many: Tenant) -> None:
    with CaptureQueriesContext(connection) as captured:
        assert selectors.user_page(many.context, offset=0, limit=1).total == 3_000
    (count,) = (query["sql"] for query in captured if "COUNT(*)" in query["sql"])
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN " + count)
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "Index Only Scan using users_user_living" in plan, plan


@pytest.mark.parametrize("name", _STATEMENTS)
def test_a_plan_for_any_parameters_searches_an_index_of_its_own(many: Tenant, name: str) -> None:
    statement, index, columns = _STATEMENTS[name]
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)))
    numbered = re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", statement)
    types = ["text" if (name, one) == ("names", "first") else _TYPES.get(one, "uuid") for one in names]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        cursor.execute(f"PREPARE planned ({', '.join(types)}) AS {numbered}")
        cursor.execute(f"EXPLAIN EXECUTE planned ({', '.join(['NULL'] * len(names))})")
        plan = "\n".join(row[0] for row in cursor.fetchall())
        cursor.execute("DEALLOCATE planned")
    (used,) = re.findall(r"Index Scan using (\w+) on users_user", plan)
    (searched,) = (line for line in plan.splitlines() if "Index Cond:" in line)
    assert (used, len(re.findall(r"\$\d+", searched))) == (index, columns), plan


def test_a_user_is_read_as_the_model_reads_it(in_team: Tenant) -> None:
    team = in_team.context
    made = services.user_create(
        team=team,
        client_user_id="anna",
        fallback_time_zone="Europe/Rome",
        fallback_birth_date=date(1990, 5, 17),
        ingestion_start=date(2026, 1, 1),
        ingestion_end=date(2026, 12, 31),
    )
    User.objects.filter(pk=made.pk).update(created_at=datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC))
    wanted = _values(User.objects.get(pk=made.pk))
    assert wanted["fallback_birth_date"] == "1990-05-17"
    assert [_values(user) for user in _read(team, made.pk, "anna")] == [wanted] * 5


def test_a_user_without_anything_is_read_as_the_model_reads_it(in_team: Tenant) -> None:
    made = user_make(in_team, client_user_id="anna")
    wanted = _values(User.objects.get(pk=made.pk))
    assert [_values(user) for user in _read(in_team.context, made.pk, "anna")] == [wanted] * 5


def test_a_user_that_was_read_can_be_written(in_team: Tenant) -> None:
    made = user_make(in_team, client_user_id="anna")
    read = selectors.user_get(in_team.context, made.pk)
    read.client_user_id = "ben"
    read.save()
    assert list(User.objects.values_list("pk", "client_user_id")) == [(made.pk, "ben")]


def test_reads_keep_to_the_team_and_to_the_living(in_team: Tenant, other_team: Tenant, production: Tenant) -> None:
    for tenant in (other_team, production):
        user = user_make(tenant, client_user_id="anna")
        with team_scope(in_team.context):
            assert _found(in_team.context, user.pk) == [None, None, [], []]
    gone = user_make(in_team, client_user_id="anna")
    User.objects.filter(pk=gone.pk).update(deleted_at=clock.now())
    kept = user_rows.user_with_id(in_team.context, gone.pk)
    assert kept is not None
    assert kept.deleted_at is not None
    assert _found(in_team.context, gone.pk)[1:] == [None, [], []]


@pytest.mark.parametrize("users", [1, 5])
def test_a_list_costs_the_same_queries_for_any_number(api: ApiClient, team: Tenant, users: int) -> None:
    for _ in range(users):
        user_make(team)
    api.get("/v2/user")
    with CaptureQueriesContext(connection) as captured:
        api.get("/v2/user")
    # key, count, page, connections, trail
    assert len(captured) == 5, [query["sql"] for query in captured]


@pytest.mark.parametrize("name", ["resolve/anna", None])
def test_one_user_costs_one_query_beside_connections(api: ApiClient, team: Tenant, name: str | None) -> None:
    path = f"/v2/user/{name or user_make(team).id}"
    if name:
        user_make(team, client_user_id="anna")
    api.get(path)
    with CaptureQueriesContext(connection) as captured:
        assert api.get(path).status_code == 200
    # key, user, connections, trail
    assert len(captured) == 4, [query["sql"] for query in captured]


def _values(user: User) -> dict[str, object]:
    return {field.attname: getattr(user, field.attname) for field in User._meta.concrete_fields}


def _read(team: TeamContext, user_id: UUID, name: str) -> list[User]:
    """The same user by every statement."""
    one, named = user_rows.user_with_id(team, user_id), user_rows.user_named(team, name)
    assert one is not None
    assert named is not None
    return [
        one,
        named,
        *user_rows.users_named_within(team, name, None, limit=2),
        *user_rows.users_named_within(team, name, name + "a", limit=2),
        *user_rows.users_with_ids_within(team, user_id, user_id, limit=2),
    ]


def _found(team: TeamContext, user_id: UUID) -> list[object]:
    return [
        user_rows.user_with_id(team, user_id),
        user_rows.user_named(team, "anna"),
        user_rows.users_named_within(team, "a", None, limit=9),
        user_rows.users_with_ids_within(team, user_id, user_id, limit=9),
    ]
