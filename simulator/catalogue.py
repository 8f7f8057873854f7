"""What the simulator knows of each vendor it plays: its name, its scopes and how its tokens behave."""

from collections.abc import Mapping
from dataclasses import dataclass, field

HOUR_SECONDS = 3600
DAY_SECONDS = 24 * HOUR_SECONDS
YEAR_SECONDS = 365 * DAY_SECONDS

#: Every client id is accepted with this secret.
CLIENT_SECRET = "simulator-secret"  # noqa: S105 - the published secret of a program that guards nothing
#: Every e-mail address logs in with this password.
PASSWORD = "simulator"  # noqa: S105 - the published password of a program that guards nothing


@dataclass(frozen=True, slots=True)
class Vendor:
    """One vendor's OAuth manners.

    scopes: scope → what a person reads beside its checkbox; empty means any scope is taken as it comes.
    fixed_scopes: scopes that the person cannot untick.
    refresh_rotates_after_seconds: the refresh token is another one, and the old one dead, once the last access token
    is that old; None where age changes nothing.
    previous_refresh_seconds: how long a refresh token still works after it was rotated.
    """

    name: str
    scopes: Mapping[str, str] = field(default_factory=dict)
    fixed_scopes: frozenset[str] = frozenset()
    scope_separator: str = " "
    code_seconds: int = 600
    access_seconds: int = DAY_SECONDS
    refresh_seconds: int = YEAR_SECONDS
    refresh_rotates: bool = False
    refresh_rotates_after_seconds: int | None = None
    previous_refresh_seconds: int = 0
    pkce_required: bool = False
    standard_token_endpoint: bool = True


_OURA = Vendor(
    name="Oura",
    scopes={
        "email": "Your e-mail address",
        "personal": "Your age, height, weight and sex",
        "daily": "Daily summaries of sleep, activity and readiness",
        "heartrate": "Heart rate through day and night",
        "workout": "Your workouts",
        "tag": "Tags you entered",
        "session": "Guided and unguided sessions",
        "spo2": "Blood oxygen during sleep",
        "spo2Daily": "Blood oxygen during sleep",
        "ring_configuration": "Your ring's model and settings",
        "stress": "Daytime stress",
        "heart_health": "Cardiovascular age",
    },
    refresh_rotates=True,
)

_WITHINGS = Vendor(
    name="Withings",
    scopes={
        "user.info": "Your account and devices",
        "user.metrics": "Weight, body composition and other measurements",
        "user.activity": "Activity, workouts, heart rate and sleep",
        "user.sleepevents": "When you get in and out of bed",
    },
    fixed_scopes=frozenset({"user.info"}),
    scope_separator=",",
    code_seconds=30,
    access_seconds=3 * HOUR_SECONDS,
    refresh_rotates=True,
    previous_refresh_seconds=8 * HOUR_SECONDS,
    standard_token_endpoint=False,
)

_STRAVA = Vendor(
    name="Strava",
    scopes={
        "read": "Your public profile",
        "read_all": "Your private routes and segments",
        "profile:read_all": "Your complete profile, with your weight",
        "activity:read": "Your activities, except those only you can see",
        "activity:read_all": "Your private activities",
    },
    fixed_scopes=frozenset({"read"}),
    scope_separator=",",
    access_seconds=6 * HOUR_SECONDS,
    refresh_rotates_after_seconds=5 * HOUR_SECONDS,
)

_WHOOP = Vendor(
    name="WHOOP",
    scopes={
        "offline": "Stay connected",
        "read:profile": "Your name and e-mail address",
        "read:body_measurement": "Your height, weight and highest heart rate",
        "read:cycles": "Your days: strain, energy and heart rate",
        "read:recovery": "Recovery, heart rate variability and blood oxygen",
        "read:sleep": "Your sleep and its stages",
        "read:workout": "Your workouts",
    },
    fixed_scopes=frozenset({"offline", "read:profile"}),
    access_seconds=HOUR_SECONDS,
    refresh_rotates=True,
)

_GOOGLE = "https://www.googleapis.com/auth/googlehealth."
_GOOGLE_HEALTH = Vendor(
    name="Google Health",
    scopes={
        f"{_GOOGLE}activity_and_fitness.readonly": "See your Google Health activity and fitness data",
        f"{_GOOGLE}health_metrics_and_measurements.readonly": "See your Google Health metrics and measurements",
        f"{_GOOGLE}sleep.readonly": "See your Google Health sleep data",
        f"{_GOOGLE}nutrition.readonly": "See your Google Health nutrition data",
        f"{_GOOGLE}settings.readonly": "See your Google Health settings",
    },
    access_seconds=HOUR_SECONDS,
)

_WAHOO = Vendor(
    name="Wahoo",
    scopes={
        "user_read": "Your name, birthday, height and weight",
        "offline_data": "Stay connected, and tell when a workout is done",
        "workouts_read": "Your workouts and what was recorded of them",
    },
    fixed_scopes=frozenset({"user_read", "offline_data"}),
    access_seconds=2 * HOUR_SECONDS,
    refresh_rotates=True,
)

_VENDORS: Mapping[str, Vendor] = {
    "oura": _OURA,
    "withings": _WITHINGS,
    "strava": _STRAVA,
    "whoop_v2": _WHOOP,
    "google_health": _GOOGLE_HEALTH,
    "wahoo": _WAHOO,
    "hammerhead": Vendor(name="Hammerhead", access_seconds=52_000, refresh_rotates=True),
    "garmin": Vendor(name="Garmin", pkce_required=True, refresh_rotates=True),
    "polar": Vendor(name="Polar", access_seconds=YEAR_SECONDS),
    "ultrahuman": Vendor(
        name="Ultrahuman",
        scopes={
            "profile": "Your name and time zone",
            "ring_data": "What the ring measures: sleep, heart rate, movement and temperature",
            "cgm_data": "What the glucose sensor measures",
        },
        fixed_scopes=frozenset({"profile"}),
        refresh_rotates=True,
    ),
    "dexcom_v3": Vendor(
        name="Dexcom",
        scopes={"offline_access": "Your glucose readings, the entries you made, and your devices"},
        fixed_scopes=frozenset({"offline_access"}),
        code_seconds=60,
        access_seconds=2 * HOUR_SECONDS,
        refresh_rotates=True,
    ),
}


def vendor_of(slug: str) -> Vendor:
    """The vendor played under a slug. A slug without an entry is played with the plain defaults."""
    return _VENDORS.get(slug) or Vendor(name=slug.replace("_", " ").title())
