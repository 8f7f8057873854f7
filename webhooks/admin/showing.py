"""How the staff's pages show rows: titles in words, short ids, names that a narrow column may break."""

from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from webhooks.addresses import url_short
from webhooks.templatetags.event_names import breakable, breakable_url

#: The end of an id is random, its beginning the time.
_ID_CHARACTERS = 8


class WordedAdmin(admin.ModelAdmin[Any]):
    """A row's page says in its title and its breadcrumbs what the row is."""

    change_form_template = "admin/webhooks/change_form.html"

    class Media:
        css: ClassVar[dict[str, tuple[str, ...]]] = {"all": ("webhooks/admin.css",)}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list, with the room that the admin's own navigation takes elsewhere."""
        return super().changelist_view(request, {"is_nav_sidebar_enabled": False, **(extra_context or {})})

    def words(self, row: Any) -> str:
        """What a row is called."""
        return str(row)

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        """The row's page, with the words for a title."""
        if obj is not None:
            context.update(title=self.words(obj), subtitle=None)
        return super().render_change_form(request, context, add=add, change=change, form_url=form_url, obj=obj)


def id_short(row_id: UUID) -> SafeString:
    """The end of an id; the whole under the pointer."""
    text = str(row_id)
    return format_html('<span class="mono" title="{}">…{}</span>', text, text[-_ID_CHARACTERS:])


def moment_short(moment: datetime | None) -> SafeString | str:
    """A moment, UTC, that breaks after the day; nothing where there is none."""
    if moment is None:
        return ""
    day, time = f"{moment:%Y-%m-%d %H:%M:%S}".split(" ")
    return format_html('<span class="nowrap">{}</span> <span class="nowrap">{}</span>', day, time)


def team_shown(row: Any) -> str:
    """Whose a row is, and in which environment."""
    return f"{row.team}, {row.environment}"


def type_shown(event_type: str) -> SafeString:
    """An event type for a narrow column."""
    return breakable(event_type)


def address_shown(url: str) -> SafeString:
    """An endpoint's address without its query, for a narrow column."""
    return format_html('<span class="url">{}</span>', breakable_url(url_short(url)))
