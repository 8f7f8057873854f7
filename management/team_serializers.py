"""Shapes of organisations, teams, their switches and scope requirements at the management address."""

from typing import Any, Final
from uuid import UUID

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.fields import FlagField, RepeatedField, TextField, UUIDTextField, WholeNumberField
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.typing import JSONObject
from management.branding import WEB_SCHEMES, color_problem, web_address
from management.constants import (
    BRAND_TEXT_MAXIMUM_CHARACTERS,
    INTEGRATION_TEAM_ID_MAXIMUM_CHARACTERS,
    NAME_MAXIMUM_CHARACTERS,
    SCOPE_MAXIMUM_CHARACTERS,
    SCOPES_MAXIMUM,
    URL_MAXIMUM_CHARACTERS,
    Region,
)
from management.models import Organisation, ScopeRequirement, Team, TeamSettings

ENVIRONMENTS: Final = [str(item) for item in Environment]
_EMAIL_MAXIMUM: Final = 254
#: What else stands against an address on a page.
_PLAIN: Final = (
    "Its host is a name or an IPv4 address in ASCII, with a port up to 65535 at most; it holds no name or password"
    " before the host, and no space, quote, comma, semicolon or backslash."
)
#: All bits off and all bits on (RFC 9562): what others take for no team, or for every one.
_NO_IDS: Final = (UUID(int=0), UUID(int=2**128 - 1))
_BRAND: Final = (
    "company_name",
    "company_website",
    "support_email",
    "support_contact",
    "company_address",
    "brand_color",
)
_SWITCHES: Final = (
    "lab_tests_patient_sms_communication_enabled",
    "lab_tests_patient_email_communication_enabled",
    "reject_duplicate_connection",
    "sdk_per_device_activity_timeseries",
    "partial_webhooks_enabled",
    "minor_ordering_enabled",
)


class _ColorField(TextField):
    """Empty, or a colour of the web."""

    def to_internal_value(self, data: Any) -> str:
        color = super().to_internal_value(data).strip().lower()
        problem = color_problem(color) if color else None
        if problem:
            raise serializers.ValidationError(problem, code="color_invalid")
        return color


@extend_schema_field({"type": "string", "format": "uri"})
class _PictureAddressField(TextField):
    """An address that the pages may take a picture from."""

    def to_internal_value(self, data: Any) -> str:
        address = web_address(super().to_internal_value(data))
        if address is None:
            message = f"Must be an address that begins with https://. {_PLAIN}"
            raise serializers.ValidationError(message, code="url_invalid")
        return address


class _WebsiteField(TextField):
    """Empty, or an address that the pages may lead to."""

    def to_internal_value(self, data: Any) -> str:
        given = super().to_internal_value(data)
        address = web_address(given, schemes=WEB_SCHEMES) if given else given
        if address is None:
            message = f"Must be an address that begins with https:// or http://. {_PLAIN}"
            raise serializers.ValidationError(message, code="url_invalid")
        return address


@extend_schema_serializer(component_name="UpdateBrandInformationBody")
class BrandPatchBody(serializers.Serializer[Any]):
    """What the team shows of itself; null leaves as it is, an empty text clears."""

    company_name = TextField(required=False, allow_null=True, allow_blank=True, max_length=NAME_MAXIMUM_CHARACTERS)
    company_website = _WebsiteField(
        required=False, allow_null=True, allow_blank=True, max_length=URL_MAXIMUM_CHARACTERS
    )
    support_email = serializers.EmailField(required=False, allow_null=True, allow_blank=True, max_length=_EMAIL_MAXIMUM)
    support_contact = TextField(
        required=False, allow_null=True, allow_blank=True, max_length=BRAND_TEXT_MAXIMUM_CHARACTERS
    )
    company_address = TextField(
        required=False, allow_null=True, allow_blank=True, max_length=BRAND_TEXT_MAXIMUM_CHARACTERS
    )
    brand_color = _ColorField(
        required=False, allow_null=True, allow_blank=True, help_text="# and six hexadecimal digits, such as #0b6553."
    )


@extend_schema_serializer(component_name="BrandInformationBody")
class BrandBody(BrandPatchBody):
    """What a new team shows of itself."""

    company_name = TextField(max_length=NAME_MAXIMUM_CHARACTERS)


