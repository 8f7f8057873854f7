"""Staff views of events: the message log, one message with its deliveries and attempts, and its payload on request."""

from collections import Counter
from typing import Any, Protocol
from uuid import UUID

import orjson
from django.contrib import admin, messages
from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from healthsvc.kernel.ids import uuid_parse
from healthsvc.kernel.scope import team_scope
from users.closed import of_no_deleted_user
from users.models import User
from webhooks.admin.lists import (
    BeforeFilter,
    EventTypeFilter,
    LogAdmin,
    TeamFilter,
    TimeFilter,
    UserFilter,
    searched_by_id,
)
from webhooks.admin.showing import address_shown, id_short, moment_short, team_shown, type_shown
from webhooks.admin.traces import context_of, message_resend, staff_record
from webhooks.log_selectors import attempt_page, message_get
from webhooks.models import Delivery, Event
from webhooks.states import DeliveryStatus

#: Attempts that the page of a message shows, the newest.
_ATTEMPTS_SHOWN = 200
#: Deliveries whose status the list counts, for each event.
_DELIVERIES_COUNTED = 100


class EventRow(Protocol):
    """An event with the statuses of its deliveries."""

    statuses: list[str]


class StatusFilter(admin.SimpleListFilter):
    """Events of which a delivery stands so."""

    title = "status of a delivery"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[tuple[str, str]]:
        """The statuses."""
        return [(status.value, status.value) for status in DeliveryStatus]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        """Those with such a delivery."""
        if not self.value():
            return queryset
        return queryset.filter(Exists(Delivery.objects.filter(event_id=OuterRef("pk"), status=self.value())))


class AboutUserFilter(UserFilter):
    """Events about one user: the user's team is looked up, so that an index finds them."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        """Those of the user, in the user's team."""
        found = super().queryset(request, queryset)
        if found is queryset:
            return queryset
        return _of_user(found, uuid_parse((self.value() or "").strip()))


