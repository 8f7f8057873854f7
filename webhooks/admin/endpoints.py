"""Staff views of endpoints: how each fares, what may be changed, and the page of things to do with one."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar, Final, Protocol, cast
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import PermissionDenied
from django.db.models import Func, IntegerField, OuterRef, QuerySet, Subquery, Sum
from django.forms import ModelForm
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.safestring import SafeString

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from webhooks import selectors, services
from webhooks.addresses import url_without_query
from webhooks.admin import tools
from webhooks.admin.forms import EndpointForm
from webhooks.admin.lists import TeamFilter
from webhooks.admin.showing import WordedAdmin, address_shown, id_short, moment_short, team_shown
from webhooks.admin.traces import context_of, staff_record
from webhooks.log_selectors import EndpointStatus, status_condition
from webhooks.models import Delivery, Endpoint, Tally
from webhooks.portal.standing import arrives_nothing
from webhooks.states import OPEN

#: What is owed to an endpoint is counted up to this in the list.
_WAITING_MAXIMUM = 1000
_FIELDS: Final = [
    "id", "team", "environment", "state", "last_day", "owed", "url", "description", "filter_types", "channels",
    "rate_limit", "disabled", "header_names", "created_at", "updated_at", "deleted_at",
]  # fmt: skip


class EndpointRow(Protocol):
    """An endpoint with the figures of the last day."""

    delivered_day: int | None
    failed_day: int | None
    waiting: int


class StateFilter(admin.SimpleListFilter):
    """Endpoints by how they stand."""

    title = "state"
    parameter_name = "state"
    deleted: ClassVar[str] = "deleted"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[tuple[str, str]]:
        """The words that the column begins with."""
        return [(word, word) for word in [*(str(status) for status in EndpointStatus), self.deleted]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Endpoint]) -> QuerySet[Endpoint]:
        """Those that the word fits."""
        word = self.value()
        if word == self.deleted:
            return queryset.filter(deleted_at__isnull=False)
        if word not in [str(status) for status in EndpointStatus]:
            return queryset
        return queryset.filter(status_condition(EndpointStatus(word), clock.now()), deleted_at=None)


@admin.register(Endpoint)
class EndpointAdmin(WordedAdmin):
    """Where teams want their events. Staff change and repair; secrets and values of headers are the team's alone."""

    form = EndpointForm
    change_form_template = "admin/webhooks/endpoint.html"
    list_display = ["address", "state", "last_day", "owed", "whose", "made", "id_end"]
    list_filter = [StateFilter, "environment", TeamFilter]
    list_per_page = 50
    list_select_related = ["team", "health"]
    search_fields = ["=id", "=team__id"]
    ordering = ["-id"]
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    readonly_fields = [
        "id", "address_whole", "team", "environment", "state", "last_day", "owed", "header_names", "created_at",
        "updated_at", "deleted_at",
    ]  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Endpoint]:
        """With the figures of a row in the same query, secrets left sealed."""
        ours = {"endpoint": OuterRef("pk")}
        day = Tally.objects.filter(**ours, span_at__gt=clock.now() - timedelta(days=1)).order_by().values("endpoint")
        owed = Delivery.objects.filter(**ours, status__in=[*OPEN]).order_by().values("pk")[:_WAITING_MAXIMUM]
        return (
            Endpoint.objects.defer("secret", "secrets_before", "headers")
            .select_related("team", "health")
            .annotate(
                delivered_day=Subquery(day.annotate(count=Sum("delivered")).values("count")),
                failed_day=Subquery(day.annotate(count=Sum("failed")).values("count")),
                waiting=Func(ArraySubquery(owed), function="cardinality", output_field=IntegerField()),
            )
        )

    def words(self, row: Endpoint) -> str:
        """Where it leads."""
        return f"Endpoint {row}"

    @admin.display(description="address")
    def address(self, endpoint: Endpoint) -> SafeString:
        """Without its query, which may hold a secret."""
        return address_shown(endpoint.url)

    @admin.display(description="address, without its query")
    def address_whole(self, endpoint: Endpoint) -> str:
        """For who may look only."""
        return url_without_query(endpoint.url)

    @admin.display(description="added (UTC)")
    def made(self, endpoint: Endpoint) -> SafeString | str:
        """When."""
        return moment_short(endpoint.created_at)

    @admin.display(description="team")
    def whose(self, endpoint: Endpoint) -> str:
        """With the environment."""
        return team_shown(endpoint)

    @admin.display(description="id")
    def id_end(self, endpoint: Endpoint) -> SafeString:
        """Its end."""
        return id_short(endpoint.pk)

    @admin.display(description="state")
    def state(self, endpoint: Endpoint) -> str:
        """The worst that is known of it, and since when."""
        words = tools.state_words(endpoint, clock.now())
        day = cast("EndpointRow", endpoint)
        is_lost = arrives_nothing(delivered=day.delivered_day or 0, failed=day.failed_day or 0)
        return f"{words}, nothing arrives" if is_lost and not (endpoint.disabled or endpoint.deleted_at) else words

    @admin.display(description="last 24 hours")
    def last_day(self, endpoint: EndpointRow) -> str:
        """Attempts, by outcome."""
        return f"{endpoint.delivered_day or 0} delivered, {endpoint.failed_day or 0} failed"

    @admin.display(description="waiting")
    def owed(self, endpoint: EndpointRow) -> str:
        """What is owed to it, now or later."""
        return f"{endpoint.waiting}+" if endpoint.waiting >= _WAITING_MAXIMUM else str(endpoint.waiting)

    @admin.display(description="custom headers (names)")
    def header_names(self, endpoint: Endpoint) -> str:
        """Never their values."""
        shown = selectors.headers_shown(endpoint)
        return ", ".join(sorted({*shown.headers, *shown.sensitive}))

    def get_fields(self, request: HttpRequest, obj: Endpoint | None = None) -> list[Any]:
        """Who may not change an endpoint sees its address without the query, as who may."""
        if self.has_change_permission(request, obj):
            return _FIELDS
        return ["address_whole" if name == "url" else name for name in _FIELDS]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """A team adds its own, with a secret that it alone sees."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Endpoint | None = None) -> bool:
        """A deleted one stays as it is."""
        return (obj is None or obj.deleted_at is None) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Endpoint | None = None) -> bool:
        """A deleted one can't be deleted again."""
        return (obj is None or obj.deleted_at is None) and super().has_delete_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: Endpoint, form: ModelForm[Any], change: bool) -> None:
        """Through the service."""
        if isinstance(form, EndpointForm) and form.changed_data:
            form.change_write()
            staff_record(request, obj, "change")

    def get_deleted_objects(
        self, objs: Sequence[Any] | QuerySet[Any], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """The endpoints alone: their logs stay, and are too long to be looked through for this."""
        names = [f"{endpoint} ({endpoint.pk})" for endpoint in objs]
        return names, {str(self.opts.verbose_name_plural): len(names)}, set(), []

    def delete_model(self, request: HttpRequest, obj: Endpoint) -> None:
        """Through the service: what is owed is cancelled, secrets are wiped, the log stays."""
        team = context_of(obj)
        with team_scope(team):
            services.endpoint_delete(team=team, endpoint_id=obj.pk)
        staff_record(request, obj, "delete")

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Endpoint]) -> None:
        """Each of the chosen; those that are deleted already are passed over."""
        for endpoint in queryset.filter(deleted_at=None):
            self.delete_model(request, endpoint)

    def get_urls(self) -> list[URLPattern]:
        """The page of tools, beside the usual ones."""
        view = self.admin_site.admin_view(self.tools_view)
        return [path("<uuid:endpoint_id>/tools/", view, name="webhooks_endpoint_tools"), *super().get_urls()]

    def tools_view(self, request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
        """Pictures, repairs, and what staff can do with an endpoint; a POST does one of them."""
        endpoint = self.get_queryset(request).filter(pk=endpoint_id, deleted_at=None).first()
        if endpoint is None:
            raise Http404
        if not self.has_change_permission(request, endpoint):
            raise PermissionDenied
        shown = tools.tools_shown(request, endpoint, self.state(endpoint))
        if shown.done:
            self.log_change(request, endpoint, shown.done)
            staff_record(request, endpoint, str(request.POST.get("tool", "")))
            messages.success(request, shown.done)
            response = HttpResponse(status=302)
            response["Location"] = request.path
            return response
        context = {
            **self.admin_site.each_context(request),
            "title": f"Repair {endpoint}",
            "opts": self.opts,
            "original": endpoint,
            "shown": shown,
        }
        return TemplateResponse(request, "admin/webhooks/tools.html", context, status=422 if shown.refused else 200)
