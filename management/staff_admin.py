"""Bases of the staff admin's views: what is read only, and what leaves a trace when staff look at it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.forms import ModelForm
from django.http import HttpRequest
from django.template.response import TemplateResponse

from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.hooks import client_address
from healthsvc.kernel.principal import Environment, PrincipalKind, TeamContext
from management import services
from management.audit import access_record, staff_records
from management.operator import refusal_sentence


@dataclass(frozen=True, slots=True)
class KeyShown:
    """A new key and what it opens."""

    what: str
    text: str


def keys_shown(request: HttpRequest, page: admin.ModelAdmin[Any], keys: Sequence[KeyShown]) -> TemplateResponse:
    """The one page that shows new keys. Not a message: those travel in a cookie and come back later."""
    context = {**page.admin_site.each_context(request), "title": "New keys", "keys": keys, "opts": page.opts}
    response = TemplateResponse(request, "admin/management/key_shown.html", context)
    response["Cache-Control"] = "no-store"
    return response


class NamedForm(ModelForm[Any]):
    """A form that holds a name to the service's rules."""

    def clean_name(self) -> str:
        """A refused name is an error at its field."""
        name: str = self.cleaned_data["name"]
        try:
            services.name_check(name)
        except ServiceError as error:
            raise ValidationError(refusal_sentence(error)) from error
        return name


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

    def _whose(self, found: Any) -> dict[str, str]:
        user_id = getattr(found, self.user_id_attribute, None)
        return {} if user_id is None else {"user_id": str(user_id)}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """The list, with a trace of whose rows it showed: one statement, a record for each team."""
        response = super().changelist_view(request, extra_context)
        changelist = (getattr(response, "context_data", None) or {}).get("cl")
        shown: dict[TeamContext, list[UUID]] = {}
        for row in [] if changelist is None else changelist.result_list:
            users = shown.setdefault(TeamContext(row.team_id, Environment(row.environment)), [])
            users += [UUID(user_id) for user_id in self._whose(row).values()]
        staff_records(request, action=f"{request.method} admin list {self.opts.label_lower}", shown=shown)
        return response

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The row, with a trace of who looked at it."""
        found = super().get_object(request, object_id, from_field)
        if found is not None:
            access_record(
                team=TeamContext(found.team_id, Environment(found.environment)),
                actor_kind=PrincipalKind.STAFF,
                actor_id=str(request.user.pk),
                action=f"{request.method} admin {found._meta.label_lower}",
                ids={**self._whose(found), "object_id": str(found.pk)},
                request_id=getattr(request, "request_id", ""),
                address=client_address(request),
            )
        return found
