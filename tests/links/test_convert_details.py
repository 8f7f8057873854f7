"""Oxygen and rings of Oura, nights in detail and devices of Withings, value by value."""

from datetime import UTC, date, datetime

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.records import OFFSET_UNKNOWN, UNDATED, DataSource, Refusal, SeriesBatch, SummaryRecord
from aggregation.store.checking import Ingestion, sample_reasons, summary_reason
from healthsvc.kernel.typing import JSONValue
from links.connectors.oura import convert as oura
from links.connectors.payload import Series
from links.connectors.withings import nights
from links.connectors.withings.devices import device_from_device
from tests.links.payloads import changed, mapping, rows, without

RING = DataSource(provider="oura", type="ring")
NIGHTS = rows("oura/sleep.json", "data")
OXYGEN = rows("oura/daily_spo2.json", "data")
GEN3, UNKNOWN_RING = rows("oura/ring_configuration.json", "data")

MAT = DataSource("withings", "unknown", device_id="a" * 40)
SUMMARY, NAP = rows("withings/getsummary.json", "body", "series")
SEGMENTS = rows("withings/sleep_get.json", "body", "series")
SCALE, AURA, NAMELESS = rows("withings/getdevice.json", "body", "devices")
CEST_SECONDS = 2 * 3600
#: The night of the summary, epoch seconds.
NIGHT_STARTS = 1782248400


def record(converted: SummaryRecord | Refusal) -> SummaryRecord:
    assert isinstance(converted, SummaryRecord), converted
    return converted


