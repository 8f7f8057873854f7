"""Who the person is, what scales and electrocardiographs say, and the devices that say it."""

from aggregation.catalogue.kinds import SummarySpec
from aggregation.catalogue.summaries.fields import (
    BPM_MAXIMUM,
    PERCENT_MAXIMUM,
    TIME_ZONE,
    WHEELCHAIR_USE,
    date,
    instant,
    number,
    text,
    whole,
)

PROFILE = SummarySpec(
    slug="profile",
    path="profile",
    model="ClientFacingProfile",
    meaning="What a source knows of the person.",
    definition="The API's ClientFacingProfile.",
    dated=False,
    has_raw=True,
    is_single=True,
    has_calendar_date=False,
    fields=(
        whole("height", "Height, cm.", 20.0, 300.0),
        date("birth_date", "Date of birth."),
        WHEELCHAIR_USE,
        text("gender", "Gender.", "female", "male", "other", "unknown"),
        text("sex", "Sex.", "female", "male", "other"),
    ),
)
BODY = SummarySpec(
    slug="body",
    path="body",
    model="ClientFacingBody",
    meaning="Measurements of the body, such as those of a scale.",
    definition="The API's ClientFacingBody.",
    has_raw=True,
    fields=(
        number("weight", "Weight, kg.", 0.2, 700.0),
        number("fat", "Body fat, percent of the weight.", highest=PERCENT_MAXIMUM),
        number("water_percentage", "Body water, percent of the weight.", highest=PERCENT_MAXIMUM),
        number("muscle_mass_percentage", "Muscle, percent of the weight.", highest=PERCENT_MAXIMUM),
        number("visceral_fat_index", "Visceral fat as the scale rates it.", highest=1_000.0),
        number("bone_mass_percentage", "Bone, percent of the weight.", highest=PERCENT_MAXIMUM),
        number("body_mass_index", "Weight by the square of the height, kg/m².", 3.0, 250.0),
        number("lean_body_mass_kilogram", "Weight without fat, kg.", 0.1, 400.0),
        number("waist_circumference_centimeter", "Circumference of the waist, cm.", 10.0, 400.0),
    ),
)
ELECTROCARDIOGRAM = SummarySpec(
    slug="electrocardiogram",
    path="electrocardiogram",
    model="ClientFacingElectrocardiogram",
    meaning="A recording of an electrocardiogram; its voltages are a timeseries.",
    definition="The API's ClientFacingElectrocardiogram.",
    starts_field="session_start",
    ends_field="session_end",
    dated=False,
    sources_flat=True,
    has_calendar_date=False,
    fields=(
        instant("session_start", "Start of the recording, UTC."),
        instant("session_end", "End of the recording, UTC."),
        whole("voltage_sample_count", "Voltages recorded.", highest=1e8, required=True),
        whole("heart_rate_mean", "Average heart rate, bpm.", highest=BPM_MAXIMUM),
        number("sampling_frequency_hz", "Voltages a second.", highest=100_000.0),
        text("classification", "The device's reading.", "sinus_rhythm", "atrial_fibrillation", "inconclusive"),
        text(
            "inconclusive_cause",
            "Why the reading is inconclusive.",
            "high_heart_rate",
            "low_heart_rate",
            "poor_reading",
        ),
        text("algorithm_version", "Version of the reading's algorithm.", maximum_characters=100),
        TIME_ZONE,
        text("source_device_model", "Model of the device.", maximum_characters=255),
    ),
)
DEVICE = SummarySpec(
    slug="device",
    path="devices",
    model="ClientFacingDevice",
    meaning="A device that measured; its identity is its source's.",
    definition="The API's ClientFacingDevice.",
    dated=False,
    has_raw=True,
    raw_only=True,
    has_calendar_date=False,
    fields=(
        text("device_manufacturer", "Who made it.", maximum_characters=255),
        text("device_model", "Its model.", maximum_characters=255),
        text("device_version", "Version of its hardware or software.", maximum_characters=255),
    ),
)
