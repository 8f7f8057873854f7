"""Health data in the archive of a user: every sample and every summary, in files and row groups of bounded size."""

import io
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.db import connection
from pytest_django import Settings

from aggregation.exporting import samples as exporting
from aggregation.exporting.samples import SAMPLES
from aggregation.exporting.summaries import SUMMARIES
from aggregation.models import Block, Series, Summary, Tail
from aggregation.records import OFFSET_UNKNOWN, UNDATED, DataSource, SampleColumns, SeriesBatch, StreamRecord
from aggregation.services import health_data_store
from healthsvc.kernel.exporting import ExportPart
from healthsvc.kernel.scope import team_scope
from tests.aggregation.samples import PHONE, WATCH, heartrates, us
from tests.aggregation.summaries import night, run
from tests.factories import Tenant, user_make
from tests.users.exporting import made, opened
from users.exporting.moments import one_moment
from users.models import User

pytestmark = pytest.mark.django_db

DAY_US = 86_400_000_000
BEGIN = us(2026, 3, 2)


@pytest.fixture(autouse=True)
def _own_files(settings: Settings, tmp_path: Path) -> None:
    storage = {**settings.STORAGES["default"], "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "default": storage}


@pytest.fixture
def user(team: Tenant) -> User:
    """Whose data are exported."""
    return user_make(team)


def store(tenant: Tenant, user_id: UUID, *series: SeriesBatch, **more: Any) -> None:
    """Store without telling."""
    with team_scope(tenant.context):
        result = health_data_store(team=tenant.context, user_id=user_id, series=series, emit=False, **more)
    assert list(result.refused) == []


def files_of(tenant: Tenant, part: ExportPart, user_id: UUID) -> dict[str, bytes]:
    """The files of one part."""
    with team_scope(tenant.context):
        return {
            file.path: b"".join(piece.data for piece in file.pieces) for file in part.files(tenant.context, user_id)
        }


def rows_of(content: bytes) -> list[dict[str, Any]]:
    """A Parquet file's rows."""
    found: list[dict[str, Any]] = pq.read_table(io.BytesIO(content)).to_pylist()
    return found


def starts_us(content: bytes) -> list[int]:
    """When the samples of a file begin."""
    found: list[Any] = pq.read_table(io.BytesIO(content))["start"].cast(pa.int64()).to_pylist()
    return found


def test_every_sample_of_every_source_is_there(team: Tenant, user: User) -> None:
    watch = heartrates({BEGIN + minute * 60_000_000: 60.0 + minute for minute in range(3)}, offset_seconds=3_600)
    store(team, user.id, watch, heartrates({BEGIN - 400 * DAY_US: 71.5}, source=PHONE))
    # One more in a tail, and one that replaces what was there.
    store(team, user.id, heartrates({BEGIN + 180_000_000: 99.0, BEGIN: 55.0}))
    others = user_make(team)
    store(team, others.id, heartrates({BEGIN: 1.0}))
    archive = opened(team, user.id)
    rows = rows_of(archive.files["aggregation/samples/heartrate.parquet"])
    shown = sorted((row["source_type"], row["start"].isoformat(), row["value"]) for row in rows)
    assert shown == [
        ("phone", "2025-01-26T00:00:00+00:00", 71.5),
        ("watch", "2026-03-02T00:00:00+00:00", 55.0),
        ("watch", "2026-03-02T00:01:00+00:00", 61.0),
        ("watch", "2026-03-02T00:02:00+00:00", 62.0),
        ("watch", "2026-03-02T00:03:00+00:00", 99.0),
    ]
    by_type = {row["source_type"]: row for row in rows}
    assert (by_type["phone"]["app_id"], by_type["watch"]["app_id"]) == ("com.example", None)
    assert (by_type["watch"]["unit"], by_type["watch"]["provider"]) == ("bpm", "oura")
    offsets = {row["value"]: row["timezone_offset_seconds"] for row in rows}
    assert (offsets[61.0], offsets[71.5]) == (3_600, 0)
    (part,) = (one for one in archive.manifest["parts"] if one["name"] == "aggregation.samples")
    assert (part["records"], part["tables"]) == (5, ["aggregation_block", "aggregation_series", "aggregation_tail"])


def test_own_fields_ends_and_unknown_offsets_are_columns(team: Tenant, user: User) -> None:
    pressure = SampleColumns(
        start_us=np.array([BEGIN], np.int64),
        value=None,
        offset_seconds=np.array([OFFSET_UNKNOWN], np.int32),
        fields={"systolic": np.array([120.0]), "diastolic": np.array([80.0])},
    )
    steps = SampleColumns(
        start_us=np.array([BEGIN], np.int64),
        end_us=np.array([BEGIN + 60_000_000], np.int64),
        value=np.array([12.0]),
        offset_seconds=np.array([0], np.int32),
    )
    cuff = DataSource("withings", "cuff")
    store(team, user.id, SeriesBatch("blood_pressure", cuff, pressure), SeriesBatch("steps", WATCH, steps))
    files = files_of(team, SAMPLES, user.id)
    (reading,) = rows_of(files["aggregation/samples/blood_pressure.parquet"])
    assert (reading["systolic"], reading["diastolic"], reading["value"], reading["end"]) == (120.0, 80.0, None, None)
    assert reading["timezone_offset_seconds"] is None
    (walked,) = rows_of(files["aggregation/samples/steps.parquet"])
    assert (walked["end"] - walked["start"]).total_seconds() == 60


def test_the_course_of_a_workout_names_its_workout(team: Tenant, user: User) -> None:
    source = DataSource("oura", "ring")
    moments = np.array([BEGIN, BEGIN + 1_000_000], np.int64)
    course = StreamRecord(
        "workout_stream", source, "run-1", moments, {"power": np.array([200.0, np.nan]), "lat": np.array([1.5, 1.5])}
    )
    store(team, user.id, summaries=[run("run-1")], streams=[course])
    rows = rows_of(files_of(team, SAMPLES, user.id)["aggregation/samples/workout_stream.parquet"])
    with team_scope(team.context):
        workout = Summary.objects.get()
    assert [(row["power"], row["lat"], row["workout_id"]) for row in rows] == [
        (200.0, 1.5, str(workout.id)),
        (None, 1.5, str(workout.id)),
    ]


@pytest.mark.parametrize("blocks_at_once", [1, 3, 1_000])
@pytest.mark.parametrize(("group", "file"), [(1, 1), (4, 9), (100_000, 1_000_000)])
def test_files_and_row_groups_are_bounded_and_nothing_is_lost_or_doubled(
    team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch, group: int, file: int, blocks_at_once: int
) -> None:
    monkeypatch.setattr(exporting, "_GROUP_SAMPLES", group)
    monkeypatch.setattr(exporting, "_FILE_SAMPLES", file)
    monkeypatch.setattr(exporting, "_BLOCKS_AT_ONCE", blocks_at_once)
    monkeypatch.setattr(exporting, "_SERIES_AT_ONCE", 2)
    expected = []
    for number in range(5):
        source = DataSource("oura", "watch", app_id=f"app-{number}")
        # Three samples a day, on every other day of a week.
        times = [BEGIN + day * DAY_US + hour * 3_600_000_000 for day in range(0, 7, 2) for hour in (1, 2, 3)]
        store(team, user.id, heartrates(dict.fromkeys(times, 60.0), source=source))
        expected += times
    files = files_of(team, SAMPLES, user.id)
    names = [f"aggregation/samples/heartrate{more}.parquet" for more in ("", *(f"-{n}" for n in range(2, 99)))]
    assert list(files) == names[: len(files)]
    assert sorted(at for content in files.values() for at in starts_us(content)) == sorted(expected)
    sizes = [pq.ParquetFile(io.BytesIO(content)).metadata for content in files.values()]
    # A block is taken whole.
    assert max(one.num_rows for one in sizes) < file + group + 3
    groups = [one.row_group(place).num_rows for one in sizes for place in range(one.num_row_groups)]
    assert (max(groups) < group + 3, min(groups) > 0) == (True, True)
    assert (len(files) == 1) == (file > 60)


def test_summaries_are_whole_as_lines_and_tables(team: Tenant, user: User) -> None:
    raw = {"vendor": {"word": [1, 2]}}
    store(team, user.id, summaries=[replace(night(score=81), raw=raw), run(hr_zones=[1, 2, 3, 4, 5, 6])])
    archive = opened(team, user.id)
    lines = {line["resource"]: line for line in archive.lines("aggregation/summaries.jsonl")}
    assert (lines["sleep"]["raw"], lines["sleep"]["payload"]["score"]) == (raw, 81)
    assert (lines["workouts"]["raw"], lines["workouts"]["payload"]["sport"]) == (None, "running")
    (slept,) = rows_of(archive.files["aggregation/summaries/sleep.parquet"])
    assert (slept["id"], slept["external_id"], slept["score"]) == (lines["sleep"]["id"], "night-1", 81)
    assert (slept["calendar_date"].isoformat(), slept["starts_at"].isoformat()) == (
        "2026-03-02",
        "2026-03-02T00:00:00+00:00",
    )
    (ran,) = rows_of(archive.files["aggregation/summaries/workouts.parquet"])
    assert (ran["sport"], ran["hr_zones"], ran["more"]) == ("running", [1, 2, 3, 4, 5, 6], None)


def test_what_is_of_no_day_has_no_day_made_up(team: Tenant, user: User) -> None:
    store(team, user.id, summaries=[night(), replace(night(), resource="profile", calendar_date=UNDATED, fields={})])
    archive = opened(team, user.id)
    lines = {line["resource"]: line for line in archive.lines("aggregation/summaries.jsonl")}
    assert ("calendar_date" in lines["profile"], lines["sleep"]["calendar_date"]) == (False, "2026-03-02")
    (profile,) = rows_of(archive.files["aggregation/summaries/profile.parquet"])
    assert (profile["id"], "calendar_date" in profile) == (lines["profile"]["id"], False)


def test_what_the_catalogue_does_not_name_any_more_is_there_all_the_same(team: Tenant, user: User) -> None:
    store(team, user.id, heartrates({BEGIN: 60.0}), summaries=[night()])
    with team_scope(team.context):
        Series.objects.update(resource="phrenology")
        row = Summary.objects.get()
        Summary.objects.filter(id=row.id).update(resource="aura", payload={"colour": "blue"})
    samples = files_of(team, SAMPLES, user.id)
    assert [row["value"] for row in rows_of(samples["aggregation/samples/phrenology.parquet"])] == [60.0]
    (aura,) = rows_of(files_of(team, SUMMARIES[1], user.id)["aggregation/summaries/aura.parquet"])
    assert aura["more"] == '{"colour":"blue"}'


def test_a_damaged_block_is_told_not_passed_over(team: Tenant, user: User) -> None:
    store(team, user.id, heartrates({BEGIN + minute * 60_000_000: 60.0 for minute in range(40)}))
    with team_scope(team.context):
        Block.objects.update(data=b"no block")
    export = made(team, user.id)
    assert (export.status, export.error_code) == ("failed", "unreadable")


def _dense(count: int) -> SeriesBatch:
    times = BEGIN + np.arange(count, dtype=np.int64) * 5_000_000
    columns = SampleColumns(
        start_us=times,
        value=np.asarray(60.0 + np.arange(count) % 97, np.float64),
        offset_seconds=np.zeros(count, np.int32),
    )
    return SeriesBatch("heartrate", WATCH, columns)


def _peak_bytes(tenant: Tenant, user_id: UUID) -> int:
    with team_scope(tenant.context):
        tracemalloc.start()
        try:
            for file in SAMPLES.files(tenant.context, user_id):
                for _piece in file.pieces:
                    pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


@pytest.mark.slow
def test_three_times_the_samples_take_no_more_memory(team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "_GROUP_SAMPLES", 30_000)
    peaks = []
    for count in (100_000, 300_000):
        user = user_make(team)
        store(team, user.id, _dense(count))
        peaks.append(_peak_bytes(team, user.id))
    assert peaks[1] < peaks[0] * 1.2, peaks


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_file_is_of_one_moment(team: Tenant, user: User) -> None:
    store(team, user.id, heartrates({BEGIN: 60.0}))
    with team_scope(team.context), one_moment():
        assert Tail.objects.count() + Block.objects.count() == 1
        # Somebody else's connection, which commits.
        other = connection.copy()
        try:
            with other.cursor() as cursor:
                cursor.execute("SELECT set_config('healthsvc.system', 'purge', false)")
                cursor.execute("DELETE FROM aggregation_block")
            assert Block.objects.count() == 1
            with connection.cursor() as cursor:
                cursor.execute("SHOW transaction_read_only")
                assert cursor.fetchone() == ("on",)
        finally:
            other.close()
    with team_scope(team.context):
        assert Block.objects.count() == 0
