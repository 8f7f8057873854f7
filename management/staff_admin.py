"""Bases of the staff admin's views: what is read only, and what leaves a trace when staff look at it."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from healthsvc.kernel.hooks import client_address
from healthsvc.kernel.principal import Environment, PrincipalKind, TeamContext
from management.audit import access_record


class ReadOnlyAdmin(admin.ModelAdmin[Any]):
    """For rows that only the service writes."""

    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody adds."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody changes."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody removes."""
        return False


class KeepingAdmin(admin.ModelAdmin[Any]):
    """For rows that are ended, never removed."""

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody removes."""
        return False


class PersonalAdmin(ReadOnlyAdmin):
    """For team-owned rows about a person: opening one is written to the audit trail."""

    #: The attribute that holds the user's id.
    user_id_attribute = "user_id"

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The row, with a trace of who looked at it."""
        found = super().get_object(request, object_id, from_field)
        if found is not None:
            access_record(
                team=TeamContext(found.team_id, Environment(found.environment)),
                actor_kind=PrincipalKind.STAFF,
                actor_id=str(request.user.pk),
                action=f"{request.method} admin {found._meta.label_lower}",
                ids={"user_id": str(getattr(found, self.user_id_attribute)), "object_id": str(found.pk)},
                request_id=getattr(request, "request_id", ""),
                address=client_address(request),
            )
        return found
