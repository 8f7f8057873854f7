"""The course of a workout is kept with its workout, and samples remember the workout they were taken in."""

from dataclasses import replace

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray
from pytest_django import DjangoAssertNumQueries

from aggregation.codec import BlockColumns, LabelColumn
from aggregation.models import Series, Summary
from aggregation.records import DataSource, Refusal, StoreResult, StreamRecord, SummaryRecord
from aggregation.services import health_data_store
from aggregation.store import read
from aggregation.store.columns import label_texts
from tests import factories
from tests.aggregation import summaries
from tests.aggregation.samples import WATCH, heartrates, us
from users.models import User
from webhooks.models import Event

BASE_US = us(2026, 3, 2, 17)
NAN = float("nan")
RUN = replace(summaries.run("run-1", sport="running"), source=WATCH)


@pytest.fixture
def user(in_team: factories.Tenant) -> User:
    return factories.user_make(in_team)


def stream(
    size: int = 3, *, workout: str = "run-1", first: int = 0, source: DataSource = WATCH, **channels: list[float]
) -> StreamRecord:
    """A moment a second."""
    times = BASE_US + np.arange(first, first + size, dtype=np.int64) * 1_000_000
    given = channels or {"heartrate": [120.0] * size}
    return StreamRecord("workout_stream", source, workout, times, {k: np.array(v) for k, v in given.items()})


def put(tenant: factories.Tenant, user: User, *streams: StreamRecord, run: SummaryRecord | None = RUN) -> StoreResult:
    workouts = [run] if run else []
    return health_data_store(team=tenant.context, user_id=user.id, summaries=workouts, streams=streams)


def kept(tenant: factories.Tenant, user: User) -> BlockColumns:
    """The stream of the one workout."""
    workout_id = Summary.objects.get(external_id="run-1").id
    (row,) = read.series_of(tenant.context, user.id, "workout_stream", workout_id=workout_id)
    return read.samples_of(user.id, [read.Span(row, -(2**31), 2**31 - 1)])[row.series_id]


def floats(block: BlockColumns, name: str) -> NDArray[np.float64]:
    column = block.extra[name]
    assert not isinstance(column, LabelColumn)
    return column


def texts(block: BlockColumns, name: str) -> list[str | None]:
    column = block.extra.get(name)
    assert column is None or isinstance(column, LabelColumn)
    return label_texts(column, len(block))


def test_a_stream_is_kept_by_its_workout_in_hours(in_team: factories.Tenant, user: User) -> None:
    size = 2 * 3_600
    sent = stream(size, heartrate=[120.0] * size, lat=[50.123456] * size, power=[NAN, *[200.0] * (size - 1)])
    result = put(in_team, user, sent)
    assert result == StoreResult(created={"workouts": 1, "workout_stream": size})
    assert Series.objects.get().bucket_seconds == 3_600
    found = kept(in_team, user)
    assert found.value is None
    assert found.start_us.tolist() == sent.time_us.tolist()
    for name, values in sent.channels.items():
        assert floats(found, name).tobytes() == values.tobytes()
    assert read.series_of(in_team.context, user.id, "workout_stream") == []


def test_moments_are_merged_and_counted_like_samples(in_team: factories.Tenant, user: User) -> None:
    put(in_team, user, stream(4, heartrate=[1.0, 2.0, 3.0, 4.0], power=[NAN, 5.0, NAN, 6.0]))
    again = stream(4, first=1, heartrate=[2.0, 3.5, 4.0, 5.0], power=[5.0, NAN, NAN, NAN])
    result = put(in_team, user, again, run=None)
    assert result == StoreResult(
        created={"workout_stream": 1}, changed={"workout_stream": 2}, unchanged={"workout_stream": 1}
    )
    found = kept(in_team, user)
    assert floats(found, "heartrate").tolist() == [1.0, 2.0, 3.5, 4.0, 5.0]
    assert np.isnan(floats(found, "power")).tolist() == [True, False, True, True, True]


def test_a_stream_tells_of_itself_once_and_shallowly(in_team: factories.Tenant, user: User) -> None:
    put(in_team, user, stream(5), stream(2, source=DataSource("oura", "phone", device_id="left")))
    types = [event.event_type for event in Event.objects.order_by("id")]
    assert sorted(types) == ["daily.data.workout_stream.created", "daily.data.workouts.created"]
    Event.objects.all().delete()
    put(in_team, user, stream(5))
    assert Event.objects.count() == 0
    put(in_team, user, stream(5, heartrate=[90.0] * 5))
    event = Event.objects.get()
    data = orjson.loads(event.body)["data"]
    assert event.event_type == "daily.data.workout_stream.updated"
    assert (data["workout_id"], data["provider_id"]) == (str(Summary.objects.get().id), "run-1")
    assert "heartrate" not in event.body


