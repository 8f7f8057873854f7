"""Reading summaries that are not lists of days: raw forms, the profile, meals and the other flat ones, devices."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from aggregation.catalogue import SUMMARIES, SUMMARY_BY_SLUG
from aggregation.constants import SOURCE_IDS
from aggregation.models import Summary
from aggregation.records import DataSource, SeriesBatch, SummaryRecord
from aggregation.registry import provider_name
from aggregation.services import health_data_store
from aggregation.shapes import device_uuid
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.scope import team_scope
from healthsvc.kernel.typing import JSONValue
from tests import factories
from tests.aggregation.samples import heartrates, us
from tests.aggregation.summaries import RING, changed, day, night, run
from tests.clients import ApiClient
from users.models import User

Store = Callable[..., None]

AT = datetime(2026, 3, 2, 8, tzinfo=UTC)
SINCE = {"start_date": "2026-03-01"}
ADDRESSES = [
    f"/v2/summary/{spec.path}/{{}}{end}"
    for spec in SUMMARIES
    for end in ("", "/raw")
    if (spec.has_raw if end else not spec.raw_only)
]


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team)


@pytest.fixture
def store(team: factories.Tenant, user: User) -> Store:
    def stored(*summaries: SummaryRecord, series: tuple[SeriesBatch, ...] = ()) -> None:
        with team_scope(team.context):
            result = health_data_store(team=team.context, user_id=user.id, series=series, summaries=summaries)
        assert result.refused == ()

    return stored


def record(
    resource: str,
    external_id: str,
    source: DataSource = RING,
    *,
    raw: dict[str, JSONValue] | None = None,
    **fields: Any,
) -> SummaryRecord:
    timed = bool(SUMMARY_BY_SLUG[resource].starts_field)
    start = AT if timed else None
    end = AT if SUMMARY_BY_SLUG[resource].ends_field else None
    return SummaryRecord(resource, source, external_id, date(2026, 3, 2), start, end, None, fields, raw)


def get(api: ApiClient, path: str, user: User, **query: str) -> Any:
    response = api.get(f"/v2/summary/{path.format(user.id)}", query)
    assert response.status_code == 200, response.content
    return response.json()


def test_the_addresses_are_those_of_the_reference() -> None:
    words = [address.removeprefix("/v2/summary/").replace("/{}", "") for address in ADDRESSES]
    assert sorted(words) == [
        "activity", "activity/raw", "body", "body/raw", "devices/raw", "electrocardiogram", "meal", "menstrual_cycle",
        "profile", "profile/raw", "sleep", "sleep/raw", "sleep_cycle", "workouts", "workouts/raw",
    ]  # fmt: skip


def test_raw_is_what_the_source_sent(api: ApiClient, team: factories.Tenant, user: User, store: Store) -> None:
    sent: dict[str, JSONValue] = {"sport_type": "Run", "nested": {"list": [1, None]}}
    watch = DataSource("garmin", "watch", device_id="left")
    store(changed(run(), source=watch, raw=sent))
    (workout,) = get(api, "workouts/{}/raw", user, **SINCE)["workouts"]
    with team_scope(team.context):
        row = Summary.objects.get()
    garmin = provider_name("garmin")
    assert workout == {
        "id": str(row.id),
        "user_id": str(user.id),
        "timestamp": "2026-03-02T17:00:00+00:00",
        "data": sent,
        "provider_id": "run-1",
        "source_id": SOURCE_IDS["garmin"],
        "priority_id": 0,
        "priority": None,
        "sport_id": 3,
        "sport": {"id": 3, "name": "Running", "slug": "running"},
        "source_device_id": str(device_uuid(user.id, "garmin", "left")),
        "source": {"name": garmin.name, "slug": "garmin", "logo": garmin.logo},
        "created_at": utc_text(row.created_at),
        "updated_at": utc_text(row.updated_at),
    }


def test_raw_without_a_raw_form_is_ours(api: ApiClient, user: User, store: Store) -> None:
    store(day(steps=4_000), night(), record("body", "scale-1", weight=70.5))
    (activity,) = get(api, "activity/{}/raw", user, **SINCE)["activity"]
    assert activity["data"]["steps"] == 4_000
    assert activity["timestamp"] == "2026-03-02T00:00:00+00:00"
    assert "sport" not in activity
    assert get(api, "sleep/{}/raw", user, **SINCE)["sleep"][0]["data"]["total"] == 27_000
    assert get(api, "body/{}/raw", user, **SINCE)["body"][0]["data"]["weight"] == 70.5
    assert get(api, "body/{}/raw", user, start_date="2026-03-03")["body"] == []
    assert get(api, "body/{}/raw", user, provider="garmin", **SINCE)["body"] == []


def test_the_profile_is_the_one_revised_last(api: ApiClient, team: factories.Tenant, user: User, store: Store) -> None:
    garmin = DataSource("garmin", "watch")
    store(record("profile", "me", height=180, gender="female", birth_date="1990-02-01", wheelchair_use=True))
    store(record("profile", "me", garmin, height=181, raw={"h": 1.81}))
    newest = get(api, "profile/{}", user)
    assert {name: newest[name] for name in ("height", "gender", "sex", "birth_date", "wheelchair_use")} == {
        "height": 181, "gender": None, "sex": None, "birth_date": None, "wheelchair_use": None,
    }  # fmt: skip
    assert (newest["source"]["provider"], "calendar_date" in newest) == ("garmin", False)
    oura = get(api, "profile/{}", user, provider="oura")
    assert {name: oura[name] for name in ("height", "gender", "birth_date", "wheelchair_use")} == {
        "height": 180, "gender": "female", "birth_date": "1990-02-01", "wheelchair_use": True,
    }  # fmt: skip
    store(record("profile", "me", height=182))
    assert get(api, "profile/{}", user)["height"] == 182
    with team_scope(team.context):
        row = Summary.objects.get(provider="garmin")
    named = provider_name("garmin")
    assert get(api, "profile/{}/raw", user, provider="garmin") == {
        "profile": {
            "id": str(row.id),
            "user_id": str(user.id),
            "data": {"h": 1.81},
            "source_id": SOURCE_IDS["garmin"],
            "priority_id": None,
            "source": {"name": named.name, "slug": "garmin", "logo": named.logo},
            "created_at": utc_text(row.created_at),
            "updated_at": utc_text(row.updated_at),
        }
    }


def test_without_a_profile_there_is_nothing(api: ApiClient, user: User, store: Store) -> None:
    store(record("profile", "me", height=180))
    for path in ("profile", "profile/raw"):
        resource, _, raw = path.partition("/")
        address = f"/v2/summary/{resource}/{user.id}" + ("/raw" if raw else "")
        response = api.get(address, {"provider": "garmin"})
        assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_a_meal_has_its_own_key_and_the_fields_of_older_clients(api: ApiClient, user: User, store: Store) -> None:
    energy = {"unit": "kcal", "value": 250.0}
    app = DataSource("my_fitness_pal_v2", "app", app_id="com.example", device_id="phone")
    store(record("meal", "lunch", app, name="Lunch", data={"Soup": {"energy": energy, "macros": {"carbs": 20.0}}}))
    answer = get(api, "meal/{}", user, **SINCE)
    (meal,) = answer["meals"]
    assert list(answer) == ["meals"]
    assert (meal["name"], meal["timestamp"], meal["calendar_date"]) == ("Lunch", utc_text(AT), "2026-03-02")
    assert (meal["energy"], meal["macros"], meal["micros"]) == (None, None, None)
    assert meal["data"]["Soup"]["energy"] == energy
    assert (meal["priority_id"], meal["source_id"], meal["provider_id"]) == (
        0,
        SOURCE_IDS["my_fitness_pal_v2"],
        meal["id"],
    )
    assert meal["source_app_id"] == "com.example"
    assert meal["source_device_id"] == str(device_uuid(user.id, "my_fitness_pal_v2", "phone"))


def test_a_cycle_repeats_its_source_and_has_empty_lists(api: ApiClient, user: User, store: Store) -> None:
    flows = [{"date": "2026-03-02", "flow": "light"}]
    store(record("menstrual_cycle", "cycle-1", period_start="2026-03-02", menstrual_flow=flows))
    (cycle,) = get(api, "menstrual_cycle/{}", user, **SINCE)["menstrual_cycle"]
    assert cycle["menstrual_flow"] == flows
    assert (cycle["sexual_activity"], cycle["basal_body_temperature"]) == ([], [])
    assert cycle["is_predicted"] is False
    flat = {name: cycle[f"source_{name}"] for name in ("provider", "type", "app_id", "device_id")}
    assert flat == {"provider": "oura", "type": "ring", "app_id": None, "device_id": None}
    assert {name: cycle["source"][name] for name in flat} == flat
    assert "calendar_date" not in cycle


def test_an_electrocardiogram_and_a_body_are_read(api: ApiClient, user: User, store: Store) -> None:
    store(
        record("electrocardiogram", "ecg-1", voltage_sample_count=15_360, classification="sinus_rhythm"),
        record("body", "scale-1", weight=70.5, fat=20.0),
    )
    (recording,) = get(api, "electrocardiogram/{}", user, **SINCE)["electrocardiogram"]
    assert (recording["session_start"], recording["voltage_sample_count"]) == (utc_text(AT), 15_360)
    assert recording["inconclusive_cause"] is None
    (body,) = get(api, "body/{}", user, **SINCE)["body"]
    assert (body["weight"], body["fat"], body["calendar_date"]) == (70.5, 20.0, "2026-03-02")


def test_devices_are_those_that_data_name_with_what_is_told_of_them(api: ApiClient, user: User, store: Store) -> None:
    ring, watch = DataSource("oura", "ring", device_id="ring-1"), DataSource("garmin", "watch", "com.app", "left")
    store(
        replace(day(), source=ring),
        record("device", "ring-1", ring, device_model="Gen 3"),
        series=(heartrates({us(2026, 3, 2): 60.0}, source=watch), heartrates({us(2026, 3, 2): 60.0})),
    )
    devices = get(api, "devices/{}/raw", user)["devices"]
    assert [(one["provider_id"], one["source"]["slug"]) for one in devices] == [("left", "garmin"), ("ring-1", "oura")]
    assert devices[0] == {
        "id": str(device_uuid(user.id, "garmin", "left")),
        "user_id": str(user.id),
        "provider_id": "left",
        "source_id": SOURCE_IDS["garmin"],
        "data": {"device_id": "left", "source_types": ["watch"], "app_ids": ["com.app"]},
        "source": {"name": provider_name("garmin").name, "slug": "garmin", "logo": provider_name("garmin").logo},
    }
    assert devices[1]["data"]["device_model"] == "Gen 3"
    assert [one["provider_id"] for one in get(api, "devices/{}/raw", user, provider="oura")["devices"]] == ["ring-1"]


def test_a_device_is_found_by_the_id_that_sources_show(
    api: ApiClient, other_api: ApiClient, user: User, store: Store
) -> None:
    ring, phone = DataSource("oura", "ring", device_id="ring-1"), DataSource("oura", "phone", "com.app", "ring-1")
    store(
        replace(day(), source=ring),
        record("device", "ring-1", ring, device_model="Gen 3"),
        series=(heartrates({us(2026, 3, 2): 60.0}, source=phone),),
    )
    (activity,) = get(api, "activity/{}", user, **SINCE)["activity"]
    address = f"/v2/user/{user.id}/device"
    device = api.get(f"{address}/{activity['source']['device_id']}").json()
    assert device == {
        "id": activity["source"]["device_id"],
        "user_id": str(user.id),
        "provider": "oura",
        "source_type": "multiple_sources",
        "app_id": "com.app",
        "device_id": "ring-1",
        "device_manufacturer": None,
        "device_model": "Gen 3",
        "device_version": None,
    }
    assert api.get(address).json() == [device]
    assert api.get(f"{address}/{uuid4()}").status_code == 404
    assert api.get(f"{address}/left").status_code == 422
    for path in (address, f"{address}/{device['id']}"):
        assert other_api.get(path).status_code == 404


@pytest.mark.parametrize("address", ADDRESSES)
def test_another_teams_user_is_no_user(other_api: ApiClient, user: User, store: Store, address: str) -> None:
    store(night(), day(), run(), record("profile", "me", height=180))
    missing = other_api.get(address.format(uuid4()), SINCE)
    response = other_api.get(address.format(user.id), SINCE)
    assert response.status_code == missing.status_code == 404
    assert {**response.json(), "request_id": ""} == {**missing.json(), "request_id": ""}


@pytest.mark.parametrize("address", [one for one in ADDRESSES if "profile" not in one and "devices" not in one])
def test_a_wrong_date_is_named(api: ApiClient, user: User, address: str) -> None:
    response = api.get(address.format(user.id), {"start_date": "2026-02-30"})
    assert response.status_code == 422
    assert [(one["loc"], one["type"]) for one in response.json()["detail"]] == [(["query", "start_date"], "date_type")]


def test_reads_cost_the_same_number_of_queries_for_one_and_five(api: ApiClient, user: User, store: Store) -> None:
    def fill(number: int) -> None:
        source = DataSource("oura", "ring", device_id=f"ring-{number}")
        records = [day(f"day-{number}", steps=number), night(f"night-{number}"), run(f"run-{number}")]
        records += [record("body", f"body-{number}", weight=70.0), record("device", f"ring-{number}", source)]
        store(*(replace(one, source=source) for one in records))

    paths = ["activity/{}", "activity/{}/raw", "sleep/{}/raw", "workouts/{}/raw", "body/{}/raw", "devices/{}/raw"]
    fill(0)
    for path in paths:
        get(api, path, user, **SINCE)
    counts = []
    for number in range(1, 6):
        with CaptureQueriesContext(connection) as captured:
            for path in paths:
                get(api, path, user, **SINCE)
        counts.append(len(captured))
        fill(number)
    assert counts == [counts[0]] * 5
