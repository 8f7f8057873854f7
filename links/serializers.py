"""Shapes of the links app in and out."""

from math import isfinite
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from aggregation.serializers.sources import text_field
from healthsvc.kernel.fields import TextField, UUIDTextField
from links.catalogue import catalogue
from links.constants import REDIRECT_URL_MAXIMUM_CHARACTERS, REFRESH_TIMEOUT_SECONDS, ConnectionErrorType

_TIMEOUT_MINIMUM, _TIMEOUT_DEFAULT, _TIMEOUT_MAXIMUM = REFRESH_TIMEOUT_SECONDS


class ProviderField(TextField):
    """A provider slug."""

    default_error_messages = {"enum": "Not a provider slug."}

    def to_internal_value(self, data: Any) -> str:
        """The slug."""
        slug = super().to_internal_value(data)
        if slug not in catalogue():
            self.fail("enum")
        return slug


class RedirectConstField(TextField):
    """The one word that `on_error` and `on_close` take."""

    default_error_messages = {"enum": "Only redirect is allowed."}

    def to_internal_value(self, data: Any) -> str:
        """The word."""
        if super().to_internal_value(data) != "redirect":
            self.fail("enum")
        return "redirect"


class LinkTokenBody(serializers.Serializer[Any]):
    """A link token to be made."""

    user_id = UUIDTextField(help_text="The id returned when the user was created.")
    provider = ProviderField(required=False, allow_null=True, help_text="Go straight to this provider.")
    redirect_url = TextField(
        required=False,
        allow_null=True,
        max_length=REDIRECT_URL_MAXIMUM_CHARACTERS,
        help_text="Where the person goes afterwards: https, http to localhost, or an app's own scheme with a dot in it,"
        " such as com.example.app; a team's allowlist may name others. state, error and error_type may not be in it.",
    )
    filter_on_providers = serializers.ListField(
        child=ProviderField(),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=100,
        help_text="What the hosted page lists; everything where it is left out.",
    )
    on_error = RedirectConstField(
        required=False,
        allow_null=True,
        help_text="`redirect`, or left out. Failures of an OAuth login always redirect; with this, those of the hosted"
        " password and e-mail forms do too.",
    )
    on_close = RedirectConstField(required=False, allow_null=True, help_text="`redirect`, or left out.")


@extend_schema_serializer(component_name="LinkTokenExchangeResponse")
class LinkTokenAnswer(serializers.Serializer[Any]):
    """A link token, and the hosted page it opens."""

    link_token = serializers.CharField()
    link_web_url = serializers.CharField()


class ScopesAnswer(serializers.Serializer[Any]):
    """Scopes that a resource requires, and those that make it better."""

    required = serializers.ListField(child=serializers.CharField())  # type: ignore[assignment]  # the API names it so
    optional = serializers.ListField(child=serializers.CharField())


class ScopeRequirementsAnswer(serializers.Serializer[Any]):
    """What the person granted and denied."""

    user_granted = ScopesAnswer()
    user_denied = ScopesAnswer()


@extend_schema_serializer(component_name="ResourceAvailability")
class AvailabilityAnswer(serializers.Serializer[Any]):
    """Whether a resource can be had."""

    status = serializers.ChoiceField(["available", "unavailable"])
    scope_requirements = ScopeRequirementsAnswer()


@extend_schema_serializer(component_name="ClientFacingConnectionErrorDetails")
class ErrorDetailsAnswer(serializers.Serializer[Any]):
    """Why a connection is broken."""

    error_type = serializers.CharField()
    error_message = serializers.CharField()
    errored_at = serializers.DateTimeField()


@extend_schema_serializer(component_name="ClientFacingProviderWithStatus")
class ConnectionAnswer(serializers.Serializer[Any]):
    """A connected provider."""

    name = serializers.CharField()
    slug = serializers.CharField()
    logo = serializers.CharField()
    created_on = serializers.DateTimeField()
    status = serializers.CharField(help_text="connected, paused or error")
    external_user_id = serializers.CharField(allow_null=True)
    error_details = ErrorDetailsAnswer(allow_null=True)
    resource_availability = serializers.DictField(child=AvailabilityAnswer())


class ConnectionsAnswer(serializers.Serializer[Any]):
    """A user's connected providers."""

    providers = ConnectionAnswer(many=True)


class SecondsField(serializers.FloatField):
    """A number of seconds; `nan`, which every comparison lets through, is none."""

    def to_internal_value(self, data: Any) -> float:
        """The number."""
        number = super().to_internal_value(data)
        if not isfinite(number):
            self.fail("invalid")
        return number


class RefreshQuery(serializers.Serializer[Any]):
    """How long to wait."""

    timeout = SecondsField(
        default=float(_TIMEOUT_DEFAULT),
        min_value=_TIMEOUT_MINIMUM,
        max_value=_TIMEOUT_MAXIMUM,
        help_text="Seconds to wait for the data.",
    )


@extend_schema_serializer(component_name="UserRefreshSuccessResponse")
class RefreshAnswer(serializers.Serializer[Any]):
    """Provider slugs by what became of their refresh."""

    success = serializers.BooleanField()
    user_id = serializers.UUIDField()
    refreshed_sources = serializers.ListField(child=serializers.CharField())
    in_progress_sources = serializers.ListField(child=serializers.CharField())
    failed_sources = serializers.ListField(child=serializers.CharField())


@extend_schema_serializer(component_name="UserRefreshErrorResponse")
class RefreshErrorAnswer(serializers.Serializer[Any]):
    """There was nothing to refresh from. The fields of every error are there too."""

    success = serializers.BooleanField()
    user_id = serializers.UUIDField()
    error = serializers.CharField()
    failed_sources = serializers.ListField(child=serializers.CharField())
    detail = serializers.CharField()
    code = serializers.CharField()
    request_id = serializers.CharField()


class ConnectedProvider(serializers.Serializer[Any]):
    """A provider as events name it."""

    name = serializers.CharField()
    slug = serializers.CharField()
    logo = serializers.CharField(help_text="Address of its logo.")


class ConnectionCreatedEvent(serializers.Serializer[Any]):
    """A person's new connection."""

    user_id = serializers.UUIDField()
    provider = ConnectedProvider()
    source = ConnectedProvider(help_text="Deprecated: the same as `provider`.")  # type: ignore[assignment]  # its name
    external_user_id = serializers.CharField(allow_null=True, help_text="What the provider calls the person.")
    resource_availability = serializers.DictField(child=AvailabilityAnswer(), help_text="By resource.")


class ConnectionErrorEvent(serializers.Serializer[Any]):
    """A person's connection that broke."""

    user_id = serializers.UUIDField()
    provider = serializers.CharField(help_text="The provider's slug.")
    error_type = text_field(ConnectionErrorType.values, allow_null=False, meaning="Why.")
    message = serializers.CharField(help_text="What is wrong and what to do, for people.")
    error_details = ErrorDetailsAnswer()
