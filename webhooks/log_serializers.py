"""Shapes of the log, of figures and of repairs at the management address."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.fields import FlagField, InstantField, TextField, WholeNumberField
from healthsvc.kernel.ids import uuid_parse
from healthsvc.kernel.strict import StrictSerializer
from healthsvc.kernel.typing import JSONObject
from management.constants import JobStatus
from webhooks.constants import (
    CHANNEL_MAXIMUM_CHARACTERS,
    EVENT_TYPE_MAXIMUM_CHARACTERS,
    FILTER_TYPES_MAXIMUM,
    LIST_LIMIT_DEFAULT,
    LIST_LIMIT_MAXIMUM,
    MESSAGE_PREFIX,
    RECOVER_JOB,
    REPLAY_JOB,
    WAITING_COUNT_MAXIMUM,
)
from webhooks.event_schemas import event_schema
from webhooks.log_selectors import (
    AttemptOutcome,
    AttemptShown,
    DeliveryShown,
    Interval,
    MessageOutcome,
    MessageRow,
    MessageShown,
    TallyPoint,
)
from webhooks.registry import EventType
from webhooks.serializers import FilterTypeField, moment_json
from webhooks.services.repairs import RepairShown
from webhooks.states import DeliveryStatus

Serializer = serializers.Serializer[Any]

_SHORT_PAGE_HELP: Final = "null after the last page. A page may be short, or empty, and have a next one."
#: Named, for the document names their enumerations after these lists (settings).
DELIVERY_STATUSES: Final = [str(status) for status in DeliveryStatus]
MESSAGE_OUTCOMES: Final = [str(outcome) for outcome in MessageOutcome]
JOB_STATUSES: Final = [str(status) for status in JobStatus.values]
_KINDS: Final = {RECOVER_JOB: "recover", REPLAY_JOB: "replay_missing"}


class _PageQuery(StrictSerializer):
    next_cursor = serializers.UUIDField(required=False, help_text="The cursor of the page before.")
    limit = WholeNumberField(default=LIST_LIMIT_DEFAULT, min_value=1, max_value=LIST_LIMIT_MAXIMUM)


class _TimesQuery(_PageQuery):
    event_type = FilterTypeField(
        required=False, max_length=EVENT_TYPE_MAXIMUM_CHARACTERS, help_text="An event type, or first words of some."
    )
    after = InstantField(required=False, help_text="From this instant on.")
    before = InstantField(required=False, help_text="Until just before this instant.")


class MessageIdField(TextField):
    """The id of a message as it arrives, or without its `msg_`."""

    default_error_messages = {"message_id_parsing": "Not a message's id."}

    def to_internal_value(self, data: Any) -> Any:
        """The event's id."""
        found = uuid_parse(super().to_internal_value(data).removeprefix(MESSAGE_PREFIX))
        if found is None:
            self.fail("message_id_parsing")
        return found


def _message_id() -> MessageIdField:
    return MessageIdField(required=False, help_text="The `webhook-id` of one message: `msg_…`.")


def _webhook_id() -> serializers.UUIDField:
    return serializers.UUIDField(required=False, help_text="At this webhook, also where it is deleted.")


class MessageListQuery(_TimesQuery):
    """Which messages are wanted; filters combine."""

    message_id = _message_id()
    outcome = serializers.ChoiceField(
        required=False,
        choices=MESSAGE_OUTCOMES,
        help_text="`delivered` to all that it was owed to; `waiting`, `failed` or `cancelled` at one at least; `none`: "
        "owed to no webhook.",
    )
    user_id = serializers.UUIDField(required=False, help_text="Of this user.")
    channel = TextField(required=False, max_length=CHANNEL_MAXIMUM_CHARACTERS, help_text="With this channel.")


class AttemptListQuery(_TimesQuery):
    """Which attempts are wanted; filters combine."""

    outcome = serializers.ChoiceField(required=False, choices=[str(outcome) for outcome in AttemptOutcome])
    status_code = WholeNumberField(required=False, min_value=0, max_value=999)


