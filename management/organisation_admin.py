"""Staff views of a customer's people and invitations, and of what was changed at the management address."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.postgres.forms import SimpleArrayField
from django.core.exceptions import ValidationError
from django.forms import ModelForm
from django.http import HttpRequest

from healthsvc.kernel.errors import ServiceError
from management import services
from management.models import Invite, Member, OrganisationRecord
from management.operator import refusal_sentence
from management.services.bindings import bindings_check
from management.staff_admin import ReadOnlyAdmin


class MemberForm(ModelForm[Member]):
    """A person, held to the rule for roles and teams."""

    team_ids = SimpleArrayField(
        forms.UUIDField(), required=False, help_text="Ids of the teams of a team_admin, separated by commas."
    )

    class Meta:
        model = Member
        fields = ("organisation", "name", "email", "role", "team_ids")

    def clean_email(self) -> str:
        """In lower case, as it is kept."""
        email: str = self.cleaned_data["email"]
        return email.lower()

    def clean(self) -> dict[str, Any]:
        """Teams that go with the role."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        organisation = cleaned.get("organisation")
        if organisation is not None and cleaned.get("role"):
            try:
                bindings_check(
                    organisation_id=organisation.pk, role=cleaned["role"], team_ids=cleaned.get("team_ids") or []
                )
            except ServiceError as error:
                raise ValidationError(refusal_sentence(error)) from error
        return cleaned


class MemberAdmin(admin.ModelAdmin[Member]):
    """People of the customers' organisations; adding one ends their invitation. Changes are the customer's."""

    list_display = ["name", "email", "organisation", "role", "created_at"]
    list_select_related = ["organisation"]
    list_filter = ["role"]
    search_fields = ["=email", "=organisation__id"]
    autocomplete_fields: ClassVar[list[str]] = ["organisation"]
    form = MemberForm

    def has_change_permission(self, request: HttpRequest, obj: Member | None = None) -> bool:
        """Nobody changes."""
        return False

    def save_model(self, request: HttpRequest, obj: Member, form: ModelForm[Any], change: bool) -> None:
        """Through the service."""
        made = services.member_create(
            organisation_id=obj.organisation_id, name=obj.name, email=obj.email, role=obj.role, team_ids=obj.team_ids
        )
        obj.pk = made.pk


class InviteAdmin(ReadOnlyAdmin):
    """Who was invited and has not come yet."""

    list_display = ["email", "organisation", "role", "invited_at", "resent_at"]
    list_select_related = ["organisation"]
    search_fields = ["=email", "=organisation__id"]


class OrganisationRecordAdmin(ReadOnlyAdmin):
    """What was changed at the management address."""

    list_display = ["occurred_at", "action", "actor_kind", "actor_id", "organisation", "request_id", "address"]
    list_select_related = ["organisation"]
    search_fields = ["=organisation__id", "=request_id", "=actor_id"]
    ordering = ["-id"]


admin.site.register(Member, MemberAdmin)
admin.site.register(Invite, InviteAdmin)
admin.site.register(OrganisationRecord, OrganisationRecordAdmin)