@admin.register(Event)
class EventAdmin(LogAdmin):
    """What happened and how it was delivered. The payload is shown on request only, to who may see it."""

    change_form_template = "admin/webhooks/message.html"
    list_display = ["event_name", "deliveries", "happened", "whose", "id_end"]
    list_filter = [TimeFilter, BeforeFilter, StatusFilter, "environment", TeamFilter, AboutUserFilter, EventTypeFilter]
    list_select_related = ["team"]
    search_fields = ["=id", "=user_id"]
    search_help_text = "The id of a message or a user."
    fields = [
        "message_id", "event_type", "team", "environment", "user_id", "channels", "endpoint", "created_at",
        "fanned_out_at",
    ]  # fmt: skip
    readonly_fields = ["message_id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        """Payloads stay sealed; with the statuses of the deliveries. Nothing about deleted people."""
        statuses = Delivery.objects.filter(event_id=OuterRef("pk")).order_by().values("status")[:_DELIVERIES_COUNTED]
        shown = Event.objects.filter(of_no_deleted_user()).defer("body")
        return shown.annotate(statuses=ArraySubquery(statuses))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Event], search_term: str
    ) -> tuple[QuerySet[Event], bool]:
        """By the id of a message, else of a user."""
        if not search_term.strip():
            return queryset, False
        found = searched_by_id(queryset, search_term, "pk")
        return (found if found.exists() else _of_user(queryset, uuid_parse(search_term.strip()))), False

    def words(self, row: Event) -> str:
        """What happened."""
        return f"Message {row.event_type}"

    @admin.display(description="event type")
    def event_name(self, event: Event) -> SafeString:
        """What happened."""
        return type_shown(event.event_type)

    @admin.display(description="happened (UTC)")
    def happened(self, event: Event) -> SafeString | str:
        """When."""
        return moment_short(event.created_at)

    @admin.display(description="team")
    def whose(self, event: Event) -> str:
        """With the environment."""
        return team_shown(event)

    @admin.display(description="id")
    def id_end(self, event: Event) -> SafeString:
        """Its end."""
        return id_short(event.pk)

    @admin.display(description="deliveries")
    def deliveries(self, event: EventRow) -> str:
        """How many stand how."""
        return ", ".join(f"{count} {status}" for status, count in sorted(Counter(event.statuses).items())) or "none"

    def has_resend_permission(self, request: HttpRequest) -> bool:
        """Seeing messages is not enough to send them again."""
        return request.user.has_perm("webhooks.change_delivery")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One message, with its deliveries and the newest attempts."""
        context = dict(extra_context or {})
        event = self._event(object_id)
        if event is not None and self.has_view_permission(request, event):
            team = context_of(event)
            with team_scope(team):
                page = attempt_page(team, message_id=event.pk, limit=_ATTEMPTS_SHOWN)
                rows = Delivery.objects.for_team(team).filter(event=event).order_by("id")
                found = list(rows.values("id", "endpoint_id", "endpoint__url", "status", "next_attempt_at", "ended_at"))
            addresses = {row["endpoint_id"]: address_shown(row["endpoint__url"]) for row in found}
            context["shown_deliveries"] = [{**row, "address": addresses[row["endpoint_id"]]} for row in found]
            context["shown_attempts"] = [(one, addresses[one.endpoint_id]) for one in page.attempts]
            context["may_see_payload"] = request.user.has_perm("webhooks.view_payload")
            context["may_resend"] = self.has_resend_permission(request)
        return super().change_view(request, object_id, form_url, context)

    def get_urls(self) -> list[URLPattern]:
        """The payload and sending again, beside the usual ones."""
        wrap = self.admin_site.admin_view
        return [
            path("<uuid:event_id>/payload/", wrap(self.payload_view), name="webhooks_event_payload"),
            path("<uuid:event_id>/resend/", wrap(self.resend_view), name="webhooks_event_resend"),
            *super().get_urls(),
        ]

    def payload_view(self, request: HttpRequest, event_id: UUID) -> HttpResponse:
        """The payload, to who may see it; a POST, so that no link shows it. Leaves a trace that names the user."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not request.user.has_perm("webhooks.view_payload"):
            raise PermissionDenied
        event = self._event(str(event_id))
        if event is None:
            raise Http404
        staff_record(request, event, "payload")
        team = context_of(event)
        with team_scope(team):
            payload = message_get(team, event.pk).payload
        text = None if payload is None else orjson.dumps(payload, option=orjson.OPT_INDENT_2).decode()
        context = {
            **self.admin_site.each_context(request),
            "title": f"Payload of {event.message_id}",
            "opts": self.opts,
            "original": event,
            "payload": text,
        }
        response = TemplateResponse(request, "admin/webhooks/payload.html", context)
        response["Cache-Control"] = "no-store"
        return response

    def resend_view(self, request: HttpRequest, event_id: UUID) -> HttpResponse:
        """Send the message again to the endpoint that the form names."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_resend_permission(request):
            raise PermissionDenied
        event, endpoint_id = self._event(str(event_id)), uuid_parse(request.POST.get("endpoint_id", ""))
        if event is None or endpoint_id is None:
            raise Http404
        refusal = message_resend(request, event, message_id=event.pk, endpoint_id=endpoint_id)
        if refusal:
            messages.error(request, refusal)
        else:
            messages.success(request, "It is sent again.")
        return redirect(reverse("admin:webhooks_event_change", args=[event.pk]))

    def _event(self, object_id: str) -> Event | None:
        wanted = uuid_parse(object_id)
        return None if wanted is None else Event.objects.defer("body").filter(of_no_deleted_user(), pk=wanted).first()


def _of_user(queryset: QuerySet[Event], user_id: UUID | None) -> QuerySet[Event]:
    """A user's events: the index begins with the team."""
    user = None if user_id is None else User.objects.filter(pk=user_id).only("team_id", "environment").first()
    if user is None:
        return queryset.none()
    return queryset.filter(team_id=user.team_id, environment=user.environment, user_id=user_id)
