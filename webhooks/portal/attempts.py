"""The log of attempts at an endpoint, and one attempt: what was sent, what was answered, and what to do about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.http import HttpResponse

from healthsvc.kernel import clock
from healthsvc.kernel.http import USER_AGENT
from webhooks import selectors
from webhooks.constants import ENDPOINTS_MAXIMUM
from webhooks.log_selectors import AttemptShown, MessageShown, attempt_get, attempt_page, message_get
from webhooks.models import Endpoint
from webhooks.portal.filtering import PAGE_ROWS, AttemptForm, LogAddress, chips, turning
from webhooks.portal.frame import PortalVisit, page, portal_address, portal_page
from webhooks.portal.payloads import payload_shown
from webhooks.portal.standing import waiting_of
from webhooks.portal.wording import STATUS_WORDS, Advice, attempt_advice, duration_text
from webhooks.registry import event_types
from webhooks.states import OPEN, DeliveryStatus

#: What stands for a value that is not shown.
_HIDDEN: Final = "••••••••"


@dataclass(frozen=True, slots=True)
class AttemptLine:
    """An attempt in a list. `mark` is what came back in a word; `tone` the class of its colour."""

    attempt: AttemptShown
    advice: Advice
    mark: str
    tone: str
    duration: str
    endpoint_url: str = ""


@dataclass(frozen=True, slots=True)
class HeaderShown:
    """A header as it is sent; `is_hidden` where its value is a secret."""

    name: str
    value: str
    is_hidden: bool = False


def attempt_line(attempt: AttemptShown, endpoint_url: str = "") -> AttemptLine:
    """How an attempt reads."""
    advice = attempt_advice(attempt.status_code, attempt.error or "")
    succeeded = attempt.status_code is not None and 200 <= attempt.status_code <= 299
    mark = "No answer" if attempt.status_code is None else str(attempt.status_code)
    duration = duration_text(attempt.duration_milliseconds)
    return AttemptLine(attempt, advice, mark, "good" if succeeded else "bad", duration, endpoint_url)


@portal_page("GET")
def attempts(visit: PortalVisit, endpoint_id: UUID) -> HttpResponse:
    """The attempts at an endpoint, newest first."""
    endpoint = selectors.endpoint_get(visit.team, endpoint_id)
    form = AttemptForm(visit.request.GET)
    is_valid = form.is_valid()
    address = LogAddress(portal_address("portal_attempts", endpoint_id=endpoint_id), form.kept)
    context: dict[str, object] = {
        "endpoint": endpoint,
        "form": form,
        "address": address.path,
        "chips": chips(address, form),
        "is_filtered": bool(form.kept),
        "event_types": event_types(),
    }
    if is_valid:
        found = attempt_page(
            visit.team,
            endpoint_id=endpoint_id,
            cursor=form.cleaned_data["cursor"],
            limit=PAGE_ROWS,
            filters=form.filters(),
        )
        context["lines"] = [attempt_line(one) for one in found.attempts]
        context["turning"] = turning(address, form, found.next_cursor)
    return page(visit, "webhooks/attempts.html", context, status=200 if is_valid else 422)


@portal_page("GET")
def attempt(visit: PortalVisit, attempt_id: UUID) -> HttpResponse:
    """One attempt. Its body is the message's, so that reading it is reading its user's data."""
    shown = attempt_get(visit.team, attempt_id)
    message = message_get(visit.team, shown.event_id)
    endpoint = endpoints_by_id(visit).get(shown.endpoint_id)
    if message.payload is not None:
        visit.record(**payload_ids(message), attempt_id=attempt_id)
    context = {
        "line": attempt_line(shown, url_of(message, shown.endpoint_id)),
        "status_words": STATUS_WORDS[shown.delivery_status],
        "message": message.message,
        "endpoint": endpoint,
        "headers": _headers(shown, endpoint),
        "payload": payload_shown(visit, message),
        "may_resend": may_resend(message, shown.delivery_status, endpoint),
        "is_open": shown.delivery_status in OPEN,
        "waiting": waiting_of(endpoint, shown.next_attempt_at, clock.now()),
    }
    return page(visit, "webhooks/attempt.html", context)


def endpoints_by_id(visit: PortalVisit) -> dict[UUID, Endpoint]:
    """Every endpoint that was not deleted: a team has few."""
    found = selectors.endpoint_page(visit.team, cursor=None, limit=ENDPOINTS_MAXIMUM)
    return {endpoint.id: endpoint for endpoint in found.endpoints}


def payload_ids(message: MessageShown) -> dict[str, object]:
    """What the audit trail is told of a payload that was read."""
    user_id = message.message.user_id
    return {"message_id": message.message.id, **({"user_id": user_id} if user_id else {})}


def url_of(message: MessageShown, endpoint_id: UUID) -> str:
    """The address of one of a message's endpoints, deleted or not."""
    return next((one.url for one in message.deliveries if one.endpoint_id == endpoint_id), "")


def may_resend(message: MessageShown, status: DeliveryStatus, endpoint: Endpoint | None) -> bool:
    """Whether a button to send again would do anything."""
    able = endpoint is not None and not endpoint.disabled
    return able and message.payload is not None and status is not DeliveryStatus.SENDING


def _headers(attempt: AttemptShown, endpoint: Endpoint | None) -> Sequence[HeaderShown]:
    """What was sent along. Custom headers are those of now; signatures and secrets are left out."""
    standard = [
        ("id", attempt.message_id, False),
        ("timestamp", str(int(attempt.attempted_at.timestamp())), False),
        ("signature", f"v1,{_HIDDEN}", True),
    ]
    signed = [
        HeaderShown(f"{prefix}-{name}", value, hidden)
        for prefix in ("webhook", "svix")
        for name, value, hidden in standard
    ]
    ours = [HeaderShown("Content-Type", "application/json"), HeaderShown("User-Agent", USER_AGENT)]
    if endpoint is None:
        return [*ours, *signed]
    custom = selectors.headers_shown(endpoint)
    shown = [HeaderShown(name, value) for name, value in custom.headers.items()]
    hidden = [HeaderShown(name, _HIDDEN, is_hidden=True) for name in custom.sensitive]
    return [*ours, *shown, *hidden, *signed]
