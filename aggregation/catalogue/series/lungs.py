"""Breathing: oxygen, rate, spirometry, disturbances of the breath in sleep."""

from typing import Final

from aggregation.catalogue import accepted
from aggregation.catalogue.kinds import AddsUp, SeriesKind, SeriesSpec
from aggregation.constants import SPARSE_BUCKET_SECONDS

BLOOD_OXYGEN = SeriesSpec(
    slug="blood_oxygen",
    path="blood_oxygen",
    model="BloodOxygen",
    kind=SeriesKind.DISCRETE,
    unit="%",
    adds_up=AddsUp.MEAN,
    lowest=10.0,
    highest=100.0,
    meaning="Oxygen saturation of the blood by pulse oximetry, percent.",
    definition="The API's ClientFacingBloodOxygenTimeseries; LOINC 59408-5.",
    accepted=accepted.PERCENT,
)
RESPIRATORY_RATE = SeriesSpec(
    slug="respiratory_rate",
    path="respiratory_rate",
    model="RespiratoryRate",
    kind=SeriesKind.DISCRETE,
    unit="bpm",
    adds_up=AddsUp.MEAN,
    lowest=0.0,
    highest=200.0,
    meaning="Breaths a minute.",
    definition="The API's ClientFacingRespiratoryRateTimeseries; LOINC 9279-1.",
    accepted=accepted.BREATHS_PER_MINUTE,
)
FORCED_VITAL_CAPACITY = SeriesSpec(
    slug="forced_vital_capacity",
    path="forced_vital_capacity",
    model="ForcedVitalCapacity",
    kind=SeriesKind.INTERVAL,
    unit="L",
    adds_up=AddsUp.MEAN,
    lowest=0.0,
    highest=20.0,
    meaning="Volume of a forced full exhalation, L.",
    definition="The API's ClientFacingForcedVitalCapacitySample.",
    accepted=accepted.LITRES,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
FORCED_EXPIRATORY_VOLUME_1 = SeriesSpec(
    slug="forced_expiratory_volume_1",
    path="forced_expiratory_volume_1",
    model="ForcedExpiratoryVolume1",
    kind=SeriesKind.INTERVAL,
    unit="L",
    adds_up=AddsUp.MEAN,
    lowest=0.0,
    highest=20.0,
    meaning="Volume exhaled in the first second of a forced exhalation, L.",
    definition="The API's ClientFacingForcedExpiratoryVolume1Sample.",
    accepted=accepted.LITRES,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
PEAK_EXPIRATORY_FLOW_RATE = SeriesSpec(
    slug="peak_expiratory_flow_rate",
    path="peak_expiratory_flow_rate",
    model="PeakExpiratoryFlowRate",
    kind=SeriesKind.INTERVAL,
    unit="L/min",
    adds_up=AddsUp.MEAN,
    lowest=0.0,
    highest=2_000.0,
    meaning="Greatest flow of a forced exhalation, L a minute.",
    definition="The API's ClientFacingPeakExpiratoryFlowRateSample.",
    accepted=accepted.LITRES_PER_MINUTE,
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
INHALER_USAGE = SeriesSpec(
    slug="inhaler_usage",
    path="inhaler_usage",
    model="InhalerUsage",
    kind=SeriesKind.INTERVAL,
    unit="count",
    adds_up=AddsUp.SUM,
    lowest=0.0,
    highest=1_000.0,
    meaning="Puffs of an inhaler.",
    definition="The API's ClientFacingInhalerUsageSample.",
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
SLEEP_APNEA_ALERT = SeriesSpec(
    slug="sleep_apnea_alert",
    path="sleep_apnea_alert",
    model="SleepApneaAlert",
    kind=SeriesKind.INTERVAL,
    unit="count",
    adds_up=AddsUp.COUNT,
    lowest=0.0,
    highest=1_000.0,
    meaning="A notification of possible sleep apnea.",
    definition="The API's ClientFacingSleepApneaAlertSample.",
    bucket_seconds=SPARSE_BUCKET_SECONDS,
)
SLEEP_BREATHING_DISTURBANCE = SeriesSpec(
    slug="sleep_breathing_disturbance",
    path="sleep_breathing_disturbance",
    model="SleepBreathingDisturbance",
    kind=SeriesKind.INTERVAL,
    unit="count",
    adds_up=AddsUp.MEAN,
    lowest=0.0,
    highest=1_000.0,
    meaning="Disturbances of the breath in a night, as the device counts them.",
    definition="The API's ClientFacingSleepBreathingDisturbanceSample.",
    bucket_seconds=SPARSE_BUCKET_SECONDS,
    types=("elevated", "not_elevated"),
)

SERIES: Final = (
    BLOOD_OXYGEN,
    RESPIRATORY_RATE,
    FORCED_VITAL_CAPACITY,
    FORCED_EXPIRATORY_VOLUME_1,
    PEAK_EXPIRATORY_FLOW_RATE,
    INHALER_USAGE,
    SLEEP_APNEA_ALERT,
    SLEEP_BREATHING_DISTURBANCE,
)
