"""What the staff's lists share: short ids, moments in UTC, filters that are typed, and pages that count no further than
is read."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar, Final
from urllib.parse import quote
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from healthsvc.kernel.ids import uuid_parse

#: Rows that staff page through, and rows of one export; what is further back is found by a filter.
ROWS_MAXIMUM: Final = 10_000
#: The end of an id is random, its beginning the time.
_ID_CHARACTERS: Final = 8
#: What the ids of moments are made for.
EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(3000, 1, 1, tzinfo=UTC)


class NarrowAdmin(admin.ModelAdmin[Any]):
    """A list that is seen whole on a small screen: without the admin's own navigation, in cells that may break."""

    #: They count a table for each choice.
    show_facets = admin.ShowFacets.NEVER

    class Media:
        css: ClassVar[dict[str, tuple[str, ...]]] = {"all": ("management/admin.css",)}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list, with the room that the navigation takes elsewhere."""
        return super().changelist_view(request, {"is_nav_sidebar_enabled": False, **(extra_context or {})})

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """What the list has a filter for: another column may have no index, or take moments without a zone."""
        filters = self.get_list_filter(request)
        typed = {getattr(one, "parameter_name", None) for one in filters}
        return lookup in typed or (
            lookup.partition("__")[0] in filters and super().lookup_allowed(lookup, value, request)
        )


class BoundedPaginator(Paginator[Any]):
    """Counts no further than staff can turn pages."""

    @cached_property
    def count(self) -> int:
        """How many rows there are, as far as they are shown."""
        rows = self.object_list
        return len(rows.values_list("pk", flat=True)[:ROWS_MAXIMUM]) if isinstance(rows, QuerySet) else len(rows)


class InputFilter(admin.SimpleListFilter):
    """A filter whose value is typed. `hint` shows how it is written."""

    template = "admin/management/input_filter.html"
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


class UserFilter(IdFilter):
    """Rows about one user."""

    title = "user id"
    parameter_name = column = "user_id"


class MomentFilter(InputFilter):
    """A moment that is typed, in UTC where it names no offset."""

    hint = "2026-01-31 14:00"

    @property
    def moment(self) -> datetime:
        """The moment; a malformed one is refused."""
        try:
            found = datetime.fromisoformat(self.text)
        except ValueError:
            raise IncorrectLookupParameters from None
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        if not EARLIEST <= found <= LATEST:
            raise IncorrectLookupParameters
        return found


def id_short(row_id: UUID | str) -> SafeString:
    """The end of an id; the whole under the pointer."""
    text = str(row_id)
    return format_html('<span class="mono" title="{}">…{}</span>', text, text[-_ID_CHARACTERS:])


def filter_link(parameter: str, row_id: UUID | str) -> SafeString:
    """The end of an id, as a link to the rows of the same list that have it."""
    return format_html('<a href="?{}={}">{}</a>', parameter, quote(str(row_id)), id_short(row_id))


def text_shown(text: str) -> SafeString:
    """A text of several lines, whole, on a screen of any width."""
    return format_html('<pre class="whole">{}</pre>', text)


def moment_short(moment: datetime | None) -> SafeString | str:
    """A moment, UTC, that breaks after the day; nothing where there is none."""
    if moment is None:
        return ""
    day, time = moment_text(moment).split(" ")
    return format_html('<span class="nowrap">{}</span> <span class="nowrap">{}</span>', day, time)


def moment_text(moment: datetime) -> str:
    """A moment with its seconds and its zone."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def team_shown(row: Any) -> str:
    """Whose a row is, and in which environment."""
    return f"{row.team}, {row.environment}"
