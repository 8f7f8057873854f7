"""POST /v2/user/{user_id}/insurance and GET …/insurance/latest."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import StaffUser
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.users.erasing import deleted, erased
from tests.users.insuring import insurance_body, insured_body, patient_known, payor_body
from tests.users.patients import address_body, guarantor_body
from users.models import Insurance, Payor, User

UHC_ADDRESS = {
    "first_line": "9700 Health Care Lane",
    "second_line": "",
    "city": "Minnetonka",
    "state": "MN",
    "zip": "55343",
    "zip_code": "55343",
    "country": "US",
    "access_notes": None,
}


@pytest.fixture
def user(team: Tenant) -> User:
    """A user of ours whose demographics are known."""
    user = user_make(team)
    with team_scope(team.context):
        patient_known(team, user)
    return user


def insurance(user: User) -> str:
    """Where their insurances are told."""
    return f"/v2/user/{user.id}/insurance"


def kept(tenant: Tenant) -> int:
    """Insurances of a team."""
    with team_scope(tenant.context):
        return Insurance.objects.count()


def test_what_has_to_be_sent_is_enough_and_the_answer_has_every_field(api: ApiClient, user: User) -> None:
    answer = api.post(insurance(user), insurance_body())
    assert answer.status_code == 200
    assert answer.json() == {
        "payor_code": "UHC",
        "member_id": "U1234567801",
        "group_id": None,
        "relationship": "Self",
        "insured": {
            "first_name": "John",
            "last_name": "Doe",
            "gender": "male",
            "dob": "1980-05-17",
            "email": "john@example.com",
            "phone_number": "+15550123456",
            "address": {
                "first_line": "123 Main St.",
                "second_line": "",
                "city": "San Francisco",
                "state": "CA",
                "zip": "94105",
                "zip_code": "94105",
                "country": "US",
                "access_notes": None,
            },
        },
        "company": {"name": "UnitedHealthcare", "address": UHC_ADDRESS},
        "guarantor": None,
        "is_primary": True,
    }
    assert api.get(f"{insurance(user)}/latest").json() == answer.json()


def test_everything_that_may_be_sent_comes_back(api: ApiClient, user: User) -> None:
    body = insurance_body(
        relationship="Spouse",
        group_id="10602",
        guarantor=guarantor_body(),
        insured=insured_body(gender="female", address=address_body()),
        is_primary=False,
    )
    answer = api.post(insurance(user), body).json()
    guarantor_address = {**address_body(second_line=""), "zip_code": "94105"}
    assert answer == {
        **body,
        "insured": {**body["insured"], "address": {**address_body(), "zip_code": "94105"}},
        "guarantor": {**guarantor_body(), "address": guarantor_address},
        "company": {"name": "UnitedHealthcare", "address": UHC_ADDRESS},
    }
    assert api.get(f"{insurance(user)}/latest", {"is_primary": "false"}).json() == answer


@pytest.mark.parametrize("gender", ["Female", "FEMALE", "female", "Male", "other", "Unknown"])
def test_gender_is_taken_in_any_case_and_answered_in_lower_case(api: ApiClient, user: User, gender: str) -> None:
    answer = api.post(insurance(user), insurance_body(insured=insured_body(gender=gender)))
    assert answer.json()["insured"]["gender"] == gender.lower()


def test_every_insurance_told_is_kept_and_the_newest_of_each_kind_is_the_latest(
    api: ApiClient, team: Tenant, user: User
) -> None:
    for number, is_primary in (("1", True), ("2", False), ("3", True), ("4", False)):
        assert api.post(insurance(user), insurance_body(member_id=number, is_primary=is_primary)).status_code == 200
    latest = [
        api.get(f"{insurance(user)}/latest", query).json()["member_id"]
        for query in ({}, {"is_primary": "true"}, {"is_primary": "false"})
    ]
    assert latest == ["3", "3", "4"]
    assert kept(team) == 4


def test_without_an_insurance_of_the_kind_latest_is_404(api: ApiClient, user: User) -> None:
    api.post(insurance(user), insurance_body())
    answer = api.get(f"{insurance(user)}/latest", {"is_primary": "false"})
    assert (answer.status_code, answer.json()["detail"]) == (404, "User insurance not found")


@pytest.mark.parametrize("relationship", ["Spouse", "Other"])
def test_a_guarantor_is_needed_unless_the_patient_is_the_insured(
    api: ApiClient, team: Tenant, user: User, relationship: str
) -> None:
    for values in ({}, {"guarantor": None}):
        answer = api.post(insurance(user), insurance_body(relationship=relationship, **values))
        assert answer.status_code == 422
        problem = {"loc": ["body", "guarantor"], "msg": "Needed unless relationship is Self.", "type": "missing"}
        assert answer.json()["detail"] == [problem]
    assert kept(team) == 0


def test_a_relationship_of_a_later_version_is_shown_as_it_is_stored(api: ApiClient, team: Tenant, user: User) -> None:
    api.post(insurance(user), insurance_body())
    with team_scope(team.context):
        row = Insurance.objects.get()
        row.details = {**row.details, "relationship": "Child"}
        row.save()
    assert api.get(f"{insurance(user)}/latest").json()["relationship"] == "Child"
    assert api.post(insurance(user), insurance_body(relationship="Child")).status_code == 422


def test_demographics_come_first(api: ApiClient, team: Tenant) -> None:
    answer = api.post(insurance(user_make(team)), insurance_body())
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    assert "PATCH /v2/user/{user_id}/info" in answer.json()["detail"]
    assert kept(team) == 0


def test_nobody_unknown_deleted_or_of_another_team_is_insured(
    api: ApiClient, other_api: ApiClient, team: Tenant, user: User
) -> None:
    missing = api.post(f"/v2/user/{uuid4()}/insurance", insurance_body())
    assert (missing.status_code, missing.json()["detail"]) == (404, "User not found")
    api.post(insurance(user), insurance_body())
    for answer in (
        other_api.post(insurance(user), insurance_body()),
        other_api.get(f"{insurance(user)}/latest"),
    ):
        assert (answer.status_code, answer.json()["detail"]) == (404, "User not found")
    deleted(team, user.id)
    assert api.get(f"{insurance(user)}/latest").status_code == 404
    assert api.post(insurance(user), insurance_body()).status_code == 404
    assert kept(team) == 1


def test_a_payor_must_be_known_to_the_team(api: ApiClient, other_api: ApiClient, team: Tenant, user: User) -> None:
    theirs = other_api.post("/v3/payor", payor_body()).json()["payor_code"]
    for code in ("NOBODY", theirs):
        answer = api.post(insurance(user), insurance_body(payor_code=code))
        assert answer.status_code == 422
        assert [problem["loc"] for problem in answer.json()["detail"]] == [["body", "payor_code"]]
    assert kept(team) == 0


def test_a_payor_of_the_team_is_the_company_and_stays_as_it_was(api: ApiClient, team: Tenant, user: User) -> None:
    code = api.post("/v3/payor", payor_body()).json()["payor_code"]
    answer = api.post(insurance(user), insurance_body(payor_code=code.lower())).json()
    assert (answer["payor_code"], answer["company"]["name"]) == (code, "Élan Mutual Health-Plan")
    assert answer["company"]["address"] == {**address_body(), "zip_code": "94105"}
    with team_scope(team.context):
        Payor.objects.update(name="Another")
    assert api.get(f"{insurance(user)}/latest").json() == answer


@pytest.mark.parametrize(
    ("part", "values", "loc"),
    [
        ("insured", {"gender": "man"}, ["gender"]),
        ("insured", {"gender": 1}, ["gender"]),
        ("insured", {"dob": "2190-01-01"}, ["dob"]),
        ("insured", {"email": "john"}, ["email"]),
        ("insured", {"phone_number": "12"}, ["phone_number"]),
        ("insured", {"address": {**address_body(), "state": "Kalifornia"}}, ["address", "state"]),
        ("insured", {"address": {**address_body(), "zip": "941"}}, ["address", "zip"]),
        ("insured", {"address": {**address_body(), "zip_code": "94106"}}, ["address", "zip_code"]),
        ("guarantor", {"last_name": " "}, ["last_name"]),
        ("guarantor", {"household_size": 0}, ["household_size"]),
        ("guarantor", {"address": None}, ["address"]),
    ],
)
def test_what_is_malformed_is_named_and_nothing_is_kept(
    api: ApiClient, team: Tenant, user: User, part: str, values: dict[str, Any], loc: list[str]
) -> None:
    whole = insured_body() if part == "insured" else guarantor_body()
    answer = api.post(insurance(user), insurance_body(**{part: {**whole, **values}}))
    assert answer.status_code == 422
    assert [problem["loc"] for problem in answer.json()["detail"]] == [["body", part, *loc]]
    assert kept(team) == 0


@pytest.mark.parametrize("name", ["first_name", "last_name", "gender", "dob", "email", "phone_number", "address"])
def test_everything_of_the_insured_is_needed(api: ApiClient, user: User, name: str) -> None:
    insured = {key: value for key, value in insured_body().items() if key != name}
    answer = api.post(insurance(user), insurance_body(insured=insured))
    assert answer.status_code == 422
    assert answer.json()["detail"] == [
        {"loc": ["body", "insured", name], "msg": "This field is required.", "type": "missing"}
    ]


@pytest.mark.parametrize("name", ["payor_code", "member_id", "relationship", "insured"])
def test_everything_but_the_options_is_needed(api: ApiClient, user: User, name: str) -> None:
    body = {key: value for key, value in insurance_body().items() if key != name}
    answer = api.post(insurance(user), body)
    assert [problem["loc"] for problem in answer.json()["detail"]] == [["body", name]]


def test_a_refused_name_says_what_to_change_and_not_the_name(api: ApiClient, user: User) -> None:
    answer = api.post(insurance(user), insurance_body(insured=insured_body(first_name="Zoë")))
    (problem,) = answer.json()["detail"]
    assert problem["loc"] == ["body", "insured", "first_name"]
    assert "write é as e" in problem["msg"]
    assert "Zoë" not in answer.content.decode()


def test_the_row_tells_nothing_of_the_person(api: ApiClient, team: Tenant, user: User) -> None:
    api.post(insurance(user), insurance_body(guarantor=guarantor_body(), group_id="10602"))
    with team_scope(team.context), connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(users_insurance)::text, details FROM users_insurance")
        ((row, details),) = cursor.fetchall()
    for text in ("John", "Mary", "U1234567801", "10602", "UHC", "94105", "Self"):
        assert text not in row
        assert text.encode() not in bytes(details)


def test_the_same_request_again_keeps_one(api: ApiClient, team: Tenant, user: User) -> None:
    answers = [api.post(insurance(user), insurance_body(), Idempotency_Key="once").json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert kept(team) == 1


def test_history_costs_no_queries(api: ApiClient, user: User) -> None:
    counts = []
    for _ in range(2):
        for _ in range(3):
            api.post(insurance(user), insurance_body())
        with CaptureQueriesContext(connection) as captured:
            api.get(f"{insurance(user)}/latest")
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_insurances_go_with_their_user_and_nobody_elses(api: ApiClient, team: Tenant, user: User) -> None:
    stays = user_make(team)
    with team_scope(team.context):
        patient_known(team, stays)
    for of in (user, user, stays):
        api.post(insurance(of), insurance_body())
    erased(team, user.id)
    with team_scope(team.context):
        assert [row.user_id for row in Insurance.objects.all()] == [stays.id]


def test_staff_see_that_there_is_one_and_not_what_it_says(api: ApiClient, team: Tenant, user: User) -> None:
    api.post(insurance(user), insurance_body())
    staff = Client()
    staff.force_login(StaffUser.objects.create_superuser(username="ada", email="", password="correct horse battery"))
    with system_scope(SystemScope.STAFF):
        row = Insurance.objects.get()
    page = staff.get(f"/admin/users/insurance/{row.pk}/change/").content.decode()
    assert str(user.id) in page
    assert "U1234567801" not in page
