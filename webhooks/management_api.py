"""The management address: a team's webhooks."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel import clock
from webhooks import selectors, services
from webhooks.log_selectors import endpoint_stats
from webhooks.management_base import ENVIRONMENT_PARAMETER, TeamPathViewSet
from webhooks.serializers import (
    WebhookAnswer,
    WebhookCreateBody,
    WebhookDetailAnswer,
    WebhookHeadersAnswer,
    WebhookHeadersBody,
    WebhookHeadersPatchBody,
    WebhookListAnswer,
    WebhookListQuery,
    WebhookPatchBody,
    WebhookSecretAnswer,
    WebhookSecretRotateBody,
    WebhookTestAnswer,
    WebhookTestBody,
    webhook_detail_json,
    webhook_json,
)

_TAGS = ["Webhooks"]


@extend_schema(parameters=[ENVIRONMENT_PARAMETER])
class WebhookViewSet(TeamPathViewSet):
    """Webhooks of the team and environment that the path names."""

    @extend_schema(
        operation_id="list_webhooks",
        summary="List webhooks",
        parameters=[WebhookListQuery],
        responses=WebhookListAnswer,
        tags=_TAGS,
    )
    def list(self, request: Request) -> Response:
        """The team's webhooks, newest first."""
        query = self.query(WebhookListQuery)
        page = selectors.endpoint_page(self.team, cursor=query.get("next_cursor"), limit=query["limit"])
        cursor = str(page.next_cursor) if page.next_cursor else None
        now = clock.now()
        return Response({"data": [webhook_json(item, now) for item in page.endpoints], "next_cursor": cursor})

    @extend_schema(
        operation_id="create_webhook",
        summary="Create a webhook",
        request=WebhookCreateBody,
        responses={200: WebhookAnswer},
        tags=_TAGS,
    )
    def create(self, request: Request) -> Response:
        """A new webhook; its secret is at `/secret`."""
        made = services.endpoint_create(team=self.team, **self.body(WebhookCreateBody))
        return Response(webhook_json(made, clock.now()))

    @extend_schema(operation_id="get_webhook", summary="Get a webhook", responses=WebhookDetailAnswer, tags=_TAGS)
    def retrieve(self, request: Request, webhook_id: UUID) -> Response:
        """One webhook, and how it fares."""
        endpoint = selectors.endpoint_get(self.team, webhook_id)
        stats = endpoint_stats(self.team, [webhook_id])[webhook_id]
        return Response(webhook_detail_json(endpoint, stats, clock.now()))

    @extend_schema(
        operation_id="patch_webhook",
        summary="Change a webhook",
        request=WebhookPatchBody,
        responses=WebhookAnswer,
        tags=_TAGS,
    )
    def partial_update(self, request: Request, webhook_id: UUID) -> Response:
        """Change the fields named in the body. Disabling cancels what is owed."""
        changes = self.body(WebhookPatchBody)
        changed = services.endpoint_patch(team=self.team, endpoint_id=webhook_id, changes=changes)
        return Response(webhook_json(changed, clock.now()))

    @extend_schema(operation_id="delete_webhook", summary="Delete a webhook", responses={204: None}, tags=_TAGS)
    def destroy(self, request: Request, webhook_id: UUID) -> Response:
        """Delete a webhook; what is owed to it is cancelled."""
        services.endpoint_delete(team=self.team, endpoint_id=webhook_id)
        return Response(status=204)

    @extend_schema(
        operation_id="get_webhook_headers",
        summary="Get a webhook's custom headers",
        responses=WebhookHeadersAnswer,
        tags=_TAGS,
    )
    def headers_get(self, request: Request, webhook_id: UUID) -> Response:
        """Custom headers; values of secret ones are never shown."""
        shown = selectors.headers_shown(selectors.endpoint_get(self.team, webhook_id))
        return Response({"headers": shown.headers, "sensitive": shown.sensitive})

    @extend_schema(
        operation_id="update_webhook_headers",
        summary="Replace a webhook's custom headers",
        request=WebhookHeadersBody,
        responses={204: None},
        tags=_TAGS,
    )
    def headers_put(self, request: Request, webhook_id: UUID) -> Response:
        """Replace all custom headers."""
        services.endpoint_headers_put(team=self.team, endpoint_id=webhook_id, **self.body(WebhookHeadersBody))
        return Response(status=204)

    @extend_schema(
        operation_id="patch_webhook_headers",
        summary="Change some of a webhook's custom headers",
        request=WebhookHeadersPatchBody,
        responses={204: None},
        tags=_TAGS,
    )
    def headers_patch(self, request: Request, webhook_id: UUID) -> Response:
        """Set or remove some custom headers; the others, secret ones too, stay as they are."""
        body = self.body(WebhookHeadersPatchBody)
        services.endpoint_headers_patch(
            team=self.team, endpoint_id=webhook_id, changes=body["headers"], sensitive=body["sensitive"]
        )
        return Response(status=204)

    @extend_schema(
        operation_id="get_webhook_secret",
        summary="Get a webhook's secret",
        responses=WebhookSecretAnswer,
        tags=_TAGS,
    )
    def secret_get(self, request: Request, webhook_id: UUID) -> Response:
        """The secret that signs."""
        return Response({"key": selectors.endpoint_get(self.team, webhook_id).secret})

    @extend_schema(
        operation_id="rotate_webhook_secret",
        summary="Rotate a webhook's secret",
        request=WebhookSecretRotateBody,
        responses={204: None},
        tags=_TAGS,
    )
    def secret_rotate(self, request: Request, webhook_id: UUID) -> Response:
        """A new secret; the one before signs along for 24 hours, or as long as you say."""
        services.endpoint_secret_rotate(team=self.team, endpoint_id=webhook_id, **self.body(WebhookSecretRotateBody))
        return Response(status=204)

    @extend_schema(
        operation_id="test_webhook",
        summary="Send an event now",
        request=WebhookTestBody,
        responses=WebhookTestAnswer,
        tags=_TAGS,
    )
    def test(self, request: Request, webhook_id: UUID) -> Response:
        """Send the test event, or the sample of another one, to this webhook alone, whatever it filters."""
        event_type = self.body(WebhookTestBody)["event_type"]
        event_id = services.event_send_now(team=self.team, endpoint_id=webhook_id, event_type=event_type)
        return Response({"message_id": f"msg_{event_id}", "event_type": event_type})
