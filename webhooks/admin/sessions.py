"""Staff view of portal sessions: who may look at a team's webhooks in a browser, and ending it."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from healthsvc.kernel import clock
from management.staff_admin import ReadOnlyAdmin
from webhooks.models import PortalSession
from webhooks.services.portal import portal_end


@admin.register(PortalSession)
class PortalSessionAdmin(ReadOnlyAdmin):
    """Links to the portal and the sessions they opened. What opens them is kept as a hash, and not shown either."""

    exclude = ["link_hash", "cookie_hash"]
    list_display = ["id", "team", "environment", "state", "made_by_kind", "created_at", "opened_at", "last_seen_at"]
    list_filter = ["environment"]
    list_select_related = ["team"]
    search_fields = ["=id", "=team__id"]
    ordering = ["-id"]
    actions = ["end"]

    @admin.display(description="state")
    def state(self, session: PortalSession) -> str:
        """Whether it opens anything now."""
        now = clock.now()
        if session.ended_at is not None:
            return "ended"
        if session.opened_at is None:
            return "waits to be opened" if session.link_expires_at > now else "never opened"
        return "open" if session.expires_at is not None and session.expires_at > now else "expired"

    def has_end_permission(self, request: HttpRequest) -> bool:
        """Seeing sessions is not enough to end them."""
        return request.user.has_perm("webhooks.change_portalsession")

    @admin.action(description="End", permissions=["end"])
    def end(self, request: HttpRequest, queryset: QuerySet[PortalSession]) -> None:
        """End the chosen ones at once; links that were not opened open nothing any more."""
        chosen = list(queryset.filter(ended_at=None))
        for session in chosen:
            portal_end(session=session)
        messages.success(request, f"{len(chosen)} ended.")
