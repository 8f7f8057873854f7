"""Breathing: oxygen, rate, spirometry, disturbances of the breath in sleep."""

from datetime import time
from typing import Final

from aggregation.catalogue import accepted
from aggregation.catalogue.kinds import AddsUp, SeriesKind, SeriesSpec, Typical
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
    typical=Typical(97.0),
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
    typical=Typical(14.0),
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
    typical=Typical(4.1),
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
    typical=Typical(3.4),
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
    typical=Typical(465.0),
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
    typical=Typical(2.0),
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
    typical=Typical(1.0, span_seconds=2_592_000, ends_at=time(5, 53)),
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
    typical=Typical(4.0, "not_elevated", 29_520, time(5, 53)),
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
