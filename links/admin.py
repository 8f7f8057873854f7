"""Staff views of links: nothing that opens anything is shown."""

from django.contrib import admin

from links.models import Connection, LinkToken, Pull
from management.staff_admin import PersonalAdmin


@admin.register(LinkToken)
class LinkTokenAdmin(PersonalAdmin):
    """Link tokens without their hashes. A `redirect_url` may carry the customer's own references: not listed."""

    fields = [
        "id",
        "team",
        "environment",
        "user_id",
        "status",
        "provider",
        "filter_on_providers",
        "redirect_url",
        "redirects_on_error",
        "redirects_on_close",
        "created_at",
        "expires_at",
    ]
    list_display = ["id", "team", "environment", "status", "provider", "created_at", "expires_at"]
    list_filter = ["environment", "status"]
    list_select_related = ["team"]
    ordering = ["-created_at"]
    search_fields = ["=id", "=user__id"]


@admin.register(Connection)
class ConnectionAdmin(PersonalAdmin):
    """Connections without their tokens."""

    fields = [
        "id",
        "team",
        "environment",
        "user_id",
        "provider",
        "status",
        "external_user_id",
        "scopes_granted",
        "scopes_denied",
        "access_expires_at",
        "token_refusals",
        "error_type",
        "errored_at",
        "created_at",
        "connected_at",
        "disconnected_at",
    ]
    list_display = ["id", "team", "environment", "provider", "status", "error_type", "connected_at"]
    list_filter = ["environment", "status"]
    list_select_related = ["team"]
    ordering = ["-created_at"]
    search_fields = ["=id", "=user__id", "=provider", "=external_user_id"]


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
        "ended_at",
    ]
    list_display = ["id", "team", "environment", "resource", "kind", "status", "attempts", "error_code", "not_before"]
    list_filter = ["environment", "kind", "status"]
    list_select_related = ["team"]
    ordering = ["-created_at"]
    search_fields = ["=id", "=user__id", "=connection__id"]
