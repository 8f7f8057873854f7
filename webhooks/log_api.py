"""The management address: a team's log of messages and attempts, its figures, and repairs."""

from typing import Any, Final
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel import clock
from webhooks import log_selectors, selectors, services
from webhooks.filters import names_type
from webhooks.log_selectors import AttemptFilters, AttemptOutcome, Interval, MessageFilters, MessageOutcome
from webhooks.log_serializers import (
    EventTypeListQuery,
    MessageAttemptListQuery,
    MessageListQuery,
    MetricQuery,
    PrometheusAnswer,
    RecoverBody,
    ReplayBody,
    TeamAttemptListQuery,
    WebhookAttemptListAnswer,
    WebhookAttemptListQuery,
    WebhookEventTypeListAnswer,
    WebhookMessageDetailAnswer,
    WebhookMessageListAnswer,
    WebhookRepairAnswer,
    WebhookResendAnswer,
    attempt_json,
    event_type_json,
    message_detail_json,
    message_json,
    metric_json,
    repair_json,
)
from webhooks.management_base import ENVIRONMENT_PARAMETER, MESSAGE_PARAMETER, TeamPathViewSet
from webhooks.registry import event_types
from webhooks.states import DeliveryStatus

_LOG_TAGS: Final = ["Webhook log"]
_REPAIR_TAGS: Final = ["Webhook repairs"]
_METRIC: Final = "webhook_event_deliveries"


@extend_schema(parameters=[ENVIRONMENT_PARAMETER])
class EventTypeViewSet(TeamPathViewSet):
    """The catalogue of events."""

    @extend_schema(
        operation_id="list_webhook_event_types",
        summary="List event types",
        parameters=[EventTypeListQuery],
        responses=WebhookEventTypeListAnswer,
        tags=_LOG_TAGS,
    )
    def list(self, request: Request) -> Response:
        """What can be sent, by name: meaning, sample and schema."""
        query = self.query(EventTypeListQuery)
        cursor, prefix, limit = query.get("next_cursor", ""), query.get("prefix"), query["limit"]
        known = [one for name, one in event_types().items() if name > cursor]
        found = [one for one in known if prefix is None or names_type(prefix, one.name)]
        next_cursor = found[limit - 1].name if len(found) > limit else None
        return Response({"data": [event_type_json(one) for one in found[:limit]], "next_cursor": next_cursor})


@extend_schema(parameters=[ENVIRONMENT_PARAMETER])
class MessageViewSet(TeamPathViewSet):
    """The log of messages."""

    @extend_schema(
        operation_id="list_webhook_messages",
        summary="List messages",
        parameters=[MessageListQuery],
        responses=WebhookMessageListAnswer,
        tags=_LOG_TAGS,
    )
    def list(self, request: Request) -> Response:
        """What happened, newest first, and at how many webhooks it has arrived. Filters combine."""
        query = self.query(MessageListQuery)
        self._name_user(query.get("user_id"))
        cursor, limit = query.pop("next_cursor", None), query.pop("limit")
        outcome = query.pop("outcome", None)
        filters = MessageFilters(outcome=MessageOutcome(outcome) if outcome else None, **query)
        page = log_selectors.message_page(self.team, cursor=cursor, limit=limit, filters=filters)
        self.users_named(message.user_id for message in page.messages if message.user_id is not None)
        return _page([message_json(message) for message in page.messages], page.next_cursor)

    @extend_schema(
        operation_id="get_webhook_message",
        summary="Get a message",
        parameters=[MESSAGE_PARAMETER],
        responses=WebhookMessageDetailAnswer,
        tags=_LOG_TAGS,
    )
    def retrieve(self, request: Request, message_id: UUID) -> Response:
        """A message with its payload, and its way to each webhook. The audit trail says whose data was read."""
        shown = log_selectors.message_get(self.team, message_id)
        self._name_user(shown.message.user_id)
        return Response(message_detail_json(shown))

    @extend_schema(
        operation_id="list_webhook_message_attempts",
        summary="List the attempts of a message",
        parameters=[MESSAGE_PARAMETER, MessageAttemptListQuery],
        responses=WebhookAttemptListAnswer,
        tags=_LOG_TAGS,
    )
    def attempts(self, request: Request, message_id: UUID) -> Response:
        """Every request with a message, newest first."""
        query = self.query(MessageAttemptListQuery)
        selectors.event_require(self.team, message_id)
        return _attempts(self, {**query, "message_id": message_id})

    def _name_user(self, user_id: UUID | None) -> None:
        """Let the audit trail say whose data this is about."""
        if user_id is not None:
            self.kwargs["user_id"] = user_id


@extend_schema(parameters=[ENVIRONMENT_PARAMETER])
class AttemptViewSet(TeamPathViewSet):
    """The log of attempts."""

    @extend_schema(
        operation_id="list_team_webhook_attempts",
        summary="List the attempts at all webhooks",
        parameters=[TeamAttemptListQuery],
        responses=WebhookAttemptListAnswer,
        tags=_LOG_TAGS,
    )
    def list(self, request: Request) -> Response:
        """Every request to the team's webhooks, newest first; to a deleted one where `webhook_id` names it."""
        return _attempts(self, self.query(TeamAttemptListQuery))


