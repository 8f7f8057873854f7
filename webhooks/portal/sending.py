"""An event now: the catalogue's sample of a type, to one endpoint, and what came of it."""

from typing import Final
from uuid import UUID

import orjson
from django.http import HttpResponse

from healthsvc.kernel.ids import uuid_parse
from webhooks import selectors
from webhooks.events import WEBHOOK_TEST
from webhooks.log_selectors import attempt_page
from webhooks.portal.attempts import attempt_line
from webhooks.portal.frame import PortalVisit, go, page, portal_page
from webhooks.registry import EventType, event_types
from webhooks.services.repairs import event_send_now

#: The page looks again after so long, so many times.
_LOOK_SECONDS: Final = 2
_LOOKS_MAXIMUM: Final = 15
#: Attempts of one message that are shown.
_ATTEMPTS_SHOWN: Final = 5


@portal_page("GET", "POST")
def send(visit: PortalVisit, endpoint_id: UUID) -> HttpResponse:
    """`/portal/endpoint/{id}/send`: choose a type, see its sample, send it, and see its attempt come in."""
    found = selectors.endpoint_get(visit.team, endpoint_id)
    if visit.is_form:
        wanted = _type_read(visit.request.POST.get("event_type", ""))
        message_id = event_send_now(team=visit.team, endpoint_id=endpoint_id, event_type=wanted.name)
        visit.ids["message_id"] = str(message_id)
        query = {"event_type": wanted.name, "sent": str(message_id)}
        return go("portal_endpoint_test", query=query, endpoint_id=endpoint_id)
    chosen = _type_read(visit.request.GET.get("event_type", ""))
    watched = _watched(visit, endpoint_id)
    context = {
        "endpoint": found,
        "event_types": event_types().values(),
        "chosen": chosen,
        "sample": orjson.dumps(chosen.sample, option=orjson.OPT_INDENT_2).decode(),
        "look_seconds": _LOOK_SECONDS,
        **watched,
    }
    response = page(visit, "webhooks/send.html", context)
    if watched.get("again"):
        response["Refresh"] = f"{_LOOK_SECONDS}; url={watched['again']}"
    return response


def _type_read(name: str) -> EventType:
    """The type asked for; the test event for any other word."""
    known = event_types()
    return known.get(name) or known[WEBHOOK_TEST]


def _watched(visit: PortalVisit, endpoint_id: UUID) -> dict[str, object]:
    """The attempts of the event just sent, and the address to look at again while there are none."""
    message_id = uuid_parse(visit.request.GET.get("sent", ""))
    if message_id is None:
        return {}
    found = attempt_page(visit.team, endpoint_id=endpoint_id, message_id=message_id, limit=_ATTEMPTS_SHOWN).attempts
    text = visit.request.GET.get("look", "0")
    look = int(text) if text.isdecimal() and len(text) < 3 else _LOOKS_MAXIMUM
    looks_on = not found and look < _LOOKS_MAXIMUM
    return {
        "sent": message_id,
        "lines": [attempt_line(one) for one in found],
        "again": _look_address(visit, look + 1) if looks_on else "",
        "stop": _look_address(visit, _LOOKS_MAXIMUM) if looks_on else "",
    }


def _look_address(visit: PortalVisit, look: int) -> str:
    parameters = visit.request.GET.copy()
    parameters["look"] = str(look)
    return f"{visit.request.path}?{parameters.urlencode()}"
