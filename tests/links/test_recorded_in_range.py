"""What the recorded payloads of vendors become is taken by the store: in range, in the resource's unit and fields."""

from collections.abc import Mapping

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.records import SeriesBatch, SummaryRecord
from aggregation.store.checking import Ingestion, sample_reasons, summary_reason
from links.connectors.oura import convert as oura
from links.connectors.withings import convert as withings
from tests.links.payloads import load, rows

ALWAYS = Ingestion()


def wrong_summaries(*records: object) -> list[str | None]:
    return [summary_reason(one, ALWAYS) for one in records if isinstance(one, SummaryRecord)]


def wrong_samples(*batches: SeriesBatch) -> dict[str, list[tuple[int, str]]]:
    return {one.resource: sample_reasons(SERIES_BY_SLUG[one.resource], one.samples, ALWAYS) for one in batches}


def test_what_oura_recorded_is_stored() -> None:
    nights = rows("oura/sleep.json", "data")
    assert (
        wrong_summaries(
            *map(oura.activity_from_daily_activity, rows("oura/daily_activity.json", "data")),
            *map(oura.sleep_from_sleep, nights),
            *map(oura.workout_from_workout, rows("oura/workout.json", "data")),
        )
        == [None] * 5
    )
    batches = oura.heartrate_from_points(rows("oura/heartrate.json", "data")).batches
    assert wrong_samples(*batches, *oura.hrv_from_sleep(nights[0]).batches) == {"heartrate": [], "hrv": []}


def test_what_withings_recorded_is_stored() -> None:
    groups = rows("withings/getmeas.json", "body", "measuregrps")
    assert (
        wrong_summaries(
            *map(withings.activity_from_activity, rows("withings/getactivity.json", "body", "activities")),
            *map(withings.sleep_from_summary, rows("withings/getsummary.json", "body", "series")),
            *map(withings.workout_from_workout, rows("withings/getworkouts.json", "body", "series")),
            *map(withings.body_from_measure_group, groups),
        )
        == [None] * 7
    )
    intraday = load("withings/getintradayactivity.json")["body"]
    assert isinstance(intraday, Mapping)
    found = wrong_samples(
        *withings.series_from_intraday(intraday["series"]).batches, *withings.series_from_measure_groups(groups).batches
    )
    assert {"weight", "fat", "lean_body_mass", "heartrate", "steps"} <= set(found)
    assert [resource for resource, wrong in found.items() if wrong] == []
