"""Staff view of the subscriptions to providers' notifications, without the tokens that check them."""

from django.contrib import admin

from links.models import ProviderHook
from management.staff_admin import ReadOnlyAdmin


@admin.register(ProviderHook)
class ProviderHookAdmin(ReadOnlyAdmin):
    """Who calls us when data change, and what has gone wrong with it."""

    fields = [
        "id",
        "provider",
        "environment",
        "application_id",
        "connection_id",
        "topic",
        "status",
        "external_id",
        "expires_at",
        "attempts",
        "error_code",
        "not_before",
        "lease_until",
        "created_at",
        "called_at",
    ]
    list_display = ["provider", "environment", "topic", "status", "error_code", "expires_at", "called_at"]
    list_filter = ["environment", "status"]
    ordering = ["-created_at"]
    search_fields = ["=id", "=provider", "=connection_id", "=external_id"]
