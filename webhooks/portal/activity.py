"""How deliveries went over time, in pictures with a table beside them: of one endpoint, or of all together."""

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Final
from uuid import UUID

from django.http import HttpResponse

from healthsvc.kernel import clock
from webhooks import selectors
from webhooks.log_selectors import Interval, tally_series
from webhooks.portal.charts import answers_chart, attempts_chart, table_rows
from webhooks.portal.filtering import Chip, LogAddress
from webhooks.portal.frame import PortalVisit, page, portal_page

_RANGES: Final[Mapping[str, tuple[str, Interval]]] = MappingProxyType(
    {
        "6h": ("6 hours", Interval.FIVE_MINUTES),
        "24h": ("24 hours", Interval.QUARTER_HOUR),
        "7d": ("7 days", Interval.HOUR),
        "30d": ("30 days", Interval.DAY),
    }
)
_RANGE_DEFAULT: Final = "24h"


@portal_page("GET")
def activity(visit: PortalVisit) -> HttpResponse:
    """All endpoints together."""
    return page(visit, "webhooks/activity.html", activity_shown(visit, None), nav="activity")


@portal_page("GET")
def endpoint_activity(visit: PortalVisit, endpoint_id: UUID) -> HttpResponse:
    """One endpoint."""
    endpoint = selectors.endpoint_get(visit.team, endpoint_id)
    return page(visit, "webhooks/activity.html", {**activity_shown(visit, endpoint_id), "endpoint": endpoint})


def activity_shown(visit: PortalVisit, endpoint_id: UUID | None) -> dict[str, object]:
    """What `webhooks/charts.html` shows, for the range that the address names; one query."""
    asked = visit.request.GET.get("range", "")
    name = asked if asked in _RANGES else _RANGE_DEFAULT
    words, interval = _RANGES[name]
    span = timedelta(seconds=interval.span_seconds)
    points = tally_series(visit.team, endpoint_id=endpoint_id, interval=interval, until=clock.now())
    address = LogAddress(visit.request.path)
    return {
        "charts": [attempts_chart(points, span), answers_chart(points, span)],
        "rows": table_rows(points, span),
        "range_words": words,
        "ranges": [Chip(text, address.at(range=key), key == name) for key, (text, _) in _RANGES.items()],
    }
