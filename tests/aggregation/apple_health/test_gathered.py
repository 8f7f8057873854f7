"""What is gathered over the whole export: pressures, meals, cycles."""

from datetime import date, timedelta

from aggregation.apple_health.limits import ExportLimits
from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.records import SummaryRecord
from tests.aggregation.apple_health.reading import Reading, document, read

Q, C = "HKQuantityTypeIdentifier", "HKCategoryTypeIdentifier"
SYSTOLIC, DIASTOLIC = Q + "BloodPressureSystolic", Q + "BloodPressureDiastolic"


def element(
    name: str, kind: str, at: str, value: str = "", unit: str = "", inner: str = "", source: str = "App"
) -> str:
    unit_text = f' unit="{unit}"' if unit else ""
    value_text = f' value="{value}"' if value else ""
    return (
        f'<{name} type="{kind}" sourceName="{source}"{unit_text} startDate="{at}" endDate="{at}"{value_text}>'
        f"{inner}</{name}>"
    )


def mmhg(kind: str, value: str, at: str = "2024-03-12 08:00:00 -0400") -> str:
    return element("Record", kind, at, value, "mmHg")


def pressures(reading: Reading) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for batch in reading.batches:
        assert batch.resource == "blood_pressure"
        assert batch.samples.value is None
        both = [batch.samples.fields[name] for name in ("systolic", "diastolic")]
        found += [(float(high or 0), float(low or 0)) for high, low in zip(*both, strict=True)]
    return found


def test_a_pressure_is_one_sample_wherever_its_halves_stand() -> None:
    halves = mmhg(SYSTOLIC, "118") + mmhg(DIASTOLIC, "76")
    correlation = element(
        "Correlation", "HKCorrelationTypeIdentifierBloodPressure", "2024-03-12 08:00:00 -0400", inner=halves
    )
    for content in (halves, correlation, halves + correlation, correlation + halves):
        reading = read(document(content))
        assert pressures(reading) == [(118.0, 76.0)]
        assert reading.refused() == reading.left_out() == {}


def test_half_a_pressure_is_refused_by_name() -> None:
    later = "2024-03-12 09:00:00 -0400"
    reading = read(document(mmhg(SYSTOLIC, "118"), mmhg(DIASTOLIC, "76"), mmhg(SYSTOLIC, "120", later)))
    assert pressures(reading) == [(118.0, 76.0)]
    assert reading.refused() == {(SYSTOLIC, "no_pair"): 1}


def test_the_latest_reading_of_a_moment_wins() -> None:
    reading = read(document(mmhg(SYSTOLIC, "118"), mmhg(DIASTOLIC, "76"), mmhg(SYSTOLIC, "121"), mmhg(DIASTOLIC, "75")))
    assert pressures(reading) == [(121.0, 75.0)]


def test_halves_are_in_the_range_that_the_store_takes() -> None:
    spec = SERIES_BY_SLUG["blood_pressure"]
    for field, kind in zip(spec.fields, (SYSTOLIC, DIASTOLIC), strict=True):
        other = DIASTOLIC if kind == SYSTOLIC else SYSTOLIC
        for value, problem in (
            (field.lowest, {}),
            (field.highest, {}),
            (field.lowest - 1, {(kind, "out_of_range"): 1, (other, "no_pair"): 1}),
            (field.highest + 1, {(kind, "out_of_range"): 1, (other, "no_pair"): 1}),
        ):
            assert read(document(mmhg(kind, str(value)), mmhg(other, "80"))).refused() == problem


def test_pressures_in_kilopascals_and_out_of_range() -> None:
    at = "2024-03-12 08:00:00 -0400"
    reading = read(document(element("Record", SYSTOLIC, at, "16", "kPa"), mmhg(DIASTOLIC, "7600")))
    assert reading.batches == []
    assert reading.refused() == {(SYSTOLIC, "no_pair"): 1, (DIASTOLIC, "out_of_range"): 1}


def test_pressures_are_bounded() -> None:
    records = [mmhg(SYSTOLIC, "118", f"2024-03-12 08:00:{second:02d} -0400") for second in range(5)]
    reading = read(document(*records), ExportLimits(max_pairs=3))
    assert reading.refused() == {(SYSTOLIC, "too_many"): 2, (SYSTOLIC, "no_pair"): 3}


LUNCH = "2024-03-12 12:30:00 -0400"


def nutrient(name: str, value: str, unit: str, at: str = LUNCH) -> str:
    return element("Record", f"{Q}Dietary{name}", at, value, unit)


def food(name: str, *nutrients: str) -> str:
    inner = f'<MetadataEntry key="HKFoodType" value="{name}"/>' + "".join(nutrients)
    return element("Correlation", "HKCorrelationTypeIdentifierFood", LUNCH, inner=inner)


