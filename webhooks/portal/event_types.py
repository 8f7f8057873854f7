"""The catalogue of events: found by words, each with its meaning, an example and its shape, and sent now to try it."""

from typing import Final

from django import forms
from django.http import HttpResponse

from healthsvc.kernel.errors import ServiceError, not_found
from healthsvc.kernel.ids import uuid_parse
from webhooks import services
from webhooks.event_schemas import event_schema
from webhooks.openapi import envelope_sample
from webhooks.portal.attempts import endpoints_by_id
from webhooks.portal.event_groups import groups_of
from webhooks.portal.frame import PortalVisit, go, page, portal_page, refusal_words
from webhooks.portal.payloads import pretty
from webhooks.registry import EXAMPLE_CLIENT_USER_ID, EventType
from webhooks.registry import event_types as catalogue

_SEARCH_MAXIMUM_CHARACTERS: Final = 80


class SendForm(forms.Form):
    """Which endpoint an example is sent to."""

    endpoint = forms.ChoiceField(label="Endpoint")

    def __init__(self, visit: PortalVisit) -> None:
        super().__init__(visit.request.POST if visit.is_form else None)
        living = [one for one in endpoints_by_id(visit).values() if not one.disabled]
        self.has_endpoints = bool(living)
        self.fields["endpoint"].choices = [  # type: ignore[attr-defined]  # a choice field
            (str(one.id), f"{one.description} ({one.url})" if one.description else one.url) for one in living
        ]


@portal_page("GET")
def event_types(visit: PortalVisit) -> HttpResponse:
    """Every event in groups that are opened, or those that the words fit, which lie open."""
    typed = visit.request.GET.get("q", "").strip()[:_SEARCH_MAXIMUM_CHARACTERS]
    known = list(catalogue().values())
    found = [one for one in known if _fits(typed, one)]
    context = {"typed": typed, "groups": groups_of(found), "known_count": len(known), "found_count": len(found)}
    return page(visit, "webhooks/event_types.html", context, nav="event_types")


@portal_page("GET", "POST")
def event_type(visit: PortalVisit, event_type: str) -> HttpResponse:
    """One event; the form sends its example to one endpoint, whatever that one filters."""
    known = catalogue().get(event_type)
    if known is None:
        raise not_found()
    form = SendForm(visit)
    if visit.is_form and form.is_valid():
        endpoint_id = uuid_parse(form.cleaned_data["endpoint"])
        if endpoint_id is None:
            raise not_found()
        try:
            event_id = services.event_send_now(team=visit.team, endpoint_id=endpoint_id, event_type=event_type)
        except ServiceError as error:
            form.add_error("endpoint", refusal_words(error))
        else:
            visit.ids["endpoint_id"] = str(endpoint_id)
            return go("portal_message", told="sent", message_id=event_id)
    context = {
        "event_type": known,
        "sample": pretty(envelope_sample(known)),
        "example_client_user_id": EXAMPLE_CLIENT_USER_ID,
        "schema": pretty(event_schema(known)),
        "form": form,
    }
    return page(visit, "webhooks/event_type.html", context, nav="event_types", status=422 if form.errors else 200)


def _fits(typed: str, event_type: EventType) -> bool:
    """Whether every typed word is a part of the name, or of what it means."""
    text = f"{event_type.name} {event_type.meaning}".casefold()
    return all(word in text for word in typed.casefold().split())
