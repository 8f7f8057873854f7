"""The catalogue against the API's tables, and its conversions against exact fractions."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregation import constants
from aggregation.catalogue import (
    RESOURCES,
    SERIES,
    SERIES_BY_SLUG,
    STREAMS,
    SUMMARIES,
    SUMMARY_BY_SLUG,
    FieldKind,
    FieldSpec,
    SampleFieldKind,
    SeriesKind,
    SeriesSpec,
    SummarySpec,
    canonical_values,
)
from aggregation.sports import SPORT_BY_SLUG, SPORTS

#: Path to unit, by kind, as the API has them.
DISCRETE = {
    "blood_oxygen": "%", "body_fat": "%", "body_weight": "kg", "cholesterol": "mmol/L",
    "electrocardiogram_voltage": "mV", "glucose": "mmol/L", "heartrate": "bpm", "hrv": "rmssd", "ige": "FSU",
    "igg": "FSU", "respiratory_rate": "bpm", "stress_level": "%",
}  # fmt: skip
INTERVAL = {
    "afib_burden": "%", "basal_body_temperature": "°C", "body_mass_index": "index", "caffeine": "g",
    "calories_active": "kcal", "calories_basal": "kcal", "carbohydrates": "g", "daylight_exposure": "min",
    "distance": "m", "fall": "count", "floors_climbed": "count", "forced_expiratory_volume_1": "L",
    "forced_vital_capacity": "L", "handwashing": "count", "heart_rate_alert": "count",
    "heart_rate_recovery_one_minute": "count", "hypnogram": "stage", "inhaler_usage": "count", "lean_body_mass": "kg",
    "mindfulness_minutes": "min", "peak_expiratory_flow_rate": "L/min", "sleep_apnea_alert": "count",
    "sleep_breathing_disturbance": "count", "stand_duration": "min", "stand_hour": "count", "steps": "count",
    "uv_exposure": "index", "vo2_max": "mL/kg/min", "waist_circumference": "cm", "water": "ml",
    "wheelchair_push": "count", "workout_distance": "m", "workout_swimming_stroke": "count",
}  # fmt: skip
OTHERS = {
    "blood_pressure": ("mmHg", SeriesKind.BLOOD_PRESSURE),
    "body_temperature": ("°C", SeriesKind.TEMPERATURE),
    "body_temperature_delta": ("°C", SeriesKind.TEMPERATURE),
    "insulin_injection": ("unit", SeriesKind.INSULIN_INJECTION),
    "note": ("text", SeriesKind.NOTE),
    "workout_duration": ("min", SeriesKind.WORKOUT_DURATION),
}

SAME = Fraction(1), Fraction(0)
#: Resource's unit to accepted unit to (factor, addend), from the definitions of the units.
FACTORS: Mapping[str, Mapping[str, tuple[Fraction, Fraction]]] = {
    "bpm": {
        **dict.fromkeys(["count/min", "/min", "beats/min", "breaths/min"], SAME),
        **dict.fromkeys(["count/s", "Hz", "/s"], (Fraction(60), Fraction(0))),
    },
    "rmssd": {"ms": SAME, "s": (Fraction(1000), Fraction(0))},
    "%": {"percent": SAME, "fraction": (Fraction(100), Fraction(0))},
    "mmHg": {"mm[Hg]": SAME, "kPa": (1000 / Fraction("133.322387415"), Fraction(0))},
    "mV": {
        "V": (Fraction(1000), Fraction(0)),
        **dict.fromkeys(["mcV", "uV", "µV", "μV"], (Fraction(1, 1000), Fraction(0))),
    },
    "mmol/L": dict.fromkeys(["mg/dL", "mg/dl"], (1 / Fraction("18.0156"), Fraction(0))),
    "m": {
        "km": (Fraction(1000), Fraction(0)),
        "cm": (Fraction(1, 100), Fraction(0)),
        "mm": (Fraction(1, 1000), Fraction(0)),
        "mi": (Fraction("1609.344"), Fraction(0)),
        "yd": (Fraction("0.9144"), Fraction(0)),
        "ft": (Fraction("0.3048"), Fraction(0)),
        "in": (Fraction("0.0254"), Fraction(0)),
    },
    "cm": {
        "m": (Fraction(100), Fraction(0)),
        "mm": (Fraction(1, 10), Fraction(0)),
        **dict.fromkeys(["in", "[in_i]"], (Fraction("2.54"), Fraction(0))),
        **dict.fromkeys(["ft", "[ft_i]"], (Fraction("30.48"), Fraction(0))),
    },
    "kcal": {
        "Cal": SAME,
        "cal": (Fraction(1, 1000), Fraction(0)),
        "kJ": (1 / Fraction("4.184"), Fraction(0)),
        "J": (1 / Fraction(4184), Fraction(0)),
    },
    "mL/kg/min": dict.fromkeys(["ml/kg/min", "mL/min·kg", "mL/kg·min", "ml/(min.kg)", "mL/(kg.min)"], SAME),
    "min": {
        **dict.fromkeys(["minute", "minutes"], SAME),
        "s": (Fraction(1, 60), Fraction(0)),
        **dict.fromkeys(["h", "hr"], (Fraction(60), Fraction(0))),
    },
    "kg": {
        "g": (Fraction(1, 1000), Fraction(0)),
        **dict.fromkeys(["lb", "lbs", "[lb_av]"], (Fraction("0.45359237"), Fraction(0))),
        **dict.fromkeys(["oz", "[oz_av]"], (Fraction("0.45359237") / 16, Fraction(0))),
        "st": (Fraction("0.45359237") * 14, Fraction(0)),
    },
    "g": {
        "kg": (Fraction(1000), Fraction(0)),
        "mg": (Fraction(1, 1000), Fraction(0)),
        **dict.fromkeys(["mcg", "ug", "µg", "μg"], (Fraction(1, 1_000_000), Fraction(0))),
        **dict.fromkeys(["oz", "[oz_av]"], (Fraction("453.59237") / 16, Fraction(0))),
    },
    "°C": {
        **dict.fromkeys(["degC", "Cel", "C"], SAME),
        **dict.fromkeys(["°F", "degF", "[degF]", "F"], (Fraction(5, 9), Fraction(-160, 9))),
        "K": (Fraction(1), -Fraction("273.15")),
    },
    "L": {"l": SAME, **dict.fromkeys(["mL", "ml"], (Fraction(1, 1000), Fraction(0)))},
    "L/min": {
        **dict.fromkeys(["L/s", "l/s"], (Fraction(60), Fraction(0))),
        **dict.fromkeys(["mL/min", "ml/min"], (Fraction(1, 1000), Fraction(0))),
    },
    "ml": {
        "mL": SAME,
        **dict.fromkeys(["L", "l"], (Fraction(1000), Fraction(0))),
        **dict.fromkeys(["cL", "cl"], (Fraction(10), Fraction(0))),
        # A US gallon is 231 cubic inches, an imperial one 4.54609 L.
        **dict.fromkeys(["fl_oz_us", "[foz_us]"], (231 * Fraction("16.387064") / 128, Fraction(0))),
        **dict.fromkeys(["cup_us", "[cup_us]"], (231 * Fraction("16.387064") / 16, Fraction(0))),
        **dict.fromkeys(["pt_us", "[pt_us]"], (231 * Fraction("16.387064") / 8, Fraction(0))),
        **dict.fromkeys(["fl_oz_imp", "[foz_br]"], (Fraction("4546.09") / 160, Fraction(0))),
        **dict.fromkeys(["pt_imp", "[pt_br]"], (Fraction("4546.09") / 8, Fraction(0))),
    },
    "unit": dict.fromkeys(["IU", "U", "units", "[iU]"], SAME),
    "index": dict.fromkeys(["kg/m2", "kg/m²", "count"], SAME),
    "count": dict.fromkeys(["bpm", "count/min"], SAME),
}
#: Differences of temperatures have no zero to shift.
DIFFERENCES = {
    **dict.fromkeys(["degC", "Cel", "C", "K"], SAME),
    **dict.fromkeys(["°F", "degF", "[degF]", "F"], (Fraction(5, 9), Fraction(0))),
}
CONVERSIONS = [(spec, unit) for spec in SERIES for unit in spec.accepted]


def exact(spec: SeriesSpec, unit: str) -> tuple[Fraction, Fraction]:
    table = DIFFERENCES if spec.slug == "body_temperature_delta" else FACTORS[spec.unit]
    return table[unit]


def converted(spec: SeriesSpec, value: float, unit: str, type_: str | None = None) -> float:
    values = canonical_values(spec, np.array([value]), unit, type_)
    assert values is not None
    return float(values[0])


def test_the_timeseries_are_those_of_the_api_with_its_units_and_kinds() -> None:
    found = {spec.path: (spec.unit, spec.kind) for spec in SERIES}
    assert found == {
        **{path: (unit, SeriesKind.DISCRETE) for path, unit in DISCRETE.items()},
        **{path: (unit, SeriesKind.INTERVAL) for path, unit in INTERVAL.items()},
        **OTHERS,
    }
    assert len(SERIES) == 51
    assert {spec.slug: spec.path for spec in SERIES if spec.slug != spec.path} == {
        "weight": "body_weight",
        "fat": "body_fat",
    }
    assert [spec.slug for spec in SERIES if spec.is_older] == ["hypnogram"]


def test_sixty_resources_have_events() -> None:
    told = [spec.slug for spec in SERIES if not spec.is_older] + [spec.slug for spec in STREAMS]
    told += [spec.slug for spec in SUMMARIES if not spec.raw_only]
    assert len(told) == len(set(told)) == 60
    assert sorted(spec.slug for spec in SUMMARIES) == [
        "activity", "body", "device", "electrocardiogram", "meal", "menstrual_cycle", "profile", "sleep", "sleep_cycle",
        "workouts",
    ]  # fmt: skip
    assert len(RESOURCES) == len({spec.slug for spec in RESOURCES}) == 62


@pytest.mark.parametrize("spec", SERIES, ids=lambda spec: spec.slug)
def test_a_timeseries_is_sane(spec: SeriesSpec) -> None:
    assert spec.lowest <= spec.highest
    assert (spec.typical.value is not None) == spec.has_value
    assert spec.typical.value is None or spec.lowest <= spec.typical.value <= spec.highest
    assert spec.typical.type in {*spec.types, *spec.sub_paths} or not (spec.types or spec.sub_paths)
    assert spec.typical.span_seconds > 0
    assert spec.unit not in spec.accepted
    assert spec.meaning.endswith(".")
    assert spec.definition.startswith("The API's ")
    assert spec.definition.endswith(".")
    assert spec.bucket_seconds in {
        constants.HOUR_BUCKET_SECONDS,
        constants.BUCKET_SECONDS,
        constants.WEEK_BUCKET_SECONDS,
        constants.SPARSE_BUCKET_SECONDS,
    }
    assert {*spec.accepted_by_type} <= {*spec.sub_paths, *spec.units_by_type}
    for field in spec.fields:
        assert field.lowest < field.highest
        assert (field.kind is SampleFieldKind.TEXTS) <= bool(field.choices)
        assert not any("," in choice for choice in field.choices)
        assert not field.is_text_value or not spec.has_value
    assert spec.has_value or any(field.required for field in spec.fields)


def test_names_of_resources_in_addresses_and_openapi_are_their_own() -> None:
    assert len({spec.path for spec in SERIES}) == len({spec.model for spec in SERIES}) == len(SERIES)
    assert len({spec.path for spec in SUMMARIES}) == len({spec.model for spec in SUMMARIES}) == len(SUMMARIES)


@pytest.mark.parametrize("spec", SUMMARIES, ids=lambda spec: spec.slug)
def test_a_summary_is_sane(spec: SummarySpec) -> None:
    names = [field.name for field in spec.fields]
    assert len(names) == len(set(names))
    required = {field.name for field in spec.fields if field.required}
    assert {spec.starts_field, spec.ends_field} - {""} <= required
    assert spec.parent is None or spec.parent.id_field in required
    for field in members(spec.fields):
        assert field.lowest < field.highest
        assert field.meaning.endswith(".")
        assert bool(field.members) == (field.kind in (FieldKind.OBJECT, FieldKind.OBJECTS, FieldKind.OBJECTS_BY_NAME))


def members(fields: tuple[FieldSpec, ...]) -> Iterator[FieldSpec]:
    for field in fields:
        yield field
        yield from members(field.members)


def test_raw_forms_are_those_of_the_api() -> None:
    assert {slug for slug, spec in SUMMARY_BY_SLUG.items() if spec.has_raw} == {
        "activity", "body", "device", "profile", "sleep", "workouts",
    }  # fmt: skip
    assert SUMMARY_BY_SLUG["meal"].answer_key == "meals"


@pytest.mark.parametrize(("spec", "unit"), CONVERSIONS, ids=[f"{spec.slug}-{unit}" for spec, unit in CONVERSIONS])
def test_a_conversion_is_the_units_definition(spec: SeriesSpec, unit: str) -> None:
    factor, addend = exact(spec, unit)
    for given_value in (0.0, 1.0, 98.6, 123.456, 70_000.0):
        expected = Fraction(given_value) * factor + addend
        assert converted(spec, given_value, unit) == pytest.approx(float(expected), rel=1e-14, abs=1e-13)


@given(pair=st.sampled_from(CONVERSIONS), place=st.floats(0.0, 1.0))
def test_what_is_converted_can_be_converted_back(pair: tuple[SeriesSpec, str], place: float) -> None:
    spec, unit = pair
    factor, addend = exact(spec, unit)
    ours = spec.lowest + place * (spec.highest - spec.lowest)
    theirs = float((Fraction(ours) - addend) / factor)
    assert converted(spec, theirs, unit) == pytest.approx(ours, rel=1e-12, abs=1e-9)


def test_units_are_refused_where_it_is_not_clear_what_they_mean() -> None:
    one = np.ones(1)
    for slug, unit in (("water", "fl oz"), ("cholesterol", "mg/dL"), ("steps", "km"), ("glucose", "%")):
        assert canonical_values(SERIES_BY_SLUG[slug], one, unit) is None
    assert canonical_values(SERIES_BY_SLUG["cholesterol"], one, "mg/dL", "vldl") is None


def test_lipids_are_converted_by_what_they_are() -> None:
    lipids = SERIES_BY_SLUG["cholesterol"]
    for type_ in ("ldl", "hdl", "total"):
        assert converted(lipids, 38.67, "mg/dL", type_) == 1.0
    assert converted(lipids, 88.57, "mg/dL", "triglycerides") == 1.0
    assert converted(lipids, 5.2, "mmol/L", "ldl") == 5.2


def test_converting_leaves_what_was_given_alone() -> None:
    given_values = np.array([60.0, 61.0])
    for spec in SERIES:
        for unit in spec.accepted:
            values = canonical_values(spec, given_values, unit)
            assert values is not None
            values += 1.0
    assert given_values.tolist() == [60.0, 61.0]


def test_sports_are_numbered_without_a_gap_and_named_once() -> None:
    assert [sport.id for sport in SPORTS] == list(range(1, len(SPORTS) + 1))
    assert len(SPORT_BY_SLUG) == len({sport.name for sport in SPORTS}) == len(SPORTS) == 103
    fixed = ("other", "running", "open_water_swimming", "pickleball", "wrestling")
    assert [SPORT_BY_SLUG[slug].id for slug in fixed] == [1, 3, 18, 75, 103]


def test_source_ids_are_numbered_without_a_gap() -> None:
    assert sorted(constants.SOURCE_IDS.values()) == list(range(1, 42))


def test_a_unit_that_is_shown_with_a_type_is_taken_with_it() -> None:
    assert {spec.slug: dict(spec.units_by_type) for spec in SERIES if spec.units_by_type} == {"hrv": {"sdnn": "sdnn"}}
    spec, given = SERIES_BY_SLUG["hrv"], np.array([40.0])
    assert [spec.unit_of(kind) for kind in (None, "rmssd", "sdnn")] == ["rmssd", "rmssd", "sdnn"]
    assert canonical_values(spec, given, "sdnn", "sdnn") == given
    assert canonical_values(spec, given, "ms", "sdnn") == given
    assert canonical_values(spec, given, "sdnn", None) is None
