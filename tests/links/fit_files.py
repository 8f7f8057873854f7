"""FIT files for tests, written by the simulator's writer."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from simulator.fit import ACTIVITY, FILE_ID, RECORD, SESSION, FitWriter, fit_time, semicircles

#: A ride before dawn in Los Angeles, which is the afternoon in UTC.
START = datetime(2026, 3, 7, 13, 30, tzinfo=UTC)
CYCLING, RUNNING, MOUNTAIN = 2, 1, 8

RIDE_SESSION: Mapping[str, float | None] = {
    "timestamp": fit_time(START.timestamp()) + 3_600,
    "start_time": fit_time(START.timestamp()),
    "sport": CYCLING,
    "sub_sport": MOUNTAIN,
    "total_elapsed_time": 3_600.5,
    "total_timer_time": 3_500.0,
    "total_distance": 24_890.25,
    "total_calories": 640,
    "avg_speed": 6.914,
    "max_speed": 14.2,
    "avg_heart_rate": 141,
    "max_heart_rate": 172,
    "avg_power": 182,
    "max_power": 611,
    "total_ascent": 320,
    "normalized_power": 197,
    "max_altitude": 402.4,
    "min_altitude": 12.2,
}
RIDE_RECORDS: Sequence[Mapping[str, float | None]] = (
    {
        "timestamp": fit_time(START.timestamp()),
        "position_lat": semicircles(34.0522),
        "position_long": semicircles(-118.2437),
        "altitude": 12.2,
        "heart_rate": 96,
        "cadence": 0,
        "distance": 0.0,
        "speed": 0.0,
        "power": 0,
        "temperature": -3,
    },
    {
        "timestamp": fit_time(START.timestamp()) + 1,
        "position_lat": semicircles(34.0523),
        "position_long": semicircles(-118.2437),
        "altitude": 12.6,
        "heart_rate": None,
        "cadence": 74,
        "distance": 6.25,
        "speed": 6.25,
        "power": 250,
        "temperature": -3,
    },
    {
        "timestamp": fit_time(START.timestamp()) + 2,
        "position_lat": None,
        "position_long": None,
        "altitude": None,
        "heart_rate": 98,
        "cadence": 80,
        "distance": 12.75,
        "speed": 6.5,
        "power": 255,
        "temperature": -3,
    },
)


def fit_file(
    *,
    sessions: Sequence[Mapping[str, float | None]] = (RIDE_SESSION,),
    records: Sequence[Mapping[str, float | None]] = RIDE_RECORDS,
    offset_seconds: int | None = -8 * 3_600,
    kind: int = 4,
) -> bytes:
    """A file with these messages; without an `activity` message where there is no offset."""
    at = fit_time(START.timestamp())
    writer = FitWriter()
    writer.write(FILE_ID, {"type": kind, "manufacturer": 32, "product": 1, "serial_number": 7, "time_created": at})
    for one in records:
        writer.write(RECORD, one)
    for one in sessions:
        writer.write(SESSION, {"event": 8, "event_type": 1, **one})
    if offset_seconds is not None:
        told = {"timestamp": at + 3_600, "local_timestamp": at + 3_600 + offset_seconds, "num_sessions": len(sessions)}
        writer.write(ACTIVITY, told)
    return writer.file()
