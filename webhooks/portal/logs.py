"""The log of messages, and one message: its payload, its way to each endpoint, and every attempt."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpResponse

from healthsvc.kernel import clock
from webhooks.log_selectors import (
    DeliveryShown,
    MessageRow,
    MessageShown,
    attempt_page,
    message_get,
    message_page,
)
from webhooks.models import Endpoint
from webhooks.portal.attempts import attempt_line, endpoints_by_id, may_resend, payload_ids, url_of
from webhooks.portal.filtering import PAGE_ROWS, LogAddress, MessageForm, chips, turning
from webhooks.portal.frame import PortalVisit, go, page, portal_address, portal_page
from webhooks.portal.payloads import payload_shown
from webhooks.portal.standing import Waiting, waiting_of
from webhooks.portal.wording import STATUS_TONES, STATUS_WORDS, count_text
from webhooks.registry import event_types
from webhooks.states import OPEN


@dataclass(frozen=True, slots=True)
class Mark:
    """A word in a colour."""

    words: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class MessageLine:
    """A message in the list, and what it came to."""

    message: MessageRow
    marks: list[Mark]


@dataclass(frozen=True, slots=True)
class DeliveryLine:
    """A message's way to one endpoint; `endpoint` is None where it was deleted."""

    delivery: DeliveryShown
    endpoint: Endpoint | None
    mark: Mark
    attempts: str
    is_open: bool
    may_resend: bool
    waiting: Waiting


@portal_page("GET")
def messages(visit: PortalVisit) -> HttpResponse:
    """The team's messages, newest first."""
    form = MessageForm(visit.request.GET)
    is_valid = form.is_valid()
    if is_valid and form.cleaned_data["message_id"]:
        return go("portal_message", message_id=form.cleaned_data["message_id"])
    address = LogAddress(portal_address("portal_messages"), form.kept)
    context: dict[str, object] = {
        "form": form,
        "address": address.path,
        "chips": chips(address, form),
        "is_filtered": bool(form.kept),
        "event_types": event_types(),
    }
    if is_valid:
        cursor = form.cleaned_data["cursor"]
        found = message_page(visit.team, cursor=cursor, limit=PAGE_ROWS, filters=form.filters())
        context["lines"] = [MessageLine(row, _marks(row)) for row in found.messages]
        context["turning"] = turning(address, form, found.next_cursor)
    return page(visit, "webhooks/messages.html", context, nav="messages", status=200 if is_valid else 422)


@portal_page("GET")
def message(visit: PortalVisit, message_id: UUID) -> HttpResponse:
    """One message. Who opens it has read the data of its user."""
    shown = message_get(visit.team, message_id)
    if shown.payload is not None:
        visit.record(**payload_ids(shown))
    endpoints = endpoints_by_id(visit)
    form = MessageForm(visit.request.GET)
    cursor = form.cleaned_data["cursor"] if form.is_valid() else None
    tried = attempt_page(visit.team, message_id=message_id, cursor=cursor, limit=PAGE_ROWS)
    now = clock.now()
    deliveries = [
        DeliveryLine(
            one,
            endpoint := endpoints.get(one.endpoint_id),
            Mark(STATUS_WORDS[one.status], STATUS_TONES.get(one.status, "")),
            "1 attempt" if one.attempts == 1 else f"{count_text(one.attempts)} attempts",
            one.status in OPEN,
            may_resend(shown, one.status, endpoint),
            waiting_of(endpoint, one.next_attempt_at, now),
        )
        for one in shown.deliveries
    ]
    context = {
        "message": shown.message,
        "event_type": event_types().get(shown.message.event_type),
        "payload": payload_shown(visit, shown),
        "deliveries": deliveries,
        "others": _others(endpoints, shown),
        "lines": [attempt_line(one, url_of(shown, one.endpoint_id)) for one in tried.attempts],
        "older_attempts": tried.next_cursor,
    }
    return page(visit, "webhooks/message.html", context, nav="messages")


def _others(endpoints: Mapping[UUID, Endpoint], shown: MessageShown) -> list[Endpoint]:
    """Enabled endpoints that the message has not gone to."""
    there = {one.endpoint_id for one in shown.deliveries}
    return [one for one in endpoints.values() if one.id not in there and not one.disabled]


def _marks(row: MessageRow) -> list[Mark]:
    counts = row.counts
    told = [
        (counts.delivered, "Delivered to", "good"),
        (counts.waiting, "Waiting for", "warn"),
        (counts.failed, "Failed at", "bad"),
        (counts.cancelled, "Cancelled for", ""),
    ]
    return [Mark(f"{words} {count_text(count)}", tone) for count, words, tone in told if count]
