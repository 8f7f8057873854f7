"""HealthKit's types that have no place in the API, so that a receipt tells them from types it never heard of."""

from aggregation.apple_health.tally import LeftOutReason

_QUANTITIES = (
    "AppleMoveTime", "AppleWalkingSteadiness", "BloodAlcoholContent", "CrossCountrySkiingSpeed", "CyclingCadence",
    "CyclingFunctionalThresholdPower", "CyclingPower", "CyclingSpeed", "ElectrodermalActivity",
    "EnvironmentalAudioExposure", "EnvironmentalSoundReduction", "EstimatedWorkoutEffortScore",
    "HeadphoneAudioExposure", "NikeFuel", "NumberOfAlcoholicBeverages", "PaddleSportsSpeed",
    "PeripheralPerfusionIndex", "PhysicalEffort", "RowingSpeed", "RunningGroundContactTime", "RunningPower",
    "RunningSpeed", "RunningStrideLength", "RunningVerticalOscillation", "SixMinuteWalkTestDistance",
    "StairAscentSpeed", "StairDescentSpeed", "UnderwaterDepth", "WalkingAsymmetryPercentage",
    "WalkingDoubleSupportPercentage", "WalkingSpeed", "WalkingStepLength", "WaterTemperature", "WorkoutEffortScore",
)  # fmt: skip
_CATEGORIES = (
    "AbdominalCramps", "Acne", "AppetiteChanges", "AppleWalkingSteadinessEvent", "AudioExposureEvent",
    "BladderIncontinence", "BleedingAfterPregnancy", "BleedingDuringPregnancy", "Bloating", "BreastPain",
    "ChestTightnessOrPain", "Chills", "Constipation", "Coughing", "Diarrhea", "Dizziness", "DrySkin",
    "EnvironmentalAudioExposureEvent", "Fainting", "Fatigue", "Fever", "GeneralizedBodyAche", "HairLoss", "Headache",
    "HeadphoneAudioExposureEvent", "Heartburn", "HotFlashes", "HypertensionEvent", "Lactation", "LossOfSmell",
    "LossOfTaste", "LowCardioFitnessEvent", "LowerBackPain", "MemoryLapse", "MoodChanges", "Nausea", "NightSweats",
    "PelvicPain", "Pregnancy", "RapidPoundingOrFlutteringHeartbeat", "RunnyNose", "ShortnessOfBreath",
    "SinusCongestion", "SkippedHeartbeat", "SleepChanges", "SoreThroat", "ToothbrushingEvent", "VaginalDryness",
    "Vomiting", "Wheezing",
)  # fmt: skip
_OTHERS = (
    "HKDataTypeIdentifierAudiogram", "HKDataTypeIdentifierHeartbeatSeries", "HKDataTypeIdentifierStateOfMind",
    "HKDataTypeStateOfMind", "HKDataTypeSleepDurationGoal", "HKScoredAssessmentTypeIdentifierGAD7",
    "HKScoredAssessmentTypeIdentifierPHQ9", "Audiogram", "HeartRateVariabilityMetadataList",
)  # fmt: skip
#: Medical findings that are no measurements of a device: kept out beside the clinical records themselves.
_CLINICAL = frozenset({"VisionPrescription", "HKVisionPrescriptionTypeIdentifier"})
_CLINICAL_PREFIX = "HKVisionPrescriptionType"

WITHOUT_RESOURCE = frozenset(
    {
        *(f"HKQuantityTypeIdentifier{name}" for name in _QUANTITIES),
        *(f"HKCategoryTypeIdentifier{name}" for name in _CATEGORIES),
        *_OTHERS,
    }
)


def reason_of(type_name: str) -> LeftOutReason:
    """Why records of this type have no place here."""
    if type_name in _CLINICAL or type_name.startswith(_CLINICAL_PREFIX):
        return LeftOutReason.EXCLUDED_CLINICAL
    return LeftOutReason.NO_RESOURCE if type_name in WITHOUT_RESOURCE else LeftOutReason.UNKNOWN_TYPE