class WebhookAttemptListQuery(AttemptListQuery):
    """Which attempts at a webhook are wanted; filters combine."""

    message_id = _message_id()


class MessageAttemptListQuery(AttemptListQuery):
    """Which attempts with a message are wanted; filters combine."""

    webhook_id = _webhook_id()


class TeamAttemptListQuery(WebhookAttemptListQuery):
    """Which attempts of the team are wanted; filters combine."""

    webhook_id = _webhook_id()


class EventTypeListQuery(StrictSerializer):
    """Which event types are wanted."""

    next_cursor = TextField(
        required=False, max_length=EVENT_TYPE_MAXIMUM_CHARACTERS, help_text="The cursor of the page before."
    )
    limit = WholeNumberField(default=LIST_LIMIT_DEFAULT, min_value=1, max_value=LIST_LIMIT_MAXIMUM)
    prefix = FilterTypeField(
        required=False, max_length=EVENT_TYPE_MAXIMUM_CHARACTERS, help_text="An event type, or first words of some."
    )


class MetricQuery(StrictSerializer):
    """The width of a step, which decides how far back the figures go: 6 hours, 24 hours, 7 days, 30 days."""

    interval = serializers.ChoiceField(choices=[item.text for item in Interval], default=Interval.HOUR.text)


class RecoverBody(StrictSerializer):
    """The time whose messages are meant: when they happened."""

    since = InstantField()
    until = InstantField(required=False, allow_null=True, default=None, help_text="Now, where it is not given.")
    include_cancelled = FlagField(default=False, help_text="Also what was cancelled when the webhook was disabled.")


class ReplayBody(StrictSerializer):
    """The time whose messages are meant: when they happened."""

    since = InstantField()
    until = InstantField(required=False, allow_null=True, default=None, help_text="Now, where it is not given.")
    event_types = serializers.ListField(
        child=FilterTypeField(max_length=EVENT_TYPE_MAXIMUM_CHARACTERS),
        required=False,
        allow_null=True,
        allow_empty=False,
        default=None,
        max_length=FILTER_TYPES_MAXIMUM,
        help_text="Only these event types, or first words of some; null for all.",
    )


class WebhookEventTypeAnswer(Serializer):
    """An event of the catalogue."""

    name = serializers.CharField()
    meaning = serializers.CharField()
    channels = serializers.ListField(
        child=serializers.CharField(), help_text="Channels its events have besides that of their user."
    )
    sample = serializers.JSONField(help_text="An example of `data`.")
    schema = serializers.DictField(help_text="JSON Schema (2020-12) of `data`.")


class WebhookEventTypeListAnswer(Serializer):
    """A page of the catalogue."""

    data = WebhookEventTypeAnswer(many=True)  # type: ignore[assignment]  # the API names a field so
    next_cursor = serializers.CharField(allow_null=True)


class MessageCountsAnswer(Serializer):
    """At how many webhooks a message stands how."""

    delivered = serializers.IntegerField()
    waiting = serializers.IntegerField()
    failed = serializers.IntegerField()
    cancelled = serializers.IntegerField()


class WebhookMessageAnswer(Serializer):
    """A message, without its payload."""

    id = serializers.CharField(help_text="The `webhook-id` that it is sent with.")
    event_type = serializers.CharField()
    user_id = serializers.UUIDField(allow_null=True)
    channels = serializers.ListField(child=serializers.CharField())
    webhook_id = serializers.UUIDField(allow_null=True, help_text="Set where it was for one webhook only.")
    is_payload_kept = serializers.BooleanField()
    webhooks = MessageCountsAnswer()
    created_at = serializers.DateTimeField()


class WebhookMessageListAnswer(Serializer):
    """A page of messages, newest first."""

    data = WebhookMessageAnswer(many=True)  # type: ignore[assignment]  # the API names a field so
    next_cursor = serializers.CharField(allow_null=True, help_text=_SHORT_PAGE_HELP)


