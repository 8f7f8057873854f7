"""Shapes of password and e-mail logins in and out. No message repeats a value: they are people's secrets."""

from typing import Any

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.fields import TextField, UUIDTextField
from links.constants import LinkErrorType
from links.regions import REGIONS
from links.serializers import ProviderField

_USER_HELP = "The user to link; only where a team key is shown without a link token."


@extend_schema_field({"type": "string", "enum": list(REGIONS)})
class RegionField(TextField):
    """A region of the interface's enumeration."""

    default_error_messages = {"enum": "Not a region; the API's document has them."}

    def to_internal_value(self, data: Any) -> str:
        """The region."""
        region = super().to_internal_value(data)
        if region not in REGIONS:
            self.fail("enum")
        return region


@extend_schema_field({"type": "string", "enum": ["password", "oauth", "email"]})
class AuthTypeField(TextField):
    """A kind of login, as older clients name it."""

    default_error_messages = {"enum": "Must be password, oauth or email."}

    def to_internal_value(self, data: Any) -> str:
        """The kind."""
        kind = super().to_internal_value(data)
        if kind not in ("password", "oauth", "email"):
            self.fail("enum")
        return kind


def _region() -> RegionField:
    return RegionField(required=False, allow_null=True, help_text="Where the account is kept; some providers need it.")


def _user_id() -> UUIDTextField:
    return UUIDTextField(required=False, allow_null=True, help_text=_USER_HELP)


@extend_schema_serializer(component_name="IndividualProviderData")
class PasswordLoginBody(serializers.Serializer[Any]):
    """A login with a name and a password."""

    username = TextField(max_length=200, help_text="What the person logs in with at the provider.")
    password = TextField(max_length=200, help_text="Passed to the provider and kept nowhere.")
    region = _region()
    user_id = _user_id()


@extend_schema_serializer(component_name="CompletePasswordProviderMFABody")
class MfaCodeBody(serializers.Serializer[Any]):
    """The code that the provider sent."""

    mfa_code = TextField(max_length=64, trim_whitespace=True)
    user_id = _user_id()


@extend_schema_serializer(component_name="EmailProviderAuthLink")
class EmailLoginBody(serializers.Serializer[Any]):
    """An account known by its e-mail address."""

    email = serializers.EmailField(max_length=200, error_messages={"invalid": "Not an e-mail address."})
    region = _region()
    provider = ProviderField(required=False, allow_null=True, help_text="Deprecated: the path names the provider.")
    user_id = _user_id()


@extend_schema_serializer(component_name="OlderPasswordLoginBody")
class OlderPasswordLoginBody(PasswordLoginBody):
    """A login as older clients send it: the provider in the body."""

    provider = ProviderField()
    auth_type = AuthTypeField()


@extend_schema_serializer(component_name="OlderEmailLoginBody")
class OlderEmailLoginBody(EmailLoginBody):
    """An e-mail login as older clients send it: the provider in the body."""

    provider = ProviderField()
    auth_type = AuthTypeField()


@extend_schema_serializer(component_name="ProviderMFARequest")
class MfaAnswer(serializers.Serializer[Any]):
    """The code that the provider sent."""

    method = serializers.CharField(help_text="sms or email; may grow.")
    hint = serializers.CharField(help_text="Where the code went, in the provider's own words.")


@extend_schema_serializer(component_name="ProviderLinkResponse")
class LinkOutcomeAnswer(serializers.Serializer[Any]):
    """What a login came to. Every field is always there."""

    state = serializers.CharField(help_text="success, error or pending_provider_mfa; may grow.")
    redirect_url = serializers.CharField(allow_null=True, help_text="As given with the link token.")
    error_type = serializers.CharField(
        allow_null=True, help_text=f"Only with state error: {', '.join(LinkErrorType.values)}; may grow."
    )
    error = serializers.CharField(allow_null=True, help_text="For developers; only with state error.")
    provider_mfa = MfaAnswer(allow_null=True)
    provider = serializers.CharField(help_text="Deprecated.")
    connected = serializers.BooleanField(help_text="Deprecated: whether state is success.")
    provider_id = serializers.CharField(allow_null=True, help_text="Deprecated: the account's id at the provider.")
