"""Routes and electrocardiograms of an archive: exact, bounded, and no way out of it."""

import io
import tracemalloc
import zipfile
from contextlib import suppress
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregation.apple_health.electrocardiograms import CLASSIFICATIONS
from aggregation.apple_health.limits import ExportLimits, ExportRefusedError
from aggregation.apple_health.polylines import encoded, thinned
from aggregation.apple_health.routes import read_route
from aggregation.apple_health.tally import RefusalReason
from aggregation.records import DataSource
from tests.aggregation.apple_health.reading import Reading, document, read

LIMITS = ExportLimits()
ROUTE = "workout-routes/route_1.gpx"
GPX_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<gpx version="1.1" creator="Apple Health Export" '
    'xmlns="http://www.topografix.com/GPX/1/1"><metadata><time>2024-03-12T23:00:00Z</time></metadata>'
    "<trk><name>Route</name><trkseg>"
)
GPX_TAIL = "</trkseg></trk></gpx>"


def point(second: int, latitude: float, longitude: float, altitude: float = 10.0, speed: float = 2.5) -> str:
    return (
        f'<trkpt lon="{longitude}" lat="{latitude}"><ele>{altitude}</ele><time>2024-03-12T22:00:{second:02d}Z</time>'
        f"<extensions><speed>{speed}</speed><course>180</course><hAcc>2</hAcc></extensions></trkpt>"
    )


def gpx(*points: str) -> bytes:
    return (GPX_HEAD + "".join(points) + GPX_TAIL).encode()


def workout(path: str = "/workout-routes/route_1.gpx", start: str = "18:00:00") -> str:
    return (
        '<Workout workoutActivityType="HKWorkoutActivityTypeRunning" duration="30" durationUnit="min" '
        f'sourceName="Watch" startDate="2024-03-12 {start} -0400" endDate="2024-03-12 18:32:30 -0400">'
        f'<WorkoutRoute sourceName="Watch"><MetadataEntry key="a" value="b"/><FileReference path="{path}"/>'
        "</WorkoutRoute></Workout>"
    )


def packed(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr("apple_health_export/" + name, content)
    return out.getvalue()


def exported(files: dict[str, bytes], *elements: str, limits: ExportLimits | None = None) -> Reading:
    return read(packed({"export.xml": document(*elements), **files}), limits)


def test_a_polyline_is_the_published_one() -> None:
    """The example of the algorithm's own description."""
    assert encoded(np.array([38.5, 40.7, 43.252]), np.array([-120.2, -120.95, -126.453])) == (
        "_p~iF~ps|U_ulLnnqC_mqNvxq`@"
    )
    assert thinned(np.arange(1_000.0), 5).tolist() == [0.0, 250.0, 500.0, 749.0, 999.0]
    assert thinned(np.arange(3.0), 5).tolist() == [0.0, 1.0, 2.0]


def test_a_route_is_the_workouts_map_and_course() -> None:
    route = gpx(point(2, 38.5, -120.2, 12.5, 3.0), point(1, 40.7, -120.95), point(2, 43.252, -126.453, 11.0))
    reading = exported({ROUTE: route}, workout())
    (summary,) = reading.of("workouts")
    assert summary.fields["map"] == {
        "polyline": encoded(np.array([40.7, 43.252]), np.array([-120.95, -126.453])),
        "summary_polyline": encoded(np.array([40.7, 43.252]), np.array([-120.95, -126.453])),
    }
    assert (summary.fields["elev_high"], summary.fields["elev_low"]) == (11.0, 10.0)
    (stream,) = reading.streams
    assert (stream.resource, stream.workout, stream.source) == (
        "workout_stream",
        summary.external_id,
        DataSource("apple_health_kit", "watch", "Watch"),
    )
    assert stream.time_us.tolist() == [1_710_280_801_000_000, 1_710_280_802_000_000]
    assert {name: values.tolist() for name, values in stream.channels.items()} == {
        "lat": [40.7, 43.252],
        "lng": [-120.95, -126.453],
        "altitude": [10.0, 11.0],
        "velocity_smooth": [2.5, 2.5],
    }
    assert reading.refused() == reading.left_out() == {}
    assert reading.tally.read["workout-routes"] == 1


def test_several_files_are_one_route_and_each_is_read_once() -> None:
    two = workout().replace("</WorkoutRoute>", '<FileReference path="/workout-routes/route_2.gpx"/></WorkoutRoute>')
    files = {ROUTE: gpx(point(5, 1.0, 1.0)), "workout-routes/route_2.gpx": gpx(point(3, 2.0, 2.0))}
    reading = exported(files, two, workout(start="17:00:00"))
    (stream,) = reading.streams
    assert stream.channels["lat"].tolist() == [2.0, 1.0]
    assert reading.left_out() == {("workout-routes", "file_missing"): 1}
    assert len(reading.of("workouts")) == 2


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/workout-routes/../export.xml",
        "/etc/workout-routes/other.gpx",
        "",
        "workout-routes/",
        "file:///workout-routes/route_9.gpx",
    ],
)
def test_a_path_is_only_a_name_in_the_archive(path: str) -> None:
    reading = exported({ROUTE: gpx(point(1, 1.0, 1.0))}, workout(path))
    assert reading.streams == []
    assert reading.left_out() == {("workout-routes", "file_missing"): 1, ("workout-routes", "not_referenced"): 1}


