"""Hammerhead's activities as the service's records: what was recorded is in the FIT file, the name in the list.

Shapes: Hammerhead's API reference, "Activities". Read, not exercised against a live account.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from aggregation.records import DataSource, StreamRecord, SummaryRecord
from healthsvc.kernel.typing import JSONValue
from links.connectors.fit import convert as fit
from links.connectors.fit.reader import FitActivity
from links.connectors.payload import MalformedError, document, local_instant, optional_text, refusing, text, utc_text

#: A cycling computer, for which the API has no word of its own.
SOURCE: Final = DataSource(provider="hammerhead", type="unknown")

#: `192184.activity.06112a72-5f09-401f-a9a0-ef38d64e10e3`; it becomes a part of an address.
_IDENTITY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


@refusing("activity")
def workout_from_activity(payload: JSONValue, *, file: FitActivity) -> SummaryRecord:
    """One ride. The list's `duration` and `distance` name no unit, so the file alone is believed."""
    item = document(payload)
    identity = identity_of(item)
    start, end = fit.span_of(file)
    offset_seconds = fit.offset_seconds_of(file)
    return SummaryRecord(
        resource="workouts",
        source=SOURCE,
        external_id=identity,
        calendar_date=(start + timedelta(seconds=offset_seconds or 0)).date(),
        starts_at=start,
        ends_at=end,
        timezone_offset_seconds=offset_seconds,
        fields={
            "title": optional_text(item, "name"),
            "time_start": utc_text(start),
            "time_end": utc_text(end),
            "timezone_offset": offset_seconds,
            **fit.workout_fields(file),
            "provider_id": identity,
        },
        raw=item,
    )


def stream_from_file(file: FitActivity, payload: JSONValue) -> StreamRecord | None:
    """The course of a ride, out of its file."""
    return fit.stream_of(file, source=SOURCE, workout=identity_of(document(payload)))


def identity_of(item: Mapping[str, JSONValue]) -> str:
    """What Hammerhead calls the activity."""
    identity = text(item, "id")
    if not _IDENTITY.fullmatch(identity):
        raise MalformedError("wrong_type:id")
    return identity


def created_at(item: Mapping[str, JSONValue]) -> datetime:
    """When the activity came in, by which the list is filtered."""
    return local_instant(item, "createdAt").astimezone(UTC)
