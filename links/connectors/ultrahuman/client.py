"""Ultrahuman's data addresses: one day a request, with everything of it.

Ultrahuman tells nobody of new data and has no address that ends a grant: it is polled, and the person ends it there.
Read from Ultrahuman's partner API documentation, not exercised against a live account.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from aggregation.records import Refusal, SummaryRecord
from links.connectors.base import Pulled, series_of, summaries_of
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.payload import MalformedError
from links.connectors.ultrahuman import convert
from links.connectors.ultrahuman.convert import DayMetrics
from links.connectors.wire import Access, document_of

_API: Final = "/api/partners/v1/user_data"
#: A day costs a request.
_WINDOW_DAYS: Final = 7


class UltrahumanConnector:
    """The days of the ring and of the glucose sensor."""

    window_days: Mapping[str, int] = dict.fromkeys(("sleep", "sleep_cycle", "activity", *convert.SERIES), _WINDOW_DAYS)

    def account_id(self, access: Access) -> str:
        """Ultrahuman's name of the person, where the scope for it was given."""
        if "profile" not in access.scopes:
            return ""
        answer = access.get(f"{_API}/user_info", {})
        data = answer.get("data")
        for item in (data if isinstance(data, Mapping) else {}, answer):
            found = item.get("user_id", item.get("id"))
            if isinstance(found, str | int) and not isinstance(found, bool):
                return str(found)
        return ""

    def pull(self, access: Access, resource: str, start_on: date, end_on: date) -> Pulled:
        """The person's days from `start_on` to `end_on`, both included."""
        if resource not in self.window_days:
            raise ProviderFailure(FailureKind.REFUSED)
        days = list(_days(access, start_on, end_on))
        zones = [day.time_zone for day in days if day.time_zone]
        return replace(_of_days(resource, days), time_zone=zones[-1] if zones else None)


def _of_days(resource: str, days: list[DayMetrics]) -> Pulled:
    if resource in convert.SERIES:
        return series_of([convert.series_from_days(resource, days)], resource)
    if resource == "activity":
        return summaries_of(_there(map(convert.activity_from_day, days)))
    nights = list(_there(map(convert.sleep_from_day, days)))
    # Stages are kept only where their night is.
    return summaries_of(
        [*nights, *_there(map(convert.sleep_cycle_from_day, days))] if resource == "sleep_cycle" else nights
    )


def _there(converted: Iterator[SummaryRecord | Refusal | None]) -> Iterator[SummaryRecord | Refusal]:
    return (one for one in converted if one is not None)


def _days(access: Access, start_on: date, end_on: date) -> Iterator[DayMetrics]:
    """Each day as it was asked for. An answer may hold a day beside it, which is another request's."""
    for step in range((end_on - start_on).days + 1):
        on = start_on + timedelta(days=step)
        answer = document_of(access.call("GET", f"{_API}/metrics", query={"date": on.isoformat()}))
        data = answer.get("data")
        if not isinstance(data, Mapping):
            raise ProviderFailure(FailureKind.TRANSPORT)
        try:
            yield from (day for day in convert.days_of(data) if day.on == on)
        except MalformedError:
            raise ProviderFailure(FailureKind.TRANSPORT) from None