class _SwitchesBody(serializers.Serializer[Any]):
    """Switches of a team in one environment; null leaves as it is."""

    lab_tests_patient_sms_communication_enabled = FlagField(required=False, allow_null=True)
    lab_tests_patient_email_communication_enabled = FlagField(required=False, allow_null=True)
    critical_result_notification_email = serializers.EmailField(
        required=False, allow_null=True, max_length=_EMAIL_MAXIMUM, help_text="Null: nobody is written to."
    )
    logo_url = _PictureAddressField(
        required=False, allow_null=True, max_length=URL_MAXIMUM_CHARACTERS, help_text="Null takes it away."
    )
    reject_duplicate_connection = FlagField(
        required=False,
        allow_null=True,
        help_text="Whether a second user who connects a vendor account that a first one has is refused.",
    )
    sdk_per_device_activity_timeseries = FlagField(required=False, allow_null=True)
    partial_webhooks_enabled = FlagField(required=False, allow_null=True)
    minor_ordering_enabled = FlagField(required=False, allow_null=True)


@extend_schema_serializer(component_name="UpdateOrgTeamEnvironmentBody")
class EnvironmentPatchBody(_SwitchesBody):
    """Changes of a team in one environment."""

    patient_experience = FlagField(required=False, allow_null=True)
    brand_information = BrandPatchBody(required=False, allow_null=True)


@extend_schema_serializer(component_name="CreateOrgTeamBody")
class TeamCreateBody(_SwitchesBody):
    """A new team. Its switches and its brand hold in both environments."""

    id = UUIDTextField(required=False, allow_null=True, help_text="Your own choice; else one is made.")
    name = TextField(max_length=NAME_MAXIMUM_CHARACTERS)
    region = serializers.ChoiceField(choices=Region.choices)
    integration_team_id = TextField(
        required=False,
        allow_null=True,
        max_length=INTEGRATION_TEAM_ID_MAXIMUM_CHARACTERS,
        help_text="Your own name for the team; unique among the organisation's teams.",
    )
    brand_information = BrandBody(required=False, allow_null=True)

    def validate_id(self, value: UUID | None) -> UUID | None:
        """Any but the two that stand for none and for all."""
        if value in _NO_IDS:
            raise serializers.ValidationError("The nil and the max UUID are nobody's.", code="uuid_reserved")
        return value


@extend_schema_serializer(component_name="UpdateOrgTeamBody")
class TeamPatchBody(serializers.Serializer[Any]):
    """Changes of a team. `integration_team_id` is for org_admin keys."""

    name = TextField(required=False, allow_null=True, max_length=NAME_MAXIMUM_CHARACTERS)
    integration_team_id = TextField(
        required=False,
        allow_null=True,
        max_length=INTEGRATION_TEAM_ID_MAXIMUM_CHARACTERS,
        help_text="Null takes it away.",
    )
    sandbox = EnvironmentPatchBody(required=False, allow_null=True)
    production = EnvironmentPatchBody(required=False, allow_null=True)


@extend_schema_serializer(component_name="UpdateOrgBody")
class OrganisationPatchBody(serializers.Serializer[Any]):
    """A new name."""

    name = TextField(max_length=NAME_MAXIMUM_CHARACTERS)


@extend_schema_serializer(component_name="ResolveTeamBody")
class TeamResolveBody(serializers.Serializer[Any]):
    """The team as you call it."""

    integration_team_id = TextField(max_length=INTEGRATION_TEAM_ID_MAXIMUM_CHARACTERS)


@extend_schema_serializer(component_name="CreateAccessTokenBody")
class AccessTokenBody(serializers.Serializer[Any]):
    """The environment to open."""

    env = serializers.ChoiceField(choices=ENVIRONMENTS)


class TeamQuery(serializers.Serializer[Any]):
    """What of a team is wanted."""

    include_environment = RepeatedField(
        child=serializers.ChoiceField(choices=ENVIRONMENTS),
        required=False,
        help_text="Environments whose switches are answered; the others are null.",
    )


class ScopeRequirementQuery(serializers.Serializer[Any]):
    """Whose requirements are wanted."""

    provider = TextField(required=False, max_length=40, help_text="Only this provider.")


@extend_schema_serializer(component_name="UpsertTeamScopeRequirementsBody")
class ScopeRequirementBody(serializers.Serializer[Any]):
    """What people must and may grant at a provider; two empty lists take the requirement away."""

    provider = TextField(max_length=40)
    required = serializers.ListField(child=TextField(max_length=SCOPE_MAXIMUM_CHARACTERS), max_length=SCOPES_MAXIMUM)  # type: ignore[assignment]
    optional = serializers.ListField(child=TextField(max_length=SCOPE_MAXIMUM_CHARACTERS), max_length=SCOPES_MAXIMUM)


