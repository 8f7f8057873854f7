"""Reading the course of a workout and of a night, and the stages of sleep as older clients do."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from aggregation.records import DataSource, SeriesBatch, StreamRecord, SummaryRecord
from aggregation.services import health_data_store
from healthsvc.kernel import clock
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.kinds import typed
from tests.aggregation.samples import heartrates, us
from tests.aggregation.summaries import RING, changed, night, run
from tests.clients import ApiClient
from users.models import User

RUN_US = us(2026, 3, 2, 17)
NIGHT_US = us(2026, 3, 2)
SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
CHANNELS = (
    "cadence", "altitude", "velocity_smooth", "heartrate", "lat", "lng", "distance", "power", "resistance",
    "temperature",
)  # fmt: skip
WATCH = DataSource("garmin", "watch")

Store = Callable[..., None]
Stages = list[tuple[int, int, int]]


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team, fallback_time_zone="Europe/Berlin")


@pytest.fixture
def store(team: factories.Tenant, user: User) -> Store:
    def stored(
        *summaries: SummaryRecord, series: tuple[SeriesBatch, ...] = (), streams: tuple[StreamRecord, ...] = ()
    ) -> None:
        with team_scope(team.context):
            result = health_data_store(
                team=team.context, user_id=user.id, series=series, summaries=summaries, streams=streams
            )
        assert result.refused == ()

    return stored


def id_of(api: ApiClient, user: User, resource: str, number: int = 0) -> str:
    found: str = api.get(f"/v2/summary/{resource}/{user.id}", {"start_date": "2026-03-01"}).json()[resource][number][
        "id"
    ]
    return found


def stream(api: ApiClient, kind: str, summary_id: object) -> dict[str, Any]:
    response = api.get(f"/v2/timeseries/{kind}/{summary_id}/stream")
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def course(channels: Mapping[str, list[float]], *, begin_us: int = RUN_US, workout: str = "run-1") -> StreamRecord:
    """A stream of a moment a second."""
    columns = {name: np.array(values) for name, values in channels.items()}
    size = len(next(iter(columns.values())))
    times = begin_us + np.arange(size, dtype=np.int64) * SECOND_US
    return StreamRecord("workout_stream", RING, workout, times, columns)


def cycle(stages: Stages, *, on: int = 2, source: DataSource = RING, name: str = "cycle-1") -> SummaryRecord:
    """The stages, in minutes since midnight, of the night that ended on a day of March."""
    begin = datetime(2026, 3, on, tzinfo=UTC)
    return SummaryRecord(
        "sleep_cycle",
        source,
        name,
        begin.date(),
        begin,
        begin + timedelta(hours=8),
        3_600,
        {
            "sleep_external_id": f"night-{on}",
            "stage_start_offset_second": [start * 60 for start, _, _ in stages],
            "stage_end_offset_second": [end * 60 for _, end, _ in stages],
            "stage_type": [stage for _, _, stage in stages],
        },
    )


def rested(on: int = 2, source: DataSource = RING) -> SummaryRecord:
    """The night that ended on a day of March."""
    return changed(night(f"night-{on}", on=datetime(2026, 3, on, tzinfo=UTC).date()), source=source)


def test_a_workouts_stream_is_parallel_arrays(api: ApiClient, user: User, store: Store) -> None:
    nan = float("nan")
    channels = {"heartrate": [120.0, nan, 121.6], "altitude": [10.5, 11.0, nan], "power": [nan, nan, nan]}
    store(run(), streams=(course(channels),))
    seconds = RUN_US // SECOND_US
    assert stream(api, "workouts", id_of(api, user, "workouts")) == {
        **{name: [] for name in CHANNELS},
        "time": [seconds, seconds + 1, seconds + 2],
        "heartrate": [120, None, 122],
        "altitude": [10.5, 11.0, None],
    }


def test_a_stream_is_one_workouts_alone_and_in_order(api: ApiClient, user: User, store: Store) -> None:
    hour_us = 3_600 * SECOND_US
    later = course({"heartrate": [130.0]}, begin_us=RUN_US + hour_us)
    other = course({"heartrate": [99.0]}, workout="run-2")
    store(run(), run("run-2"), run("run-3"), streams=(later, course({"heartrate": [120.0]}), other))
    answers = [stream(api, "workouts", id_of(api, user, "workouts", number)) for number in range(3)]
    assert sorted([answer["heartrate"] for answer in answers], key=len) == [[], [99], [120, 130]]
    empty = next(answer for answer in answers if not answer["time"])
    assert empty == {name: [] for name in ("time", *CHANNELS)}


def test_a_nights_stream_is_what_its_provider_measured_meanwhile(api: ApiClient, user: User, store: Store) -> None:
    end_us = NIGHT_US + 480 * MINUTE_US
    store(
        rested(),
        cycle([(0, 30, 2), (30, 60, 1)]),
        series=(
            heartrates({NIGHT_US - 1: 1.0, NIGHT_US: 50.0, end_us: 51.0, end_us + 1: 2.0}, source=RING),
            heartrates({NIGHT_US: 99.0}, source=WATCH),
            typed("hrv", RING, NIGHT_US + MINUTE_US, value=42.0),
        ),
    )
    answer = stream(api, "sleep", id_of(api, user, "sleep"))
    assert {name: [sample["value"] for sample in samples] for name, samples in answer.items()} == {
        "hrv": [42.0],
        "heartrate": [50.0, 51.0],
        "respiratory_rate": [],
        "hypnogram": [2.0, 1.0],
    }


def test_of_two_sleeps_that_overlap_each_has_its_own_stages(api: ApiClient, user: User, store: Store) -> None:
    nap = changed(rested(), external_id="nap", starts_at=datetime(2026, 3, 2, 1, tzinfo=UTC))
    other = cycle([(60, 90, 3)], name="other")
    store(rested(), nap, cycle([(0, 30, 2)]), changed(other, fields={**other.fields, "sleep_external_id": "nap"}))
    shown = {
        sleep["bedtime_start"]: [one["value"] for one in stream(api, "sleep", sleep["id"])["hypnogram"]]
        for sleep in api.get(f"/v2/summary/sleep/{user.id}", {"start_date": "2026-03-01"}).json()["sleep"]
    }
    assert shown == {"2026-03-02T00:00:00+00:00": [2.0], "2026-03-02T01:00:00+00:00": [3.0]}


@pytest.mark.parametrize(("kind", "resource"), [("workouts", "workouts"), ("sleep", "sleep")])
def test_streams_of_others_and_of_nothing_are_missing(
    api: ApiClient,
    other_api: ApiClient,
    team: factories.Tenant,
    production: factories.Tenant,
    user: User,
    store: Store,
    kind: str,
    resource: str,
) -> None:
    store(run(), rested())
    known = id_of(api, user, resource)
    missing = api.get(f"/v2/timeseries/{kind}/{uuid4()}/stream")
    wrong_kind = api.get(f"/v2/timeseries/{'sleep' if kind == 'workouts' else 'workouts'}/{known}/stream")
    others = [
        one.get(f"/v2/timeseries/{kind}/{known}/stream") for one in (other_api, ApiClient(team_key=production.key))
    ]
    for response in (missing, wrong_kind, *others):
        assert response.status_code == 404
        assert {**response.json(), "request_id": ""} == {**missing.json(), "request_id": ""}
    assert api.get(f"/v2/timeseries/{kind}/nothing/stream").status_code == 422
    with team_scope(team.context):
        User.objects.filter(pk=user.id).update(deleted_at=clock.now())
    assert api.get(f"/v2/timeseries/{kind}/{known}/stream").status_code == 404


def test_a_streams_read_costs_the_same_for_one_and_five(api: ApiClient, user: User, store: Store) -> None:
    measured = tuple(typed(slug, RING, NIGHT_US, value=20.0) for slug in ("hrv", "heartrate", "respiratory_rate"))
    store(run(), rested(), cycle([(0, 30, 2)]), series=measured, streams=(course({"heartrate": [1.0]}),))
    ids = {"workouts": id_of(api, user, "workouts"), "sleep": id_of(api, user, "sleep")}

    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            for kind, summary_id in ids.items():
                stream(api, kind, summary_id)
        return len(captured)

    count()
    one = count()
    store(
        *(run(f"more-{number}") for number in range(4)),
        *(rested(on) for on in range(3, 7)),
        *(cycle([(0, 30, 2)], on=on, name=f"cycle-{on}") for on in range(3, 7)),
        series=tuple(
            heartrates({NIGHT_US: 50.0}, source=DataSource("oura", kind)) for kind in ("scale", "app", "phone")
        ),
        streams=tuple(course({"heartrate": [1.0]}, workout=f"more-{number}") for number in range(4)),
    )
    assert count() == one


def test_a_night_with_too_many_samples_names_the_night(
    api: ApiClient, user: User, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aggregation.selectors.samples.UNGROUPED_SAMPLES_MAXIMUM", 2)
    store(rested(), series=(heartrates({NIGHT_US + second: 50.0 for second in range(3)}, source=RING),))
    response = api.get(f"/v2/timeseries/sleep/{id_of(api, user, 'sleep')}/stream")
    assert response.status_code == 422
    assert [one["loc"] for one in response.json()["detail"]] == [["path", "sleep_id"]]


def hypnogram(api: ApiClient, user: User, **query: str) -> dict[str, Any]:
    response = api.get(f"/v2/timeseries/{user.id}/hypnogram/grouped", {"start_date": "2026-03-01", **query})
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def stages(answer: dict[str, Any]) -> dict[str, list[float]]:
    return {
        slug: [sample["value"] for group in groups for sample in group["data"]]
        for slug, groups in answer["groups"].items()
    }


def test_a_hypnogram_is_made_of_the_sleep_cycles(api: ApiClient, user: User, store: Store) -> None:
    store(rested(), cycle([(0, 30, 2), (30, 45, -1)]))
    (group,) = hypnogram(api, user)["groups"]["oura"]
    begin = datetime(2026, 3, 2, tzinfo=UTC)
    shared = {"timezone_offset": 3_600, "type": None, "unit": group["data"][0]["unit"]}
    times = [utc_text(begin + timedelta(minutes=minutes)) for minutes in (0, 30, 45)]
    assert group["source"]["type"] == "ring"
    assert group["data"] == [
        {**shared, "timestamp": times[0], "start": times[0], "end": times[1], "value": 2.0},
        {**shared, "timestamp": times[1], "start": times[1], "end": times[2], "value": -1.0},
    ]
    flat = api.get(f"/v2/timeseries/{user.id}/hypnogram", {"start_date": "2026-03-01"})
    assert flat.json() == group["data"]
    assert flat["Deprecation"]


def test_a_hypnogram_has_windows_and_providers(api: ApiClient, user: User, store: Store) -> None:
    store(rested(), rested(3), cycle([(0, 30, 2), (30, 60, 1)]), cycle([(0, 30, 3)], on=3, name="cycle-2"))
    store(rested(3, WATCH), cycle([(0, 30, 4)], on=3, source=WATCH))
    assert stages(hypnogram(api, user)) == {"oura": [2.0, 1.0, 3.0], "garmin": [4.0]}
    assert stages(hypnogram(api, user, provider="garmin")) == {"garmin": [4.0]}
    assert stages(hypnogram(api, user, start_date="2026-03-03")) == {"oura": [3.0], "garmin": [4.0]}
    assert stages(hypnogram(api, user, end_date="2026-03-02T00:00:00Z")) == {"oura": [2.0]}
    assert stages(hypnogram(api, user, start_date="2026-03-04")) == {}
    flat = api.get(f"/v2/timeseries/{user.id}/hypnogram", {"start_date": "2026-03-03"}).json()
    assert sorted(sample["value"] for sample in flat) == [3.0, 4.0]


def test_a_stage_that_two_cycles_tell_is_told_once(api: ApiClient, user: User, store: Store) -> None:
    store(rested(), cycle([(0, 30, 2), (30, 60, 1)]), cycle([(0, 20, 3), (20, 60, 4)], name="cycle-2"))
    assert len(stages(hypnogram(api, user))["oura"]) == 3


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_a_hypnogram_has_pages(
    api: ApiClient, user: User, store: Store, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr("aggregation.api.timeseries.PAGE_SAMPLES_MAXIMUM", limit)
    for source in (RING, WATCH):
        store(rested(source=source), cycle([(at, at + 1, 2) for at in range(3)], source=source))
    found: list[tuple[str, str]] = []
    query: dict[str, str] = {}
    while True:
        page = hypnogram(api, user, **query)
        taken = [(slug, one["start"]) for slug, groups in page["groups"].items() for one in groups[0]["data"]]
        assert 0 < len(taken) <= limit
        found += taken
        if page["next_cursor"] is None:
            break
        query = {"next_cursor": page["next_cursor"]}
    assert len(found) == len(set(found)) == 6
