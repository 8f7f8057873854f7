"""The stream resources: samples of several channels that belong to one summary."""

from typing import Final

from aggregation.catalogue.kinds import SampleField, SampleFieldKind, StreamSpec

_HOUR_SECONDS: Final = 3_600


def _channel(name: str, meaning: str, lowest: float, highest: float) -> SampleField:
    return SampleField(name, SampleFieldKind.NUMBER, meaning, lowest=lowest, highest=highest)


WORKOUT_STREAM = StreamSpec(
    slug="workout_stream",
    path="workouts",
    model="ClientFacingStream",
    meaning="The course of a workout, one entry a moment in every channel.",
    definition="The API's ClientFacingStream.",
    bucket_seconds=_HOUR_SECONDS,
    channels=(
        _channel("cadence", "Cycling: revolutions a minute; running: steps a minute.", 0.0, 1_000.0),
        _channel("altitude", "Altitude, m.", -1_000.0, 10_000.0),
        _channel("velocity_smooth", "Speed, m/s.", 0.0, 1_000.0),
        _channel("heartrate", "Heart rate, bpm.", 0.0, 400.0),
        _channel("lat", "Latitude, degrees.", -90.0, 90.0),
        _channel("lng", "Longitude, degrees.", -180.0, 180.0),
        _channel("distance", "Distance since the start, m.", 0.0, 10_000_000.0),
        _channel("power", "Power, W.", 0.0, 10_000.0),
        _channel("resistance", "Resistance of the machine.", 0.0, 10_000.0),
        _channel("temperature", "Temperature, °C.", -60.0, 100.0),
    ),
)

STREAMS: Final = (WORKOUT_STREAM,)
