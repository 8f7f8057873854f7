"""Staff views of tenants, keys, jobs and the audit trail. Keys are made and revoked here; their secrets never shown."""

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.auth import get_permission_codename
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse

from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.principal import Environment, PrincipalKind
from management import organisation_admin as organisation_admin  # registers its views
from management import services
from management import trail_admin as trail_admin  # registers its views
from management.audit import organisation_record
from management.brand_admin import TeamLogoAdmin, TeamSettingsAdmin
from management.models import (
    BackgroundJob,
    ManagementKey,
    Organisation,
    StaffUser,
    Team,
    TeamKey,
    TeamLogo,
    TeamSettings,
)
from management.operator import refusal_sentence
from management.staff_admin import KeepingAdmin, KeyShown, NamedForm, PersonalAdmin, ReadOnlyAdmin, keys_shown

_KEYS_MADE = "_healthsvc_keys_made"

admin.site.site_header = "healthsvc"
admin.site.site_title = "healthsvc staff"
admin.site.index_title = "Staff"
admin.site.site_url = None
admin.site.unregister(Group)
admin.site.register(TeamSettings, TeamSettingsAdmin)
admin.site.register(TeamLogo, TeamLogoAdmin)


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

    form = NamedForm

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Adding one makes a key, so it needs the right to make keys."""
        return super().has_add_permission(request) and request.user.has_perm("management.add_managementkey")

    def save_model(self, request: HttpRequest, obj: Organisation, form: ModelForm[Any], change: bool) -> None:
        """A new organisation gets its first management key, shown this once."""
        if change:
            services.organisation_rename(organisation_id=obj.pk, name=obj.name)
            return
        made, key = services.organisation_create(name=obj.name, created_by=_author(request))
        obj.pk = made.pk
        setattr(request, _KEYS_MADE, [KeyShown(f"first management key of {obj.name}", key.text)])

    def response_add(
        self, request: HttpRequest, obj: Organisation, post_url_continue: str | None = None
    ) -> HttpResponse:
        """The page that shows the key, in place of the way back."""
        return keys_shown(request, self, getattr(request, _KEYS_MADE))


@admin.register(Team)
class TeamAdmin(KeepingAdmin):
    """Tenants."""

    list_display = ["name", "region", "organisation", "id", "created_at", "deleted_at"]
    list_filter = ["region"]
    list_select_related = ["organisation"]
    search_fields = ["name", "=id"]
    autocomplete_fields = ["organisation"]
    fields = [
        "organisation", "name", "region", "integration_team_id", "id", "created_at", "deleted_at", "erase_due_at",
        "erased_at",
    ]  # fmt: skip
    readonly_fields = ["id", "created_at", "integration_team_id", "deleted_at", "erase_due_at", "erased_at"]
    actions = ["make_sandbox_key", "make_production_key"]
    form = NamedForm

    def get_readonly_fields(self, request: HttpRequest, obj: Team | None = None) -> list[str]:
        """A team's organisation and region are for life."""
        return [*self.readonly_fields, *(["organisation", "region"] if obj else [])]

    def save_model(self, request: HttpRequest, obj: Team, form: ModelForm[Any], change: bool) -> None:
        """Through the service."""
        if change:
            services.team_rename(team_id=obj.pk, name=obj.name)
            return
        made = services.team_create(organisation_id=obj.organisation_id, name=obj.name, region=obj.region)
        obj.pk = made.pk

    def has_make_keys_permission(self, request: HttpRequest) -> bool:
        """Seeing teams is not enough to open them."""
        return request.user.has_perm("management.add_teamkey")

    @admin.action(description="Make a sandbox key (shown once)", permissions=["make_keys"])
    def make_sandbox_key(self, request: HttpRequest, queryset: QuerySet[Team]) -> HttpResponse:
        """One key for each chosen team."""
        return self._make_keys(request, queryset, Environment.SANDBOX)

    @admin.action(description="Make a production key (shown once)", permissions=["make_keys"])
    def make_production_key(self, request: HttpRequest, queryset: QuerySet[Team]) -> HttpResponse:
        """One key for each chosen team."""
        return self._make_keys(request, queryset, Environment.PRODUCTION)

    def _make_keys(self, request: HttpRequest, queryset: QuerySet[Team], environment: Environment) -> HttpResponse:
        shown = []
        with transaction.atomic():
            for team in queryset.filter(deleted_at=None):
                key = services.team_key_create(
                    team=team, environment=environment, label="made in the admin", created_by=_author(request)
                )
                ids = {"team_id": str(team.pk), "key_id": str(key.key_id)}
                _noted(request, team.organisation_id, f"admin make {environment} key", ids)
                self.log_change(request, team, f"Made the {environment} key {key.key_id}.")
                shown.append(KeyShown(f"{environment} key of {team.name}", key.text))
        return keys_shown(request, self, shown)


class KeyAdmin(ReadOnlyAdmin):
    """What keys there are; ending one is an action."""

    list_filter = ["revoked_at"]
    exclude = ["secret_hash"]
    ordering = ["-created_at"]
    actions = ["revoke"]

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Seeing keys is not enough to end them."""
        return request.user.has_perm(f"management.{get_permission_codename('change', self.opts)}")

    @admin.action(description="Revoke", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """End the chosen keys at once."""
        for key in list(queryset):
            with transaction.atomic():
                if _revoke(request, key.pk):
                    organisation_id, ids = self.whose(key)
                    _noted(request, organisation_id, f"admin revoke {self.opts.label_lower}", ids)
                    self.log_change(request, key, "Revoked.")

    def whose(self, key: Any) -> tuple[UUID, dict[str, str]]:
        """The organisation whose trail has what is done to a key, and the ids that say which key."""
        return key.organisation_id, {"key_id": str(key.pk)}


@admin.register(TeamKey)
class TeamKeyAdmin(KeyAdmin):
    """Team keys."""

    list_display = ["label", "ends_with", "team", "environment", "created_at", "last_used_at", "revoked_at"]
    list_select_related = ["team"]
    search_fields = ["=public_id", "label", "=team__id"]

    def whose(self, key: TeamKey) -> tuple[UUID, dict[str, str]]:
        """The team's organisation; the team is named too."""
        return key.team.organisation_id, {"team_id": str(key.team_id), "key_id": str(key.pk)}

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


@admin.register(BackgroundJob)
class BackgroundJobAdmin(PersonalAdmin):
    """Long work: how far it is and what came of it."""

    list_display = ["kind", "status", "progress_done", "progress_total", "team", "environment", "created_at"]
    list_filter = ["kind", "status"]
    list_select_related = ["team"]
    search_fields = ["=id", "=user_id"]


def _author(request: HttpRequest) -> str:
    return f"staff {request.user.pk}"


def _noted(request: HttpRequest, organisation_id: UUID, action: str, ids: dict[str, str]) -> None:
    """Who of the staff did something to an organisation's key, in the organisation's own trail."""
    organisation_record(
        request=request,
        organisation_id=organisation_id,
        actor_kind=PrincipalKind.STAFF,
        actor_id=str(request.user.pk),
        action=action,
        ids=ids,
    )


def _revoke(request: HttpRequest, key_id: UUID) -> bool:
    try:
        services.key_revoke(key_id=key_id)
    except ServiceError as error:
        messages.error(request, refusal_sentence(error))
        return False
    messages.success(request, "Revoked.")
    return True
