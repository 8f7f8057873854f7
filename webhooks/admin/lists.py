"""What the staff's lists of long logs share: pages that count no further than is read, filters that indexes serve."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, ClassVar, Final, cast
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_floor, uuid_parse
from management.staff_admin import PersonalAdmin
from webhooks.admin.showing import WordedAdmin

#: Nobody turns more pages than these rows; what is further back is found by a filter.
LIST_ROWS: Final = 1000
#: What the ids of moments are made for.
_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_LATEST: Final = datetime(3000, 1, 1, tzinfo=UTC)


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


class InputFilter(admin.SimpleListFilter):
    """A filter whose value is typed. `hint` shows how it is written."""

    template = "admin/webhooks/input_filter.html"
    hint = ""

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[tuple[str, str]]:
        """There is nothing to choose from; one entry makes the filter appear."""
        return [("", "")]

    @property
    def text(self) -> str:
        """What was typed."""
        return (self.value() or "").strip()

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
        return queryset.filter(**{self.column: self.id_typed}) if self.text else queryset

    @property
    def id_typed(self) -> UUID:
        """The id; a malformed one is refused."""
        found = uuid_parse(self.text)
        if found is None:
            raise IncorrectLookupParameters
        return found


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
        return queryset.filter(self.condition)

    @property
    def condition(self) -> Q:
        """Of this type."""
        return Q(event_type=self.text) if self.text else Q()


class BeforeFilter(InputFilter):
    """Rows made before a moment: the way further back than a list reaches."""

    title = "end of the time (UTC)"
    parameter_name = "before"
    hint = "2026-01-31 14:00"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """By the bound of the ids."""
        return queryset.filter(pk__lt=uuid_floor(self.moment)) if self.text else queryset

    @property
    def moment(self) -> datetime:
        """The moment; a malformed one is refused."""
        try:
            found = datetime.fromisoformat(self.text)
        except ValueError:
            raise IncorrectLookupParameters from None
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        if not _EARLIEST <= found <= _LATEST:
            raise IncorrectLookupParameters
        return found


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
