"""Staff views of endpoints, events and deliveries: never a secret, never a payload."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from management.staff_admin import PersonalAdmin, ReadOnlyAdmin
from webhooks import services
from webhooks.models import Attempt, Delivery, Endpoint, Event


@admin.register(Endpoint)
class EndpointAdmin(ReadOnlyAdmin):
    """Where teams want their events."""

    list_display = ["url", "team", "environment", "disabled", "disabled_reason", "created_at", "deleted_at"]
    list_filter = ["disabled", "environment"]
    list_select_related = ["team"]
    search_fields = ["=id", "=team__id"]
    ordering = ["-id"]
    fields = [
        "id", "team", "environment", "url", "description", "filter_types", "disabled", "disabled_reason", "rate_limit",
        "created_at", "updated_at", "deleted_at",
    ]  # fmt: skip


@admin.register(Event)
class EventAdmin(PersonalAdmin):
    """What happened, without its payload."""

    list_display = ["message_id", "event_type", "team", "environment", "created_at", "fanned_out_at"]
    list_filter = ["environment"]
    list_select_related = ["team"]
    search_fields = ["=id", "=team__id", "=user_id", "=event_type"]
    ordering = ["-id"]
    fields = ["message_id", "event_type", "team", "environment", "user_id", "endpoint", "created_at", "fanned_out_at"]
    readonly_fields = ["message_id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        """Payloads stay sealed."""
        return Event.objects.defer("body")


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


@admin.register(Delivery)
class DeliveryAdmin(PersonalAdmin):
    """Each event's way to each endpoint."""

    list_display = [
        "id", "event_type", "endpoint", "status", "claims", "failures", "next_attempt_at", "team", "environment",
    ]  # fmt: skip
    list_filter = ["status", "environment"]
    search_fields = ["=id", "=event__id", "=endpoint__id", "=team__id"]
    ordering = ["-id"]
    fields = [
        "id", "event", "endpoint", "team", "environment", "status", "claims", "failures", "next_attempt_at",
        "created_at", "ended_at",
    ]  # fmt: skip
    inlines = [AttemptInline]
    actions = ["send_again"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        """With what a row shows, payloads and secrets left sealed."""
        rows = Delivery.objects.select_related("event", "endpoint", "team")
        return rows.defer("event__body", "endpoint__secret", "endpoint__secrets_before", "endpoint__headers")

    @admin.display(description="event type")
    def event_type(self, delivery: Delivery) -> str:
        """What happened."""
        return delivery.event.event_type

    @admin.action(description="Send again", permissions=["view"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        """Owe the chosen deliveries again, under the same message id."""
        ids = list(queryset.values_list("pk", flat=True))
        count = services.deliveries_resend(deliveries=Delivery.objects.filter(pk__in=ids))
        messages.success(request, f"{count} of {len(ids)} are sent again.")
