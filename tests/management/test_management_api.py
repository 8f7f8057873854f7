"""The organisation's team list."""

from uuid import uuid4

import pytest
from django.db import connection
from django.db.models.signals import post_init
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from management.models import ManagementKey, Organisation, Team
from management.serializers import TeamItem
from tests import factories
from tests.clients import ApiClient


def _names(client: ApiClient, organisation: Organisation, **query: object) -> list[str]:
    body = client.get(f"/v1/org/{organisation.id}/team", query).json()
    return [team["name"] for team in body["teams"]]


def test_team_item_and_last_page(management_api: ApiClient, organisation: Organisation) -> None:
    tenant = factories.tenant_make(organisation, name="Nordic", region="eu")
    path = f"/v1/org/{organisation.id}/team"
    body = management_api.get(path).json()
    assert body == {
        "teams": [
            {
                "id": str(tenant.team.id),
                "name": "Nordic",
                # As every other answer writes instants.
                "created_on": clock.utc_text(tenant.team.created_at),
                "region": "eu",
                "integration_team_id": None,
            }
        ],
        "next_cursor": None,
    }
    assert management_api.get(f"{path}/{tenant.team.id}").json()["created_on"] == body["teams"][0]["created_on"]


def test_filters_combine(management_api: ApiClient, organisation: Organisation) -> None:
    for name, region in [("Alpha one", "us"), ("Alpha two", "eu"), ("Beta", "eu"), ("100_percent", "us")]:
        factories.tenant_make(organisation, name=name, region=region)
    assert _names(management_api, organisation, search_query="ALPHA") == ["Alpha two", "Alpha one"]
    assert _names(management_api, organisation, search_query="alpha", region="eu") == ["Alpha two"]
    assert _names(management_api, organisation, region=["us", "eu"]) == [
        "100_percent",
        "Beta",
        "Alpha two",
        "Alpha one",
    ]
    # An underscore is a letter like any other, not SQL's wildcard.
    assert _names(management_api, organisation, search_query="0_p") == ["100_percent"]
    assert _names(management_api, organisation, search_query="a_p") == []
    assert _names(management_api, organisation, search_query=" \u00a0beta\t") == ["Beta"]


@pytest.mark.parametrize("query", ["a" * 81, "50%", "a;b", "<b>", 'a"b', "a\\b", "a.b", "日本"])
def test_search_refuses_other_characters(management_api: ApiClient, organisation: Organisation, query: str) -> None:
    response = management_api.get(f"/v1/org/{organisation.id}/team", {"search_query": query})
    assert response.status_code == 422
    assert [problem["loc"] for problem in response.json()["detail"]] == [["query", "search_query"]]


@pytest.mark.parametrize("query", ["a" * 80, "Ünïcode Ð", "(a), b/c: d'e ’f |g& h_i-j 9", ""])
def test_search_takes_every_allowed_character(
    management_api: ApiClient, organisation: Organisation, query: str
) -> None:
    response = management_api.get(f"/v1/org/{organisation.id}/team", {"search_query": query})
    assert response.status_code == 200


@pytest.mark.parametrize("query", [{"region": "mars"}, {"region": ["us", "x"]}, {"team_id": "x"}, {"next_cursor": "x"}])
def test_bad_filters_are_named(management_api: ApiClient, organisation: Organisation, query: dict[str, object]) -> None:
    response = management_api.get(f"/v1/org/{organisation.id}/team", query)
    assert response.status_code == 422
    assert response.json()["detail"][0]["loc"][:2] == ["query", next(iter(query))]


def test_cursor_walks_every_team_once(management_api: ApiClient, organisation: Organisation) -> None:
    names = [f"Team {number}" for number in range(120)]
    for name in names:
        factories.tenant_make(organisation, name=name)
    found: list[str] = []
    sizes: list[int] = []
    cursor: str | None = None
    while True:
        query = {"next_cursor": cursor} if cursor else {}
        body = management_api.get(f"/v1/org/{organisation.id}/team", query).json()
        found += [team["name"] for team in body["teams"]]
        sizes.append(len(body["teams"]))
        cursor = body["next_cursor"]
        if cursor is None:
            break
    assert found == names[::-1]
    assert sizes == [50, 50, 20]


def test_another_organisation_answers_as_a_missing_one(management_api: ApiClient, other_team: factories.Tenant) -> None:
    bodies = [
        management_api.get(f"/v1/org/{organisation_id}/team")
        for organisation_id in (other_team.team.organisation_id, uuid4())
    ]
    assert [body.status_code for body in bodies] == [404, 404]
    assert len({str({**body.json(), "request_id": ""}) for body in bodies}) == 1


def test_team_admin_key_sees_its_teams_only(organisation: Organisation, team: factories.Tenant) -> None:
    factories.tenant_make(organisation, name="Hidden")
    key = factories.management_key_make(organisation, role="team_admin", team_ids=[team.team.id])
    assert _names(ApiClient(management_key=key), organisation) == ["Our team"]


@pytest.mark.parametrize("teams", [1, 5])
def test_list_costs_the_same_queries_for_any_number(
    management_api: ApiClient, organisation: Organisation, teams: int
) -> None:
    for number in range(teams):
        factories.tenant_make(organisation, name=f"Team {number}")
    management_api.get(f"/v1/org/{organisation.id}/team")
    with CaptureQueriesContext(connection) as captured:
        management_api.get(f"/v1/org/{organisation.id}/team")
    assert len(captured) == 2, [query["sql"] for query in captured]


def test_an_unknown_stored_region_does_not_break_the_answer(organisation: Organisation) -> None:
    stored = Team(organisation=organisation, name="Later", region="ap", created_at=organisation.created_at)
    assert TeamItem(stored).data["region"] == "ap"


def test_a_key_with_an_unknown_role_opens_nothing(organisation: Organisation) -> None:
    client = ApiClient(management_key=factories.management_key_make(organisation))

    def newer(instance: ManagementKey, **_values: object) -> None:
        instance.role = "auditor"

    post_init.connect(newer, sender=ManagementKey)
    try:
        assert client.get(f"/v1/org/{organisation.id}/team").status_code == 401
    finally:
        post_init.disconnect(newer, sender=ManagementKey)
