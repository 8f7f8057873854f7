"""Endpoints: the list, one of them, and how they are made, changed, enabled and deleted."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse

from healthsvc.kernel import clock
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.errors import ErrorCode, ServiceError
from webhooks import selectors, services
from webhooks.constants import ENDPOINTS_MAXIMUM, RATE_LIMIT_MAXIMUM, WAITING_COUNT_MAXIMUM
from webhooks.log_selectors import (
    EndpointStats,
    Interval,
    TallyPoint,
    attempt_page,
    endpoint_stats,
    tally_series,
    tally_series_by_endpoint,
)
from webhooks.models import Endpoint
from webhooks.portal import charts
from webhooks.portal.attempts import attempt_line
from webhooks.portal.endpoint_form import EndpointForm, errors_of, form_of, form_read, is_search
from webhooks.portal.frame import PortalVisit, go, page, portal_page
from webhooks.portal.standing import standing_of
from webhooks.portal.wording import count_text

#: Attempts on the endpoint's own page; the log has the others.
_ATTEMPTS_SHOWN: Final = 10
#: Spans of the pictures in the list: a day.
_LIST_INTERVAL: Final = Interval.QUARTER_HOUR
_LIST_SPAN: Final = timedelta(seconds=_LIST_INTERVAL.span_seconds)


@portal_page("GET")
def endpoint_list(visit: PortalVisit) -> HttpResponse:
    """`/portal/`: every endpoint, how it stands and how its last day went. As many queries for one as for all."""
    found = selectors.endpoint_page(visit.team, cursor=None, limit=ENDPOINTS_MAXIMUM).endpoints
    stats = endpoint_stats(visit.team, [endpoint.id for endpoint in found])
    now = clock.now()
    series = tally_series_by_endpoint(visit.team, interval=_LIST_INTERVAL, until=now) if found else {}
    rows = [_shown(endpoint, stats[endpoint.id], now, series.get(endpoint.id, [])) for endpoint in found]
    context = {"rows": rows, "full": len(found) >= ENDPOINTS_MAXIMUM, "maximum": ENDPOINTS_MAXIMUM}
    return page(visit, "webhooks/endpoints.html", context)


@portal_page("GET")
def endpoint(visit: PortalVisit, endpoint_id: UUID) -> HttpResponse:
    """`/portal/endpoint/{id}`: what it is sent, how its last day went, and its last attempts."""
    found = selectors.endpoint_get(visit.team, endpoint_id)
    now = clock.now()
    points = tally_series(visit.team, endpoint_id=found.id, interval=_LIST_INTERVAL, until=now)
    stats = endpoint_stats(visit.team, [found.id])[found.id]
    shown = selectors.headers_shown(found)
    recent = attempt_page(visit.team, endpoint_id=found.id, limit=_ATTEMPTS_SHOWN)
    context = {
        **_shown(found, stats, now, points),
        "chart": charts.attempts_chart(points, _LIST_SPAN),
        "lines": [attempt_line(one) for one in recent.attempts],
        "headers_count": len(shown.headers) + len(shown.sensitive),
        "recover_since": _since_read(visit),
    }
    return page(visit, "webhooks/endpoint.html", context)


@portal_page("GET", "POST")
def endpoint_new(visit: PortalVisit) -> HttpResponse:
    """`/portal/endpoint/new`."""
    if not visit.is_form:
        return _form_page(visit, EndpointForm(), None)
    form = form_read(visit.request.POST)
    if is_search(visit.request.POST):
        return _form_page(visit, form, None)
    values, errors = form.checked()
    if not errors:
        try:
            made = services.endpoint_create(team=visit.team, **values)
        except ServiceError as error:
            errors = errors_of(error)
        else:
            visit.ids["endpoint_id"] = str(made.id)
            return go("portal_endpoint", told="created", endpoint_id=made.id)
    return _form_page(visit, replace(form, errors=errors), None, status=422)


@portal_page("GET", "POST")
def endpoint_edit(visit: PortalVisit, endpoint_id: UUID) -> HttpResponse:
    """`/portal/endpoint/{id}/edit`."""
    found = selectors.endpoint_get(visit.team, endpoint_id)
    if not visit.is_form:
        return _form_page(visit, form_of(found, visit.request.GET.get("search", "")), found)
    form = form_read(visit.request.POST)
    if is_search(visit.request.POST):
        return _form_page(visit, form, found)
    values, errors = form.checked()
    if not errors:
        changes: dict[str, Any] = dict(values)
        if changes["disabled"] == found.disabled:
            # Saying again that it is disabled would forget why it was.
            changes["disabled"] = None
        try:
            services.endpoint_patch(team=visit.team, endpoint_id=endpoint_id, changes=changes)
        except ServiceError as error:
            if error.code is ErrorCode.NOT_FOUND:
                raise
            errors = errors_of(error)
        else:
            return go("portal_endpoint", told="saved", endpoint_id=endpoint_id)
    return _form_page(visit, replace(form, errors=errors), found, status=422)


@portal_page("GET", "POST")
def endpoint_delete(visit: PortalVisit, endpoint_id: UUID) -> HttpResponse:
    """`/portal/endpoint/{id}/delete`: asks, then deletes."""
    found = selectors.endpoint_get(visit.team, endpoint_id)
    if visit.is_form:
        services.endpoint_delete(team=visit.team, endpoint_id=endpoint_id)
        return go("portal_endpoints", told="deleted")
    waiting = endpoint_stats(visit.team, [found.id])[found.id].waiting
    context = {"endpoint": found, "waiting": waiting, "waiting_text": _waiting_text(waiting)}
    return page(visit, "webhooks/endpoint_delete.html", context)


@portal_page("POST")
def endpoint_enable(visit: PortalVisit, endpoint_id: UUID) -> HttpResponse:
    """`/portal/endpoint/{id}/enable`: enables again, and offers to recover what failed before."""
    found = selectors.endpoint_get(visit.team, endpoint_id)
    health = endpoint_stats(visit.team, [found.id])[found.id].health
    failing_since = health.failing_since if health else None
    since = failing_since or found.disabled_at
    services.endpoint_patch(team=visit.team, endpoint_id=endpoint_id, changes={"disabled": False})
    query = {"since": utc_text(since)} if since else {}
    return go("portal_endpoint", told="enabled", query=query, endpoint_id=endpoint_id)


def _shown(endpoint: Endpoint, stats: EndpointStats, now: datetime, points: list[TallyPoint]) -> dict[str, Any]:
    return {
        "endpoint": endpoint,
        "standing": standing_of(endpoint, stats, now),
        "stats": stats,
        "delivered": count_text(stats.delivered),
        "failed": count_text(stats.failed),
        "exhausted": count_text(stats.exhausted),
        "waiting": _waiting_text(stats.waiting),
        "spark": charts.spark(points, _LIST_SPAN) if any(point.delivered or point.failed for point in points) else None,
    }


def _waiting_text(waiting: int) -> str:
    """Counted no further than a reader needs."""
    return f"{count_text(waiting)} or more" if waiting >= WAITING_COUNT_MAXIMUM else count_text(waiting)


def _since_read(visit: PortalVisit) -> datetime | None:
    """The instant that enabling left in the address."""
    if visit.request.GET.get("told") != "enabled":
        return None
    try:
        since = datetime.fromisoformat(visit.request.GET.get("since", ""))
        return since.astimezone(UTC) if since.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _form_page(visit: PortalVisit, form: EndpointForm, endpoint: Endpoint | None, *, status: int = 200) -> HttpResponse:
    context = {"form": form, "endpoint": endpoint, "tree": form.tree, "rate_limit_maximum": RATE_LIMIT_MAXIMUM}
    return page(visit, "webhooks/endpoint_form.html", context, status=status)
