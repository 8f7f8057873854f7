"""Staff views of tenants, keys, jobs and the audit trail. Keys are made and revoked here; their secrets never shown."""

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.principal import Environment
from management import services
from management.models import (
    AccessRecord,
    BackgroundJob,
    ManagementKey,
    Organisation,
    StaffUser,
    Team,
    TeamKey,
    TeamSettings,
)
from management.staff_admin import KeepingAdmin, PersonalAdmin, ReadOnlyAdmin

admin.site.site_header = "healthsvc"
admin.site.site_title = "healthsvc staff"
admin.site.index_title = "Staff"
admin.site.site_url = None
admin.site.unregister(Group)


@admin.register(StaffUser)
class StaffUserAdmin(UserAdmin[StaffUser]):
    """Staff logins."""


@admin.register(Organisation)
class OrganisationAdmin(KeepingAdmin):
    """Customers."""

    list_display = ["name", "id", "created_at"]
    search_fields = ["name", "=id"]
    fields = ["name", "id", "created_at"]
    readonly_fields = ["id", "created_at"]

    def save_model(self, request: HttpRequest, obj: Organisation, form: ModelForm[Any], change: bool) -> None:
        """A new organisation gets its first management key, shown this once."""
        if change:
            super().save_model(request, obj, form, change)
            return
        made, key = services.organisation_create(name=obj.name, created_by=_author(request))
        obj.pk = made.pk
        _show_key(request, "management", key.text)


@admin.register(Team)
class TeamAdmin(KeepingAdmin):
    """Tenants."""

    list_display = ["name", "region", "organisation", "id", "created_at"]
    list_filter = ["region"]
    list_select_related = ["organisation"]
    search_fields = ["name", "=id"]
    autocomplete_fields = ["organisation"]
    fields = ["organisation", "name", "region", "id", "created_at"]
    readonly_fields = ["id", "created_at"]
    actions = ["make_sandbox_key", "make_production_key"]

    def get_readonly_fields(self, request: HttpRequest, obj: Team | None = None) -> list[str]:
        """A team's organisation and region are for life."""
        return [*self.readonly_fields, *(["organisation", "region"] if obj else [])]

    def save_model(self, request: HttpRequest, obj: Team, form: ModelForm[Any], change: bool) -> None:
        """Through the service, which checks the name."""
        if change:
            super().save_model(request, obj, form, change)
            return
        made = services.team_create(organisation_id=obj.organisation_id, name=obj.name, region=obj.region)
        obj.pk = made.pk

    @admin.action(description="Make a sandbox key (shown once)")
    def make_sandbox_key(self, request: HttpRequest, queryset: QuerySet[Team]) -> None:
        """One key for each chosen team."""
        self._make_keys(request, queryset, Environment.SANDBOX)

    @admin.action(description="Make a production key (shown once)")
    def make_production_key(self, request: HttpRequest, queryset: QuerySet[Team]) -> None:
        """One key for each chosen team."""
        self._make_keys(request, queryset, Environment.PRODUCTION)

    def _make_keys(self, request: HttpRequest, queryset: QuerySet[Team], environment: Environment) -> None:
        for team in queryset:
            key = services.team_key_create(
                team=team, environment=environment, label="made in the admin", created_by=_author(request)
            )
            _show_key(request, f"{environment} key of {team.name}", key.text)


class KeyAdmin(ReadOnlyAdmin):
    """What keys there are; ending one is an action."""

    list_filter = ["revoked_at"]
    exclude = ["secret_hash"]
    ordering = ["-created_at"]
    actions = ["revoke"]

    @admin.action(description="Revoke", permissions=["view"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """End the chosen keys at once."""
        for key_id in list(queryset.values_list("pk", flat=True)):
            _revoke(request, key_id)


@admin.register(TeamKey)
class TeamKeyAdmin(KeyAdmin):
    """Team keys."""

    list_display = ["label", "ends_with", "team", "environment", "created_at", "last_used_at", "revoked_at"]
    list_select_related = ["team"]
    search_fields = ["=public_id", "label", "=team__id"]

    @admin.display(description="ends with")
    def ends_with(self, key: TeamKey) -> str:
        """The last characters, to tell keys apart."""
        return f"…{key.last_characters}"


@admin.register(ManagementKey)
class ManagementKeyAdmin(KeyAdmin):
    """Management keys."""

    list_display = ["label", "ends_with", "organisation", "role", "created_at", "last_used_at", "revoked_at"]
    list_select_related = ["organisation"]
    search_fields = ["=public_id", "label", "=organisation__id"]

    @admin.display(description="ends with")
    def ends_with(self, key: ManagementKey) -> str:
        """The last characters, to tell keys apart."""
        return f"…{key.last_characters}"


@admin.register(TeamSettings)
class TeamSettingsAdmin(KeepingAdmin):
    """Switches of a team in one environment."""

    list_display = ["team", "environment", "aggregation_enabled", "company_name"]
    list_select_related = ["team"]
    autocomplete_fields = ["team"]


@admin.register(BackgroundJob)
class BackgroundJobAdmin(PersonalAdmin):
    """Long work: how far it is and what came of it."""

    list_display = ["kind", "status", "progress_done", "progress_total", "team", "environment", "created_at"]
    list_filter = ["kind", "status"]
    list_select_related = ["team"]
    search_fields = ["=id", "=user_id"]


@admin.register(AccessRecord)
class AccessRecordAdmin(ReadOnlyAdmin):
    """Who read or changed what."""

    list_display = ["occurred_at", "action", "actor_kind", "actor_id", "user_id", "team_id", "request_id", "address"]
    list_filter = ["actor_kind", "environment"]
    search_fields = ["=user_id", "=team_id", "=request_id"]
    ordering = ["-id"]
    show_full_result_count = False


def _author(request: HttpRequest) -> str:
    return f"staff {request.user.pk}"


def _show_key(request: HttpRequest, what: str, text: str) -> None:
    messages.warning(request, f"New {what}, shown only now: {text}")


def _revoke(request: HttpRequest, key_id: UUID) -> None:
    try:
        services.key_revoke(key_id=key_id)
    except ServiceError as error:
        messages.error(request, str(error.detail))
        return
    messages.success(request, "Revoked.")
