"""GET /v2/team/users/search: by the beginning of an id or a client_user_id, in ranges of an index."""

from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import team_scope
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from users import selectors, user_rows
from users.models import User

PATH = "/v2/team/users/search"


def found(api: ApiClient, text: str) -> list[str]:
    """The client_user_ids that a search answers."""
    answer = api.get(PATH, {"query_id": text})
    assert answer.status_code == 200, answer.content
    return [user["client_user_id"] for user in answer.json()]


def users_make(tenant: Tenant, *names: str) -> None:
    """Users with these client_user_ids."""
    for name in names:
        user_make(tenant, client_user_id=name)


def user_with(tenant: Tenant, user_id: str, name: str) -> None:
    """A user with this id."""
    values = team_values(tenant.context)
    with team_scope(tenant.context):
        User.objects.create(id=UUID(user_id), client_user_id=name, created_at=clock.now(), **values)


def test_client_user_ids_are_found_by_how_they_begin(api: ApiClient, team: Tenant) -> None:
    users_make(team, "zanna", "anna-2", "anna", "annB", "ben", "Anna", "anna\U0010ffff", "anna ü", "ann%")
    assert found(api, "anna") == ["anna", "anna ü", "anna-2", "anna\U0010ffff"]
    assert found(api, "ann") == ["ann%", "annB", "anna", "anna ü", "anna-2", "anna\U0010ffff"]
    assert found(api, "anna ") == ["anna ü"]
    assert found(api, "anna\U0010ffff") == ["anna\U0010ffff"]
    assert found(api, "an_a") == []
    assert found(api, "ann%") == ["ann%"]


def test_the_end_of_the_alphabet_is_found_too(api: ApiClient, team: Tenant) -> None:
    users_make(team, "\U0010ffff\U0010ffffx", "\ud7ffab", "zz")
    assert found(api, "\U0010ffff\U0010ffff") == ["\U0010ffff\U0010ffffx"]
    assert found(api, "\ud7ffa") == ["\ud7ffab"]
    assert selectors._text_after("a\ud7ff") == "a\ue000"


def test_ids_are_found_whole_and_by_how_they_begin(api: ApiClient, team: Tenant) -> None:
    user_with(team, "abcdef01-2345-4678-9abc-def012345678", "first")
    user_with(team, "abcdef01-9345-4678-9abc-def012345678", "second")
    user_with(team, "ab00ef01-9345-4678-9abc-def012345678", "third")
    whole = "abcdef01-2345-4678-9abc-def012345678"
    assert found(api, whole) == found(api, whole.upper()) == ["first"]
    assert found(api, "abcdef01-") == ["first", "second"]
    assert found(api, "abcdef01-23") == ["first"]
    assert found(api, "ABC") == ["first", "second"]
    assert found(api, "ab") == ["third", "first", "second"]
    assert [found(api, text) for text in ("abcdef012", "abcd-", "--", "abcdef01--", f"{whole}0")] == [[]] * 5


def test_a_whole_id_comes_before_names_and_names_before_beginnings_of_ids(api: ApiClient, team: Tenant) -> None:
    whole = "abcdef01-2345-4678-9abc-def012345678"
    user_with(team, whole, "by its id")
    users_make(team, f"{whole}-copy", "abc")
    assert found(api, whole) == ["by its id", f"{whole}-copy"]
    assert found(api, "abc") == ["abc", f"{whole}-copy", "by its id"]


def test_one_who_is_found_both_ways_comes_once(api: ApiClient, team: Tenant) -> None:
    whole = "abcdef01-2345-4678-9abc-def012345678"
    user_with(team, whole, whole)
    assert found(api, whole) == found(api, "abcdef") == [whole]


def test_as_many_as_the_limit_answer(api: ApiClient, team: Tenant) -> None:
    users_make(team, *(f"anna-{number:03}" for number in range(52)))
    assert found(api, "anna") == [f"anna-{number:03}" for number in range(50)]


def test_only_own_living_users_are_found(api: ApiClient, team: Tenant, other_team: Tenant, production: Tenant) -> None:
    users_make(other_team, "anna-theirs")
    users_make(production, "anna-production")
    users_make(team, "anna")
    gone = user_make(team, client_user_id="anna-gone")
    with team_scope(team.context):
        User.objects.filter(pk=gone.pk).update(deleted_at=clock.now())
    assert found(api, "anna") == ["anna"]
    assert found(api, str(gone.id)) == []


def test_what_is_found_is_the_whole_user(api: ApiClient, team: Tenant) -> None:
    user = user_make(team, client_user_id="anna", fallback_time_zone="Europe/Rome")
    assert api.get(PATH, {"query_id": "anna"}).json() == [api.get(f"/v2/user/{user.id}").json()]


@pytest.mark.parametrize("query", [{}, {"query_id": "a"}, {"query_id": ""}, {"query_id": "x" * 256}])
def test_queries_that_are_too_short_or_malformed_are_refused(api: ApiClient, query: dict[str, str]) -> None:
    refused = api.get(PATH, query)
    assert refused.status_code == 422
    assert [one["loc"] for one in refused.json()["detail"]] == [["query", "query_id"]]


@pytest.mark.parametrize("users", [1, 5])
def test_a_search_costs_the_same_queries_for_any_number(api: ApiClient, team: Tenant, users: int) -> None:
    users_make(team, *(f"anna-{number}" for number in range(users)))
    api.get(PATH, {"query_id": "anna"})
    with CaptureQueriesContext(connection) as captured:
        api.get(PATH, {"query_id": "anna"})
    # key, names, connections, audit: "anna" begins no id
    assert len(captured) == 4, [query["sql"] for query in captured]


def test_the_ranges_are_found_in_their_indexes_under_row_security(in_team: Tenant) -> None:
    ids = selectors._id_range("abcd")
    assert ids is not None
    team: dict[str, UUID | str | int] = {
        "team_id": in_team.context.team_id,
        "environment": str(in_team.context.environment),
    }
    by_name = explained(user_rows.NAMES_WITHIN, {**team, "first": "anna", "after": "annb", "limit": 50})
    by_id = explained(user_rows.IDS_WITHIN, {**team, "first": ids[0], "last": ids[1], "limit": 50})
    assert "Index Scan using users_user_by_client_user_id" in by_name
    bounds = "((client_user_id)::text >= 'anna'::text) AND ((client_user_id)::text < 'annb'::text)"
    assert bounds in condition(by_name)
    bounds = f"(id >= '{ids[0]}'::uuid) AND (id <= '{ids[1]}'::uuid)"
    assert bounds in condition(by_id)


def explained(statement: str, parameters: dict[str, UUID | str | int]) -> str:
    """The plan of a statement of a search, where no other way is open than an index in its order."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN {statement}", parameters)
        return "\n".join(row[0] for row in cursor.fetchall())


def condition(plan: str) -> str:
    """What a plan's index is searched by; the rest is looked at row by row."""
    (line,) = (line for line in plan.splitlines() if "Index Cond:" in line)
    return line
