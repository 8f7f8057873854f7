"""Staff views of links: nothing that opens anything is shown."""

from django.contrib import admin

from links.application_admin import ProviderApplicationAdmin as ProviderApplicationAdmin
from links.connection_admin import ConnectionAdmin as ConnectionAdmin
from links.connection_admin import PullAdmin as PullAdmin
from links.connection_admin import RevocationAdmin as RevocationAdmin
from links.hook_admin import ProviderHookAdmin as ProviderHookAdmin
from links.models import LinkToken
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
