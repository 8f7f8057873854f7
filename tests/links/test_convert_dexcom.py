"""Dexcom's records become ours value by value, and what is malformed is refused with a reason."""

from datetime import UTC, datetime

import pytest

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.records import OFFSET_UNKNOWN, UNDATED, DataSource, Refusal, SeriesBatch, SummaryRecord
from aggregation.store.checking import Ingestion, sample_reasons, summary_reason
from healthsvc.kernel.typing import JSONValue
from links.connectors.dexcom.convert import (
    carbohydrates_from_events,
    device_from_device,
    glucose_from_egvs,
    insulin_from_events,
)
from links.connectors.payload import Series
from tests.links.payloads import changed, mapping, rows, without

SENSOR = DataSource(provider="dexcom_v3", type="automatic")
DIARY = DataSource(provider="dexcom_v3", type="app")
PST_SECONDS, PDT_SECONDS = -8 * 3600, -7 * 3600
MG_PER_DL_A_MMOL_PER_LITRE = 18.0156

EGVS = rows("dexcom/egvs.json", "records")
EVENTS = rows("dexcom/events.json", "records")
DEVICES = rows("dexcom/devices.json", "records")
READING, DOSE, MEAL = EGVS[0], EVENTS[1], EVENTS[2]


def at_us(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp()) * 1_000_000


def only(series: Series) -> SeriesBatch:
    (batch,) = series.batches
    assert sample_reasons(SERIES_BY_SLUG[batch.resource], batch.samples, Ingestion()) == []
    return batch


def reason(series: Series) -> str:
    assert series.batches == ()
    (refusal,) = series.refusals
    return refusal.reason


def test_readings() -> None:
    series = glucose_from_egvs(EGVS)
    # The sensor that warms up has told neither a number nor where it lies.
    assert series.refusals == (Refusal("egv", "missing_field:value"),)
    batch = only(series)
    assert (batch.resource, batch.source) == ("glucose", SENSOR)
    assert batch.samples.start_us.tolist() == [
        at_us("2026-03-08T10:02:16+00:00"),
        at_us("2026-03-08T09:57:16+00:00"),
        at_us("2026-03-07T18:30:05+00:00"),
        at_us("2026-03-07T12:05:11+00:00"),
        at_us("2026-03-07T12:00:11+00:00"),
        at_us("2026-03-07T08:00:11+00:00"),
        at_us("2026-03-07T07:55:11+00:00"),
    ]
    milligrams = [112, 108, 99, 39, 39, 401]
    assert batch.samples.values.tolist() == pytest.approx(
        [*(one / MG_PER_DL_A_MMOL_PER_LITRE for one in milligrams), 5.6]
    )
    # The clocks go forward between the first two; the receiver's clock is two minutes off.
    assert batch.samples.offset_seconds.tolist() == [PDT_SECONDS, *[PST_SECONDS] * 6]
    assert batch.samples.end_us is None


@pytest.mark.parametrize(
    ("status", "value", "milligrams"),
    [
        ("low", None, 39),
        ("high", None, 401),
        ("ok", "LOW", 39),
        (None, "High", 401),
        ("high", 400, 400),
        (None, 40, 40),
    ],
)
def test_low_and_high(status: str | None, value: JSONValue, milligrams: float) -> None:
    batch = only(glucose_from_egvs([changed(READING, status=status, value=value)]))
    assert batch.samples.values.tolist() == pytest.approx([milligrams / MG_PER_DL_A_MMOL_PER_LITRE])


@pytest.mark.parametrize(
    ("shown", "offset_seconds"),
    [
        ("2026-03-08T03:02:01-06:59:59", PDT_SECONDS),
        ("2026-03-08T15:47:16+05:45", 20_700),
        ("2026-03-08T15:50:00", 20_700),
        ("2026-03-08T10:02:16Z", 0),
        ("2026-03-09T10:02:16", OFFSET_UNKNOWN),  # a day ahead
        ("2026-03-08T10:09:16", OFFSET_UNKNOWN),  # no place's time
        ("yesterday", OFFSET_UNKNOWN),
        (None, OFFSET_UNKNOWN),
    ],
)
def test_the_clock_on_the_display(shown: str | None, offset_seconds: int) -> None:
    batch = only(glucose_from_egvs([changed(READING, displayTime=shown)]))
    assert batch.samples.offset_seconds.tolist() == [offset_seconds]


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ("text", "not_an_object"),
        (without(READING, "systemTime"), "missing_field:systemTime"),
        (changed(READING, systemTime="noon"), "bad_time:systemTime"),
        (changed(READING, systemTime=7), "wrong_type:systemTime"),
        (without(READING, "value"), "missing_field:value"),
        (changed(READING, value=True), "wrong_type:value"),
        (changed(READING, value="112"), "wrong_type:value"),
        (changed(READING, value=0), "out_of_range:value"),
        (without(READING, "unit"), "missing_field:unit"),
        (changed(READING, unit="unknown"), "unsupported_unit"),
    ],
)
def test_readings_that_say_nothing(payload: JSONValue, expected: str) -> None:
    assert reason(glucose_from_egvs([payload])) == expected