@extend_schema_serializer(component_name="ClientFacingOrg")
class OrganisationAnswer(serializers.Serializer[Any]):
    """An organisation."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    expires_at = serializers.DateTimeField(allow_null=True, help_text="Always null: organisations don't expire.")


@extend_schema_serializer(component_name="BrandInformation")
class BrandAnswer(serializers.Serializer[Any]):
    """What a team shows of itself; empty texts where nothing was said."""

    company_name = serializers.CharField(help_text="Empty: hosted pages show the team's name.")
    company_website = serializers.CharField()
    support_email = serializers.CharField()
    support_contact = serializers.CharField()
    company_address = serializers.CharField()
    brand_color = serializers.CharField()


@extend_schema_serializer(component_name="ClientFacingOrgTeamEnvironment")
class EnvironmentAnswer(serializers.Serializer[Any]):
    """Switches of a team in one environment."""

    lab_tests_patient_sms_communication_enabled = serializers.BooleanField()
    lab_tests_patient_email_communication_enabled = serializers.BooleanField()
    critical_result_notification_email = serializers.EmailField(allow_null=True)
    brand_information = BrandAnswer(allow_null=True)
    logo_url = serializers.URLField(allow_null=True)
    reject_duplicate_connection = serializers.BooleanField()
    sdk_per_device_activity_timeseries = serializers.BooleanField()
    partial_webhooks_enabled = serializers.BooleanField()
    minor_ordering_enabled = serializers.BooleanField()
    patient_experience = serializers.BooleanField()


@extend_schema_serializer(component_name="ClientFacingOrgTeam")
class TeamAnswer(serializers.Serializer[Any]):
    """A team."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    created_on = serializers.DateTimeField()
    region = serializers.ChoiceField(choices=Region.choices)
    integration_team_id = serializers.CharField(allow_null=True)
    environments = serializers.ListField(child=serializers.ChoiceField(choices=ENVIRONMENTS))
    sandbox = EnvironmentAnswer(allow_null=True)
    production = EnvironmentAnswer(allow_null=True)


@extend_schema_serializer(component_name="IntegrationTeamIDConflictResponse")
class IntegrationTeamConflict(serializers.Serializer[Any]):
    """Which team has the integration_team_id."""

    team_id = serializers.UUIDField(required=False, help_text="Left out where something else is in the way.")
    detail = serializers.CharField()
    code = serializers.CharField()
    request_id = serializers.CharField()


@extend_schema_serializer(component_name="CreateTeamAccessTokenResponse")
class AccessTokenAnswer(serializers.Serializer[Any]):
    """A token for `Authorization: Bearer …` at the team's API."""

    access_token = serializers.CharField()
    expires_in = WholeNumberField(help_text="Seconds.")


class ScopeRequirementAnswer(serializers.Serializer[Any]):
    """What people must and may grant at a provider."""

    provider = serializers.CharField()
    required = serializers.ListField(child=serializers.CharField())  # type: ignore[assignment]
    optional = serializers.ListField(child=serializers.CharField())


@extend_schema_serializer(component_name="TeamScopeRequirementsResponse")
class ScopeRequirementsAnswer(serializers.Serializer[Any]):
    """Requirements by provider."""

    data = ScopeRequirementAnswer(many=True)  # type: ignore[assignment]


def organisation_json(organisation: Organisation) -> JSONObject:
    """An organisation as it is shown."""
    return {"id": str(organisation.pk), "name": organisation.name, "expires_at": None}


def team_json(team: Team, shown: dict[Environment, TeamSettings]) -> dict[str, Any]:
    """A team as it is shown, with the environments that are in `shown`."""
    environments = {str(item): _environment_json(shown[item]) if item in shown else None for item in Environment}
    return {
        "id": str(team.pk),
        "name": team.name,
        "created_on": team.created_at,
        "region": team.region,
        "integration_team_id": team.integration_team_id,
        "environments": ENVIRONMENTS,
        **environments,
    }


def _environment_json(found: TeamSettings) -> dict[str, Any]:
    brand = {name: getattr(found, name) for name in _BRAND}
    return {
        **{name: getattr(found, name) for name in _SWITCHES},
        "patient_experience": found.patient_experience,
        "critical_result_notification_email": found.critical_result_notification_email or None,
        "brand_information": brand if any(brand.values()) else None,
        "logo_url": found.logo_url or None,
    }


def scope_requirement_json(row: ScopeRequirement) -> dict[str, Any]:
    """A requirement as it is shown."""
    return {"provider": row.provider, "required": row.required_scopes, "optional": row.optional_scopes}
