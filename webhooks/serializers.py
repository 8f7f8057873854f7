"""Shapes of webhooks at the management address."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.fields import TextField, WholeNumberField
from healthsvc.kernel.typing import JSONObject
from webhooks.constants import (
    DESCRIPTION_MAXIMUM_CHARACTERS,
    EVENT_TYPE_MAXIMUM_CHARACTERS,
    FILTER_TYPE_PATTERN,
    FILTER_TYPES_MAXIMUM,
    LIST_LIMIT_DEFAULT,
    LIST_LIMIT_MAXIMUM,
    RATE_LIMIT_MAXIMUM,
    URL_MAXIMUM_CHARACTERS,
)
from webhooks.models import Endpoint


class FilterTypeField(TextField):
    """An event type, or the beginning of some."""

    default_error_messages = {"filter_type": "Must be an event type or its first words, as daily.data."}

    def to_internal_value(self, data: Any) -> str:
        """The text."""
        text = super().to_internal_value(data)
        if not FILTER_TYPE_PATTERN.fullmatch(text):
            self.fail("filter_type")
        return text


def _filter_types() -> serializers.ListField:
    return serializers.ListField(
        child=FilterTypeField(max_length=EVENT_TYPE_MAXIMUM_CHARACTERS),
        required=False,
        allow_null=True,
        max_length=FILTER_TYPES_MAXIMUM,
        help_text="Event types, or first words of some (`daily.data`); null or empty for all.",
    )


def _rate_limit() -> WholeNumberField:
    return WholeNumberField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=RATE_LIMIT_MAXIMUM,
        help_text="Messages a second at most.",
    )


class WebhookListQuery(serializers.Serializer[Any]):
    """The page wanted."""

    next_cursor = serializers.UUIDField(required=False, help_text="The cursor of the page before.")
    limit = WholeNumberField(
        default=LIST_LIMIT_DEFAULT, min_value=1, max_value=LIST_LIMIT_MAXIMUM, help_text="Webhooks a page."
    )


@extend_schema_serializer(component_name="CreateWebhookBody")
class WebhookCreateBody(serializers.Serializer[Any]):
    """A new webhook."""

    url = TextField(max_length=URL_MAXIMUM_CHARACTERS, help_text="Where events are sent: https, a public host.")
    description = TextField(required=False, default="", allow_blank=True, max_length=DESCRIPTION_MAXIMUM_CHARACTERS)
    rate_limit = _rate_limit()
    disabled = serializers.BooleanField(required=False, default=False)
    filter_types = _filter_types()
    secret = TextField(required=False, allow_null=True, help_text="`whsec_` and base64; made where none is given.")


@extend_schema_serializer(component_name="PatchWebhookBody")
class WebhookPatchBody(serializers.Serializer[Any]):
    """Fields to change."""

    url = TextField(required=False, allow_null=True, max_length=URL_MAXIMUM_CHARACTERS)
    description = TextField(
        required=False, allow_null=True, allow_blank=True, max_length=DESCRIPTION_MAXIMUM_CHARACTERS
    )
    rate_limit = _rate_limit()
    disabled = serializers.BooleanField(required=False, allow_null=True, default=None)
    filter_types = _filter_types()


@extend_schema_serializer(component_name="UpdateWebhookHeadersBody")
class WebhookHeadersBody(serializers.Serializer[Any]):
    """All custom headers; those before are replaced."""

    headers = serializers.DictField(child=TextField(trim_whitespace=False))


@extend_schema_serializer(component_name="RotateWebhookSecretBody")
class WebhookSecretRotateBody(serializers.Serializer[Any]):
    """The new secret, if it is to be a certain one."""

    key = TextField(required=False, allow_null=True, default=None, help_text="`whsec_` and base64.")


@extend_schema_serializer(component_name="Webhook")
class WebhookAnswer(serializers.Serializer[Any]):
    """An endpoint. Its secret and headers have addresses of their own."""

    id = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    rate_limit = serializers.IntegerField(allow_null=True)
    url = serializers.CharField()
    disabled = serializers.BooleanField()
    filter_types = serializers.ListField(child=serializers.CharField(), allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


@extend_schema_serializer(component_name="WebhookListResponse")
class WebhookListAnswer(serializers.Serializer[Any]):
    """A page of webhooks."""

    data = WebhookAnswer(many=True)  # type: ignore[assignment]  # the API names a field so
    next_cursor = serializers.CharField(allow_null=True)


@extend_schema_serializer(component_name="WebhookSecretResponse")
class WebhookSecretAnswer(serializers.Serializer[Any]):
    """The secret that signs."""

    key = serializers.CharField()


@extend_schema_serializer(component_name="WebhookHeadersResponse")
class WebhookHeadersAnswer(serializers.Serializer[Any]):
    """Custom headers; of those that are secrets by their name, the names."""

    headers = serializers.DictField(child=serializers.CharField())
    sensitive = serializers.ListField(child=serializers.CharField())


class WebhookTestAnswer(serializers.Serializer[Any]):
    """The test event that is on its way."""

    message_id = serializers.CharField()
    event_type = serializers.CharField()


def webhook_json(endpoint: Endpoint) -> JSONObject:
    """What `WebhookAnswer` describes."""
    return {
        "id": str(endpoint.id),
        "description": endpoint.description,
        "rate_limit": endpoint.rate_limit,
        "url": endpoint.url,
        "disabled": endpoint.disabled,
        "filter_types": endpoint.filter_types,
        "created_at": utc_text(endpoint.created_at),
        "updated_at": utc_text(endpoint.updated_at),
    }