@pytest.mark.parametrize(
    "name",
    ["recordId", "transmitterId", "transmitterTicks", "status", "trend", "trendRate", "rateUnit", "displayDevice"],
)
def test_what_a_reading_may_lack(name: str) -> None:
    assert glucose_from_egvs([without(READING, name)]).refusals == ()


def test_doses() -> None:
    series = insulin_from_events(EVENTS)
    assert series.refusals == (Refusal("event", "insulin_kind_unknown"),)
    batch = only(series)
    assert (batch.resource, batch.source) == ("insulin_injection", DIARY)
    assert batch.samples.start_us.tolist() == [at_us("2026-03-08T05:00:00+00:00"), at_us("2026-03-07T20:15:30+00:00")]
    assert batch.samples.values.tolist() == [18.0, 4.5]
    assert batch.samples.type == ["long_acting", "rapid_acting"]
    assert batch.samples.fields == {"delivery_mode": ["basal", "bolus"]}
    assert batch.samples.offset_seconds.tolist() == [PST_SECONDS] * 2


def test_meals() -> None:
    series = carbohydrates_from_events(EVENTS)
    assert series.refusals == ()
    batch = only(series)
    assert (batch.resource, batch.source) == ("carbohydrates", DIARY)
    found = zip(batch.samples.start_us.tolist(), batch.samples.values.tolist(), strict=True)
    assert list(found) == [
        (at_us("2026-03-07T20:15:30+00:00"), 52.0),
        (at_us("2026-03-07T16:00:00+00:00"), 30.0),
        (at_us("2026-03-07T02:00:00+00:00"), 15.0),
    ]
    assert batch.samples.offset_seconds.tolist() == [PST_SECONDS] * 3


def test_a_change_counts_in_whatever_order_it_comes() -> None:
    turned = carbohydrates_from_events(EVENTS[::-1])
    assert sorted(only(turned).samples.values.tolist()) == [15.0, 30.0, 52.0]
    assert sorted(only(insulin_from_events(EVENTS[::-1])).samples.values.tolist()) == [4.5, 18.0]


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ("text", "not_an_object"),
        (without(DOSE, "recordId"), "missing_field:recordId"),
        (without(DOSE, "systemTime"), "missing_field:systemTime"),
        (without(DOSE, "eventSubType"), "insulin_kind_unknown"),
        (changed(DOSE, eventSubType=["fastActing"]), "insulin_kind_unknown"),
        (without(DOSE, "value"), "missing_field:value"),
        (changed(DOSE, value="many"), "wrong_type:value"),
        (changed(DOSE, value="nan"), "wrong_type:value"),
        (changed(DOSE, value=-1), "out_of_range:value"),
        (changed(DOSE, unit="grams"), "unsupported_unit"),
        (without(DOSE, "unit"), "missing_field:unit"),
    ],
)
def test_doses_that_say_nothing(payload: JSONValue, expected: str) -> None:
    assert reason(insulin_from_events([payload])) == expected


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (changed(MEAL, unit="units"), "unsupported_unit"),
        (changed(MEAL, value=None), "missing_field:value"),
        (changed(MEAL, value=[]), "wrong_type:value"),
    ],
)
def test_meals_that_say_nothing(payload: JSONValue, expected: str) -> None:
    assert reason(carbohydrates_from_events([payload])) == expected


def test_what_shows_the_readings() -> None:
    app, receiver = (device_from_device(one) for one in DEVICES)
    for one, identity, model in ((app, "g7:iOS:G7iOS", "Dexcom G7"), (receiver, "dexcomPro:receiver:", "Dexcom Pro")):
        assert isinstance(one, SummaryRecord)
        assert summary_reason(one, Ingestion()) is None
        assert (one.resource, one.external_id, one.calendar_date) == ("device", identity, UNDATED)
        assert one.source == DataSource(provider="dexcom_v3", type="automatic", device_id=identity)
        assert dict(one.fields) == {"device_manufacturer": "Dexcom", "device_model": model}
    assert isinstance(app, SummaryRecord)
    assert app.raw == without(DEVICES[0], "alertSchedules")
    unknown = device_from_device(changed(DEVICES[1], transmitterGeneration="unknown"))
    assert isinstance(unknown, SummaryRecord)
    assert unknown.fields["device_model"] is None


@pytest.mark.parametrize("name", ["transmitterGeneration", "displayDevice"])
def test_a_device_that_nothing_names(name: str) -> None:
    assert device_from_device(without(DEVICES[0], name)) == Refusal("device", f"missing_field:{name}")


def test_the_next_transmitter_of_a_display_is_no_other_device() -> None:
    first, second = (device_from_device(one) for one in (DEVICES[0], changed(DEVICES[0], transmitterId="another")))
    assert isinstance(first, SummaryRecord)
    assert isinstance(second, SummaryRecord)
    assert first.external_id == second.external_id
    assert mapping(second.raw)["transmitterId"] == "another"


def test_instants_are_utc() -> None:
    naive = only(glucose_from_egvs([changed(READING, systemTime="2026-03-08T10:02:16")]))
    assert naive.samples.start_us.tolist() == [int(datetime(2026, 3, 8, 10, 2, 16, tzinfo=UTC).timestamp()) * 1_000_000]
