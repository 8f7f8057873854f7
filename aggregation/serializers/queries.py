"""What a reader of health data may ask for."""

import re
from datetime import UTC, date, datetime
from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from aggregation.constants import EARLIEST_US, LATEST_US
from aggregation.store.days import DAY_US, FOREVER, Moment, Window, us_of_day, us_of_instant
from healthsvc.kernel.fields import TextField

Serializer = serializers.Serializer[Any]

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATES_HELP: Final = "YYYY-MM-DD, a day on the person's own clock; or an ISO 8601 date-time."


@extend_schema_field({"type": "string", "examples": ["2026-03-01", "2026-03-01T08:00:00+00:00"]})
class DateOrInstantField(TextField):
    """A day, or a date-time with an offset from UTC, or one without, which is of the person's own clock."""

    default_error_messages = {"date_type": "Must be YYYY-MM-DD or an ISO 8601 date-time."}

    def to_internal_value(self, data: Any) -> Any:
        """A `date` or a `datetime`."""
        # An unescaped + in an address arrives as a space.
        text = re.sub(r" (\d{2}:?\d{2})$", r"+\1", super().to_internal_value(data))
        try:
            value = date.fromisoformat(text) if _DATE.fullmatch(text) else datetime.fromisoformat(text)
            in_reach = EARLIEST_US <= _us_of(value) < LATEST_US
        except (ValueError, OverflowError):
            self.fail("date_type")
        if not in_reach or len(text) < 10:
            self.fail("date_type")
        return value


def _us_of(value: date) -> int:
    if isinstance(value, datetime):
        return us_of_instant(value if value.tzinfo else value.replace(tzinfo=UTC))
    return us_of_day(value)


class ProviderQuery(Serializer):
    """Of which provider something is wanted."""

    provider = serializers.RegexField(
        r"^[a-z0-9_]{0,60}$", required=False, allow_blank=True, default="", help_text="Slug of one provider."
    )


class DataQuery(ProviderQuery):
    """What of a resource is wanted. Both ends are included."""

    start_date = DateOrInstantField(help_text=f"From. {_DATES_HELP}")
    end_date = DateOrInstantField(required=False, help_text=f"Until, included. {_DATES_HELP}")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The end may not lie before the start, where both are of one clock and can be compared."""
        window = window_of(attrs)
        if window.end.local == window.start.local and window.end.us < window.start.us:
            raise serializers.ValidationError({"end_date": ["Must not be before start_date."]})
        return attrs


class TimeseriesQuery(DataQuery):
    """What of a timeseries is wanted, and from where on."""

    next_cursor = TextField(required=False, max_length=100, help_text="The `next_cursor` of the page before.")
    cursor = TextField(required=False, max_length=100, help_text="Deprecated: the older name of `next_cursor`.")


def window_of(query: dict[str, Any]) -> Window:
    """The stretch of time that a validated query asks for."""
    start, end = query["start_date"], query.get("end_date")
    return Window(_moment(start), FOREVER if end is None else _moment(end, last=True))


def _moment(value: date, *, last: bool = False) -> Moment:
    whole_day = not isinstance(value, datetime)
    local = whole_day or (isinstance(value, datetime) and value.tzinfo is None)
    return Moment(_us_of(value) + (DAY_US - 1 if last and whole_day else 0), local)


def day_of(value: date) -> date:
    """The day of a date, or the date part of a date-time as it was written."""
    return value.date() if isinstance(value, datetime) else value
