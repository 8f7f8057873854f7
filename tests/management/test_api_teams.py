"""An organisation's teams: made, changed, found by the customer's own name, deleted and brought back."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, transaction
from django.db.models import F

from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.scope import team_scope
from management import selectors, services
from management.models import Organisation, Team, TeamSettings
from management.organisation_selectors import scope_requirements
from management.services import teams
from management.services.names import name_check
from tests import factories
from tests.clients import ApiClient
from tests.management.organising import base, bound_client, locs, team_path, together, trail

SWITCHES: dict[str, Any] = {
    "lab_tests_patient_sms_communication_enabled": True,
    "lab_tests_patient_email_communication_enabled": True,
    "critical_result_notification_email": None,
    "brand_information": None,
    "logo_url": None,
    "reject_duplicate_connection": False,
    "sdk_per_device_activity_timeseries": False,
    "partial_webhooks_enabled": False,
    "minor_ordering_enabled": False,
    "patient_experience": False,
}
BRAND = {
    "company_name": "Acme",
    "company_website": "https://acme.example",
    "support_email": "help@acme.example",
    "support_contact": "+1 555 0100",
    "company_address": "1 Main Street",
    "brand_color": "#0b6553",
}


def test_an_organisation_is_shown_and_renamed(management_api: ApiClient, organisation: Organisation) -> None:
    shown = {"id": str(organisation.pk), "name": "Our organisation", "expires_at": None}
    assert management_api.get(base(organisation)).json() == shown
    renamed = {**shown, "name": "Ünïted (2)"}
    assert management_api.patch(base(organisation), {"name": "Ünïted (2)"}).json() == renamed
    assert management_api.get(base(organisation)).json() == renamed
    for name in ("", " ", "a<b", "x" * 81):
        assert locs(management_api.patch(base(organisation), {"name": name}))[0][0] == ["body", "name"]
    assert management_api.get(base(organisation)).json() == renamed


def test_a_new_team_has_defaults_in_both_environments(management_api: ApiClient, organisation: Organisation) -> None:
    body = management_api.post(f"{base(organisation)}/team", {"name": "North", "region": "eu"}).json()
    team = Team.objects.get()
    assert body == {
        "id": str(team.pk),
        "name": "North",
        "created_on": body["created_on"],
        "region": "eu",
        "integration_team_id": None,
        "environments": ["sandbox", "production"],
        "sandbox": SWITCHES,
        "production": SWITCHES,
    }
    assert trail(organisation) == [("POST /v1/org/<org_id>/team", {"team_id": str(team.pk)})]


def test_switches_of_a_new_team_hold_in_both_environments(
    management_api: ApiClient, organisation: Organisation
) -> None:
    chosen = {
        **SWITCHES,
        "lab_tests_patient_sms_communication_enabled": False,
        "critical_result_notification_email": "lab@acme.example",
        "brand_information": BRAND,
        "logo_url": "https://acme.example/logo.png",
        "reject_duplicate_connection": True,
        "minor_ordering_enabled": True,
    }
    team_id = uuid4()
    sent = {name: value for name, value in chosen.items() if name != "patient_experience"}
    made = management_api.post(
        f"{base(organisation)}/team",
        {"id": str(team_id), "name": "North", "region": "us", "integration_team_id": "n-1", **sent},
    ).json()
    assert (made["id"], made["integration_team_id"]) == (str(team_id), "n-1")
    assert made["sandbox"] == made["production"] == chosen
    for environment in Environment:
        context = TeamContext(team_id, environment)
        with team_scope(context):
            found = selectors.team_settings(context)
        assert (found.company_name, found.brand_color, found.duplicate_account_policy) == ("Acme", "#0b6553", "refuse")


def test_a_new_team_may_have_a_name_before_it_has_a_logo(management_api: ApiClient, organisation: Organisation) -> None:
    body = {"name": "North", "region": "us", "brand_information": {"company_name": "Acme"}}
    made = management_api.post(f"{base(organisation)}/team", body).json()
    assert made["production"]["brand_information"] == {**dict.fromkeys(BRAND, ""), "company_name": "Acme"}
    nameless = {**body, "brand_information": {"brand_color": "#0b6553"}}
    refused = management_api.post(f"{base(organisation)}/team", nameless)
    assert locs(refused) == [(["body", "brand_information", "company_name"], "missing")]


def test_environments_are_answered_where_asked_for(management_api: ApiClient, team: factories.Tenant) -> None:
    path = team_path(team)
    for asked, shown in ([], set()), (["sandbox"], {"sandbox"}), (["production", "sandbox"], {"sandbox", "production"}):
        body = management_api.get(path, {"include_environment": asked}).json()
        assert {name for name in ("sandbox", "production") if body[name] is not None} == shown
    assert management_api.get(path, {"include_environment": "staging"}).status_code == 422


def test_a_patch_changes_one_environment_and_leaves_the_rest(
    management_api: ApiClient, team: factories.Tenant, organisation: Organisation
) -> None:
    path = team_path(team)
    logo = "https://acme.example/logo.png"
    first = {"logo_url": logo, "brand_information": {"company_name": "Acme"}, "patient_experience": True}
    body = management_api.patch(path, {"name": None, "sandbox": first, "production": None}).json()
    brand = {**dict.fromkeys(BRAND, ""), "company_name": "Acme"}
    changed = {**SWITCHES, "logo_url": logo, "brand_information": brand, "patient_experience": True}
    assert (body["name"], body["sandbox"], body["production"]) == ("Our team", changed, SWITCHES)
    nothing = dict.fromkeys(SWITCHES)
    kept = management_api.patch(path, {"name": "Renamed", "sandbox": {**nothing, "logo_url": logo}}).json()
    assert (kept["name"], kept["sandbox"]) == ("Renamed", changed)
    cleared = management_api.patch(
        path, {"sandbox": {"logo_url": None, "brand_information": {"company_name": ""}}}
    ).json()
    assert cleared["sandbox"] == {**SWITCHES, "patient_experience": True}
    assert [action for action, _ids in trail(organisation)] == ["PATCH /v1/org/<org_id>/team/<team_id>"] * 3


def test_a_company_name_needs_a_logo(management_api: ApiClient, team: factories.Tenant) -> None:
    path = team_path(team)
    named = {"brand_information": {"company_name": "Acme"}}
    refused = management_api.patch(path, {"name": "Renamed", "production": named})
    assert locs(refused) == [(["body", "production", "logo_url"], "missing")]
    team.team.refresh_from_db()
    assert team.team.name == "Our team"
    production = TeamContext(team.team.pk, Environment.PRODUCTION)
    services.team_logo_set(team=production, content=b"\xff\xd8\xff\xe0 a picture")
    assert management_api.patch(path, {"production": named}).status_code == 200


@pytest.mark.parametrize(
    ("before", "sent", "after"),
    [
        ("allow", True, "refuse"),
        ("allow", False, "allow"),
        ("refuse", False, "allow"),
        ("move", False, "move"),
        ("move", True, "refuse"),
        ("move", None, "move"),
    ],
)
def test_the_switch_for_duplicates_is_the_teams_policy(
    management_api: ApiClient, team: factories.Tenant, before: str, sent: bool | None, after: str
) -> None:
    with team_scope(team.context):
        TeamSettings.objects.create(team=team.team, environment="sandbox", duplicate_account_policy=before)
    body = management_api.patch(team_path(team), {"sandbox": {"reject_duplicate_connection": sent}}).json()
    assert body["sandbox"]["reject_duplicate_connection"] is (after == "refuse")
    with team_scope(team.context):
        assert TeamSettings.objects.get().duplicate_account_policy == after


@pytest.mark.parametrize(
    ("change", "loc"),
    [
        ({"name": "a<b"}, ["body", "name"]),
        ({"name": ""}, ["body", "name"]),
        ({"integration_team_id": "x" * 257}, ["body", "integration_team_id"]),
        ({"integration_team_id": ""}, ["body", "integration_team_id"]),
        ({"sandbox": {"logo_url": "javascript:alert(1)"}}, ["body", "sandbox", "logo_url"]),
        ({"sandbox": {"logo_url": "ftp://acme.example/a.png"}}, ["body", "sandbox", "logo_url"]),
        ({"sandbox": {"logo_url": "http://acme.example/a.png"}}, ["body", "sandbox", "logo_url"]),
        ({"sandbox": {"logo_url": "https://acme.example:99999/a.png"}}, ["body", "sandbox", "logo_url"]),
        ({"sandbox": {"logo_url": "https://acme.example:0/a.png"}}, ["body", "sandbox", "logo_url"]),
        ({"sandbox": {"logo_url": "https://a:b@acme.example/a.png"}}, ["body", "sandbox", "logo_url"]),
        ({"sandbox": {"logo_url": "https://acme.example/a;b.png"}}, ["body", "sandbox", "logo_url"]),
        (
            {"sandbox": {"brand_information": {"company_website": "javascript:alert(1)"}}},
            ["body", "sandbox", "brand_information"],
        ),
        (
            {"sandbox": {"brand_information": {"company_website": "acme.example"}}},
            ["body", "sandbox", "brand_information"],
        ),
        ({"sandbox": {"critical_result_notification_email": "nobody"}}, ["body", "sandbox"]),
        ({"sandbox": {"brand_information": {"brand_color": "red"}}}, ["body", "sandbox", "brand_information"]),
        ({"sandbox": {"brand_information": {"support_email": "x"}}}, ["body", "sandbox", "brand_information"]),
        ({"sandbox": {"minor_ordering_enabled": "perhaps"}}, ["body", "sandbox", "minor_ordering_enabled"]),
        ({"sandbox": 1}, ["body", "sandbox"]),
    ],
)
def test_bad_changes_are_named_and_change_nothing(
    management_api: ApiClient, team: factories.Tenant, organisation: Organisation, change: Any, loc: list[str]
) -> None:
    found = locs(management_api.patch(team_path(team), {"integration_team_id": "fine", **change}))
    assert found[0][0][: len(loc)] == loc
    team.team.refresh_from_db()
    assert (team.team.name, team.team.integration_team_id) == ("Our team", None)
    assert trail(organisation) == []


@pytest.mark.parametrize("bits", [0, 2**128 - 1])
def test_the_ids_of_nobody_and_everybody_are_no_team_s(
    management_api: ApiClient, organisation: Organisation, bits: int
) -> None:
    body = {"name": "North", "region": "eu", "id": str(UUID(int=bits))}
    assert locs(management_api.post(f"{base(organisation)}/team", body)) == [(["body", "id"], "uuid_reserved")]
    assert not Team.objects.exists()


def test_addresses_are_kept_as_pages_show_them(management_api: ApiClient, team: factories.Tenant) -> None:
    given = {
        "logo_url": "HTTPS://cdn.acme.example/a.png",
        "brand_information": {"company_website": "HTTP://acme.example"},
    }
    kept = management_api.patch(team_path(team), {"sandbox": given}).json()["sandbox"]
    assert kept["logo_url"] == "https://cdn.acme.example/a.png"
    assert kept["brand_information"]["company_website"] == "http://acme.example"


def test_an_integration_team_id_is_one_teams_and_finds_it(
    management_api: ApiClient, organisation: Organisation, other_team: factories.Tenant
) -> None:
    create = f"{base(organisation)}/team"
    Team.objects.filter(pk=other_team.team.pk).update(integration_team_id="clinic 7")
    made = management_api.post(create, {"name": "A", "region": "us", "integration_team_id": "clinic 7"}).json()
    second = management_api.post(create, {"name": "B", "region": "us", "integration_team_id": "clinic 8"}).json()
    answers = [
        management_api.post(create, {"name": "C", "region": "us", "integration_team_id": "clinic 7"}),
        management_api.patch(f"{create}/{second['id']}", {"name": "C", "integration_team_id": "clinic 7"}),
    ]
    for answer in answers:
        assert answer.status_code == 409
        assert (answer.json()["team_id"], answer.json()["code"]) == (made["id"], "conflict")
    assert sorted(Team.objects.for_organisation(organisation.pk).values_list("name", flat=True)) == ["A", "B"]
    resolve = f"{base(organisation)}/resolve_team"
    assert management_api.post(resolve, {"integration_team_id": "clinic 7"}).json() == made
    assert management_api.post(resolve, {"integration_team_id": "clinic 9"}).status_code == 404
    management_api.patch(f"{create}/{made['id']}", {"integration_team_id": None})
    assert management_api.post(resolve, {"integration_team_id": "clinic 7"}).status_code == 404
    assert management_api.patch(f"{create}/{second['id']}", {"integration_team_id": "clinic 7"}).status_code == 200


def test_a_rival_that_comes_first_is_named(
    management_api: ApiClient, organisation: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    rivals: list[Team] = []

    def late(name: str) -> None:
        monkeypatch.setattr("management.services.teams.name_check", name_check)
        rivals.append(
            services.team_create(
                organisation_id=organisation.pk, name="Rival", region="us", integration_team_id="clinic 7"
            )
        )
        name_check(name)

    monkeypatch.setattr("management.services.teams.name_check", late)
    body = {"name": "Late", "region": "us", "integration_team_id": "clinic 7"}
    answer = management_api.post(f"{base(organisation)}/team", body)
    assert (answer.status_code, answer.json()["team_id"]) == (409, str(rivals[0].pk))
    assert [team.name for team in Team.objects.all()] == ["Rival"]


@pytest.mark.django_db(transaction=True)
def test_of_two_creations_at_once_one_has_the_id(organisation: Organisation) -> None:
    def create() -> str:
        services.team_create(organisation_id=organisation.pk, name="A", region="us", integration_team_id="clinic 7")
        return "made"

    assert sorted(together(create, create, create)) == ["conflict", "conflict", "made"]
    assert Team.objects.filter(integration_team_id="clinic 7").count() == 1


def test_an_id_that_is_taken_answers_the_same_wherever_it_is(
    management_api: ApiClient, organisation: Organisation, team: factories.Tenant, other_team: factories.Tenant
) -> None:
    bodies = []
    for taken in (team, other_team):
        answer = management_api.post(
            f"{base(organisation)}/team", {"id": str(taken.team.pk), "name": "New", "region": "us"}
        )
        assert answer.status_code == 409
        bodies.append({**answer.json(), "request_id": ""})
    assert bodies[0] == bodies[1]
    assert "team_id" not in bodies[0]
    assert Team.objects.filter(name="New").count() == 0


def test_a_deleted_team_opens_nothing_and_is_not_there(
    management_api: ApiClient, organisation: Organisation, team: factories.Tenant, production: factories.Tenant
) -> None:
    path, keys = team_path(team), [ApiClient(team_key=team.key), ApiClient(team_key=production.key)]
    minted = management_api.post(f"{path}/create_api_access_token", {"env": "sandbox"}).json()["access_token"]
    assert [client.get("/v2/user").status_code for client in keys] == [200, 200]
    bound = bound_client(organisation, team.team.pk)
    assert management_api.delete(path).json() is None
    assert [client.get("/v2/user").status_code for client in keys] == [401, 401]
    assert ApiClient().get("/v2/user", Authorization=f"Bearer {minted}").status_code == 401
    for client in (management_api, bound):
        assert client.get(path).status_code == 404
        assert client.get(f"{base(organisation)}/team").json()["teams"] == []
        assert client.get(f"{base(organisation)}/team_api_keys/sandbox/us").json()["api_keys"] == []
        assert client.get(f"{path}/sandbox/webhook").status_code == 404
        assert client.delete(path).status_code == 404
    made = {"label": "late", "team_id": str(team.team.pk)}
    assert management_api.post(f"{base(organisation)}/team_api_keys/sandbox/us", made).status_code == 404
    assert management_api.post(f"{path}/create_api_access_token", {"env": "sandbox"}).status_code == 404
    team.team.refresh_from_db()
    assert team.team.erase_due_at is not None
    assert team.team.deleted_at is not None
    assert team.team.erase_due_at - team.team.deleted_at == timedelta(days=7)


def test_a_deleted_team_comes_back_with_its_keys(
    management_api: ApiClient, team: factories.Tenant, api: ApiClient
) -> None:
    path = team_path(team)
    management_api.patch(path, {"integration_team_id": "clinic 7"})
    before = management_api.get(path).json()
    assert management_api.post(f"{path}/undo_delete").status_code == 404
    management_api.delete(path)
    assert management_api.post(f"{path}/undo_delete").json()["name"] == "Our team"
    assert management_api.get(path).json() == before
    assert api.get("/v2/user").status_code == 200
    assert management_api.post(f"{path}/undo_delete").status_code == 404


def test_an_undo_that_a_name_and_the_due_date_overtake_finds_no_team(
    management_api: ApiClient, team: factories.Tenant, organisation: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = team_path(team)
    management_api.patch(path, {"integration_team_id": "clinic 7"})
    management_api.delete(path)
    body = {"name": "Next", "region": "us", "integration_team_id": "clinic 7"}
    management_api.post(f"{base(organisation)}/team", body)

    @contextmanager
    def due_in_between() -> Iterator[None]:
        try:
            with transaction.atomic():
                yield
        except IntegrityError:
            Team.objects.filter(pk=team.team.pk).update(erase_due_at=F("deleted_at"))
            raise

    monkeypatch.setattr(teams, "transaction", SimpleNamespace(atomic=due_in_between))
    assert management_api.post(f"{path}/undo_delete").status_code == 404


def test_a_team_does_not_come_back_once_its_own_name_lives_again_or_its_time_is_over(
    management_api: ApiClient, team: factories.Tenant, organisation: Organisation, api: ApiClient
) -> None:
    path = team_path(team)
    management_api.patch(path, {"integration_team_id": "clinic 7"})
    management_api.delete(path)
    body = {"name": "Next", "region": "us", "integration_team_id": "clinic 7"}
    following = management_api.post(f"{base(organisation)}/team", body).json()
    refused = management_api.post(f"{path}/undo_delete")
    assert (refused.status_code, refused.json()["team_id"]) == (409, following["id"])
    assert management_api.get(path).status_code == 404
    management_api.delete(f"{base(organisation)}/team/{following['id']}")
    Team.objects.filter(pk=team.team.pk).update(erase_due_at=clock.now())
    assert management_api.post(f"{path}/undo_delete").status_code == 404
    assert api.get("/v2/user").status_code == 401


def test_scope_requirements_are_kept_for_each_provider(
    management_api: ApiClient, team: factories.Tenant, production: factories.Tenant
) -> None:
    path = f"{team_path(team)}/scope_requirements"
    oura = {"provider": "oura", "required": ["daily"], "optional": ["heartrate", "email", "email"]}
    assert management_api.get(path).json() == {"data": []}
    assert management_api.post(path, oura).json() is None
    management_api.post(path, {"provider": "fitbit", "required": ["sleep"], "optional": []})
    management_api.post(path, {"provider": "fitbit", "required": ["activity"], "optional": []})
    kept = [
        {"provider": "fitbit", "required": ["activity"], "optional": []},
        {"provider": "oura", "required": ["daily"], "optional": ["heartrate", "email"]},
    ]
    assert management_api.get(path).json() == {"data": kept}
    assert management_api.get(path, {"provider": "oura"}).json() == {"data": kept[1:]}
    for context in (team.context, production.context):
        assert [row.provider for row in scope_requirements(context)] == ["fitbit", "oura"]
    management_api.post(path, {"provider": "oura", "required": [], "optional": []})
    assert management_api.get(path).json() == {"data": kept[:1]}


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"provider": "nobody", "required": [], "optional": []}, ["body", "provider"]),
        ({"provider": "renpho", "required": ["a"], "optional": []}, ["body", "provider"]),
        ({"provider": "garmin", "required": [], "optional": ["a"]}, ["body", "provider"]),
        ({"provider": "oura", "required": ["a"], "optional": ["a"]}, ["body", "optional"]),
        ({"provider": "oura", "required": [1], "optional": []}, ["body", "required", "0"]),
        ({"provider": "oura", "required": ["x"] * 101, "optional": []}, ["body", "required"]),
        ({"provider": "oura", "required": []}, ["body", "optional"]),
    ],
)
def test_bad_scope_requirements_are_named(
    management_api: ApiClient, team: factories.Tenant, body: Any, loc: list[str]
) -> None:
    path = f"{team_path(team)}/scope_requirements"
    assert [str(part) for part in locs(management_api.post(path, body))[0][0]] == loc
    assert management_api.get(path).json() == {"data": []}
