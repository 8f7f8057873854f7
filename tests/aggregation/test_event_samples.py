"""The samples of health events are such as a person's day brings, and their meanings say what has happened."""

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from aggregation.apple_health.polylines import encoded
from aggregation.catalogue import RESOURCES, SERIES, SUMMARIES, SeriesSpec
from aggregation.registry import provider_name
from links.catalogue import catalogue
from tests.invariants.test_code import ROOT
from webhooks.registry import EXAMPLE_USER_ID, EventGroup, event_types

HEALTH = sorted(name for name in event_types() if name.startswith(("daily.", "historical.", "provider.device.")))


def sample(name: str) -> Any:
    """What an event's sample carries."""
    return event_types()[name].sample


def created(resource: str) -> Any:
    """What the sample of new data of a resource carries."""
    return sample(f"daily.data.{resource}.created")


def values_of(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with the name it has."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from values_of(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from values_of(inner, name)
    else:
        yield name, value


def instants_of(value: Any) -> dict[str, datetime]:
    """The instants in a sample by their names."""
    return {
        name: datetime.fromisoformat(text)
        for name, text in values_of(value)
        if isinstance(text, str) and len(text) == 25 and text.endswith("+00:00")
    }


def test_the_stages_of_the_night_add_up() -> None:
    night, stages = created("sleep"), created("sleep_cycle")
    asleep = night["light"] + night["rem"] + night["deep"]
    times = instants_of(night)
    assert (times["bedtime_stop"] - times["bedtime_start"]).total_seconds() == night["duration"] == 29_520
    assert (asleep, asleep + night["awake"]) == (night["total"], night["duration"])
    assert night["efficiency"] == round(100 * night["total"] / night["duration"], 1)
    assert night["hr_lowest"] <= night["hr_resting"] <= night["hr_average"]
    assert (stages["sleep_id"], stages["session_start"], stages["session_end"]) == (
        night["id"], night["bedtime_start"], night["bedtime_stop"],
    )  # fmt: skip
    assert stages["stage_start_offset_second"] == [0, *stages["stage_end_offset_second"][:-1]]
    lasted = dict.fromkeys((1, 2, 3, 4), 0)
    ends = [0, *stages["stage_end_offset_second"]]
    for stage, (start, end) in zip(stages["stage_type"], pairwise(ends), strict=True):
        lasted[stage] += end - start
    assert lasted == {1: night["deep"], 2: night["light"], 3: night["rem"], 4: night["awake"]}
    assert (stages["stage_type"][0], ends[1]) == (4, night["latency"])


def test_the_day_holds_the_workout() -> None:
    day, run, stream = created("activity"), created("workouts"), created("workout_stream")
    times = instants_of(run)
    assert sum(run["hr_zones"]) == (times["time_end"] - times["time_start"]).total_seconds() >= run["moving_time"]
    assert run["average_speed"] == round(run["distance"] / run["moving_time"], 2) <= run["max_speed"]
    assert run["average_hr"] < run["max_hr"] <= day["heart_rate"]["max_bpm"]
    assert run["elev_low"] < run["elev_high"]
    for name, whole in (("steps", "steps"), ("distance", "distance"), ("calories", "calories_active")):
        assert run[name] < day[whole], name
    assert day["calendar_date"] == times["time_start"].date().isoformat() == run["calendar_date"]
    assert (stream["workout_id"], stream["provider_id"], stream["sport"]) == (
        run["id"],
        run["provider_id"],
        run["sport"],
    )
    first = encoded(np.array([52.5145]), np.array([13.35012]))
    assert run["map"]["polyline"].startswith(first)
    assert run["map"]["summary_polyline"].startswith(first)


def test_the_body_is_one_body() -> None:
    body, metres = created("body"), created("profile")["height"] / 100
    assert body["body_mass_index"] == round(body["weight"] / metres**2, 1)
    assert body["lean_body_mass_kilogram"] == round(body["weight"] * (1 - body["fat"] / 100), 1)
    named = {
        "weight": "weight",
        "fat": "fat",
        "lean_body_mass": "lean_body_mass_kilogram",
        "body_mass_index": "body_mass_index",
        "waist_circumference": "waist_circumference_centimeter",
    }
    assert {slug: created(slug)["data"][0]["value"] for slug in named} == {
        slug: body[name] for slug, name in named.items()
    }


def numbers_of(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], float]:
    """Every number by where it stands."""
    if not isinstance(value, dict):
        return {} if not isinstance(value, float) else {path: value}
    return {at: number for key, inner in value.items() for at, number in numbers_of(inner, (*path, key)).items()}


def test_a_meal_is_the_sum_of_its_foods() -> None:
    meal = created("meal")
    summed: dict[tuple[str, ...], float] = {}
    for food in meal["data"].values():
        for at, number in numbers_of(food).items():
            summed[at] = summed.get(at, 0.0) + number
    whole = numbers_of({name: meal[name] for name in ("energy", "macros", "micros")})
    assert summed == pytest.approx(whole)
    macros = meal["macros"]
    kilocalories = 4 * (macros["carbs"] + macros["protein"]) + 9 * macros["fats"]["total"]
    assert meal["energy"]["value"] == pytest.approx(kilocalories, rel=0.02)


