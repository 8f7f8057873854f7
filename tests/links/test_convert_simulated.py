"""What the simulator answers for a month, the converters take without refusing anything."""

from datetime import UTC, datetime
from typing import Any

import pytest

from aggregation.records import Refusal, SummaryRecord
from aggregation.store.checking import Ingestion, summary_reason
from links.connectors.oura import convert as oura
from links.connectors.withings import convert as withings
from tests.simulator.conftest import simulator as simulator
from tests.simulator.running import RunningSimulator
from tests.simulator.test_oura import everything as oura_rows
from tests.simulator.test_withings import ACTIVITY_FIELDS, MEASURE, MEASURE_V2, SLEEP_FIELDS, SLEEP_V2, body
from tests.simulator.test_withings import everything as withings_rows

MONTH = {"start_date": "2026-10-01", "end_date": "2026-10-31"}
MONTH_YMD = {"startdateymd": "2026-10-01", "enddateymd": "2026-10-31"}


def records(converted: list[SummaryRecord | Refusal]) -> list[SummaryRecord]:
    assert [one for one in converted if isinstance(one, Refusal)] == []
    return [one for one in converted if isinstance(one, SummaryRecord)]


def test_a_month_of_oura(simulator: RunningSimulator) -> None:
    token = simulator.access_token()
    listed: dict[str, list[dict[str, Any]]] = {
        name: oura_rows(simulator, token, name, **MONTH)
        for name in ("daily_activity", "daily_sleep", "sleep", "workout")
    }
    days = records([oura.activity_from_daily_activity(row) for row in listed["daily_activity"]])
    assert [day.fields["steps"] for day in days] == [row["steps"] for row in listed["daily_activity"]]
    scores = oura.sleep_scores(listed["daily_sleep"])
    assert len(scores) == 31
    nights = records([oura.sleep_from_sleep(row, scores=scores) for row in listed["sleep"]])
    assert sum(night.fields["score"] is not None for night in nights) == 31
    assert len({one.external_id for one in nights}) == len(nights) == len(listed["sleep"])
    workouts = records([oura.workout_from_workout(row) for row in listed["workout"]])
    assert {workout.fields["sport"] for workout in workouts} <= {"running", "swimming"}
    points = oura_rows(
        simulator, token, "heartrate", start_datetime="2026-10-01T00:00:00Z", end_datetime="2026-10-31T00:00:00Z"
    )
    offsets = oura.known_offsets([*listed["daily_activity"], *listed["sleep"]])
    series = oura.heartrate_from_points(points, offsets)
    assert series.refusals == ()
    (batch,) = series.batches
    assert len(batch.samples) == len(points)
    assert set(batch.samples.offset_seconds.tolist()) == {-7 * 3600}
    for row in listed["sleep"]:
        assert oura.hrv_from_sleep(row).refusals == ()
    staged = records([oura.sleep_cycle_from_sleep(row) for row in listed["sleep"] if oura.has_stages(row)])
    assert [one.fields["sleep_external_id"] for one in staged] == [night.external_id for night in nights]
    assert all(summary_reason(one, Ingestion()) is None for one in [*days, *nights, *workouts, *staged])


def test_a_month_of_withings(simulator: RunningSimulator) -> None:
    token = simulator.access_token("withings", "c@x.y")
    fields = {"action": "getactivity", "data_fields": ACTIVITY_FIELDS, **MONTH_YMD}
    days = records(
        [
            withings.activity_from_activity(row)
            for row in withings_rows(simulator, token, MEASURE_V2, "activities", **fields)
        ]
    )
    assert len({day.external_id for day in days}) == len(days) == 31
    fields = {"action": "getsummary", "data_fields": SLEEP_FIELDS, **MONTH_YMD}
    nights = records(
        [withings.sleep_from_summary(row) for row in withings_rows(simulator, token, SLEEP_V2, "series", **fields)]
    )
    assert sum(night.fields["type"] == "long_sleep" for night in nights) == 31
    fields = {"action": "getworkouts", "data_fields": "calories,distance,steps,hr_average,hr_max", **MONTH_YMD}
    workouts = records(
        [withings.workout_from_workout(row) for row in withings_rows(simulator, token, MEASURE_V2, "series", **fields)]
    )
    assert {workout.fields["sport"] for workout in workouts} == {"weightlifting", "walking"}
    groups = withings_rows(simulator, token, MEASURE, "measuregrps", action="getmeas", startdate="1790800000")
    reasons = {refusal.reason for refusal in withings.series_from_measure_groups(groups).refusals}
    assert reasons == set()
    bodies = [withings.body_from_measure_group(group) for group in groups]
    stored = [*days, *nights, *workouts, *(one for one in bodies if isinstance(one, SummaryRecord))]
    assert {summary_reason(one, Ingestion()) for one in stored} == {None}
    midnight = int(datetime(2026, 10, 20, 7, tzinfo=UTC).timestamp())
    series = body(
        simulator,
        token,
        MEASURE_V2,
        action="getintradayactivity",
        startdate=str(midnight),
        enddate=str(midnight + 86_400),
        data_fields="steps,distance,calories,elevation,duration,heart_rate",
    )["series"]
    converted = withings.series_from_intraday(series, time_zone="America/Los_Angeles")
    assert converted.refusals == ()
    sums = {one.resource: float(one.samples.values.sum()) for one in converted.batches}
    assert sums["steps"] == days[19].fields["steps"]
    assert sums["distance"] == pytest.approx(days[19].fields["distance"], abs=2)
