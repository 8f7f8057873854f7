"""Shapes of link codes, sign-in tokens and device sessions in and out."""

from datetime import UTC
from typing import Any, Final

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.fields import TextField, UUIDTextField, WholeNumberField

#: Longer than any token there is.
_SECRET_MAXIMUM_CHARACTERS: Final = 200
_GRANT_TYPE_MAXIMUM_CHARACTERS: Final = 40
_PAGE_SIZE_DEFAULT: Final = 50
_PAGE_SIZE_MAXIMUM: Final = 100


class LinkCodeQuery(serializers.Serializer[Any]):
    """Whom a code is for, and how long it is good."""

    user_id = UUIDTextField()
    expires_at = serializers.DateTimeField(
        required=False,
        allow_null=True,
        default_timezone=UTC,
        help_text="When the code ends; an hour from now where it is left out, seven days at most.",
    )


@extend_schema_serializer(component_name="LinkCodeResponse")
class LinkCodeAnswer(serializers.Serializer[Any]):
    """A link code, shown this once."""

    code = serializers.RegexField(r"^(sk|pk)(eu|us)([0-9a-f]{8})$")
    exchange_url = serializers.CharField(help_text="Opens the customer's app, which finds the code in `code`.")
    expires_at = serializers.DateTimeField()


class LinkCodeExchangeBody(serializers.Serializer[Any]):
    """A code to be traded. In the body rather than in the query, for addresses end up in the logs of proxies."""

    code = TextField(required=False, max_length=_SECRET_MAXIMUM_CHARACTERS)
    grant_type = TextField(
        required=False,
        max_length=_GRANT_TYPE_MAXIMUM_CHARACTERS,
        help_text="`sign_in_token`, which is also meant where it is left out.",
    )


class TeamShown(serializers.Serializer[Any]):
    """A team as people see it."""

    name = serializers.CharField()
    logo_url = serializers.CharField(allow_null=True)


class StandingAnswer(serializers.Serializer[Any]):
    """Whose user somebody is, and in which of the two worlds."""

    user_id = serializers.UUIDField()
    team = TeamShown()
    environment = serializers.ChoiceField(["sandbox", "production"])
    region = serializers.CharField()


class LinkCodeExchangeAnswer(StandingAnswer):
    """What a code was traded for."""

    sign_in_token = serializers.CharField()


@extend_schema_serializer(component_name="UserSignInTokenResponse")
class SignInTokenAnswer(serializers.Serializer[Any]):
    """A sign-in token, shown this once."""

    user_id = serializers.UUIDField()
    sign_in_token = serializers.CharField()


class SessionExchangeBody(serializers.Serializer[Any]):
    """A sign-in token to be traded for a session."""

    sign_in_token = TextField(max_length=_SECRET_MAXIMUM_CHARACTERS)


class RefreshTokenBody(serializers.Serializer[Any]):
    """The session's last refresh token."""

    refresh_token = TextField(max_length=_SECRET_MAXIMUM_CHARACTERS)


class SessionTokensAnswer(StandingAnswer):
    """A session's new pair of tokens, shown this once."""

    access_token = serializers.CharField()
    refresh_token = serializers.CharField()
    token_type = serializers.CharField(help_text="Bearer")
    expires_in = serializers.IntegerField(help_text="Seconds that the access token is good for.")
    refresh_expires_in = serializers.IntegerField(help_text="Seconds that the refresh token is good for.")
    session_id = serializers.UUIDField()


class SessionAnswer(StandingAnswer):
    """The session that a device is in."""

    session_id = serializers.UUIDField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(help_text="When it ends, unless it is refreshed before.")
    sdk_per_device_activity_timeseries = serializers.BooleanField(
        help_text="Whether the app is to send activity series of each of the person's devices, not of the person alone."
    )


class SessionsQuery(serializers.Serializer[Any]):
    """Which page."""

    next_cursor = UUIDTextField(required=False, help_text="`next_cursor` of the page before.")
    page_size = WholeNumberField(default=_PAGE_SIZE_DEFAULT, min_value=1, max_value=_PAGE_SIZE_MAXIMUM)


class SessionShown(serializers.Serializer[Any]):
    """A device that is signed in."""

    session_id = serializers.UUIDField()
    created_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(help_text="To the hour.")


class SessionsAnswer(serializers.Serializer[Any]):
    """Devices that are signed in, the newest first."""

    sessions = SessionShown(many=True)
    next_cursor = serializers.UUIDField(allow_null=True)


class SuccessAnswer(serializers.Serializer[Any]):
    """It is done."""

    success = serializers.BooleanField()


class SessionsEndedAnswer(SuccessAnswer):
    """It is done; how many sessions it ended."""

    sessions_ended = serializers.IntegerField()
