"""Staff views of deliveries, each with its attempts."""

from collections import Counter
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from healthsvc.kernel.ids import uuid_parse
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.rows import TeamQuerySet
from users.closed import of_no_deleted_user
from users.models import User
from webhooks.addresses import url_host
from webhooks.admin.lists import (
    LIST_ROWS,
    BeforeFilter,
    EndpointFilter,
    EventTypeFilter,
    LogAdmin,
    TeamFilter,
    TimeFilter,
    UserFilter,
    searched_by_id,
)
from webhooks.admin.showing import address_shown, id_short, moment_short, team_shown, type_shown
from webhooks.admin.traces import message_resend
from webhooks.log_selectors.paging import id_page
from webhooks.models import Attempt, Delivery, Event

#: Sent again one by one, so that each is refused or traced for itself.
_RESENT_MAXIMUM = 200


class AttemptInline(admin.TabularInline[Attempt, Delivery]):
    """How each request of a delivery went."""

    model = Attempt
    extra = 0
    can_delete = False
    ordering = ["number"]
    fields = ["number", "attempted_at", "duration_milliseconds", "status_code", "error", "answer"]
    readonly_fields = ["answer"]

    @admin.display(description="answer")
    def answer(self, attempt: Attempt) -> str:
        """The scrubbed beginning of a failed answer."""
        return attempt.answer_excerpt or ""

    def has_add_permission(self, request: HttpRequest, obj: Delivery | None = None) -> bool:
        """Nobody adds."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Delivery | None = None) -> bool:
        """Nobody changes."""
        return False


class OfEventTypeFilter(EventTypeFilter):
    """Deliveries of events of one type: of the newest of them, by an index where a team is named too."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Those of such events."""
        if not self.text:
            return queryset
        team_id, user_id = _id_asked(request, "team_id"), _id_asked(request, "user_id")
        also = None
        if user_id is not None:
            branches, also = [_events_of(user_id)], Q(event_type=self.text)
        elif team_id is not None:
            events = Event.objects.filter(team_id=team_id, event_type=self.text)
            branches = [events.filter(environment=environment) for environment in Environment]
        else:
            branches, also = [Event.objects.all()], Q(event_type=self.text)
        return queryset.filter(event_id__in=id_page(branches, also=also, cursor=None, limit=LIST_ROWS).ids)


class OfUserFilter(UserFilter):
    """Deliveries of the newest events about one user."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Those of such events."""
        if not self.text:
            return queryset
        found = id_page([_events_of(self.id_typed)], also=None, cursor=None, limit=LIST_ROWS)
        return queryset.filter(event_id__in=found.ids)


@admin.register(Delivery)
class DeliveryAdmin(LogAdmin):
    """Each event's way to each endpoint."""

    list_display = [
        "status", "event_name", "address", "failures", "next_attempt", "made", "whose", "id_end",
    ]  # fmt: skip
    list_filter = [
        TimeFilter, BeforeFilter, "status", "environment", TeamFilter, EndpointFilter, OfUserFilter, OfEventTypeFilter,
    ]  # fmt: skip
    search_fields = ["=id", "=event__id", "=endpoint__id"]
    search_help_text = "The id of a delivery, a message or an endpoint."
    fields = [
        "event", "endpoint", "team", "environment", "status", "claims", "failures", "next_attempt_at", "created_at",
        "ended_at", "id",
    ]  # fmt: skip
    inlines = [AttemptInline]
    actions = ["send_again"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        """With what a row shows, payloads and secrets left sealed. Nothing about deleted people."""
        shown = Delivery.objects.filter(of_no_deleted_user("event__user_id"))
        rows = shown.select_related("event", "endpoint", "team")
        return rows.defer("event__body", "endpoint__secret", "endpoint__secrets_before", "endpoint__headers")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Delivery], search_term: str
    ) -> tuple[QuerySet[Delivery], bool]:
        """By an id, each kind in turn."""
        if not search_term.strip():
            return queryset, False
        return searched_by_id(queryset, search_term, "pk", "event_id", "endpoint_id"), False

    def words(self, row: Delivery) -> str:
        """What goes where."""
        return f"Delivery of {row.event.event_type} to {url_host(row.endpoint.url)}"

    @admin.display(description="event type")
    def event_name(self, delivery: Delivery) -> SafeString:
        """What happened."""
        return type_shown(delivery.event.event_type)

    @admin.display(description="endpoint")
    def address(self, delivery: Delivery) -> SafeString:
        """Where it goes."""
        return address_shown(delivery.endpoint.url)

    @admin.display(description="next (UTC)")
    def next_attempt(self, delivery: Delivery) -> SafeString | str:
        """When, if any."""
        return moment_short(delivery.next_attempt_at)

    @admin.display(description="made (UTC)")
    def made(self, delivery: Delivery) -> SafeString | str:
        """When it came about."""
        return moment_short(delivery.created_at)

    @admin.display(description="team")
    def whose(self, delivery: Delivery) -> str:
        """With the environment."""
        return team_shown(delivery)

    @admin.display(description="id")
    def id_end(self, delivery: Delivery) -> SafeString:
        """Its end."""
        return id_short(delivery.pk)

    def has_resend_permission(self, request: HttpRequest) -> bool:
        """Seeing deliveries is not enough to send them again."""
        return request.user.has_perm("webhooks.change_delivery")

    @admin.action(description="Send again", permissions=["resend"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        """Owe the chosen deliveries again, under the same message id, each by the rule that holds everywhere."""
        chosen = list(queryset[: _RESENT_MAXIMUM + 1])
        if len(chosen) > _RESENT_MAXIMUM:
            words = f"At most {_RESENT_MAXIMUM} at once; to send again all that failed, recover the endpoint."
            messages.error(request, words)
            return
        refusals = Counter(
            message_resend(request, delivery, message_id=delivery.event_id, endpoint_id=delivery.endpoint_id)
            for delivery in chosen
        )
        sent = refusals.pop("", 0)
        if sent:
            messages.success(request, f"{sent} of {len(chosen)} are sent again.")
        for refusal, count in refusals.items():
            messages.error(request, f"{count} of {len(chosen)} can't be sent: {refusal}")


def _id_asked(request: HttpRequest, name: str) -> UUID | None:
    """What another filter was given; a malformed one is refused there."""
    return uuid_parse(request.GET.get(name, "").strip())


def _events_of(user_id: UUID) -> TeamQuerySet[Event]:
    """A user's events: the user's team is looked up, so that an index finds them."""
    user = User.objects.filter(pk=user_id).only("team_id", "environment").first()
    if user is None:
        return Event.objects.none()
    return Event.objects.filter(team_id=user.team_id, environment=user.environment, user_id=user_id)