def test_nutrients_of_a_moment_are_one_meal_and_foods_name_their_share() -> None:
    soup = [nutrient("EnergyConsumed", "200", "kcal"), nutrient("Sodium", "0.5", "g")]
    bread = [nutrient("EnergyConsumed", "100", "Cal"), nutrient("FatTotal", "2", "g"), nutrient("Iron", "900", "mcg")]
    reading = read(document(*soup, *bread, food("Soup", *soup), food("Bread", *bread)))
    (meal,) = reading.of("meal")
    soup_share = {"energy": {"value": 200.0, "unit": "kcal"}, "micros": {"minerals": {"sodium": 500.0}}}
    bread_share = {
        "energy": {"value": 100.0, "unit": "kcal"},
        "macros": {"fats": {"total": 2.0}},
        "micros": {"minerals": {"iron": 0.9}},
    }
    assert meal.fields == {
        "timestamp": "2024-03-12T16:30:00+00:00",
        "name": "Soup, Bread",
        "energy": {"value": 300.0, "unit": "kcal"},
        "macros": {"fats": {"total": 2.0}},
        "micros": {"minerals": {"sodium": 500.0, "iron": 0.9}},
        "data": {"Soup": soup_share, "Bread": bread_share},
    }
    assert meal.calendar_date == date(2024, 3, 12)
    assert reading.refused() == reading.left_out() == {}


def test_foods_whose_records_stand_nowhere_else_make_the_totals() -> None:
    (meal,) = read(document(food("Egg", nutrient("Protein", "6", "g")), food("Egg", nutrient("Protein", "7", "g")))).of(
        "meal"
    )
    assert meal.fields["macros"] == {"protein": 13.0}
    assert meal.fields["data"] == {"Egg": {"macros": {"protein": 13.0}}}


def test_each_nutrient_has_its_unit() -> None:
    records = [
        nutrient("VitaminA", "900", "mcg"),
        nutrient("VitaminB12", "0.0024", "mg"),
        nutrient("VitaminD", "20", "mcg"),
        nutrient("Folate", "0.4", "mg"),
        nutrient("Copper", "0.9", "mg"),
        nutrient("Selenium", "55", "mcg"),
        nutrient("Cholesterol", "300", "mg"),
        nutrient("Potassium", "1", "furlong"),
    ]
    reading = read(document(*records))
    (meal,) = reading.of("meal")
    assert meal.fields["micros"] == {
        "vitamins": {"vitamin_a": 0.9, "vitamin_b12": 2.4, "vitamin_d": 20.0, "folic_acid": 400.0},
        "trace_elements": {"copper": 0.9, "selenium": 55.0},
    }
    assert meal.fields["macros"] == {"cholesterol": 0.3}
    assert (meal.fields["name"], "energy" in meal.fields) == ("Meal", False)
    assert reading.refused() == {(Q + "DietaryPotassium", "unknown_unit"): 1}


def test_carbohydrates_are_a_timeseries_and_part_of_a_meal_and_water_alone_is_none() -> None:
    reading = read(document(nutrient("Carbohydrates", "30", "g"), nutrient("Water", "250", "mL")))
    assert reading.values("carbohydrates") == [30.0]
    assert reading.values("water") == [250.0]
    assert [meal.fields["macros"] for meal in reading.of("meal")] == [{"carbs": 30.0}]
    assert read(document(nutrient("Water", "250", "mL"))).of("meal") == []


def test_meals_are_bounded() -> None:
    records = [nutrient("Protein", "1", "g", f"2024-03-12 08:00:{second:02d} -0400") for second in range(5)]
    reading = read(document(*records), ExportLimits(max_meals=3))
    assert len(reading.of("meal")) == 3
    assert reading.refused() == {(Q + "DietaryProtein", "too_many"): 2}


def noted(name: str, on: str, value: str = "HKCategoryValueNotApplicable", *metadata: str, source: str = "Flo") -> str:
    entries = "".join(
        f'<MetadataEntry key="{key}" value="{text}"/>' for key, _, text in (m.partition("=") for m in metadata)
    )
    return element("Record", C + name, f"{on} 12:00:00 +0100", value, inner=entries, source=source)


def flow(on: str, amount: str, start: str = "", source: str = "Flo") -> str:
    metadata = (f"HKMenstrualCycleStart={start}",) if start else ()
    return noted("MenstrualFlow", on, f"HKCategoryValueMenstrualFlow{amount}", *metadata, source=source)


def cycles(*records: str) -> list[SummaryRecord]:
    return read(document(*records)).of("menstrual_cycle")


def test_cycles_begin_where_their_app_says() -> None:
    first, second = cycles(
        flow("2024-02-01", "Medium", "0"),
        flow("2024-01-03", "Light", "0"),
        flow("2024-01-01", "Heavy", "1"),
        flow("2024-01-02", "Unspecified", "0"),
        flow("2024-01-05", "None", "0"),
        flow("2024-01-31", "Heavy", "1"),
    )
    assert first.fields == {
        "period_start": "2024-01-01",
        "period_end": "2024-01-03",
        "cycle_end": "2024-01-30",
        "is_predicted": False,
        "menstrual_flow": [
            {"date": "2024-01-01", "flow": "heavy"},
            {"date": "2024-01-02", "flow": "unspecified"},
            {"date": "2024-01-03", "flow": "light"},
            {"date": "2024-01-05", "flow": "none"},
        ],
    }
    assert (second.fields["period_start"], second.fields["period_end"]) == ("2024-01-31", "2024-02-01")
    assert "cycle_end" not in second.fields
    assert first.calendar_date == date(2024, 1, 1)
    assert first.external_id != second.external_id


