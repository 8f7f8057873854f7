"""PATCH /v2/user/{user_id}/info and GET …/info/latest."""

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test import Client

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from management.models import AccessRecord, StaffUser
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.users.patients import REQUIRED, address_body, guarantor_body, patient_body
from users.models import Demographics, User


@pytest.fixture
def user(team: Tenant) -> User:
    """A user of ours."""
    return user_make(team)


def info(user: User) -> str:
    """Where their demographics are written."""
    return f"/v2/user/{user.id}/info"


def test_demographics_are_told_and_read(api: ApiClient, user: User) -> None:
    answer = api.patch(info(user), patient_body())
    assert answer.status_code == 200
    proxy = guarantor_body(address=address_body(second_line=""))
    assert answer.json() == patient_body(medical_proxy=proxy)
    assert api.get(f"{info(user)}/latest").json() == answer.json()


def test_what_is_optional_may_be_left_out_and_is_null_then(api: ApiClient, user: User) -> None:
    body = {name: value for name, value in patient_body().items() if name in REQUIRED}
    body["address"] = {
        "first_line": "1 Elm St.",
        "city": "Reno",
        "state": "nv",
        "zip_code": "89501-1234",
    }
    assert api.patch(info(user), body).json() == {
        **body,
        "address": {
            "first_line": "1 Elm St.",
            "second_line": "",
            "city": "Reno",
            "state": "NV",
            "zip": "89501-1234",
            "country": "US",
            "access_notes": None,
        },
        "medical_proxy": None,
        "race": None,
        "ethnicity": None,
        "sexual_orientation": None,
        "gender_identity": None,
    }


def test_white_space_around_is_taken_off_and_other_spellings_are_taken(api: ApiClient, user: User) -> None:
    body = patient_body(
        first_name="  Jane ",
        email=" jane@example.com ",
        dob="1999-01-01T00:00:00Z",
        address=address_body(country="usa", state=" ca "),
    )
    answer = api.patch(info(user), body).json()
    assert (answer["first_name"], answer["email"], answer["dob"]) == ("Jane", "jane@example.com", "1999-01-01")
    assert (answer["address"]["country"], answer["address"]["state"]) == ("US", "CA")


def test_the_last_word_counts_whole(api: ApiClient, team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = [datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC)]
    monkeypatch.setattr(clock, "now", lambda: moments[0])
    api.patch(info(user), patient_body())
    monkeypatch.setattr(clock, "now", lambda: moments[1])
    api.patch(info(user), patient_body(first_name="Janet", race=None, medical_proxy=None))
    latest = api.get(f"{info(user)}/latest").json()
    assert (latest["first_name"], latest["race"], latest["medical_proxy"]) == ("Janet", None, None)
    with team_scope(team.context):
        row = Demographics.objects.get()
    assert [row.created_at, row.updated_at] == moments


@pytest.mark.parametrize("name", REQUIRED)
def test_every_required_field_is_wanted_each_time(api: ApiClient, user: User, name: str) -> None:
    api.patch(info(user), patient_body())
    body = patient_body(first_name="Janet")
    del body[name]
    refused = api.patch(info(user), body)
    assert refused.status_code == 422
    assert [(one["loc"], one["type"]) for one in refused.json()["detail"]] == [(["body", name], "missing")]
    assert api.patch(info(user), {**body, name: None}).json()["detail"][0]["type"] == "null_forbidden"
    assert api.get(f"{info(user)}/latest").json()["first_name"] == "Jane"


