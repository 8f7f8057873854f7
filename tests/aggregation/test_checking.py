"""Samples of every kind: what is refused, why, which one, and how the others become columns."""

from collections.abc import Mapping, Sequence
from datetime import date

import numpy as np
import pytest

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.codec import LabelColumn, block_decode, block_encode
from aggregation.records import FieldColumn, Refusal, SampleColumns
from aggregation.store.checking import Ingestion, Refusals, sample_reasons, samples_good
from aggregation.store.columns import block_of
from tests.aggregation.samples import us

AT = us(2026, 3, 1)
NAN = float("nan")
ALWAYS = Ingestion()


def samples(
    values: Sequence[float] | None,
    *,
    size: int = 0,
    ends: Sequence[int] | None = None,
    types: Sequence[str | None] | None = None,
    fields: Mapping[str, FieldColumn] | None = None,
) -> SampleColumns:
    """Samples a second apart, that end with their start unless said otherwise."""
    size = size if values is None else len(values)
    return SampleColumns(
        start_us=AT + 1_000_000 * np.arange(size),
        value=None if values is None else np.array(values, np.float64),
        offset_seconds=np.zeros(size, np.int32),
        end_us=None if ends is None else np.array(ends, np.int64),
        type=types,
        fields=fields or {},
    )


def reasons(resource: str, given: SampleColumns) -> list[str | None]:
    """One reason a sample, None for those that are good."""
    wrong = dict(sample_reasons(SERIES_BY_SLUG[resource], given, ALWAYS))
    return [wrong.get(row) for row in range(len(given))]


@pytest.mark.parametrize(
    ("resource", "given", "expected"),
    [
        ("weight", samples([70.0, 0.1, 701.0, NAN]), [None, "out_of_range", "out_of_range", "bad_value"]),
        ("weight", samples(None, size=2), ["missing_field", "missing_field"]),
        ("weight", samples([70.0], fields={"shoes": ["on"]}), ["unknown_field"]),
        ("weight", samples([70.0], fields={"shoes": [None]}), [None]),
        ("weight", samples([70.0], fields={"shoes": np.array([NAN])}), [None]),
        ("heart_rate_alert", samples([1.0, 1.0, 2.0], types=["low_heart_rate", "boredom", "low_heart_rate"]),
         [None, "bad_value", "out_of_range"]),
        ("heart_rate_alert", samples([1.0]), ["missing_field"]),
        ("stand_hour", samples([1.0, 1.0], types=["idle", None]), [None, "missing_field"]),
        ("sleep_breathing_disturbance", samples([1.0, 2.0], types=[None, "elevated"]), [None, None]),
        ("cholesterol", samples([3.0, 3.0], types=["ldl", None]), [None, "missing_field"]),
        ("distance", samples([1.0, 1.0], ends=[AT, AT]), [None, "end_before_start"]),
        ("body_temperature", samples([37.0] * 3, fields={"sensor_location": ["ear", "elbow", None]}),
         [None, "bad_value", None]),
        ("body_temperature", samples([37.0], ends=[AT - 1]), ["end_before_start"]),
        ("workout_duration", samples([30.0, 30.0], fields={"intensity": ["high", "deadly"]}), [None, "bad_value"]),
        ("insulin_injection",
         samples([4.0, 4.0], types=["rapid_acting"] * 2,
                 fields={"delivery_mode": ["bolus", "bolus"], "bolus_purpose": ["meal", "fun"]}),
         [None, "bad_value"]),
        ("hypnogram", samples([1.0]), ["unknown_resource"]),
    ],
)  # fmt: skip
def test_a_wrong_sample_is_named_and_its_neighbours_are_good(
    resource: str, given: SampleColumns, expected: list[str | None]
) -> None:
    assert reasons(resource, given) == expected


def pressures(systolic: FieldColumn, diastolic: FieldColumn) -> SampleColumns:
    return samples(None, size=len(systolic), fields={"systolic": systolic, "diastolic": diastolic})


