"""Numbers and names of the aggregation app."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from uuid import UUID

from django.db import models

#: Samples of one page of a timeseries. A day of a 5-second heart rate has 17,280, two such sources fit.
PAGE_SAMPLES_MAXIMUM: Final = 50_000
#: The ungrouped reads have no cursor; a longer stretch is refused with a hint to the grouped read.
UNGROUPED_SAMPLES_MAXIMUM: Final = 200_000
#: Summaries of one answer; ten years of days, and more naps and workouts than a person has.
SUMMARIES_MAXIMUM: Final = 20_000
#: Users of one page of an introspection: unless asked otherwise, and at most.
INTROSPECTION_USERS: Final = 50
INTROSPECTION_USERS_MAXIMUM: Final = 100
#: Samples that are first tried as one event: of the shortest, 2,600 fill a body.
EVENT_SAMPLES_GUESS: Final = 2_000

#: In the key of every series that is no stream of a workout.
NO_WORKOUT: Final = UUID(int=0)
#: A sender's name for a batch of pushed data, and how long its receipt is kept.
BATCH_ID_MAXIMUM_CHARACTERS: Final = 200
PUSH_RECEIPT_DAYS: Final = 30

#: A day: the width of a series' blocks unless the catalogue gives a resource another.
BUCKET_SECONDS: Final = 86_400
#: Widths for resources with hundreds of samples a second, with some an hour, and with some a week: a block should
#: hold from tens to a few thousand.
HOUR_BUCKET_SECONDS: Final = 3_600
WEEK_BUCKET_SECONDS: Final = 604_800
SPARSE_BUCKET_SECONDS: Final = 2_419_200

#: So few samples, sent for a block that holds at least so many, wait in a row of the block's tail, until the tail has
#: so many rows: then the block is written anew. A block of a day of minutes takes ten times the log of such a row.
TAIL_POST_SAMPLES: Final = 60
TAIL_BLOCK_SAMPLES: Final = 32
TAIL_ROWS: Final = 64
#: A tail that nobody writes to any more is folded in after so long. A sample a minute fills it sooner.
TAIL_AGE_SECONDS: Final = 5_400

#: Offsets from UTC beyond this are no place's (ISO 8601 allows 18 hours at most).
OFFSET_MAXIMUM_SECONDS: Final = 64_800
#: Samples and summaries outside are a broken clock's: 1900-01-01 and 2200-01-01, in microseconds since 1970.
EARLIEST_US: Final = -2_208_988_800_000_000
LATEST_US: Final = 7_258_118_400_000_000
#: Texts that name a source: its app and its device.
SOURCE_TEXT_MAXIMUM_CHARACTERS: Final = 255

#: What the API calls the kind of thing that measured (see the API's models: ClientFacingSource).
UNKNOWN_SOURCE_TYPE: Final = "unknown"
SOURCE_TYPES: Final = (
    UNKNOWN_SOURCE_TYPE, "phone", "watch", "app", "multiple_sources", "fingerprick", "cuff", "manual_scan", "automatic",
    "insulin_pump", "scale", "chest_strap", "ring", "lab", "exercise_machine", "earphone",
)  # fmt: skip

#: `source_id` in events (deprecated in the API): a provider's place in this list, from 1, fixed for good. New
#: providers go to the end; one that is not listed has 0.
_PROVIDERS_IN_ORDER: Final = (
    "oura", "fitbit", "garmin", "whoop", "strava", "renpho", "peloton", "wahoo", "zwift", "freestyle_libre",
    "abbott_libreview", "tandem_source", "freestyle_libre_ble", "eight_sleep", "withings", "apple_health_kit",
    "manual", "ihealth", "google_fit", "beurer_api", "beurer_ble", "omron", "omron_ble", "onetouch_ble",
    "accuchek_ble", "contour_ble", "dexcom", "dexcom_v3", "hammerhead", "my_fitness_pal", "health_connect",
    "samsung_health", "polar", "cronometer", "kardia", "whoop_v2", "ultrahuman", "my_fitness_pal_v2",
    "map_my_fitness", "runkeeper", "google_health",
)  # fmt: skip
SOURCE_IDS: Final[Mapping[str, int]] = MappingProxyType(
    {slug: number for number, slug in enumerate(_PROVIDERS_IN_ORDER, start=1)}
)
SOURCE_ID_UNLISTED: Final = 0

APPLE_HEALTH_PROVIDER: Final = "apple_health_kit"
APPLE_HEALTH_JOB: Final = "apple_health_import"
EXPORT_FILE_PURPOSE: Final = "apple_health_export"
#: Items (samples and summaries) written in one transaction of an import.
IMPORT_BATCH_ITEMS: Final = 50_000
#: A long import says that it lives at least this often, also while it only reads.
IMPORT_RENEW_SECONDS: Final = 15


#: A team's priority of a provider; the larger number wins.
PRIORITY_MINIMUM: Final = 0
PRIORITY_MAXIMUM: Final = 1_000_000


class PriorityResource(models.TextChoices):
    """The kinds of data for which a team says which provider it trusts most."""

    WORKOUTS = "workouts"
    ACTIVITY = "activity"
    SLEEP = "sleep"
    BODY = "body"
    TIMESERIES = "timeseries"
