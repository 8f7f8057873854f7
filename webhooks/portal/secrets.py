"""The secret of an endpoint: shown when asked for, never on a page that a browser keeps, and replaced."""

from typing import Final
from uuid import UUID

from django.http import HttpResponse

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, ServiceError
from webhooks import selectors, services
from webhooks.models import Endpoint
from webhooks.portal.frame import PortalVisit, go, page, portal_page, refusal_words

_HOUR_SECONDS: Final = 3600
_DAY_SECONDS: Final = 24 * _HOUR_SECONDS
#: How long the secret before signs along, as the form offers it.
_OVERLAPS: Final = (
    (_DAY_SECONDS, "24 hours"),
    (_HOUR_SECONDS, "one hour"),
    (7 * _DAY_SECONDS, "seven days"),
    (0, "not at all: it may be in wrong hands"),
)


@portal_page("GET", "POST")
def secret(visit: PortalVisit, endpoint_id: UUID) -> HttpResponse:
    """`/portal/endpoint/{id}/secret`: what it is for; by POST the secret itself."""
    found = selectors.endpoint_get(visit.team, endpoint_id)
    if visit.is_form:
        visit.record(endpoint_id=endpoint_id)
    context = {
        "endpoint": found,
        "secret": found.secret if visit.is_form else "",
        "others_count": len(selectors.secrets_signing(found, clock.now())) - 1,
    }
    return page(visit, "webhooks/secret.html", context)


@portal_page("GET", "POST")
def rotate(visit: PortalVisit, endpoint_id: UUID) -> HttpResponse:
    """`/portal/endpoint/{id}/secret/rotate`: another secret, made here or brought along."""
    found = selectors.endpoint_get(visit.team, endpoint_id)
    if not visit.is_form:
        return _rotate_page(visit, found)
    chosen = visit.request.POST.get("overlap", "")
    overlap = next((seconds for seconds, _ in _OVERLAPS if str(seconds) == chosen), None)
    if overlap is None:
        return _rotate_page(visit, found, {"overlap": "Choose how long both sign."})
    key = visit.request.POST.get("key", "").strip() or None
    try:
        services.endpoint_secret_rotate(team=visit.team, endpoint_id=endpoint_id, key=key, overlap_seconds=overlap)
    except ServiceError as error:
        if error.code is not ErrorCode.VALIDATION_FAILED:
            raise
        return _rotate_page(visit, found, {"key": refusal_words(error)}, chosen=overlap)
    return go("portal_endpoint_secret", told="rotated", endpoint_id=endpoint_id)


def _rotate_page(
    visit: PortalVisit, endpoint: Endpoint, errors: dict[str, str] | None = None, *, chosen: int = _DAY_SECONDS
) -> HttpResponse:
    """A secret that was typed is not shown again."""
    overlaps = [{"seconds": seconds, "words": words, "chosen": seconds == chosen} for seconds, words in _OVERLAPS]
    context = {"endpoint": endpoint, "overlaps": overlaps, "errors": errors or {}}
    return page(visit, "webhooks/rotate.html", context, status=422 if errors else 200)