def values(batch: SeriesBatch) -> list[tuple[int, float, int]]:
    """Epoch seconds, value and offset of each sample."""
    samples = batch.samples
    at = (samples.start_us // 1_000_000).tolist()
    return list(zip(at, samples.values.tolist(), samples.offset_seconds.tolist(), strict=True))


def reasons(series: Series) -> list[tuple[str, str, int]]:
    return [(one.kind, one.reason, one.count) for one in series.refusals]


def fits(*found: SeriesBatch | SummaryRecord) -> bool:
    """Whether the store takes everything."""
    whole = [one for one in found if isinstance(one, SummaryRecord)]
    wrong = [summary_reason(one, Ingestion()) for one in whole]
    batches = [one for one in found if isinstance(one, SeriesBatch)]
    bad = [sample_reasons(SERIES_BY_SLUG[one.resource], one.samples, Ingestion()) for one in batches]
    return wrong == [None] * len(whole) and bad == [[]] * len(batches)


def test_a_nights_oxygen_is_a_sample_where_the_night_ended() -> None:
    ends = oura.night_ends(NIGHTS)
    assert list(ends) == [date(2026, 3, 8)]
    series = oura.blood_oxygen_from_daily_spo2(OXYGEN, ends)
    (batch,) = series.batches
    assert (batch.resource, batch.source) == ("blood_oxygen", RING)
    woke = int(datetime(2026, 3, 8, 11, 10, tzinfo=UTC).timestamp())
    assert values(batch) == [(woke, 97.312, -4 * 3600)]
    assert reasons(series) == [("daily_spo2", "night_unknown", 1), ("daily_spo2", "out_of_range:average", 1)]
    assert fits(batch)


def test_oxygen_without_nights_is_at_midnight_of_its_day() -> None:
    series = oura.blood_oxygen_from_daily_spo2(OXYGEN)
    (batch,) = series.batches
    days = [int(datetime(2026, 3, day, tzinfo=UTC).timestamp()) for day in (8, 10)]
    assert values(batch) == [(days[0], 97.312, OFFSET_UNKNOWN), (days[1], 96.5, OFFSET_UNKNOWN)]
    assert reasons(oura.blood_oxygen_from_daily_spo2([7, without(OXYGEN[0], "day")])) == [
        ("daily_spo2", "missing_field:day", 1),
        ("daily_spo2", "not_an_object", 1),
    ]


def test_a_ring_value_by_value() -> None:
    ring = record(oura.device_from_ring_configuration(GEN3))
    identity = "5d1a8f0c-2f0b-4f4e-8a5e-7f6f2f1f9b10"
    assert ring == SummaryRecord(
        resource="device",
        source=DataSource("oura", "ring", device_id=identity),
        external_id=identity,
        calendar_date=UNDATED,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=None,
        fields={"device_manufacturer": "Oura", "device_model": "gen3", "device_version": "3.4.2"},
        raw=mapping(GEN3),
    )
    bare = record(oura.device_from_ring_configuration(UNKNOWN_RING))
    assert bare.fields == {"device_manufacturer": "Oura", "device_model": None, "device_version": None}
    assert fits(ring, bare)
    refused = oura.device_from_ring_configuration(changed(GEN3, id=None))
    assert refused == Refusal("ring_configuration", "missing_field:id")


def test_the_stages_of_a_night_value_by_value() -> None:
    stages = record(nights.sleep_cycle_from_segments(SUMMARY, segments=SEGMENTS))
    assert stages == SummaryRecord(
        resource="sleep_cycle",
        source=MAT,
        external_id="2081804182",
        calendar_date=date(2026, 6, 24),
        starts_at=datetime(2026, 6, 23, 21, 0, tzinfo=UTC),
        ends_at=datetime(2026, 6, 24, 4, 50, tzinfo=UTC),
        timezone_offset_seconds=CEST_SECONDS,
        fields={
            "sleep_external_id": "2081804182",
            "session_start": "2026-06-23T21:00:00+00:00",
            "session_end": "2026-06-24T04:50:00+00:00",
            "stage_start_offset_second": [0, 600, 5400, 7800, 10800, 11700, 21600],
            "stage_end_offset_second": [600, 5400, 7800, 10800, 11700, 21600, 28200],
            "stage_type": [4, 2, 1, 3, 4, -1, 4],
            "time_zone": "Europe/Paris",
        },
    )
    # The sleep itself is another record; the store takes the stages where it is.
    assert summary_reason(stages, Ingestion()) is None


def test_a_night_without_stages_has_none() -> None:
    assert nights.sleep_cycle_from_segments(SUMMARY, segments=[]) == Refusal("sleep_cycle", "missing_field:series")
    elsewhere: list[JSONValue] = [{"startdate": NIGHT_STARTS - 900, "enddate": NIGHT_STARTS, "state": 1}, "nonsense"]
    assert nights.sleep_cycle_from_segments(SUMMARY, segments=elsewhere) == Refusal(
        "sleep_cycle", "missing_field:series"
    )
    by_hand = [{"startdate": NIGHT_STARTS, "enddate": NIGHT_STARTS + 60, "state": 4}]
    found = record(nights.sleep_cycle_from_segments(changed(SUMMARY, timezone="Nowhere/None"), segments=by_hand))
    assert (found.fields["stage_type"], found.fields["time_zone"]) == ([5], None)


def test_what_a_mat_measures_in_a_night() -> None:
    night = nights.night_of(SUMMARY)
    assert night == nights.Night(
        MAT,
        datetime(2026, 6, 23, 21, 0, tzinfo=UTC),
        datetime(2026, 6, 24, 4, 50, tzinfo=UTC),
        "Europe/Paris",
        is_on_monitor=True,
    )
    series = nights.series_from_segments(SEGMENTS, night)
    rate, rmssd, sdnn = series.batches
    assert [one.resource for one in series.batches] == ["heartrate", "hrv", "hrv"]
    assert {one.source for one in series.batches} == {MAT}
    assert values(rate) == [
        (NIGHT_STARTS, 62.0, CEST_SECONDS),
        (NIGHT_STARTS + 300, 61.0, CEST_SECONDS),
        (NIGHT_STARTS + 600, 58.0, CEST_SECONDS),
    ]
    assert (values(rmssd), rmssd.samples.type) == ([(NIGHT_STARTS + 600, 38.0, CEST_SECONDS)], None)
    # Where the first is known, the second is left out: an instant holds one value.
    assert values(sdnn) == [(NIGHT_STARTS, 41.0, CEST_SECONDS), (NIGHT_STARTS + 900, 49.0, CEST_SECONDS)]
    assert sdnn.samples.type == ["sdnn", "sdnn"]
    assert reasons(series) == [("sleep", "bad_time:timestamp", 1), ("sleep", "out_of_range:hr", 1)]
    assert fits(*series.batches)


def test_a_watchs_beats_come_with_its_day() -> None:
    night = nights.night_of(NAP)
    assert night is not None
    assert (night.is_on_monitor, night.source.type) == (False, "watch")
    segment: JSONValue = {"startdate": 1782306000, "enddate": 1782306300, "state": 1, "hr": {"1782306000": 58}}
    assert nights.series_from_segments([segment, 7], night).batches == ()
    assert reasons(nights.series_from_segments([segment, 7], night)) == [("sleep", "not_an_object", 1)]
    assert nights.night_of(changed(NAP, enddate=1782306000)) is None
    assert nights.night_of("nonsense") is None


def test_a_scale_value_by_value() -> None:
    scale = record(device_from_device(SCALE))
    assert scale == SummaryRecord(
        resource="device",
        source=DataSource("withings", "scale", device_id="b" * 40),
        external_id="b" * 40,
        calendar_date=UNDATED,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=None,
        fields={"device_manufacturer": "Withings", "device_model": "Body Comp", "device_version": "1124"},
        raw={name: value for name, value in mapping(SCALE).items() if name not in ("mac_address", "network")},
    )
    mat = record(device_from_device(AURA))
    assert (mat.source, mat.external_id) == (MAT, "a" * 40)
    assert fits(scale, mat)
    assert device_from_device(NAMELESS) == Refusal("device", "missing_field:deviceid")