@pytest.mark.parametrize(
    ("values", "loc"),
    [
        ({"first_name": "Zoë"}, ["first_name"]),
        ({"last_name": "Doe  Smith"}, ["last_name"]),
        ({"last_name": "x" * 51}, ["last_name"]),
        ({"first_name": "Jane\nSmith"}, ["first_name"]),
        ({"first_name": 7}, ["first_name"]),
        ({"email": "jane at example"}, ["email"]),
        ({"email": f"{'j' * 250}@example.com"}, ["email"]),
        ({"phone_number": "555-0123"}, ["phone_number"]),
        ({"phone_number": "1234567890123456"}, ["phone_number"]),
        ({"phone_number": "555012345six"}, ["phone_number"]),
        ({"phone_number": "٥٥٥٠١٢٣٤٥٦"}, ["phone_number"]),
        ({"gender": ""}, ["gender"]),
        ({"gender": "x" * 51}, ["gender"]),
        ({"gender": "fe\tmale"}, ["gender"]),
        ({"dob": "1999-13-01"}, ["dob"]),
        ({"dob": "3000-01-01"}, ["dob"]),
        ({"dob": "1899-12-31"}, ["dob"]),
        ({"address": "123 Main St."}, ["address"]),
        ({"address": address_body(state="ZZ")}, ["address", "state"]),
        ({"address": address_body(state="California")}, ["address", "state"]),
        ({"address": address_body(zip="9410")}, ["address", "zip"]),
        ({"address": address_body(zip="94105-12")}, ["address", "zip"]),
        ({"address": address_body(zip_code="94106")}, ["address", "zip_code"]),
        ({"address": address_body(zip=None)}, ["address", "zip"]),
        ({"address": address_body(country="GB")}, ["address", "country"]),
        ({"address": address_body(first_line="")}, ["address", "first_line"]),
        ({"address": address_body(city="A\x00B")}, ["address", "city"]),
        ({"address": address_body(access_notes="x" * 1_001)}, ["address", "access_notes"]),
        ({"medical_proxy": guarantor_body(first_name="-")}, ["medical_proxy", "first_name"]),
        ({"medical_proxy": guarantor_body(address=address_body(zip="1"))}, ["medical_proxy", "address", "zip"]),
        ({"medical_proxy": guarantor_body(household_size=0)}, ["medical_proxy", "household_size"]),
        ({"medical_proxy": guarantor_body(household_income=-1)}, ["medical_proxy", "household_income"]),
        ({"race": "purple"}, ["race"]),
        ({"ethnicity": 1}, ["ethnicity"]),
        ({"sexual_orientation": ""}, ["sexual_orientation"]),
        ({"gender_identity": ["male"]}, ["gender_identity"]),
    ],
)
def test_what_labs_can_not_use_is_refused_and_not_repeated(
    api: ApiClient, team: Tenant, user: User, values: dict[str, object], loc: list[str]
) -> None:
    refused = api.patch(info(user), patient_body(**values))
    assert refused.status_code == 422
    assert [one["loc"] for one in refused.json()["detail"]] == [["body", *loc]]
    wrong = values[loc[0]]
    assert not isinstance(wrong, str) or len(wrong) < 2 or wrong not in refused.content.decode()
    with team_scope(team.context):
        assert Demographics.objects.count() == 0


def test_a_zip_code_is_wanted_under_one_of_its_names(api: ApiClient, user: User) -> None:
    address = address_body()
    del address["zip"]
    refused = api.patch(info(user), patient_body(address=address)).json()["detail"]
    assert [(one["loc"], one["type"]) for one in refused] == [(["body", "address", "zip"], "missing")]


def test_nothing_told_and_nobody_there_are_told_apart(api: ApiClient, other_team: Tenant, user: User) -> None:
    answer = api.get(f"{info(user)}/latest")
    assert (answer.status_code, answer.json()["detail"]) == (404, "User demographics data not found")
    for path in (info(user_make(other_team)), "/v2/user/00000000-0000-4000-8000-000000000000/info"):
        for answer in (api.get(f"{path}/latest"), api.patch(path, patient_body())):
            assert (answer.status_code, answer.json()["detail"]) == (404, "User not found")


def test_a_user_on_the_way_out_is_told_of(api: ApiClient, team: Tenant, user: User) -> None:
    api.patch(info(user), patient_body())
    with team_scope(team.context):
        User.objects.filter(pk=user.pk).update(deleted_at=clock.now())
    for answer in (
        api.get(f"/v2/user/{user.id}"),
        api.patch(f"/v2/user/{user.id}", {"fallback_time_zone": "UTC"}),
        api.get(f"{info(user)}/latest"),
        api.patch(info(user), patient_body()),
    ):
        assert (answer.status_code, answer.json()["detail"]) == (404, "You have scheduled this user for deletion.")
    assert api.get("/v2/user/00000000-0000-4000-8000-000000000000").json()["detail"] == "Not found"


def test_nothing_of_it_is_readable_in_the_table(api: ApiClient, user: User, team: Tenant) -> None:
    api.patch(info(user), patient_body())
    with team_scope(team.context), connection.cursor() as cursor:
        cursor.execute("SELECT users_demographics::text, details FROM users_demographics")
        ((row, details),) = cursor.fetchall()
    for word in ("Jane", "Doe", "jane@example.com", "5550123456", "1999", "Main"):
        assert word not in row
        assert word.encode() not in bytes(details)


def test_staff_see_that_there_is_something_but_not_what(api: ApiClient, team: Tenant, user: User) -> None:
    api.patch(info(user), patient_body())
    staff = Client()
    staff.force_login(StaffUser.objects.create(username="staff", is_staff=True, is_superuser=True))
    with team_scope(team.context):
        row = Demographics.objects.get()
    for page in ("", f"?q={user.id}", f"{row.pk}/change/"):
        text = staff.get(f"/admin/users/demographics/{page}").content.decode()
        assert str(row.pk) in text
        assert "jane@example.com" not in text
    assert staff.post(f"/admin/users/demographics/{row.pk}/change/", {}).status_code == 403
    with team_scope(team.context):
        found = AccessRecord.objects.filter(actor_kind="staff", action__startswith="GET").order_by("pk")
        lists, (record,) = found.filter(user_id=None), found.exclude(user_id=None)
        assert [one.object_ids for one in lists] == [{"user_ids": [str(user.id)]}] * 2
    assert record.user_id == user.id