class WebhookDeliveryAnswer(Serializer):
    """A message's way to one webhook."""

    webhook_id = serializers.UUIDField()
    url = serializers.CharField()
    status = serializers.ChoiceField(choices=DELIVERY_STATUSES)
    attempts = serializers.IntegerField()
    next_attempt_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class WebhookMessageDetailAnswer(WebhookMessageAnswer):
    """A message with its payload and its way to each webhook."""

    payload = serializers.DictField(allow_null=True, help_text="The body as it is sent; null once it is gone.")
    deliveries = WebhookDeliveryAnswer(many=True)


class WebhookAttemptAnswer(Serializer):
    """One request to a webhook, and what came of it."""

    id = serializers.UUIDField()
    message_id = serializers.CharField()
    event_type = serializers.CharField()
    webhook_id = serializers.UUIDField()
    number = serializers.IntegerField(help_text="A gap is an attempt whose worker died.")
    outcome = serializers.ChoiceField(choices=[str(outcome) for outcome in AttemptOutcome])
    attempted_at = serializers.DateTimeField()
    duration_milliseconds = serializers.IntegerField()
    status_code = serializers.IntegerField(allow_null=True)
    error = serializers.CharField(allow_null=True, help_text="Why there was no answer.")
    answer_excerpt = serializers.CharField(
        allow_null=True, help_text="The beginning of a failed answer, without what looks personal or secret."
    )
    message_status = serializers.ChoiceField(
        choices=DELIVERY_STATUSES, help_text="Where the message stands at this webhook now."
    )
    next_attempt_at = serializers.DateTimeField(allow_null=True)


class WebhookAttemptListAnswer(Serializer):
    """A page of attempts, newest first."""

    data = WebhookAttemptAnswer(many=True)  # type: ignore[assignment]  # the API names a field so
    next_cursor = serializers.CharField(allow_null=True, help_text=_SHORT_PAGE_HELP)


class WebhookResendAnswer(Serializer):
    """The message that is owed again."""

    message_id = serializers.CharField()
    webhook_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=[str(DeliveryStatus.PENDING)])


class WebhookRepairProgress(Serializer):
    """How much of the time that a repair covers it has looked through."""

    done_seconds = serializers.IntegerField()
    total_seconds = serializers.IntegerField()


class WebhookRepairAnswer(Serializer):
    """Where a recovery or a replay stands."""

    job_id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=list(_KINDS.values()))
    webhook_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=JOB_STATUSES)
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    event_types = serializers.ListField(child=serializers.CharField(), allow_null=True)
    include_cancelled = serializers.BooleanField()
    progress = WebhookRepairProgress()
    messages = serializers.IntegerField(help_text="Messages that it has owed to the webhook so far.")
    waiting = serializers.IntegerField(
        allow_null=True,
        help_text="Messages of a recovery's time that had not failed when it began, and wait for their attempt by "
        f"themselves; counted up to {WAITING_COUNT_MAXIMUM}. null for a replay, and before it has begun.",
    )
    error_code = serializers.CharField(
        allow_null=True, help_text="Why it ended early: `endpoint_disabled`, `endpoint_gone`, `given_up`."
    )
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class PrometheusSeries(Serializer):
    """One line: its labels, and pairs of Unix seconds and a number as text."""

    metric = serializers.DictField(child=serializers.CharField())
    values = serializers.ListField(child=serializers.ListField())


class PrometheusMatrix(Serializer):
    """The result of a range query."""

    resultType = serializers.ChoiceField(choices=["matrix"])  # noqa: N815 - as Prometheus names it
    result = PrometheusSeries(many=True)


@extend_schema_serializer(component_name="PrometheusQueryResponse")
class PrometheusAnswer(Serializer):
    """As the HTTP API of Prometheus answers a range query."""

    status = serializers.ChoiceField(choices=["success"])
    data = PrometheusMatrix()  # type: ignore[assignment]  # Prometheus names a field so


