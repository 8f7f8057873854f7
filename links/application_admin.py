"""Staff view of teams' own registrations with providers. A secret goes in and is never shown again."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from healthsvc.kernel.principal import Environment, TeamContext
from links.catalogue import catalogue, provider_find
from links.models import ProviderApplication
from links.services.registrations import application_register, application_retire, application_secret_change
from management.staff_admin import KeepingAdmin


def _choices() -> list[tuple[str, str]]:
    """The providers that anybody can be registered with."""
    return [("", "---------"), *((slug, f"{one.name} ({slug})") for slug, one in catalogue().items() if one.oauth)]


class ProviderApplicationForm(ModelForm[ProviderApplication]):
    """A registration as its vendor gave it to the customer."""

    provider = forms.ChoiceField(
        choices=_choices,
        help_text="Those with an OAuth login.",
        error_messages={"invalid_choice": "Not a provider with an OAuth login."},
    )
    secret = forms.CharField(
        max_length=500,
        label="Client secret",
        help_text="Stored encrypted, and shown to nobody afterwards.",
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "new-password"}),
    )

    class Meta:
        model = ProviderApplication
        fields = ("team", "provider", "client_id")

    def clean_client_id(self) -> str:
        """Without the blanks that come with copying."""
        client_id: str = self.cleaned_data["client_id"].strip()
        return client_id

    def validate_unique(self) -> None:
        """One that is there already is replaced."""


@admin.register(ProviderApplication)
class ProviderApplicationAdmin(KeepingAdmin):
    """For production; in the sandbox the simulator is everybody's provider."""

    form = ProviderApplicationForm
    fields = ("team", "provider", "client_id", "secret")
    list_display = ("team", "provider", "client_id", "environment", "updated_at", "retired_at")
    list_filter = ("provider",)
    list_select_related = ("team",)
    autocomplete_fields = ("team",)
    search_fields = ("=client_id", "=provider")
    ordering = ("-created_at",)
    actions = ("retire",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProviderApplication]:
        """Secrets stay in the database."""
        return super().get_queryset(request).defer("client_secret")

    def get_readonly_fields(self, request: HttpRequest, obj: ProviderApplication | None = None) -> tuple[str, ...]:
        """Another client is another registration: only the secret changes."""
        return ("team", "provider", "client_id") if obj else ()

    def save_model(self, request: HttpRequest, obj: ProviderApplication, form: ModelForm[Any], change: bool) -> None:
        """Through the service."""
        secret: str = form.cleaned_data["secret"].strip()
        if change:
            application_secret_change(application=obj, client_secret=secret)
            return
        made = application_register(
            team=TeamContext(obj.team_id, Environment.PRODUCTION),
            provider=provider_find(obj.provider),
            client_id=obj.client_id,
            client_secret=secret,
        )
        obj.pk, obj.environment = made.pk, made.environment

    @admin.action(description="Retire: new logins use the operator's registration", permissions=["change"])
    def retire(self, request: HttpRequest, queryset: QuerySet[ProviderApplication]) -> None:
        """End the use of the chosen ones; connections made with them keep them."""
        retired = sum(application_retire(application=application) for application in queryset)
        self.message_user(request, f"{retired} retired.", messages.SUCCESS)
