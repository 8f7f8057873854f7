"""How the staff's pages show rows: titles in words, short ids, names that a narrow column may break."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from management.staff_lists import id_short as id_short
from management.staff_lists import moment_short as moment_short
from management.staff_lists import team_shown as team_shown
from webhooks.addresses import url_short
from webhooks.templatetags.event_names import breakable, breakable_url


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


def type_shown(event_type: str) -> SafeString:
    """An event type for a narrow column."""
    return breakable(event_type)


def address_shown(url: str) -> SafeString:
    """An endpoint's address without its query, for a narrow column."""
    return format_html('<span class="url">{}</span>', breakable_url(url_short(url)))