@pytest.mark.parametrize(
    ("content", "points", "problem"),
    [
        (gpx(point(1, 1.0, 2.0)), 1, None),
        (gpx(), 0, "bad_value"),
        (b"", 0, "truncated"),
        (gpx(point(1, 1.0, 2.0), point(2, 91.0, 2.0), point(3, 1.0, float("nan"))), 1, None),
        (gpx(point(1, 1.0, 2.0), "<trkpt lat='1' lon='2'><time>yesterday</time></trkpt>"), 1, None),
        (gpx(point(1, 1.0, 2.0), "<trkpt lat='1' lon='2'><time>2024-03-12T22:00:00</time></trkpt>"), 1, None),
        (gpx(point(1, 1.0, 2.0), "<trkpt lat='1' lon='2'>"), 1, "malformed"),
        (gpx(point(1, 1.0, 2.0))[:-20], 1, "truncated"),
        (b'<!DOCTYPE gpx [<!ENTITY a "b">]>' + gpx(point(1, 1.0, 2.0)).partition(b"\n")[2], 0, "malformed"),
        ((GPX_HEAD + "<a>" * 100).encode(), 0, "malformed"),
        (b"not xml at all", 0, "malformed"),
    ],
)
def test_a_damaged_route_is_read_as_far_as_it_goes_and_named(content: bytes, points: int, problem: str | None) -> None:
    reading = exported({ROUTE: content}, workout())
    assert [len(stream.time_us) for stream in reading.streams] == ([points] if points else [])
    assert reading.refused() == ({("workout-routes", problem): 1} if problem else {})
    assert len(reading.of("workouts")) == 1


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (GPX_HEAD.encode() + b"<trkpt lat='" + b"1" * 2_000_000, RefusalReason.MALFORMED),
        (b"".join((GPX_HEAD.encode(), *(b"<n%d/>" % number for number in range(10_000)))), RefusalReason.MALFORMED),
        (GPX_HEAD.encode() + b"<trkpt lat='1' lon='1'><ele>" + b"1" * 2_000_000, RefusalReason.MALFORMED),
        (GPX_HEAD.encode() + point(1, 1.0, 1.0).encode() * 6_000, RefusalReason.TOO_MANY),
        (GPX_HEAD.encode() + (b"<x a='" + b"1" * 90 + b"'/>") * 25_000, RefusalReason.TOO_LARGE),
    ],
    ids=["attribute", "names", "text", "points", "size"],
)
def test_hostile_routes_stay_in_bounds(content: bytes, problem: RefusalReason) -> None:
    limits = ExportLimits(max_route_bytes=2_100_000, max_route_points=5_000)
    stream = io.BytesIO(content)
    tracemalloc.start()
    try:
        _route, found = read_route(stream.read, limits)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found is problem
    assert peak_bytes < 6 * 1024 * 1024


def test_a_route_that_inflates_without_end_is_cut() -> None:
    bomb = gpx(point(1, 1.0, 1.0)) + b" " * 5_000_000
    reading = exported({ROUTE: bomb}, workout(), limits=ExportLimits(max_route_bytes=1_000_000))
    assert reading.refused() == {("workout-routes", "too_large"): 1}
    assert len(reading.streams) == 1


def test_all_files_together_are_bounded() -> None:
    files = {f"workout-routes/route_{number}.gpx": gpx(point(1, 1.0, 1.0)) for number in range(4)}
    workouts = [workout(f"/workout-routes/route_{number}.gpx", f"17:0{number}:00") for number in range(4)]
    reading = exported(files, *workouts, limits=ExportLimits(max_attached_bytes=600))
    assert len(reading.streams) == 2
    assert reading.refused() == {("workout-routes", "truncated"): 3}


@settings(max_examples=100, deadline=None)
@given(content=st.binary(max_size=300), cut=st.integers(0, 400))
def test_nothing_else_is_raised_over_a_route(content: bytes, cut: int) -> None:
    for damaged in (content, gpx(point(1, 1.0, 1.0))[:cut] + content):
        read_route(io.BytesIO(damaged).read, LIMITS)


def ecg(*lines: str, head: str | None = None) -> bytes:
    english = (
        'Name,Robin Doe\nDate of Birth,"Jan 1, 1980"\nRecorded Date,2024-03-12 09:14:40 -0400\n'
        'Classification,Sinus Rhythm\nSymptoms,\nSoftware Version,1.90\nDevice,"Watch6,2"\nSample Rate,500 hertz\n\n\n'
        "Lead,Lead I\nUnit,µV\n\n"
    )
    return ((english if head is None else head) + "\n".join(lines) + "\n").encode()


