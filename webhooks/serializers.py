"""Shapes of webhooks at the management address."""

from datetime import datetime
from typing import Any, Final

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.fields import FlagField, TextField, WholeNumberField
from healthsvc.kernel.strict import StrictSerializer
from healthsvc.kernel.typing import JSONObject
from webhooks.constants import (
    CHANNEL_MAXIMUM_CHARACTERS,
    CHANNEL_PATTERN,
    CHANNELS_MAXIMUM,
    DESCRIPTION_MAXIMUM_CHARACTERS,
    EVENT_TYPE_MAXIMUM_CHARACTERS,
    FILTER_TYPE_PATTERN,
    FILTER_TYPES_MAXIMUM,
    HEADER_NAME_MAXIMUM_CHARACTERS,
    HEADERS_MAXIMUM,
    LIST_LIMIT_DEFAULT,
    LIST_LIMIT_MAXIMUM,
    RATE_LIMIT_MAXIMUM,
    ROTATION_OVERLAP_MAXIMUM_SECONDS,
    ROTATION_OVERLAP_SECONDS,
    URL_MAXIMUM_CHARACTERS,
    WAITING_COUNT_MAXIMUM,
)
from webhooks.events import WEBHOOK_TEST
from webhooks.log_selectors import EndpointStats, EndpointStatus, endpoint_status
from webhooks.models import Endpoint, EndpointHealth


class ChannelField(TextField):
    """A channel, as `user.<id>` or `provider.<slug>`."""

    default_error_messages = {"channel": "Must be letters, digits, dots, colons, hyphens or underscores."}

    def to_internal_value(self, data: Any) -> str:
        """The text."""
        text = super().to_internal_value(data)
        if not CHANNEL_PATTERN.fullmatch(text):
            self.fail("channel")
        return text


#: Named, for the document names the enumeration after this list (settings).
ENDPOINT_STATUSES: Final = [str(status) for status in EndpointStatus]


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
        allow_empty=False,
        max_length=FILTER_TYPES_MAXIMUM,
        help_text="Event types, or first words of some (`daily.data`); null for all.",
    )


def _channels() -> serializers.ListField:
    return serializers.ListField(
        child=ChannelField(max_length=CHANNEL_MAXIMUM_CHARACTERS),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=CHANNELS_MAXIMUM,
        help_text="Only events of one of these channels, as `user.<id>`, `provider.<slug>`; null for all.",
    )


def _rate_limit() -> WholeNumberField:
    return WholeNumberField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=RATE_LIMIT_MAXIMUM,
        help_text="Messages a second at most.",
    )


def _sensitive() -> serializers.ListField:
    return serializers.ListField(
        child=TextField(max_length=HEADER_NAME_MAXIMUM_CHARACTERS),
        default=list,
        max_length=HEADERS_MAXIMUM,
        help_text="Names of headers whose values are never shown again; those that sound secret never are.",
    )


class WebhookListQuery(StrictSerializer):
    """The page wanted."""

    next_cursor = serializers.UUIDField(required=False, help_text="The cursor of the page before.")
    limit = WholeNumberField(
        default=LIST_LIMIT_DEFAULT, min_value=1, max_value=LIST_LIMIT_MAXIMUM, help_text="Webhooks a page."
    )


@extend_schema_serializer(component_name="CreateWebhookBody")
class WebhookCreateBody(StrictSerializer):
    """A new webhook."""

    url = TextField(max_length=URL_MAXIMUM_CHARACTERS, help_text="Where events are sent: https, a public host.")
    description = TextField(required=False, default="", allow_blank=True, max_length=DESCRIPTION_MAXIMUM_CHARACTERS)
    rate_limit = _rate_limit()
    disabled = FlagField(required=False, default=False)
    filter_types = _filter_types()
    channels = _channels()
    secret = TextField(required=False, allow_null=True, help_text="`whsec_` and base64; made where none is given.")


@extend_schema_serializer(component_name="PatchWebhookBody")
class WebhookPatchBody(StrictSerializer):
    """Fields to change."""

    url = TextField(required=False, allow_null=True, max_length=URL_MAXIMUM_CHARACTERS)
    description = TextField(
        required=False, allow_null=True, allow_blank=True, max_length=DESCRIPTION_MAXIMUM_CHARACTERS
    )
    rate_limit = _rate_limit()
    disabled = FlagField(required=False, allow_null=True, default=None)
    filter_types = _filter_types()
    channels = _channels()


@extend_schema_serializer(component_name="UpdateWebhookHeadersBody")
class WebhookHeadersBody(StrictSerializer):
    """All custom headers; those before are replaced."""

    headers = serializers.DictField(child=TextField())
    sensitive = _sensitive()


