"""Shapes of the operations on a link token that a custom widget calls, in and out."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.fields import TextField
from links.catalogue_serializers import SourceLinkAnswer
from links.serializers import ProviderField
from links.session_serializers import StandingAnswer
from links.states import TokenStatus

#: Longer than any token there is.
_TOKEN_MAXIMUM_CHARACTERS: Final = 200
_TOKEN_STATES: Final = [state.value for state in TokenStatus]


class TokenBody(serializers.Serializer[Any]):
    """A link token to be looked at."""

    token = TextField(max_length=_TOKEN_MAXIMUM_CHARACTERS)


class TokenValidAnswer(serializers.Serializer[Any]):
    """Whether a login can begin with a token; from then on it counts as validated."""

    valid = serializers.BooleanField()
    error_type = serializers.CharField(allow_null=True, help_text="Why not: a link error type.")
    expires_at = serializers.DateTimeField(allow_null=True, help_text="null for a token that we never made.")


@extend_schema_serializer(component_name="LinkTokenState")
class TokenStateAnswer(StandingAnswer):
    """What a link token is for, and where it is in its life."""

    state = serializers.ChoiceField(_TOKEN_STATES)
    error_type = serializers.CharField(
        allow_null=True, help_text="Why no login can begin with it now, a link error type; null where one can."
    )
    expires_at = serializers.DateTimeField()
    provider = serializers.CharField(allow_null=True)
    redirect_url = serializers.CharField(allow_null=True)
    filter_on_providers = serializers.ListField(child=serializers.CharField(), allow_null=True)
    on_error = serializers.CharField(allow_null=True)
    on_close = serializers.CharField(allow_null=True)


class LinkStartBody(serializers.Serializer[Any]):
    """Which provider the person chose."""

    link_token = TextField(max_length=_TOKEN_MAXIMUM_CHARACTERS)
    provider = ProviderField()


@extend_schema_serializer(component_name="LinkStart")
class LinkStartAnswer(SourceLinkAnswer):
    """The next step of a login: an address to send the person to, or a form and where to post it."""

    next_path = serializers.CharField(
        allow_null=True, help_text="Where to post the form, with the link token in its header; null where oauth_url is."
    )
