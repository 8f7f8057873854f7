"""Staff view of portal sessions: who may look at a team's webhooks in a browser, and ending it."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from healthsvc.kernel import clock
from management.staff_admin import ReadOnlyAdmin
from webhooks.admin.showing import WordedAdmin, id_short, moment_short, team_shown
from webhooks.admin.traces import staff_record
from webhooks.models import PortalSession
from webhooks.services.portal import portal_end


@admin.register(PortalSession)
class PortalSessionAdmin(WordedAdmin, ReadOnlyAdmin):
    """Links to the portal and the sessions they opened. What opens them is kept as a hash, and not shown either."""

    exclude = ["link_hash", "cookie_hash"]
    change_form_template = "admin/webhooks/log_row.html"
    list_display = ["state", "whose", "made", "opened", "last_seen", "made_by_kind", "id_end"]
    list_filter = ["environment"]
    list_select_related = ["team"]
    search_fields = ["=id", "=team__id"]
    ordering = ["-id"]
    actions = ["end"]

    def words(self, row: PortalSession) -> str:
        """Whose it is."""
        return f"Portal session of {row.team}, {row.environment}"

    @admin.display(description="made", ordering="created_at")
    def made(self, session: PortalSession) -> SafeString | str:
        """When its link was asked for."""
        return moment_short(session.created_at)

    @admin.display(description="opened")
    def opened(self, session: PortalSession) -> SafeString | str:
        """When its link was opened."""
        return moment_short(session.opened_at)

    @admin.display(description="last seen")
    def last_seen(self, session: PortalSession) -> SafeString | str:
        """When its browser last asked for a page."""
        return moment_short(session.last_seen_at)

    @admin.display(description="team")
    def whose(self, session: PortalSession) -> str:
        """With the environment."""
        return team_shown(session)

    @admin.display(description="id")
    def id_end(self, session: PortalSession) -> SafeString:
        """Its end."""
        return id_short(session.pk)

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
            staff_record(request, session, "end")
        messages.success(request, f"{len(chosen)} ended.")