def recorded(content: bytes, limits: ExportLimits | None = None) -> Reading:
    return read(packed({"export.xml": document(), "electrocardiograms/ecg_2024-03-12.csv": content}), limits)


def test_an_electrocardiogram_is_a_summary_and_its_voltages() -> None:
    reading = recorded(ecg("-48.673", "0", "1250.5"))
    (summary,) = reading.of("electrocardiogram")
    assert summary.fields == {
        "session_start": "2024-03-12T13:14:40+00:00",
        "session_end": "2024-03-12T13:14:40.006000+00:00",
        "voltage_sample_count": 3,
        "sampling_frequency_hz": 500.0,
        "classification": "sinus_rhythm",
        "algorithm_version": "1.90",
        "source_device_model": "Watch6,2",
    }
    assert (summary.source, summary.calendar_date) == (DataSource("apple_health_kit", "watch"), date(2024, 3, 12))
    (voltages,) = reading.batches
    assert (voltages.resource, voltages.source) == ("electrocardiogram_voltage", summary.source)
    assert voltages.samples.values.tolist() == [-0.048673, 0.0, 1.2505]
    assert np.diff(voltages.samples.start_us).tolist() == [2_000, 2_000]
    assert voltages.samples.type == ["lead_1"] * 3
    assert voltages.samples.offset_seconds.tolist() == [-14_400] * 3
    assert reading.refused() == reading.left_out() == {}


def test_an_electrocardiogram_in_another_language_is_read_by_what_its_lines_hold() -> None:
    head = (
        "Nome,Robin\nData de nascimento,1 de jan. de 1980\nData do registro,2024-03-12 09:14:40 -0400\n"
        'Classificação,Ritmo sinusal\nSintomas,\nVersão do software,1.90\nDispositivo,"Watch6,2"\n'
        'Frequência,"512,414 hertz"\n\n\nDerivação,Derivação I\nUnidade,µV\n\n'
    )
    reading = recorded(ecg("-265,868", "12", "0,5", head=head))
    (summary,) = reading.of("electrocardiogram")
    assert (summary.fields["sampling_frequency_hz"], summary.fields["voltage_sample_count"]) == (512.414, 3)
    assert "classification" not in summary.fields
    assert reading.values("electrocardiogram_voltage") == [-0.265868, 0.012, 0.0005]
    assert reading.left_out() == {("electrocardiograms.classification", "unknown_type"): 1}


WHOLE = packed(
    {
        "export.xml": document(workout()),
        ROUTE: gpx(point(1, 1.0, 1.0)),
        "electrocardiograms/ecg_1.csv": ecg("1.5", "2.5"),
    }
)


@settings(max_examples=300, deadline=None)
@given(
    flips=st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=6),
    end=st.integers(0, len(WHOLE)),
)
def test_flipped_bytes_of_an_archive_with_files_raise_nothing_else(flips: list[tuple[int, int]], end: int) -> None:
    content = bytearray(WHOLE)
    for position, value in flips:
        content[position] = value
    for damaged in (bytes(content), bytes(content[:end])):
        with suppress(ExportRefusedError):
            read(damaged)


def test_every_classification_of_apple_is_known() -> None:
    for words, (classification, cause) in CLASSIFICATIONS.items():
        content = ecg("1").replace(b"Sinus Rhythm", words.title().encode())
        (summary,) = recorded(content).of("electrocardiogram")
        assert summary.fields["classification"] == classification
        assert summary.fields.get("inconclusive_cause") == cause


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "bad_date"),
        (b"\x00\xff" * 500, "bad_date"),
        (ecg(), "bad_value"),
        (ecg("1", "two", "3"), "bad_value"),
        (ecg("1", "nan"), "bad_value"),
        (ecg("999999999"), "out_of_range"),
        (ecg("1").replace(b"500 hertz", b"fast"), "bad_value"),
        (ecg(*["1"] * 60), "too_large"),
        (ecg("1" * 5_000), "too_large"),
        (b"\r" * 1_000, "too_large"),
    ],
)
def test_an_electrocardiogram_that_can_not_be_read_is_named(content: bytes, reason: str) -> None:
    limits = ExportLimits(max_electrocardiogram_samples=50, max_electrocardiogram_bytes=2_000)
    reading = recorded(content, limits)
    assert reading.refused() == {("electrocardiograms", reason): 1}
    assert (reading.batches, reading.summaries) == ([], [])


@settings(max_examples=200, deadline=None)
@given(flips=st.lists(st.tuples(st.integers(0, 260), st.integers(0, 255)), max_size=8))
def test_nothing_is_raised_over_an_electrocardiogram(flips: list[tuple[int, int]]) -> None:
    content = bytearray(ecg(*["1.5"] * 10))
    for position, value in flips:
        content[position % len(content)] = value
    recorded(bytes(content))