def test_a_workout_has_one_stream_whatever_device_told_of_it(in_team: factories.Tenant, user: User) -> None:
    put(in_team, user, stream(4, source=replace(WATCH, device_id="w-1"), heartrate=[1.0, 2.0, 3.0, 4.0]))
    result = put(in_team, user, stream(4, first=2, heartrate=[3.5, 4.5, 5.5, 6.5]), run=None)
    assert result == StoreResult(created={"workout_stream": 2}, changed={"workout_stream": 2})
    phone = stream(1, source=DataSource("oura", "phone", app_id="com.example"), heartrate=[1.5])
    assert put(in_team, user, phone, run=None) == StoreResult(changed={"workout_stream": 1})
    found = kept(in_team, user)
    assert found.start_us.tolist() == stream(6).time_us.tolist()
    assert floats(found, "heartrate").tolist() == [1.5, 2.0, 3.5, 4.5, 5.5, 6.5]
    sources = [orjson.loads(event.body)["data"]["source"]["type"] for event in Event.objects.all()]
    assert set(sources) == {WATCH.type}


def test_a_stream_of_no_workout_is_refused(in_team: factories.Tenant, user: User) -> None:
    other = replace(stream(2), source=DataSource("garmin", "watch"))
    result = put(in_team, user, stream(3, workout="run-2"), other, stream(1))
    assert result == StoreResult(
        created={"workouts": 1, "workout_stream": 1}, refused=(Refusal("workout_stream", "unknown_workout", 5),)
    )


def test_a_workout_of_somebody_else_is_no_workout(in_team: factories.Tenant, user: User) -> None:
    put(in_team, factories.user_make(in_team))
    assert put(in_team, user, stream(3), run=None).refused == (Refusal("workout_stream", "unknown_workout", 3),)


@pytest.mark.parametrize(
    ("record", "refused", "stored"),
    [
        (stream(2, heartrate=[500.0, 100.0]), ("out_of_range", 1), 1),
        (stream(2, heartrate=[float("inf"), 100.0]), ("bad_value", 1), 1),
        (stream(2, heartrate=[NAN, 100.0], power=[NAN, NAN]), ("missing_field", 1), 1),
        (stream(2, heartrate=[1.0, 2.0], mood=[1.0, 2.0]), ("unknown_field", 2), 0),
        (stream(2, heartrate=[1.0]), ("bad_value", 2), 0),
        (stream(2, source=DataSource("oura", "toaster")), ("bad_source", 2), 0),
        (replace(stream(2), resource="sleep_stream"), ("unknown_resource", 2), 0),
        (replace(stream(2), time_us=np.array([us(2300, 1, 1), BASE_US])), ("bad_date", 1), 1),
    ],
)
def test_bad_moments_take_no_good_ones_down(
    in_team: factories.Tenant, user: User, record: StreamRecord, refused: tuple[str, int], stored: int
) -> None:
    result = put(in_team, user, record)
    assert [(one.reason, one.count) for one in result.refused] == [refused]
    assert result.created.get("workout_stream", 0) == stored


def test_samples_remember_their_workout(in_team: factories.Tenant, user: User) -> None:
    inside = replace(heartrates({BASE_US: 120.0, BASE_US + 1: 121.0}), workout="run-1")
    outside = heartrates({BASE_US + 2: 60.0})
    strange = replace(heartrates({BASE_US + 3: 61.0}), workout="run-2")
    result = health_data_store(
        team=in_team.context, user_id=user.id, summaries=[RUN], series=[inside, outside, strange], emit=False
    )
    assert result == StoreResult(created={"workouts": 1, "heartrate": 4})
    (row,) = read.series_of(in_team.context, user.id, "heartrate")
    block = read.samples_of(user.id, [read.Span(row, -(2**31), 2**31 - 1)])[row.series_id]
    named = str(Summary.objects.get().id)
    assert texts(block, "source_workout_id") == [named, named, None, None]
    assert texts(block, "source_sport") == ["running", "running", None, None]
    # The last word counts here too: sent again without its workout, a sample is of none.
    again = health_data_store(team=in_team.context, user_id=user.id, series=[heartrates({BASE_US: 120.0})], emit=False)
    assert again == StoreResult(changed={"heartrate": 1})


def test_all_workouts_are_looked_up_at_once(
    in_team: factories.Tenant, user: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    runs = [replace(RUN, external_id=f"run-{number}") for number in range(5)]
    streams = [stream(3, workout=one.external_id) for one in runs]
    samples = [replace(heartrates({BASE_US + n: 60.0}), workout=one.external_id) for n, one in enumerate(runs)]
    # Savepoint and its release, user, summaries, workouts, locks, blocks read, blocks written, the note of what series
    # hold.
    with django_assert_num_queries(9):
        result = health_data_store(
            team=in_team.context, user_id=user.id, summaries=runs, series=samples, streams=streams, emit=False
        )
    assert result == StoreResult(created={"workouts": 5, "heartrate": 5, "workout_stream": 15})
