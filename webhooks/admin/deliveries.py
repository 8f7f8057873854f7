"""Staff views of deliveries and their attempts."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from webhooks import services
from webhooks.admin.lists import EndpointFilter, LogAdmin, TeamFilter, TimeFilter, searched_by_id
from webhooks.models import Attempt, Delivery


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
class DeliveryAdmin(LogAdmin):
    """Each event's way to each endpoint."""

    list_display = [
        "id", "event_type", "endpoint", "status", "claims", "failures", "next_attempt_at", "team", "environment",
    ]  # fmt: skip
    list_filter = [TimeFilter, "status", "environment", TeamFilter, EndpointFilter]
    search_fields = ["=id", "=event__id", "=endpoint__id"]
    search_help_text = "The id of a delivery, a message or an endpoint."
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

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Delivery], search_term: str
    ) -> tuple[QuerySet[Delivery], bool]:
        """By an id, each kind in turn."""
        if not search_term.strip():
            return queryset, False
        return searched_by_id(queryset, search_term, "pk", "event_id", "endpoint_id"), False

    @admin.display(description="event type")
    def event_type(self, delivery: Delivery) -> str:
        """What happened."""
        return delivery.event.event_type

    def has_resend_permission(self, request: HttpRequest) -> bool:
        """Seeing deliveries is not enough to send them again."""
        return request.user.has_perm("webhooks.change_delivery")

    @admin.action(description="Send again", permissions=["resend"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        """Owe the chosen deliveries again, under the same message id."""
        ids = list(queryset.values_list("pk", flat=True))
        count = services.deliveries_resend(deliveries=Delivery.objects.filter(pk__in=ids))
        messages.success(request, f"{count} of {len(ids)} are sent again.")
