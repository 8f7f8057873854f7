"""Staff views of connections, of what is owed from them, and of grants that are being taken back."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import get_permission_codename
from django.db.models import QuerySet
from django.http import HttpRequest

from healthsvc.kernel.hooks import client_address
from healthsvc.kernel.principal import PrincipalKind
from healthsvc.kernel.scope import team_scope
from links.catalogue import catalogue
from links.connection_selectors import SECRET_FIELDS
from links.models import Connection, Pull, Revocation
from links.services.connections import connection_close
from links.services.schedule import pulls_owe
from management.audit import access_record
from management.staff_admin import PersonalAdmin


class ProviderFilter(admin.SimpleListFilter):
    """By provider: those of the catalogue, so that no table is read for the list of them."""

    title = "provider"
    parameter_name = "provider"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> Sequence[tuple[str, str]]:
        """Every provider there is."""
        return [(slug, provider.name) for slug, provider in catalogue().items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The rows of the chosen one."""
        slug = self.value()
        return queryset.filter(provider=slug) if slug else queryset


class LivingFilter(admin.SimpleListFilter):
    """Whether a connection has ended."""

    title = "ended"
    parameter_name = "ended"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> Sequence[tuple[str, str]]:
        """Yes and no."""
        return [("no", "no"), ("yes", "yes")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Connection]) -> QuerySet[Connection]:
        """Those that live, or those that have ended."""
        return queryset.filter(disconnected_at__isnull=self.value() == "no") if self.value() else queryset


@admin.register(Connection)
class ConnectionAdmin(PersonalAdmin):
    """Connections without what opens them."""

    fields = [
        "id",
        "team",
        "environment",
        "user_id",
        "provider",
        "login",
        "region",
        "application_id",
        "status",
        "external_user_id",
        "scopes_granted",
        "scopes_denied",
        "access_expires_at",
        "token_refusals",
        "error_type",
        "errored_at",
        "next_pull_at",
        "created_at",
        "connected_at",
        "expires_at",
        "disconnected_at",
    ]
    list_display = ["id", "team", "environment", "provider", "status", "error_type", "next_pull_at", "connected_at"]
    list_filter = ["environment", "status", LivingFilter, ProviderFilter]
    list_select_related = ["team"]
    ordering = ["-created_at"]
    search_fields = ["=id", "=user__id", "=team__id", "=provider", "=external_user_id"]
    actions = ["pull_again", "disconnect"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Connection]:
        """With tokens left sealed."""
        return super().get_queryset(request).defer(*SECRET_FIELDS)

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Seeing connections is not enough to change what becomes of them."""
        return request.user.has_perm(f"links.{get_permission_codename('change', self.opts)}")

    @admin.action(description="Pull again", permissions=["operate"])
    def pull_again(self, request: HttpRequest, queryset: QuerySet[Connection]) -> None:
        """Owe the last days of the chosen connections."""
        owed = 0
        for connection in self._chosen(request, queryset, "pull_again"):
            with team_scope(connection.context):
                owed += bool(pulls_owe(connection=connection))
        messages.success(request, f"{owed} are pulled again.")

    @admin.action(description="Disconnect", permissions=["operate"])
    def disconnect(self, request: HttpRequest, queryset: QuerySet[Connection]) -> None:
        """End the chosen connections and none that took their place, as a customer's call would."""
        ended = 0
        for connection in self._chosen(request, queryset, "disconnect"):
            with team_scope(connection.context):
                ended += connection_close(connection)
        messages.success(request, f"{ended} are disconnected.")

    @staticmethod
    def _chosen(request: HttpRequest, queryset: QuerySet[Connection], action: str) -> list[Connection]:
        """Those that live, each with a trace of who did what to it."""
        chosen = list(queryset.filter(disconnected_at=None))
        for connection in chosen:
            access_record(
                team=connection.context,
                actor_kind=PrincipalKind.STAFF,
                actor_id=str(request.user.pk),
                action=f"{action} links.connection",
                ids={"user_id": str(connection.user_id), "object_id": str(connection.pk)},
                request_id=getattr(request, "request_id", ""),
                address=client_address(request),
            )
        return chosen


@admin.register(Pull)
class PullAdmin(PersonalAdmin):
    """What is owed from connections, and how it goes."""

    fields = [
        "id",
        "team",
        "environment",
        "user_id",
        "connection_id",
        "resource",
        "kind",
        "status",
        "start_on",
        "end_on",
        "done_until_on",
        "attempts",
        "claim",
        "not_before",
        "lease_until",
        "error_code",
        "created_at",
        "started_at",
        "ended_at",
    ]
    list_display = ["id", "team", "environment", "resource", "kind", "status", "attempts", "error_code", "not_before"]
    list_filter = ["environment", "kind", "status"]
    list_select_related = ["team"]
    ordering = ["-id"]
    search_fields = ["=id", "=user__id", "=connection__id"]


@admin.register(Revocation)
class RevocationAdmin(PersonalAdmin):
    """Grants that are being taken back at the provider, without what opens them."""

    fields = [
        "id",
        "team",
        "environment",
        "user_id",
        "connection_id",
        "provider",
        "external_user_id",
        "status",
        "attempts",
        "error_code",
        "not_before",
        "give_up_at",
        "lease_until",
        "created_at",
        "ended_at",
    ]
    list_display = ["id", "team", "environment", "provider", "status", "attempts", "error_code", "not_before"]
    list_filter = ["environment", "status", ProviderFilter]
    list_select_related = ["team"]
    ordering = ["-id"]
    search_fields = ["=id", "=user__id", "=connection__id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Revocation]:
        """With tokens left sealed."""
        return super().get_queryset(request).defer("access_token", "refresh_token")