@extend_schema_serializer(component_name="PatchWebhookHeadersBody")
class WebhookHeadersPatchBody(StrictSerializer):
    """Some custom headers; null removes one, and those that are not named stay."""

    headers = serializers.DictField(child=TextField(allow_null=True), default=dict)
    sensitive = _sensitive()


@extend_schema_serializer(component_name="RotateWebhookSecretBody")
class WebhookSecretRotateBody(StrictSerializer):
    """The new secret, if it is to be a certain one."""

    key = TextField(required=False, allow_null=True, default=None, help_text="`whsec_` and base64.")
    overlap_seconds = WholeNumberField(
        default=ROTATION_OVERLAP_SECONDS,
        min_value=0,
        max_value=ROTATION_OVERLAP_MAXIMUM_SECONDS,
        help_text="How long the secrets before sign along; 0: they stop at once.",
    )


class WebhookTestBody(StrictSerializer):
    """The event whose sample is sent."""

    event_type = TextField(default=WEBHOOK_TEST, max_length=EVENT_TYPE_MAXIMUM_CHARACTERS)


@extend_schema_serializer(component_name="Webhook")
class WebhookAnswer(serializers.Serializer[Any]):
    """An endpoint. Its secret and headers have addresses of their own."""

    id = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    rate_limit = serializers.IntegerField(allow_null=True)
    url = serializers.CharField()
    disabled = serializers.BooleanField()
    filter_types = serializers.ListField(child=serializers.CharField(), allow_null=True)
    channels = serializers.ListField(child=serializers.CharField(), allow_null=True)
    status = serializers.ChoiceField(
        choices=ENDPOINT_STATUSES,
        help_text="The first that is so: `disabled`; `failing`: every attempt fails, and it will be disabled; "
        "`paused`: it asked to be left alone; `struggling`: it lets requests hang, so few are made at once.",
    )
    disabled_reason = serializers.CharField(
        allow_null=True, help_text="`gone`: it answered 410; `failing`: it failed for days; null where you did it."
    )
    disabled_at = serializers.DateTimeField(allow_null=True, help_text="When it was disabled for its failures.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class WebhookStatsAnswer(serializers.Serializer[Any]):
    """Attempts of the last 24 hours, and what is owed now."""

    delivered = serializers.IntegerField()
    failed = serializers.IntegerField()
    exhausted = serializers.IntegerField(help_text="Messages that were given up.")
    waiting = serializers.IntegerField(help_text=f"Messages that are owed now; counted up to {WAITING_COUNT_MAXIMUM}.")


@extend_schema_serializer(component_name="WebhookDetail")
class WebhookDetailAnswer(WebhookAnswer):
    """An endpoint and how it fares."""

    last_24_hours = WebhookStatsAnswer()
    failing_since = serializers.DateTimeField(allow_null=True)
    paused_until = serializers.DateTimeField(allow_null=True)


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


def webhook_json(endpoint: Endpoint, now: datetime) -> JSONObject:
    """What `WebhookAnswer` describes; its health is read where it was not read with it."""
    return _webhook_json(endpoint, getattr(endpoint, "health", None), now)


def _webhook_json(endpoint: Endpoint, health: EndpointHealth | None, now: datetime) -> JSONObject:
    return {
        "id": str(endpoint.id),
        "description": endpoint.description,
        "rate_limit": endpoint.rate_limit,
        "url": endpoint.url,
        "disabled": endpoint.disabled,
        "filter_types": endpoint.filter_types,
        "channels": endpoint.channels,
        "status": str(endpoint_status(endpoint, health, now)),
        "disabled_reason": endpoint.disabled_reason or None,
        "disabled_at": moment_json(endpoint.disabled_at),
        "created_at": utc_text(endpoint.created_at),
        "updated_at": utc_text(endpoint.updated_at),
    }


def webhook_detail_json(endpoint: Endpoint, stats: EndpointStats, now: datetime) -> JSONObject:
    """What `WebhookDetailAnswer` describes."""
    health = stats.health
    return {
        **_webhook_json(endpoint, health, now),
        "last_24_hours": {
            "delivered": stats.delivered,
            "failed": stats.failed,
            "exhausted": stats.exhausted,
            "waiting": stats.waiting,
        },
        "failing_since": moment_json(health.failing_since if health else None),
        "paused_until": moment_json(health.paused_until if health else None),
    }


def moment_json(moment: datetime | None) -> str | None:
    """An instant, or null."""
    return utc_text(moment) if moment else None
