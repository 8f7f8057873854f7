"""What the staff's lists of long logs share: pages that count no further than is read, filters that indexes serve."""

from collections.abc import Iterator
from datetime import timedelta
from functools import cached_property
from typing import Any, ClassVar, Final, cast

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_floor, uuid_parse
from management.staff_admin import PersonalAdmin
from management.staff_lists import IdFilter as IdFilter
from management.staff_lists import InputFilter as InputFilter
from management.staff_lists import MomentFilter
from management.staff_lists import TeamFilter as TeamFilter
from management.staff_lists import UserFilter as UserFilter
from webhooks.admin.showing import WordedAdmin

#: Nobody turns more pages than these rows; what is further back is found by a filter.
LIST_ROWS: Final = 1000


class BoundedPaginator(Paginator[Any]):
    """Counts no more rows than anybody reads."""

    @cached_property
    def count(self) -> int:
        """Rows, up to the bound."""
        rows = cast("QuerySet[Any]", self.object_list)
        return rows[:LIST_ROWS].count()


class LogAdmin(WordedAdmin, PersonalAdmin):
    """For tables that grow with every event."""

    change_form_template = "admin/webhooks/log_row.html"
    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    ordering = ["-pk"]


class EndpointFilter(IdFilter):
    """Rows of one endpoint."""

    title = "endpoint id"
    parameter_name = column = "endpoint_id"


class EventTypeFilter(InputFilter):
    """Events of one type, whole."""

    title = "event type"
    parameter_name = "event_type"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Rows of this type."""
        return queryset.filter(self.condition)

    @property
    def condition(self) -> Q:
        """Of this type."""
        return Q(event_type=self.text) if self.text else Q()


class BeforeFilter(MomentFilter):
    """Rows made before a moment: the way further back than a list reaches."""

    title = "end of the time (UTC)"
    parameter_name = "before"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """By the bound of the ids."""
        return queryset.filter(pk__lt=uuid_floor(self.moment)) if self.text else queryset


class TimeFilter(admin.SimpleListFilter):
    """How far back the list goes, by the bound of the ids; a day where no time is chosen and nothing searched."""

    title = "time"
    parameter_name = "within"
    spans: ClassVar[dict[str, tuple[str, timedelta | None]]] = {
        "hour": ("Last hour", timedelta(hours=1)),
        "day": ("Last day", timedelta(days=1)),
        "week": ("Last 7 days", timedelta(days=7)),
        "all": ("All that is kept", None),
    }

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[tuple[str, str]]:
        """The spans."""
        return [(name, title) for name, (title, _span) in self.spans.items()]

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Without "All": that is the last of them."""
        chosen = self._chosen(is_bound=bool(changelist.query or changelist.params.get("before")))
        for name, (title, _span) in self.spans.items():
            query_string = changelist.get_query_string({self.parameter_name: name})
            yield {"selected": name == chosen, "query_string": query_string, "display": title}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Rows made since."""
        chosen = self._chosen(is_bound=any(request.GET.get(name, "").strip() for name in ("q", "before")))
        if chosen not in self.spans:
            raise IncorrectLookupParameters
        span = self.spans[chosen][1]
        return queryset if span is None else queryset.filter(pk__gte=uuid_floor(clock.now() - span))

    def _chosen(self, *, is_bound: bool) -> str:
        return self.value() or ("all" if is_bound else "day")


def searched_by_id(queryset: QuerySet[Any], term: str, *columns: str) -> QuerySet[Any]:
    """Rows that have the id in the first of `columns` where any has: one index search each, never all at once."""
    wanted = uuid_parse(term.strip().removeprefix("msg_"))
    if wanted is None:
        return queryset.none()
    for column in columns:
        found = queryset.filter(**{column: wanted})
        if found.exists():
            return found
    return queryset.none()
