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

_VENDORS: Mapping[str, Vendor] = {
    "oura": _OURA,
    "withings": _WITHINGS,
    "strava": Vendor(name="Strava", scope_separator=",", access_seconds=6 * HOUR_SECONDS),
    "whoop_v2": Vendor(name="WHOOP", access_seconds=HOUR_SECONDS, refresh_rotates=True),
    "wahoo": Vendor(name="Wahoo", access_seconds=2 * HOUR_SECONDS, refresh_rotates=True),
    "garmin": Vendor(name="Garmin", pkce_required=True, refresh_rotates=True),
    "dexcom_v3": Vendor(name="Dexcom", code_seconds=60, access_seconds=2 * HOUR_SECONDS, refresh_rotates=True),
}


def vendor_of(slug: str) -> Vendor:
    """The vendor played under a slug. A slug without an entry is played with the plain defaults."""
    return _VENDORS.get(slug) or Vendor(name=slug.replace("_", " ").title())
