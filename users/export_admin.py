"""Staff views of archives of users: asking for one, how far each is, and downloading, each with its own permission."""

from typing import Any, Final
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.hooks import client_address
from healthsvc.kernel.principal import Environment, PrincipalKind, TeamContext
from healthsvc.kernel.scope import team_scope
from management.audit import access_record
from management.models import BackgroundJob
from management.operator import refusal_sentence
from management.staff_admin import PersonalAdmin
from management.staff_lists import NarrowAdmin, TeamFilter, UserFilter, filter_link, id_short, moment_short
from users.export_api import archive_response
from users.export_selectors import export_download
from users.models import Export, User
from users.services.exports import export_request
from users.states import ExportStatus

_DELETED: Final = "this user was deleted. No archive is made of them, unless the team undoes the deletion first."


def _record(request: HttpRequest, row: User | Export, user_id: UUID, what: str) -> None:
    access_record(
        team=TeamContext(row.team_id, Environment(row.environment)),
        actor_kind=PrincipalKind.STAFF,
        actor_id=str(request.user.pk),
        action=f"{request.method} admin {row._meta.label_lower} {what}",
        ids={"user_id": str(user_id), "object_id": str(row.pk)},
        request_id=getattr(request, "request_id", ""),
        address=client_address(request),
    )


class ExportingUserAdmin(NarrowAdmin, PersonalAdmin):
    """Users of whom archives can be asked for, from the list and from a user's own page."""

    change_form_template = "admin/users/user.html"
    actions = ["export"]

    def has_export_permission(self, request: HttpRequest) -> bool:
        """Seeing users is not enough to have everything about them gathered."""
        return request.user.has_perm("users.add_export")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> Any:
        """With the button, for who may press it."""
        context = {**(extra_context or {}), "may_export": self.has_export_permission(request)}
        return super().change_view(request, object_id, form_url, context)

    def get_urls(self) -> list[URLPattern]:
        """What the button sends, beside the usual ones."""
        wrapped = self.admin_site.admin_view(self.export_view)
        return [path("<uuid:user_id>/export/", wrapped, name="users_user_export"), *super().get_urls()]

    @admin.action(description="Export everything", permissions=["export"])
    def export(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Ask for an archive of each of the chosen users."""
        for user in queryset:
            self._ask(request, user)

    def export_view(self, request: HttpRequest, user_id: UUID) -> HttpResponseBase:
        """Ask for an archive of one user."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_export_permission(request):
            raise PermissionDenied
        user = self.get_queryset(request).filter(pk=user_id).first()
        if user is None:
            raise Http404
        self._ask(request, user)
        return redirect(f"{reverse('admin:users_export_changelist')}?q={user_id}")

    def _ask(self, request: HttpRequest, user: User) -> None:
        team = TeamContext(user.team_id, Environment(user.environment))
        if user.deleted_at is not None:
            messages.error(request, f"{user.pk}: {_DELETED}")
            return
        try:
            with team_scope(team):
                _export, is_new = export_request(team=team, user_id=user.pk)
        except ServiceError as error:
            messages.error(request, f"{user.pk}: {refusal_sentence(error)}")
            return
        _record(request, user, user.pk, "export")
        messages.success(request, f"{user.pk}: {'an archive is made' if is_new else 'one is being made already'}.")


@admin.register(Export)
class ExportAdmin(NarrowAdmin, PersonalAdmin):
    """Archives of users; what is in one is seen by who may download it."""

    change_form_template = "admin/users/export.html"
    list_display = ["id_end", "status", "progress", "whose", "team", "environment", "requested", "expires"]
    list_filter = ["status", "environment", TeamFilter, UserFilter]
    list_select_related = ["team"]
    ordering = ["-id"]
    search_fields = ["=id", "=user__id", "=team__id"]
    fields = [
        "id", "team", "environment", "user_id", "status", "progress", "records", "size_bytes", "requested_at",
        "ready_at", "expires_at", "ended_at", "error_code",
    ]  # fmt: skip
    readonly_fields = ["user_id", "progress"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Export]:
        """With how far each is."""
        jobs = BackgroundJob.objects.filter(pk=OuterRef("job_id"))
        return Export.objects.annotate(
            parts_done=Subquery(jobs.values("progress_done")), parts_total=Subquery(jobs.values("progress_total"))
        )

    @admin.display(description="id")
    def id_end(self, export: Export) -> SafeString:
        """The end of it."""
        return id_short(export.pk)

    @admin.display(description="user")
    def whose(self, export: Export) -> SafeString:
        """The end of the id, which leads to all archives of theirs."""
        return filter_link("user_id", export.user_id)

    @admin.display(description="requested (UTC)", ordering="requested_at")
    def requested(self, export: Export) -> str:
        """To the second."""
        return moment_short(export.requested_at)

    @admin.display(description="expires (UTC)", ordering="expires_at")
    def expires(self, export: Export) -> str:
        """To the second."""
        return moment_short(export.expires_at)

    @admin.display(description="parts")
    def progress(self, export: Any) -> str:
        """How many parts of how many are in."""
        return "" if export.parts_total is None else f"{export.parts_done} of {export.parts_total}"

    def has_download_permission(self, request: HttpRequest) -> bool:
        """Seeing that there is an archive is not enough to read it."""
        return request.user.has_perm("users.download_export")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> Any:
        """With the button, for who may press it."""
        context = {**(extra_context or {}), "may_download": self.has_download_permission(request)}
        return super().change_view(request, object_id, form_url, {**context, "ready": ExportStatus.READY.value})

    def get_urls(self) -> list[URLPattern]:
        """The archive, beside the usual ones."""
        wrapped = self.admin_site.admin_view(self.download_view)
        return [path("<uuid:export_id>/download/", wrapped, name="users_export_download"), *super().get_urls()]

    def download_view(self, request: HttpRequest, export_id: UUID) -> HttpResponseBase:
        """The archive, to who may read it; a POST, so that no link gives it away. Leaves a trace."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_download_permission(request):
            raise PermissionDenied
        export = self.get_queryset(request).filter(pk=export_id).first()
        if export is None:
            raise Http404
        try:
            with team_scope(export.context):
                download = export_download(export.context, export.user_id, export.pk)
        except ServiceError as error:
            messages.error(request, refusal_sentence(error))
            return redirect(reverse("admin:users_export_change", args=[export.pk]))
        _record(request, export, export.user_id, "download")
        return archive_response(download)
