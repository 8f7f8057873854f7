"""Reading every kind of timeseries: each with its own fields, whatever the catalogue holds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from aggregation.catalogue import SERIES, SampleFieldKind, SeriesSpec
from aggregation.records import SeriesBatch, SummaryRecord
from aggregation.services import health_data_store
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.kinds import one_of, typed
from tests.aggregation.samples import WATCH, us
from tests.aggregation.summaries import changed, run
from tests.clients import ApiClient
from users.models import User

BASE_US = us(2026, 3, 2, 17)
START = "2026-03-02T17:00:00+00:00"
KEPT = [spec for spec in SERIES if not spec.is_older]
#: What every sample of an interval has.
SPAN = {"timestamp": START, "start": START, "timezone_offset": 0}

Store = Callable[..., None]
Groups = list[dict[str, Any]]


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team)


@pytest.fixture
def store(team: factories.Tenant, user: User) -> Store:
    def stored(*series: SeriesBatch, summaries: tuple[SummaryRecord, ...] = ()) -> None:
        with team_scope(team.context):
            result = health_data_store(team=team.context, user_id=user.id, series=series, summaries=summaries)
        assert result.refused == ()

    return stored


def groups(api: ApiClient, user: User, path: str) -> Groups:
    response = api.get(f"/v2/timeseries/{user.id}/{path}/grouped", {"start_date": "2026-03-01"})
    assert response.status_code == 200, response.content
    found: Groups = response.json()["groups"].get("oura", [])
    return found


def samples(api: ApiClient, user: User, path: str) -> list[dict[str, Any]]:
    """The samples, which the ungrouped read answers too."""
    found = [sample for group in groups(api, user, path) for sample in group["data"]]
    flat = api.get(f"/v2/timeseries/{user.id}/{path}", {"start_date": "2026-03-01"})
    assert flat.json() == sorted(found, key=lambda sample: str(sample["timestamp"]))
    assert flat["Deprecation"]
    return found


@pytest.mark.parametrize("spec", KEPT, ids=[spec.slug for spec in KEPT])
def test_every_resource_is_read_with_all_its_fields(api: ApiClient, user: User, store: Store, spec: SeriesSpec) -> None:
    store(one_of(spec, WATCH, BASE_US))
    (sample,) = samples(api, user, spec.path)
    names = {"timestamp", "timezone_offset", "type", "unit"} | ({"start", "end"} if spec.is_interval else set())
    names |= {"value"} if spec.has_value else set()
    assert set(sample) == names | {"value" if field.is_text_value else field.name for field in spec.fields}
    assert (sample["timestamp"], sample["unit"]) == (START, spec.unit)
    shown = [sample["value" if field.is_text_value else field.name] for field in spec.fields]
    lists = [isinstance(value, list) for value in shown]
    assert lists == [field.kind is SampleFieldKind.TEXTS for field in spec.fields]
    assert None not in shown


def test_blood_pressure_has_two_numbers_and_no_value(api: ApiClient, user: User, store: Store) -> None:
    store(
        typed("blood_pressure", WATCH, BASE_US, fields={"systolic": np.array([120.5]), "diastolic": np.array([80.0])})
    )
    assert samples(api, user, "blood_pressure") == [
        {
            "timestamp": START,
            "timezone_offset": 0,
            "type": None,
            "unit": "mmHg",
            "systolic": 120.5,
            "diastolic": 80.0,
        }
    ]


def test_a_note_is_a_text_with_tags(api: ApiClient, user: User, store: Store) -> None:
    store(
        typed("note", WATCH, BASE_US, minutes=5, fields={"content": ["Soup.", "Ran."], "tags": ["food,exercise", None]})
    )
    first, second = samples(api, user, "note")
    assert first == {
        **SPAN,
        "end": "2026-03-02T17:05:00+00:00",
        "type": None,
        "unit": first["unit"],
        "value": "Soup.",
        "tags": ["food", "exercise"],
    }
    assert (second["value"], second["tags"]) == ("Ran.", None)


def test_a_field_that_a_sample_has_not_is_null(api: ApiClient, user: User, store: Store) -> None:
    store(
        typed("body_temperature", WATCH, BASE_US, value=36.6, minutes=1, fields={"sensor_location": ["mouth", None]}),
        typed("workout_duration", WATCH, BASE_US, value=30.0, minutes=30),
        typed(
            "insulin_injection",
            WATCH,
            BASE_US,
            value=4.0,
            minutes=1,
            types=["long_acting"],
            fields={"bolus_purpose": ["meal"]},
        ),
    )
    temperatures = samples(api, user, "body_temperature")
    assert [(one["value"], one["sensor_location"]) for one in temperatures] == [(36.6, "mouth"), (36.6, None)]
    assert [one["intensity"] for one in samples(api, user, "workout_duration")] == [None]
    (injection,) = samples(api, user, "insulin_injection")
    assert {name: injection[name] for name in ("type", "delivery_mode", "delivery_form", "bolus_purpose")} == {
        "type": "long_acting",
        "delivery_mode": None,
        "delivery_form": None,
        "bolus_purpose": "meal",
    }


def test_one_kind_of_cholesterol_has_an_address_of_its_own(api: ApiClient, user: User, store: Store) -> None:
    store(typed("cholesterol", WATCH, BASE_US, value=2.5, types=["ldl", "hdl", "ldl"]))
    assert [one["type"] for one in samples(api, user, "cholesterol")] == ["ldl", "hdl", "ldl"]
    assert [one["timestamp"] for one in samples(api, user, "cholesterol/ldl")] == [START, "2026-03-02T17:02:00+00:00"]
    assert len(samples(api, user, "cholesterol/hdl")) == 1
    assert samples(api, user, "cholesterol/triglycerides") == []
    unknown = api.get(f"/v2/timeseries/{user.id}/cholesterol/vldl/grouped", {"start_date": "2026-03-01"})
    assert unknown.status_code == 404


def test_a_cursor_is_of_one_type_only(
    api: ApiClient, user: User, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aggregation.api.timeseries.PAGE_SAMPLES_MAXIMUM", 2)
    store(typed("cholesterol", WATCH, BASE_US, value=2.5, types=["ldl", "hdl", "ldl", "ldl"]))
    path = f"/v2/timeseries/{user.id}/cholesterol/ldl/grouped"
    query, found = {"start_date": "2026-03-01"}, 0
    while True:
        page = api.get(path, query).json()
        found += sum(len(group["data"]) for listed in page["groups"].values() for group in listed)
        if page["next_cursor"] is None:
            break
        query["next_cursor"] = page["next_cursor"]
    assert found == 3
    whole = api.get(path.replace("/ldl", ""), query)
    assert whole.status_code == 422


def test_samples_of_a_workout_name_it_and_its_sport(api: ApiClient, user: User, store: Store) -> None:
    store(summaries=(run("run-1"), changed(run("ride-1"), fields={"sport": "cycling", "provider_id": "ride-1"})))
    hour_us = 3_600_000_000
    store(
        typed("distance", WATCH, BASE_US, value=100.0, minutes=1, workout="run-1"),
        typed("distance", WATCH, BASE_US + hour_us, value=200.0, minutes=1),
        typed("distance", WATCH, BASE_US + 2 * hour_us, value=300.0, minutes=1, workout="ride-1"),
        typed("distance", WATCH, BASE_US + 3 * hour_us, value=400.0, minutes=1, workout="run-1"),
    )
    answer = api.get(f"/v2/summary/workouts/{user.id}", {"start_date": "2026-03-01"})
    ids = {workout["provider_id"]: workout["id"] for workout in answer.json()["workouts"]}
    shown = {
        group["source"]["workout_id"]: (group["source"]["sport"], [sample["value"] for sample in group["data"]])
        for group in groups(api, user, "distance")
    }
    assert shown == {
        None: (None, [200.0]),
        ids["run-1"]: ("running", [100.0, 400.0]),
        ids["ride-1"]: ("cycling", [300.0]),
    }
    assert len(samples(api, user, "distance")) == 4
