"""Dexcom's data addresses: records by the instant they were measured, at most thirty days a request, no pages.

Dexcom tells nobody of new data and has no way to end a grant: it is polled, and the person ends the grant at Dexcom.
Read from Dexcom's API v3 reference, not exercised against a live account.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Final

from healthsvc.kernel.typing import JSONValue
from links.connectors.base import Pulled, series_of, summaries_of
from links.connectors.dexcom import convert
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.wire import Access

_API: Final = "/v3/users/self"


class DexcomConnector:
    """Dexcom's readings, the person's entries, and what shows them."""

    window_days: Mapping[str, int] = {
        # 288 readings a day, of some 400 bytes each.
        "glucose": 14,
        "insulin_injection": 28,
        "carbohydrates": 28,
        # Devices have no days: one call tells all.
        "device": 366,
    }

    def account_id(self, access: Access) -> str:
        """Dexcom's name of the account, which is another one for each client."""
        found = access.get(f"{_API}/dataRange", {}).get("userId")
        return found if isinstance(found, str) else ""

    def pull(self, access: Access, resource: str, start_on: date, end_on: date) -> Pulled:
        """Records of UTC's days from `start_on` to `end_on`, both included."""
        span = {
            "startDate": f"{start_on.isoformat()}T00:00:00",
            "endDate": f"{(end_on + timedelta(days=1)).isoformat()}T00:00:00",
        }
        if resource == "glucose":
            return series_of([convert.glucose_from_egvs(_records(access, "egvs", span))], resource)
        if resource == "insulin_injection":
            return series_of([convert.insulin_from_events(_records(access, "events", span))], resource)
        if resource == "carbohydrates":
            return series_of([convert.carbohydrates_from_events(_records(access, "events", span))], resource)
        if resource == "device":
            return summaries_of(map(convert.device_from_device, _records(access, "devices", {})))
        raise ProviderFailure(FailureKind.REFUSED)


def _records(access: Access, name: str, query: Mapping[str, str]) -> Sequence[JSONValue]:
    records = access.get(f"{_API}/{name}", query).get("records")
    if not isinstance(records, list):
        raise ProviderFailure(FailureKind.TRANSPORT)
    return records
