"""Staff's view of the audit trail: filtered, never counted whole, exported by who may, changed by nobody."""

import json
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.ids import uuid_parse
from healthsvc.kernel.principal import Environment, TeamContext
from management import trail_seals
from management.audit import staff_records
from management.models import AccessRecord, AccessSeal
from management.staff_admin import ReadOnlyAdmin
from management.staff_lists import (
    ROWS_MAXIMUM,
    BoundedPaginator,
    NarrowAdmin,
    TeamFilter,
    filter_link,
    id_short,
    moment_short,
    text_shown,
)
from management.trail_export import ExportFormat, export_chunks
from management.trail_filters import (
    LOOKED_AT_MAXIMUM,
    ActorFilter,
    ActorKindFilter,
    EnvironmentFilter,
    FromFilter,
    StatusFilter,
    ToFilter,
    WhoseFilter,
    about_user,
    looked_at,
)


@admin.register(AccessRecord)
class AccessRecordAdmin(NarrowAdmin, ReadOnlyAdmin):
    """Who read or changed what."""

    list_display = ["when", "who", "whose", "action_shown", "status"]
    list_filter = [
        FromFilter, ToFilter, TeamFilter, WhoseFilter, ActorFilter, ActorKindFilter, StatusFilter, EnvironmentFilter,
    ]  # fmt: skip
    search_fields = ["request_id"]
    search_help_text = (
        "An id (user, team, actor or record), a request id, an address, or a whole action. Addresses, actions, kinds,"
        f" status and environment are looked for in the newest {LOOKED_AT_MAXIMUM:,} records of the other filters."
    )
    fields = [
        "id", "moment", "actor_kind", "actor_id", "action", "status_code", "user_id", "team_id", "environment", "ids",
        "request_id", "address", "position",
    ]  # fmt: skip
    readonly_fields = ["moment", "ids", "position"]
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
            named = about_user(found) | Q(team_id=found) | Q(pk=found) | Q(actor_id=str(found))
            return queryset.filter(named | Q(request_id=term)), False
        loose = looked_at(queryset) & (Q(address=term) | Q(action=term))
        return queryset.filter(Q(request_id=term) | Q(actor_id=term) | loose), False

    @admin.display(description="when (UTC)")
    def when(self, record: AccessRecord) -> str:
        """To the second."""
        return moment_short(record.occurred_at)

    @admin.display(description="when")
    def moment(self, record: AccessRecord) -> str:
        """To the microsecond, as it is exported."""
        return utc_text(record.occurred_at)

    @admin.display(description="who")
    def who(self, record: AccessRecord) -> SafeString:
        """Kind and end of the id, which leads to all that they did."""
        return format_html("{} {}", record.actor_kind, filter_link("actor_id", record.actor_id))

    @admin.display(description="whose")
    def whose(self, record: AccessRecord) -> SafeString | str:
        """The end of the user's id, which leads to all that was done to their data; of a page of people, how many."""
        if record.user_id is not None:
            return filter_link("user_id", record.user_id)
        among = len(record.object_ids.get("user_ids", ()))
        return f"{among} user{'s' * (among > 1)}" if among else ""

    @admin.display(description="action")
    def action_shown(self, record: AccessRecord) -> str:
        """As it is."""
        return record.action

    @admin.display(description="status")
    def status(self, record: AccessRecord) -> str:
        """Of the answer."""
        return "" if record.status_code is None else str(record.status_code)

    @admin.display(description="ids")
    def ids(self, record: AccessRecord) -> SafeString:
        """What was named and made, an id a line."""
        return text_shown(json.dumps(record.object_ids, indent=2, sort_keys=True))

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
class AccessSealAdmin(NarrowAdmin, ReadOnlyAdmin):
    """The chains over the audit trail. `manage.py audit_verify` goes through all of them."""

    list_display = ["when", "number", "row_count", "signed", "team_short", "environment", "head_short"]
    list_filter = [TeamFilter, "environment"]
    search_fields = ["=team_id"]
    ordering = ["-id"]
    paginator = BoundedPaginator
    fields = [
        "team_id", "environment", "number", "row_count", "first_id", "last_id", "to_position", "moment", "head",
        "previous", "signed",
    ]  # fmt: skip
    readonly_fields = ["moment", "head", "previous", "signed"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without the lists."""
        return super().get_queryset(request).defer("entries")

    @admin.display(description="sealed at (UTC)")
    def when(self, seal: AccessSeal) -> str:
        """To the second."""
        return moment_short(seal.sealed_at)

    @admin.display(description="sealed at")
    def moment(self, seal: AccessSeal) -> str:
        """To the microsecond."""
        return utc_text(seal.sealed_at)

    @admin.display(description="team")
    def team_short(self, seal: AccessSeal) -> SafeString:
        """The end of the id, which leads to its chain."""
        return filter_link("team_id", seal.team_id)

    @admin.display(description="digest")
    def head_short(self, seal: AccessSeal) -> SafeString:
        """The end of it."""
        return id_short(bytes(seal.digest).hex())

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
