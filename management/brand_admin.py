"""Staff views of a team's switches and of what it shows of itself on the hosted link pages."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.postgres.forms import SimpleArrayField
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from healthsvc.kernel.principal import Environment, TeamContext
from management import services
from management.branding import color_problem, logo_problem, origin_problem
from management.constants import LOGO_MAXIMUM_BYTES
from management.models import TeamLogo, TeamSettings
from management.registry import is_event_prefix, provider_slugs_known
from management.staff_admin import KeepingAdmin

#: More origins than this make the policy's header too long for some proxies.
_ORIGINS_MAXIMUM = 20


class TeamSettingsForm(ModelForm[TeamSettings]):
    """Holds the fields that end up on pages and in headers to their rules."""

    redirect_url_prefixes = SimpleArrayField(
        forms.URLField(max_length=500, assume_scheme="https"),
        required=False,
        help_text="What a link's redirect_url must begin with, separated by commas:"
        " https://app.example/linked,https://www.app.example. Empty: any https address.",
    )

    class Meta:
        model = TeamSettings
        fields = (
            "team",
            "environment",
            "aggregation_enabled",
            "company_name",
            "brand_color",
            "company_website",
            "company_address",
            "support_email",
            "support_contact",
            "link_providers",
            "link_frame_origins",
            "redirect_url_prefixes",
            "duplicate_account_policy",
            "event_type_prefixes",
            "webhook_notice_email",
            "lab_tests_patient_sms_communication_enabled",
            "lab_tests_patient_email_communication_enabled",
            "critical_result_notification_email",
            "sdk_per_device_activity_timeseries",
            "partial_webhooks_enabled",
            "minor_ordering_enabled",
            "patient_experience",
        )
        help_texts: ClassVar[dict[str, str]] = {
            "company_name": "What the link pages call the team. Empty: the team's own name.",
            "brand_color": "The colour of the link pages: # and six hexadecimal digits, such as #0b6553. Empty: green.",
            "link_providers": "What the link page lists, in this order: slugs separated by commas, such as"
            " oura,whoop_v2,apple_health_kit. Empty: everything that can be connected, what is asked for most first.",
            "link_frame_origins": "Sites that may show the link pages in a frame: origins separated by commas,"
            " https://app.example,https://www.app.example. Empty: none.",
            "duplicate_account_policy": "When a second user connects a vendor account that another user of the team"
            " has connected. Allow: both are connected. Refuse: the second is told, and not connected. Move: the second"
            " is connected, the first no longer.",
            "event_type_prefixes": "The team is sent no other events, whatever its webhooks choose: types or their"
            " first words, separated by commas, such as daily.data,provider. Empty: all.",
            "lab_tests_patient_sms_communication_enabled": "Patients get text messages about their lab orders.",
            "lab_tests_patient_email_communication_enabled": "Patients get e-mails about their lab orders.",
            "critical_result_notification_email": "Who is written to about critical results. Empty: nobody.",
            "minor_ordering_enabled": "Orders for people under 18 are taken.",
            "webhook_notice_email": "Who is written to when a webhook was disabled for its failures. Empty: nobody.",
        }

    def clean_brand_color(self) -> str:
        """Empty, or a colour."""
        color: str = self.cleaned_data["brand_color"].strip().lower()
        problem = color_problem(color) if color else None
        if problem:
            raise ValidationError(problem)
        return color

    def clean_link_providers(self) -> list[str]:
        """Slugs of the catalogue, each once."""
        slugs: list[str] = self.cleaned_data["link_providers"] or []
        unknown = [slug for slug in slugs if slug not in provider_slugs_known()]
        if unknown:
            raise ValidationError(f"Not a provider: {', '.join(unknown)}.")
        return list(dict.fromkeys(slugs))

    def clean_event_type_prefixes(self) -> list[str]:
        """Words that name an event, each once: a mistyped one would silence the team's webhooks."""
        prefixes: list[str] = self.cleaned_data["event_type_prefixes"] or []
        unknown = [prefix for prefix in prefixes if not is_event_prefix(prefix)]
        if unknown:
            raise ValidationError(f"Names no event: {', '.join(unknown)}.")
        return list(dict.fromkeys(prefixes))

    def clean_link_frame_origins(self) -> list[str]:
        """Origins as a browser compares them."""
        origins: list[str] = self.cleaned_data["link_frame_origins"] or []
        if len(origins) > _ORIGINS_MAXIMUM:
            raise ValidationError(f"At most {_ORIGINS_MAXIMUM} origins.")
        for origin in origins:
            problem = origin_problem(origin)
            if problem:
                raise ValidationError(f"{origin}: {problem}")
        return list(dict.fromkeys(origins))


class TeamSettingsAdmin(KeepingAdmin):
    """Switches of a team in one environment."""

    list_display = ["team", "environment", "aggregation_enabled", "company_name"]
    list_select_related = ["team"]
    autocomplete_fields = ["team"]
    form = TeamSettingsForm


class TeamLogoForm(ModelForm[TeamLogo]):
    """A picture to upload, checked before it is stored."""

    picture = forms.FileField(help_text="PNG, JPEG or WebP, at most 200 kB. Shown at most 48 pixels high.")

    def clean_picture(self) -> bytes:
        """The file's bytes, where they are a logo."""
        uploaded: UploadedFile[bytes] = self.cleaned_data["picture"]
        content = bytes(uploaded.read(LOGO_MAXIMUM_BYTES + 1))
        problem = logo_problem(content)
        if problem:
            raise ValidationError(problem)
        return content


class TeamLogoAdmin(admin.ModelAdmin[TeamLogo]):
    """The teams' pictures, one each."""

    list_display = ["team", "environment", "media_type", "created_at"]
    list_select_related = ["team"]
    autocomplete_fields = ["team"]
    form = TeamLogoForm

    def get_queryset(self, request: HttpRequest) -> QuerySet[TeamLogo]:
        """Without the pictures themselves."""
        return super().get_queryset(request).defer("content")

    def get_fields(self, request: HttpRequest, obj: TeamLogo | None = None) -> list[Any]:
        """What is told of a stored one, and what a new one needs."""
        return ["team", "environment", *(["media_type", "created_at"] if obj else ["picture"])]

    def has_change_permission(self, request: HttpRequest, obj: TeamLogo | None = None) -> bool:
        """A picture is replaced by removing it and adding another."""
        return False

    def save_model(self, request: HttpRequest, obj: TeamLogo, form: ModelForm[Any], change: bool) -> None:
        """Through the service."""
        team = TeamContext(obj.team_id, Environment(obj.environment))
        made = services.team_logo_set(team=team, content=form.cleaned_data["picture"])
        obj.pk, obj.media_type, obj.created_at = made.pk, made.media_type, made.created_at
