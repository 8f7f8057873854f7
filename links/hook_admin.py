"""Staff view of the subscriptions to providers' notifications, with what is entered by hand at some vendors."""

from django.contrib import admin

from links.models import ProviderHook
from links.services.hooks import hook_address
from management.staff_admin import ReadOnlyAdmin


@admin.register(ProviderHook)
class ProviderHookAdmin(ReadOnlyAdmin):
    """Who calls us when data change, and what has gone wrong with it."""

    fields = [
        "id",
        "address",
        "verify_token",
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
    readonly_fields = ["address"]

    @admin.display(description="address")
    def address(self, hook: ProviderHook) -> str:
        """What is entered by hand at a vendor that has no interface for subscriptions."""
        return hook_address(hook)
