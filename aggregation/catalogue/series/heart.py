"""Heart and circulation: rate, variability, rhythm, pressure, electrocardiogram."""

from typing import Final

from aggregation.catalogue import accepted
from aggregation.catalogue.kinds import AddsUp, SampleField, SampleFieldKind, SeriesKind, SeriesSpec, Typical
from aggregation.constants import HOUR_BUCKET_SECONDS, SPARSE_BUCKET_SECONDS

HEARTRATE = SeriesSpec(
    slug="heartrate",
    path="heartrate",
    model="HeartRate",
    kind=SeriesKind.DISCRETE,
    unit="bpm",
    adds_up=AddsUp.MEAN,
    lowest=1.0,
    highest=400.0,
    meaning="Heart rate, beats a minute.",
    definition="The API's ClientFacingHeartRateTimeseries; LOINC 8867-4.",
    typical=Typical(62.0),
    accepted=accepted.RATES_PER_MINUTE,
)
HRV = SeriesSpec(
    slug="hrv",
    path="hrv",
    model="Hrv",
    kind=SeriesKind.DISCRETE,
    unit="rmssd",
    adds_up=AddsUp.MEAN,
    lowest=0.0,
    highest=2_000.0,
    meaning=(
        "Heart rate variability as the root mean square of successive differences, ms; of samples of type `sdnn` as the"
        " standard deviation of intervals between beats, ms."
    ),
    definition="The API's ClientFacingHRVTimeseries.",
    typical=Typical(54.0),
    accepted=accepted.MILLISECONDS,
    accepted_by_type=accepted.STANDARD_DEVIATION,
    units_by_type={"sdnn": "sdnn"},
)
BLOOD_PRESSURE = SeriesSpec(
    slug="blood_pressure",
    path="blood_pressure",
    model="BloodPressure",
    kind=SeriesKind.BLOOD_PRESSURE,
    unit="mmHg",
    adds_up=AddsUp.MEAN,
    lowest=10.0,
    highest=400.0,
    meaning="Arterial blood pressure, mmHg.",
    definition="The API's ClientFacingBloodPressureTimeseries; LOINC 8480-6 (systolic) and 8462-4 (diastolic).",
    typical=Typical(),
    accepted=accepted.MMHG,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
    fields=(
        SampleField(
            "systolic",
            SampleFieldKind.NUMBER,
            "Systolic pressure, mmHg.",
            required=True,
            lowest=20.0,
            highest=400.0,
            typical=118.0,
        ),
        SampleField(
            "diastolic",
            SampleFieldKind.NUMBER,
            "Diastolic pressure, mmHg.",
            required=True,
            lowest=10.0,
            highest=300.0,
            typical=76.0,
        ),
    ),
)
ELECTROCARDIOGRAM_VOLTAGE = SeriesSpec(
    slug="electrocardiogram_voltage",
    path="electrocardiogram_voltage",
    model="ElectrocardiogramVoltage",
    kind=SeriesKind.DISCRETE,
    unit="mV",
    adds_up=AddsUp.MEAN,
    lowest=-100.0,
    highest=100.0,
    meaning="Voltage of an electrocardiogram, mV; the type is the lead.",
    definition="The API's ClientFacingElectrocardiogramVoltageTimeseries.",
    typical=Typical(0.084, "lead_1"),
    accepted=accepted.MILLIVOLTS,
    bucket_seconds=HOUR_BUCKET_SECONDS,
    type_required=True,
)
AFIB_BURDEN = SeriesSpec(
    slug="afib_burden",
    path="afib_burden",
    model="AfibBurden",
    kind=SeriesKind.INTERVAL,
    unit="%",
    adds_up=AddsUp.MEAN,
    lowest=0.0,
    highest=100.0,
    meaning="Share of the time in which the heart was in atrial fibrillation, percent.",
    definition="The API's ClientFacingAFibBurdenSample.",
    typical=Typical(2.0, span_seconds=604_800),
    accepted=accepted.PERCENT,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
HEART_RATE_RECOVERY_ONE_MINUTE = SeriesSpec(
    slug="heart_rate_recovery_one_minute",
    path="heart_rate_recovery_one_minute",
    model="HeartRateRecoveryOneMinute",
    kind=SeriesKind.INTERVAL,
    unit="count",
    adds_up=AddsUp.MEAN,
    lowest=-100.0,
    highest=250.0,
    meaning="Fall of the heart rate in the first minute after exercise, beats a minute.",
    definition="The API's ClientFacingHeartRateRecoveryOneMinuteSample.",
    typical=Typical(28.0),
    accepted=accepted.HEART_RATE_DIFFERENCE,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
HEART_RATE_ALERT = SeriesSpec(
    slug="heart_rate_alert",
    path="heart_rate_alert",
    model="HeartRateAlert",
    kind=SeriesKind.INTERVAL,
    unit="count",
    adds_up=AddsUp.COUNT,
    lowest=1.0,
    highest=1.0,
    meaning="A notification of an unusual heart rate or rhythm; the value is always 1.",
    definition="The API's ClientFacingHeartRateAlertSample.",
    typical=Typical(1.0, "high_heart_rate", 600),
    bucket_seconds=SPARSE_BUCKET_SECONDS,
    types=("low_heart_rate", "high_heart_rate", "irregular_rhythm"),
    type_required=True,
)

SERIES: Final = (
    HEARTRATE,
    HRV,
    BLOOD_PRESSURE,
    ELECTROCARDIOGRAM_VOLTAGE,
    AFIB_BURDEN,
    HEART_RATE_RECOVERY_ONE_MINUTE,
    HEART_RATE_ALERT,
)
