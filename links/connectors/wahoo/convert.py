"""Wahoo's workouts, with what their FIT files add, as the service's records: pure functions.

Shapes: Wahoo's cloud API documentation, "Workouts" and "Workout Summary". Read, not exercised against a live account.
"""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from aggregation.records import UNDATED, DataSource, StreamRecord, SummaryRecord
from healthsvc.kernel.typing import JSONValue
from healthsvc.kernel.units import centimetres_from_metres
from links.connectors.fit.convert import offset_seconds_of, stream_of, workout_fields
from links.connectors.fit.reader import FitActivity
from links.connectors.payload import (
    MalformedError,
    calendar_day,
    document,
    in_order,
    local_instant,
    nearest_whole,
    offset_seconds_of as offset_of_instant,
    optional_text,
    optional_whole,
    refusing,
    seconds_of_minutes,
    utc_text,
    whole,
)
from links.connectors.wahoo.catalogue import sport_of