def test_without_the_mark_a_cycle_begins_after_ten_days_without_flow() -> None:
    found = cycles(*(flow(f"2024-01-{day:02d}", "Light") for day in (1, 5, 15, 26)))
    assert [cycle.fields["period_start"] for cycle in found] == ["2024-01-01", "2024-01-26"]


def test_what_else_was_noted_lies_in_its_cycle() -> None:
    temperature = element(
        "Record", Q + "BasalBodyTemperature", "2024-01-14 07:00:00 +0100", "97.7", "degF", source="Thermometer"
    )
    reading = read(
        document(
            flow("2024-01-01", "Medium", "1"),
            noted("CervicalMucusQuality", "2024-01-12", "HKCategoryValueCervicalMucusQualityEggWhite"),
            noted("IntermenstrualBleeding", "2024-01-13"),
            noted("Contraceptive", "2024-01-02", "HKCategoryValueContraceptiveIntrauterineDevice"),
            noted("OvulationTestResult", "2024-01-13", "HKCategoryValueOvulationTestResultLuteinizingHormoneSurge"),
            noted("PregnancyTestResult", "2024-01-28", "HKCategoryValuePregnancyTestResultNegative"),
            noted("ProgesteroneTestResult", "2024-01-20", "HKCategoryValueProgesteroneTestResultPositive"),
            noted("SexualActivity", "2024-01-10", "HKCategoryValueNotApplicable", "HKSexualActivityProtectionUsed=1"),
            noted("SexualActivity", "2024-01-11"),
            noted("ProlongedMenstrualPeriods", "2024-01-29", source="Health"),
            noted("OvulationTestResult", "2023-12-13", "HKCategoryValueOvulationTestResultNegative"),
            noted("OvulationTestResult", "2024-01-14", "HKCategoryValueOvulationTestResultMaybe"),
            temperature,
        )
    )
    (cycle,) = reading.of("menstrual_cycle")
    assert {name: value for name, value in cycle.fields.items() if isinstance(value, list)} == {
        "menstrual_flow": [{"date": "2024-01-01", "flow": "medium"}],
        "cervical_mucus": [{"date": "2024-01-12", "quality": "egg_white"}],
        "intermenstrual_bleeding": [{"date": "2024-01-13"}],
        "contraceptive": [{"date": "2024-01-02", "type": "iud"}],
        "ovulation_test": [{"date": "2024-01-13", "test_result": "luteinizing_hormone_surge"}],
        "home_pregnancy_test": [{"date": "2024-01-28", "test_result": "negative"}],
        "home_progesterone_test": [{"date": "2024-01-20", "test_result": "positive"}],
        "sexual_activity": [{"date": "2024-01-10", "protection_used": True}, {"date": "2024-01-11"}],
        "detected_deviations": [{"date": "2024-01-29", "deviation": "prolonged_menstrual_periods"}],
        "basal_body_temperature": [{"date": "2024-01-14", "value": 36.5}],
    }
    assert reading.values("basal_body_temperature") == [36.5]
    assert reading.left_out() == {(C + "OvulationTestResult", "no_cycle"): 1}
    assert reading.refused() == {(C + "OvulationTestResult", "bad_value"): 1}


def test_the_words_of_ios_18_are_known() -> None:
    record = noted("MenstrualFlow", "2024-01-01", "HKCategoryValueVaginalBleedingLight", "HKMenstrualCycleStart=1")
    assert [cycle.fields["menstrual_flow"] for cycle in cycles(record)] == [[{"date": "2024-01-01", "flow": "light"}]]


def test_a_cycle_without_end_lists_a_bounded_number() -> None:
    first = date(2020, 1, 2)
    days = [(first + timedelta(days=number)).isoformat() for number in range(410)]
    reading = read(document(flow("2020-01-01", "Light", "1"), *(noted("IntermenstrualBleeding", on) for on in days)))
    (cycle,) = reading.of("menstrual_cycle")
    listed = cycle.fields["intermenstrual_bleeding"]
    assert isinstance(listed, list)
    assert len(listed) == 400
    assert reading.left_out() == {(C + "IntermenstrualBleeding", "no_cycle"): 10}


def test_entries_of_cycles_are_bounded() -> None:
    records = [flow(f"2024-01-{day:02d}", "Light") for day in range(1, 6)]
    reading = read(document(*records), ExportLimits(max_cycle_entries=3))
    assert reading.refused() == {(C + "MenstrualFlow", "too_many"): 2}