def event_type_json(event_type: EventType) -> JSONObject:
    """What `WebhookEventTypeAnswer` describes."""
    return {
        "name": event_type.name,
        "meaning": event_type.meaning,
        "channels": list(event_type.channels),
        "sample": event_type.sample,
        "schema": event_schema(event_type),
    }


def message_json(message: MessageRow) -> JSONObject:
    """What `WebhookMessageAnswer` describes."""
    counts = message.counts
    return {
        "id": message.message_id,
        "event_type": message.event_type,
        "user_id": _id_json(message.user_id),
        "channels": list(message.channels),
        "webhook_id": _id_json(message.endpoint_id),
        "is_payload_kept": message.is_payload_kept,
        "webhooks": {
            "delivered": counts.delivered,
            "waiting": counts.waiting,
            "failed": counts.failed,
            "cancelled": counts.cancelled,
        },
        "created_at": utc_text(message.created_at),
    }


def message_detail_json(shown: MessageShown) -> JSONObject:
    """What `WebhookMessageDetailAnswer` describes."""
    deliveries = [_delivery_json(delivery) for delivery in shown.deliveries]
    return {**message_json(shown.message), "payload": shown.payload, "deliveries": deliveries}


def attempt_json(attempt: AttemptShown) -> JSONObject:
    """What `WebhookAttemptAnswer` describes."""
    return {
        "id": str(attempt.id),
        "message_id": attempt.message_id,
        "event_type": attempt.event_type,
        "webhook_id": str(attempt.endpoint_id),
        "number": attempt.number,
        "outcome": str(attempt.outcome),
        "attempted_at": utc_text(attempt.attempted_at),
        "duration_milliseconds": attempt.duration_milliseconds,
        "status_code": attempt.status_code,
        "error": attempt.error,
        "answer_excerpt": attempt.answer_excerpt,
        "message_status": str(attempt.delivery_status),
        "next_attempt_at": moment_json(attempt.next_attempt_at),
    }


def repair_json(repair: RepairShown) -> JSONObject:
    """What `WebhookRepairAnswer` describes."""
    return {
        "job_id": str(repair.job_id),
        "kind": _KINDS[repair.kind],
        "webhook_id": str(repair.endpoint_id),
        "status": str(repair.status),
        "since": utc_text(repair.since),
        "until": utc_text(repair.until),
        "event_types": list(repair.event_types) if repair.event_types else None,
        "include_cancelled": repair.include_cancelled,
        "progress": {"done_seconds": repair.done_seconds, "total_seconds": repair.total_seconds},
        "messages": repair.owed,
        "waiting": repair.waiting,
        "error_code": repair.error_code or None,
        "created_at": utc_text(repair.created_at),
        "ended_at": moment_json(repair.ended_at),
    }


def metric_json(name: str, series: Mapping[UUID, list[TallyPoint]]) -> JSONObject:
    """What `PrometheusAnswer` describes: for each webhook and outcome the attempts of each step."""
    result: list[JSONObject] = [
        {
            "metric": {"__name__": name, "webhook_id": str(endpoint_id), "outcome": outcome},
            "values": [[int(point.span_at.timestamp()), str(getattr(point, outcome))] for point in points],
        }
        for endpoint_id, points in sorted(series.items())
        for outcome in ("delivered", "failed", "exhausted")
    ]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}


def _delivery_json(delivery: DeliveryShown) -> JSONObject:
    return {
        "webhook_id": str(delivery.endpoint_id),
        "url": delivery.url,
        "status": str(delivery.status),
        "attempts": delivery.attempts,
        "next_attempt_at": moment_json(delivery.next_attempt_at),
        "created_at": utc_text(delivery.created_at),
        "ended_at": moment_json(delivery.ended_at),
    }


def _id_json(value: UUID | None) -> str | None:
    return str(value) if value else None