def test_blood_pressure_needs_both_numbers_and_no_value() -> None:
    given = pressures(np.array([120.0, NAN, 19.0, np.inf, 80.0]), np.array([80.0, 80.0, 80.0, 80.0, 301.0]))
    expected = [None, "missing_field", "out_of_range", "bad_value", "out_of_range"]
    assert reasons("blood_pressure", given) == expected
    # Which of the two is higher is not ours to judge.
    assert reasons("blood_pressure", pressures(np.array([80.0]), np.array([120.0]))) == [None]
    only = {"systolic": np.array([120.0])}
    assert reasons("blood_pressure", samples(None, size=1, fields=only)) == ["missing_field"]
    both = {"systolic": np.array([120.0, 120.0]), "diastolic": np.array([80.0, 80.0])}
    assert reasons("blood_pressure", samples([1.0, NAN], fields=both)) == ["unknown_field", None]
    assert reasons("blood_pressure", pressures(["120"], np.array([80.0]))) == ["bad_value"]


def test_a_note_needs_a_text_and_takes_known_tags() -> None:
    contents = ["ran", None, "", "a\x00b", "x" * 5_001, "x" * 5_000, "ate", "ate"]
    tags = [None, None, None, None, None, "food,exercise", "food,", "food,food"]
    given = samples(None, size=len(contents), fields={"content": contents, "tags": tags})
    expected = [None, "missing_field", "bad_value", "bad_value", "bad_value", None, "bad_value", "bad_value"]
    assert reasons("note", given) == expected
    assert reasons("note", samples(None, size=1, fields={"content": np.array([1.0])})) == ["bad_value"]


def test_refusals_are_counted_by_reason_and_named_where_that_is_asked() -> None:
    spec = SERIES_BY_SLUG["steps"]
    given = samples([1.0, -1.0, NAN, -2.0])
    for keep_rows, rows in ((False, []), (True, [(3, 2, "bad_value"), (3, 1, "out_of_range"), (3, 3, "out_of_range")])):
        refusals = Refusals(keep_rows=keep_rows)
        assert samples_good(spec, given, ALWAYS, refusals, batch=3).tolist() == [True, False, False, False]
        assert refusals.listed() == (Refusal("steps", "bad_value", 1), Refusal("steps", "out_of_range", 2))
        assert refusals.rows == rows


def test_a_sample_is_refused_for_its_first_reason() -> None:
    bounds = Ingestion(start_on=date(2027, 1, 1))
    spec = SERIES_BY_SLUG["steps"]
    assert sample_reasons(spec, samples([1.0, -1.0]), bounds) == [(0, "outside_ingestion_bounds"), (1, "out_of_range")]
    far = SampleColumns(np.array([2**62]), np.array([-1.0]), np.array([100_000], np.int32))
    assert sample_reasons(spec, far, bounds) == [(0, "bad_date")]


def test_fields_become_columns_and_survive_the_codec() -> None:
    given = samples(
        None,
        size=3,
        fields={
            "systolic": np.array([120.0, NAN, 121.5]),
            "diastolic": np.full(3, NAN),
            "content": ["a", None, "b"],
            "tags": [None, None, None],
            "shoes": ["on", "on", "on"],
        },
    )
    block = block_decode(
        block_encode(block_of(given, interval=True, fields=["systolic", "diastolic", "content", "tags"]))
    )
    assert block.value is None
    assert block.end_us is not None
    assert block.end_us.tolist() == block.start_us.tolist()
    assert set(block.extra) == {"systolic", "content"}
    systolic, content = block.extra["systolic"], block.extra["content"]
    assert isinstance(systolic, np.ndarray)
    assert isinstance(content, LabelColumn)
    assert [None if np.isnan(value) else value for value in systolic] == [120.0, None, 121.5]
    assert (content.names, content.codes.tolist()) == (("a", "b"), [0, -1, 1])


def test_every_nan_of_a_column_is_the_same_nan() -> None:
    other_nan = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    fields = {"systolic": np.array([120.0, other_nan])}
    column = block_of(samples(None, size=2, fields=fields), interval=False).extra["systolic"]
    assert isinstance(column, np.ndarray)
    assert column[1:].view(np.uint64).tolist() == np.array([np.nan]).view(np.uint64).tolist()
