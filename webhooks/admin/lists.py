"""What the staff's lists of long logs share: pages that count no further than is read, filters that indexes serve."""

from collections.abc import Iterator
from datetime import timedelta
from functools import cached_property
from typing import Any, ClassVar, Final, cast
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_floor, uuid_parse
from management.staff_admin import PersonalAdmin

#: Nobody turns more pages than these rows; what is further back is found by a filter.
_COUNTED_ROWS: Final = 1000


class BoundedPaginator(Paginator[Any]):
    """Counts no more rows than anybody reads."""

    @cached_property
    def count(self) -> int:
        """Rows, up to the bound."""
        rows = cast("QuerySet[Any]", self.object_list)
        return rows[:_COUNTED_ROWS].count()


class LogAdmin(PersonalAdmin):
    """For tables that grow with every event."""

    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    ordering = ["-pk"]


class InputFilter(admin.SimpleListFilter):
    """A filter whose value is typed."""

    template = "admin/webhooks/input_filter.html"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[tuple[str, str]]:
        """There is nothing to choose from; one entry makes the filter appear."""
        return [("", "")]

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """One form; it keeps what the other filters say."""
        kept = {name: value for name, value in changelist.get_filters_params().items() if name != self.parameter_name}
        hidden = [(name, value) for name, values in kept.items() for value in values]
        yield {"selected": True, "query_string": "", "display": self.value() or "", "hidden": hidden}


class IdFilter(InputFilter):
    """An id that is typed, for one column."""

    column = ""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Rows with this id; a malformed one is refused."""
        text = self.value()
        return queryset.filter(**{self.column: _uuid(text)}) if text else queryset


class TeamFilter(IdFilter):
    """Rows of one team."""

    title = "team id"
    parameter_name = column = "team_id"


class EndpointFilter(IdFilter):
    """Rows of one endpoint."""

    title = "endpoint id"
    parameter_name = column = "endpoint_id"


class UserFilter(IdFilter):
    """Events about one user."""

    title = "user id"
    parameter_name = column = "user_id"


class EventTypeFilter(InputFilter):
    """Events of one type, whole."""

    title = "event type"
    parameter_name = "event_type"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Rows of this type."""
        text = self.value()
        return queryset.filter(event_type=text.strip()) if text else queryset


class TimeFilter(admin.SimpleListFilter):
    """How far back the list goes, by the bound of the ids; a day where nothing is chosen or searched."""

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
        chosen = self.value() or ("all" if changelist.query else "day")
        for name, (title, _span) in self.spans.items():
            query_string = changelist.get_query_string({self.parameter_name: name})
            yield {"selected": name == chosen, "query_string": query_string, "display": title}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Rows made since."""
        searched = bool(request.GET.get("q", "").strip())
        chosen = self.value() or ("all" if searched else "day")
        if chosen not in self.spans:
            raise IncorrectLookupParameters
        span = self.spans[chosen][1]
        return queryset if span is None else queryset.filter(pk__gte=uuid_floor(clock.now() - span))


def _uuid(text: str) -> UUID:
    found = uuid_parse(text.strip())
    if found is None:
        raise IncorrectLookupParameters
    return found


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