def test_the_electrocardiogram_has_as_many_voltages_as_its_time_and_frequency_say() -> None:
    recording = created("electrocardiogram")
    times = instants_of(recording)
    seconds = (times["session_end"] - times["session_start"]).total_seconds()
    assert recording["voltage_sample_count"] == seconds * recording["sampling_frequency_hz"]
    assert recording["heart_rate_mean"] == created("heartrate")["data"][0]["value"]


@pytest.mark.parametrize("name", HEALTH)
def test_a_sample_tells_of_what_was_before_it_was_stored(name: str) -> None:
    times = instants_of(sample(name))
    stored_at = times.pop("created_at", datetime.fromisoformat("2026-03-02T06:10:00+00:00"))
    revised_at = times.pop("updated_at", stored_at)
    assert (revised_at > stored_at) == (name.endswith(".updated") and "updated_at" in sample(name))
    assert all(moment <= stored_at for moment in times.values()), times
    starts = [text for text in times if "start" in text]
    ends = [text for text in times if "end" in text or "stop" in text]
    for start, end in zip(starts, ends, strict=True):
        assert times[start] < times[end], name


def test_every_id_is_of_one_thing() -> None:
    summaries = [created(spec.slug)["id"] for spec in SUMMARIES if not spec.raw_only]
    device = sample("provider.device.created")
    assert device["device_id"] == device["id"] == created("sleep")["source"]["device_id"]
    users = {
        sample(name)["user_id"] for name in event_types() if name.split(".")[0] in ("daily", "historical", "provider")
    }
    assert users == {str(EXAMPLE_USER_ID)}
    ids = [*summaries, device["id"], *users, sample("webhook.test")["endpoint_id"]]
    assert len({UUID(one) for one in ids}) == len(ids)


@pytest.mark.parametrize("name", HEALTH)
def test_a_sample_comes_from_a_provider_that_has_such_data(name: str) -> None:
    data = sample(name)
    source = data.get("source")
    slug = data["provider"] if source is None else source["provider"]
    resource = "device" if name.startswith("provider.device.") else name.split(".")[2]
    providers = {one for one, known in catalogue().items() if resource in known.resources}
    assert slug in (providers or catalogue())
    if source is not None:
        assert (source["slug"], source["name"]) == (slug, provider_name(slug).name)
        assert source["logo"] == f"https://health.example/static/links/logos/{slug}.svg"
        assert (ROOT / f"static/links/logos/{slug}.svg").is_file()


def test_values_are_those_of_an_ordinary_day() -> None:
    shown = {spec.slug: created(spec.slug)["data"][0].get("value") for spec in SERIES if not spec.is_older}
    assert (shown["glucose"], shown["body_temperature"], shown["heartrate"], shown["steps"]) == (5.4, 36.6, 62.0, 96.0)
    pressure = created("blood_pressure")["data"][0]
    assert (pressure["systolic"], pressure["diastolic"]) == (118.0, 76.0)
    for slug in ("stand_duration", "workout_duration", "mindfulness_minutes", "daylight_exposure"):
        one = created(slug)["data"][0]
        span = datetime.fromisoformat(one["end"]) - datetime.fromisoformat(one["start"])
        assert one["value"] <= span.total_seconds() / 60, slug


def test_a_meaning_says_what_has_happened_to_what() -> None:
    known = event_types()
    share = "Share of the time in which the heart was in atrial fibrillation"
    assert [known[f"daily.data.afib_burden.{word}"].meaning for word in ("created", "updated")] == [
        f"{share}: new values.",
        f"{share}: values that are different now.",
    ]
    assert known["daily.data.afib_burden.created"].subject == f"{share}."
    assert known["historical.data.weight.created"].meaning == (
        "Body weight: the first backfill has ended, and what it brought can be read."
    )
    assert (
        known["daily.data.body.created"].meaning == "Measurements of the body, such as those of a scale: a new summary."
    )
    assert known["daily.data.distance.created"].subject == "Distance walked, run or wheeled between start and end."
    assert len({known[name].meaning for name in HEALTH}) == len(HEALTH)


def test_every_resource_is_in_the_group_of_its_kind() -> None:
    known = event_types()
    for spec in RESOURCES:
        if f"historical.data.{spec.slug}.created" in known:
            group = EventGroup.SERIES if isinstance(spec, SeriesSpec) else EventGroup.SUMMARIES
            for word in ("created", "updated"):
                assert known[f"daily.data.{spec.slug}.{word}"].group is group
            assert known[f"historical.data.{spec.slug}.created"].group is EventGroup.HISTORICAL
    others = {name: one.group for name, one in known.items() if not name.startswith(("daily.", "historical."))}
    assert others == {
        name: EventGroup.CONNECTIONS if name.startswith("provider.") else EventGroup.WEBHOOKS for name in others
    }
