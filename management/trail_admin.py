"""Staff's view of the audit trail: filtered, never counted whole, exported by who may, changed by nobody."""

from datetime import timedelta
from typing import Any, Final

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_floor, uuid_parse
from healthsvc.kernel.principal import Environment, TeamContext
from management import trail_seals
from management.audit import staff_records
from management.models import AccessRecord, AccessSeal
from management.staff_admin import ReadOnlyAdmin
from management.trail_export import ExportFormat, export_chunks
from management.trail_serializers import ACTOR_KINDS

#: Rows that staff page through, and rows of one export.
ROWS_MAXIMUM: Final = 10_000


class BoundedPaginator(Paginator[Any]):
    """Counts no further than staff can turn pages."""

    @cached_property
    def count(self) -> int:
        """How many rows there are, as far as they are shown."""
        rows = self.object_list
        return len(rows.values_list("pk", flat=True)[:ROWS_MAXIMUM]) if isinstance(rows, QuerySet) else len(rows)


class WhenFilter(admin.SimpleListFilter):
    """By time: a bound of ids, which leaves out whole months."""

    title = "time"
    parameter_name = "when"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """In days."""
        return [("1", "last day"), ("7", "last 7 days"), ("31", "last 31 days"), ("366", "last year")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Everything where nothing is chosen."""
        days = self.value()
        if days not in ("1", "7", "31", "366"):
            return queryset
        return queryset.filter(pk__gte=uuid_floor(clock.now() - timedelta(days=int(days))))


class ActorKindFilter(admin.SimpleListFilter):
    """By who it was: the kinds there are, without looking for them in the table."""

    title = "actor"
    parameter_name = "actor_kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Every kind."""
        return [(kind, kind) for kind in ACTOR_KINDS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Of this kind."""
        kind = self.value()
        return queryset.filter(actor_kind=kind) if kind in ACTOR_KINDS else queryset


@admin.register(AccessRecord)
class AccessRecordAdmin(ReadOnlyAdmin):
    """Who read or changed what."""

    list_display = [
        "occurred_at", "action", "status_code", "actor_kind", "actor_id", "user_id", "team_id", "environment",
        "request_id", "address",
    ]  # fmt: skip
    list_filter = [WhenFilter, ActorKindFilter, "environment"]
    search_fields = ["request_id"]
    search_help_text = "An id (user, team, actor or record), a request id, an address, or a whole action."
    ordering = ["-id"]
    paginator = BoundedPaginator
    list_per_page = 100
    list_max_show_all = 100
    actions = ["export_csv"]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """What is equal to the term, nothing that only holds it: so each has an index, but for address and action."""
        term = search_term.strip()
        found = uuid_parse(term)
        if not term:
            return queryset, False
        if found is not None:
            named = Q(user_id=found) | Q(team_id=found) | Q(pk=found) | Q(actor_id=str(found))
            return queryset.filter(named | Q(request_id=term)), False
        return queryset.filter(Q(request_id=term) | Q(address=term) | Q(action=term) | Q(actor_id=term)), False

    def has_export_permission(self, request: HttpRequest) -> bool:
        """Seeing records is not enough to take them away."""
        return request.user.has_perm("management.export_accessrecord")

    @admin.action(description="Export as CSV", permissions=["export"])
    def export_csv(self, request: HttpRequest, queryset: QuerySet[AccessRecord]) -> HttpResponse:
        """The chosen records, ten thousand at most; each team's trail says that it was exported."""
        ids = list(queryset.order_by("-pk").values_list("pk", flat=True)[:ROWS_MAXIMUM])
        chosen = AccessRecord.objects.filter(pk__in=ids)
        teams = chosen.order_by("team_id", "environment").values_list("team_id", "environment").distinct()
        shown = {TeamContext(team_id, Environment(environment)): () for team_id, environment in teams}
        staff_records(request, action="export admin management.accessrecord", shown=shown)
        # Made here, in the scope of the admin; ten thousand rows are some megabytes.
        body = b"".join(export_chunks(chosen.order_by("-pk").iterator(chunk_size=1_000), ExportFormat.CSV))
        response = HttpResponse(body, content_type=ExportFormat.CSV.media_type)
        response["Content-Disposition"] = 'attachment; filename="access_records.csv"'
        return response


@admin.register(AccessSeal)
class AccessSealAdmin(ReadOnlyAdmin):
    """The chains over the audit trail. `manage.py audit_verify` goes through all of them."""

    list_display = ["sealed_at", "team_id", "environment", "number", "row_count", "head", "signed"]
    list_filter = ["environment"]
    search_fields = ["=team_id"]
    ordering = ["-id"]
    paginator = BoundedPaginator
    fields = [
        "team_id", "environment", "number", "row_count", "first_id", "last_id", "to_position", "sealed_at", "head",
        "previous", "signed",
    ]  # fmt: skip
    readonly_fields = ["head", "previous", "signed"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without the lists."""
        return super().get_queryset(request).defer("entries")

    @admin.display(description="digest")
    def head(self, seal: AccessSeal) -> str:
        """In hex."""
        return bytes(seal.digest).hex()

    @admin.display(description="digest of the seal before")
    def previous(self, seal: AccessSeal) -> str:
        """In hex."""
        return bytes(seal.previous_digest).hex()

    @admin.display(description="whole and signed", boolean=True)
    def signed(self, seal: AccessSeal) -> bool:
        """Whether the seal itself is as it was made; its records are held against it by the command and the API."""
        return trail_seals.seal_digest(seal) == bytes(seal.digest) and trail_seals.signature_is_true(seal)
