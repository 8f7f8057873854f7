"""The management address: a team's webhooks."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.errors import Problem, invalid, not_found
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.scope import team_scope
from management.selectors import teams_visible
from webhooks import selectors, services
from webhooks.events import WEBHOOK_TEST
from webhooks.serializers import (
    WebhookAnswer,
    WebhookCreateBody,
    WebhookHeadersAnswer,
    WebhookHeadersBody,
    WebhookListAnswer,
    WebhookListQuery,
    WebhookPatchBody,
    WebhookSecretAnswer,
    WebhookSecretRotateBody,
    WebhookTestAnswer,
    webhook_json,
)

_ENVIRONMENT = OpenApiParameter(
    "environment", OpenApiTypes.STR, OpenApiParameter.PATH, enum=[str(item) for item in Environment]
)
_TAGS = ["Webhooks"]


@extend_schema(parameters=[_ENVIRONMENT])
class WebhookViewSet(ServiceViewSet):
    """Webhooks of the team and environment that the path names, for management keys that may see the team."""

    access = Access.MANAGEMENT

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Let the management key act for the team in the path: its rows, its kept replies, its audit trail."""
        super().initial(request, *args, **kwargs)
        org_id, team_id = self.kwargs.pop("org_id"), self.kwargs.pop("team_id")
        environment = self.kwargs.pop("environment")
        if environment not in [str(item) for item in Environment]:
            raise invalid([Problem(("path", "environment"), "Must be sandbox or production.", "enum")])
        if not teams_visible(self.principal, org_id).filter(pk=team_id).exists():
            raise not_found()
        team = TeamContext(team_id, Environment(environment))
        request.user = replace(self.principal, team=team)  # type: ignore[assignment]  # ours are principals
        self._scopes.enter_context(team_scope(team))

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
        return Response({"data": [webhook_json(item) for item in page.endpoints], "next_cursor": cursor})

    @extend_schema(
        operation_id="create_webhook",
        summary="Create a webhook",
        request=WebhookCreateBody,
        responses={200: WebhookAnswer},
        tags=_TAGS,
    )
    def create(self, request: Request) -> Response:
        """A new webhook; its secret is at `/secret`."""
        return Response(webhook_json(services.endpoint_create(team=self.team, **self.body(WebhookCreateBody))))

    @extend_schema(operation_id="get_webhook", summary="Get a webhook", responses=WebhookAnswer, tags=_TAGS)
    def retrieve(self, request: Request, webhook_id: UUID) -> Response:
        """One webhook."""
        return Response(webhook_json(selectors.endpoint_get(self.team, webhook_id)))

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
        return Response(webhook_json(services.endpoint_patch(team=self.team, endpoint_id=webhook_id, changes=changes)))

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
        headers = self.body(WebhookHeadersBody)["headers"]
        services.endpoint_headers_put(team=self.team, endpoint_id=webhook_id, headers=headers)
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
        """A new secret; for 24 hours both sign."""
        key = self.body(WebhookSecretRotateBody)["key"]
        services.endpoint_secret_rotate(team=self.team, endpoint_id=webhook_id, key=key)
        return Response(status=204)

    @extend_schema(
        operation_id="test_webhook",
        summary="Send a test event",
        request=None,
        responses=WebhookTestAnswer,
        tags=_TAGS,
    )
    def test(self, request: Request, webhook_id: UUID) -> Response:
        """Send the test event to this webhook alone, whatever it filters."""
        event_id = services.endpoint_test(team=self.team, endpoint_id=webhook_id)
        return Response({"message_id": f"msg_{event_id}", "event_type": WEBHOOK_TEST})