@extend_schema(parameters=[ENVIRONMENT_PARAMETER])
class WebhookLogViewSet(TeamPathViewSet):
    """The log of one webhook, and its repairs."""

    @extend_schema(
        operation_id="list_webhook_attempts",
        summary="List the attempts at a webhook",
        parameters=[WebhookAttemptListQuery],
        responses=WebhookAttemptListAnswer,
        tags=_LOG_TAGS,
    )
    def attempts(self, request: Request, webhook_id: UUID) -> Response:
        """Every request to a webhook, newest first; of a deleted one until its log is purged. Filters combine."""
        query = self.query(WebhookAttemptListQuery)
        selectors.endpoint_require_logged(self.team, webhook_id)
        return _attempts(self, {**query, "webhook_id": webhook_id})

    @extend_schema(
        operation_id="resend_webhook_message",
        summary="Send a message again",
        parameters=[MESSAGE_PARAMETER],
        request=None,
        responses={202: WebhookResendAnswer},
        tags=_REPAIR_TAGS,
    )
    def resend(self, request: Request, webhook_id: UUID, message_id: UUID) -> Response:
        """Send a message to a webhook now, under its own id, whatever came of it before and whatever is filtered."""
        user_id = services.delivery_resend(team=self.team, endpoint_id=webhook_id, message_id=message_id)
        if user_id is not None:
            self.kwargs["user_id"] = user_id
        body = {
            "message_id": f"msg_{message_id}",
            "webhook_id": str(webhook_id),
            "status": str(DeliveryStatus.PENDING),
        }
        return Response(body, status=202)

    @extend_schema(
        operation_id="recover_webhook",
        summary="Send again what failed",
        request=RecoverBody,
        responses={202: WebhookRepairAnswer},
        tags=_REPAIR_TAGS,
    )
    def recover(self, request: Request, webhook_id: UUID) -> Response:
        """Send again, now and with all attempts, every message of a time that has failed.

        Those that were given up, and those that wait for their next attempt after one that failed. What waits without
        having failed, for a pause or a rate limit, is left alone and counted in `waiting`.
        """
        job = services.recover_begin(team=self.team, endpoint_id=webhook_id, **self.body(RecoverBody))
        return Response(repair_json(services.repair_get(self.team, job.pk)), status=202)

    @extend_schema(
        operation_id="replay_missing_webhook",
        summary="Send what was never sent",
        request=ReplayBody,
        responses={202: WebhookRepairAnswer},
        tags=_REPAIR_TAGS,
    )
    def replay_missing(self, request: Request, webhook_id: UUID) -> Response:
        """Send every message of a time that the webhook wants and was never sent: it was disabled, or not there."""
        job = services.replay_begin(team=self.team, endpoint_id=webhook_id, **self.body(ReplayBody))
        return Response(repair_json(services.repair_get(self.team, job.pk)), status=202)


@extend_schema(parameters=[ENVIRONMENT_PARAMETER])
class RepairViewSet(TeamPathViewSet):
    """Recoveries and replays."""

    @extend_schema(
        operation_id="get_webhook_repair", summary="Get a repair", responses=WebhookRepairAnswer, tags=_REPAIR_TAGS
    )
    def retrieve(self, request: Request, job_id: UUID) -> Response:
        """How far a recovery or a replay is."""
        return Response(repair_json(services.repair_get(self.team, job_id)))


@extend_schema(parameters=[ENVIRONMENT_PARAMETER])
class DeliveryMetricViewSet(TeamPathViewSet):
    """Figures of deliveries."""

    @extend_schema(
        operation_id="get_team_event_delivery_metric",
        summary="Get delivery figures",
        parameters=[MetricQuery],
        responses=PrometheusAnswer,
        tags=_LOG_TAGS,
    )
    def retrieve(self, request: Request) -> Response:
        """Attempts by webhook, outcome and step, as Prometheus answers a range query. A step begins at its time."""
        interval = Interval.of(self.query(MetricQuery)["interval"])
        series = log_selectors.tally_series_by_endpoint(self.team, interval=interval, until=clock.now())
        return Response(metric_json(_METRIC, series))


def _attempts(view: TeamPathViewSet, query: dict[str, Any]) -> Response:
    cursor, limit = query.pop("next_cursor", None), query.pop("limit")
    endpoint_id, message_id = query.pop("webhook_id", None), query.pop("message_id", None)
    outcome = query.pop("outcome", None)
    filters = AttemptFilters(outcome=AttemptOutcome(outcome) if outcome else None, **query)
    page = log_selectors.attempt_page(
        view.team, endpoint_id=endpoint_id, message_id=message_id, cursor=cursor, limit=limit, filters=filters
    )
    return _page([attempt_json(attempt) for attempt in page.attempts], page.next_cursor)


def _page(rows: list[Any], next_cursor: UUID | None) -> Response:
    return Response({"data": rows, "next_cursor": str(next_cursor) if next_cursor else None})
