"""Serializer fields that take what they say and nothing else, with messages that never repeat the input."""

import re
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any
from zoneinfo import available_timezones

from django.http import QueryDict
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from healthsvc.kernel.ids import uuid_parse

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
#: What instants of a log can be; ids can't hold others.
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(9000, 1, 1, tzinfo=UTC)


class TextField(serializers.CharField):
    """A JSON string; numbers and booleans are not taken for one. Not trimmed unless asked."""

    default_error_messages = {
        "string_type": "Must be a string.",
        "string_nul": "May not hold the NUL character.",
    }

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("trim_whitespace", False)
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> str:
        """The text itself."""
        if not isinstance(data, str):
            self.fail("string_type")
        if "\x00" in data:
            self.fail("string_nul")
        return super().to_internal_value(data)


class WholeNumberField(serializers.IntegerField):
    """A whole number, or its digits in a query string; never a boolean or a fraction."""

    default_error_messages = {"int_type": "Must be a whole number."}

    def to_internal_value(self, data: Any) -> int:
        """The number."""
        if isinstance(data, bool | float) or (isinstance(data, str) and not self._are_digits_of_a_query(data)):
            self.fail("int_type")
        return super().to_internal_value(data)

    def _are_digits_of_a_query(self, text: str) -> bool:
        """There everything is text; JSON has numbers."""
        is_query = isinstance(getattr(self.root, "initial_data", None), QueryDict)
        return is_query and re.fullmatch(r"-?[0-9]{1,18}", text) is not None


class FlagField(serializers.BooleanField):
    """True or false as JSON has them; neither numbers nor words are taken for one."""

    default_error_messages = {"bool_type": "Must be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        """The flag."""
        if not isinstance(data, bool):
            self.fail("bool_type")
        return data


@extend_schema_field({"type": "string", "format": "uuid"})
class UUIDTextField(TextField):
    """A UUID as text."""

    default_error_messages = {"uuid_parsing": "Not a UUID."}

    def to_internal_value(self, data: Any) -> Any:
        """The UUID."""
        found = uuid_parse(super().to_internal_value(data))
        if found is None:
            self.fail("uuid_parsing")
        return found


class CalendarDateField(serializers.DateField):
    """A date as YYYY-MM-DD; a midnight date-time is taken for its date."""

    default_error_messages = {"date_type": "Must be a date as YYYY-MM-DD."}

    def to_internal_value(self, value: Any) -> date:
        """The date."""
        if not isinstance(value, str):
            self.fail("date_type")
        text = re.sub(r"T00:00:00(\.0+)?(Z|\+00:00)?$", "", value)
        if not _DATE.fullmatch(text):
            self.fail("date_type")
        try:
            return date.fromisoformat(text)
        except ValueError:
            self.fail("date_type")


@extend_schema_field({"type": "string", "format": "date-time"})
class InstantField(TextField):
    """An instant with its offset."""

    default_error_messages = {"instant": "Must be an instant with its offset, as 2026-11-21T08:00:00Z."}

    def to_internal_value(self, data: Any) -> Any:
        """The instant."""
        # A plus that was not escaped in a query arrives as a blank.
        text = super().to_internal_value(data).replace(" ", "+")
        try:
            instant = datetime.fromisoformat(text)
        except ValueError:
            self.fail("instant")
        if instant.tzinfo is None or not _EARLIEST <= instant <= _LATEST:
            self.fail("instant")
        return instant


@lru_cache(maxsize=1)
def time_zone_names() -> frozenset[str]:
    """Every IANA time zone name this installation knows."""
    return frozenset(available_timezones())


class TimeZoneField(TextField):
    """An IANA time zone name."""

    default_error_messages = {"time_zone": "Not an IANA time zone name such as Europe/London."}

    def to_internal_value(self, data: Any) -> str:
        """The name."""
        name = super().to_internal_value(data)
        if name not in time_zone_names():
            self.fail("time_zone")
        return name


@extend_schema_field({"type": "array", "items": {"type": "string"}})
class RepeatedField(serializers.ListField):
    """A query parameter given several times, as existing clients send arrays."""

    def get_value(self, dictionary: Any) -> Any:
        """All values of the key."""
        if self.field_name not in dictionary:
            return serializers.empty
        return dictionary.getlist(self.field_name) if hasattr(dictionary, "getlist") else dictionary[self.field_name]
