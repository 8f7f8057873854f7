"""Routes of this app at the management address."""

from healthsvc.kernel.routing import route
from webhooks.log_api import (
    AttemptViewSet,
    DeliveryMetricViewSet,
    EventTypeViewSet,
    MessageViewSet,
    RepairViewSet,
    WebhookLogViewSet,
)
from webhooks.management_api import WebhookViewSet

_TEAM = "v1/org/<org_id>/team/<team_id>/<environment>"
_WEBHOOKS = f"{_TEAM}/webhook"
_WEBHOOK = f"{_WEBHOOKS}/<webhook_id>"
_HEADERS = {"get": "headers_get", "put": "headers_put", "patch": "headers_patch"}

urlpatterns = [
    route(_WEBHOOKS, WebhookViewSet, {"get": "list", "post": "create"}),
    route(_WEBHOOK, WebhookViewSet, {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
    route(f"{_WEBHOOK}/headers", WebhookViewSet, _HEADERS),
    route(f"{_WEBHOOK}/secret", WebhookViewSet, {"get": "secret_get"}),
    route(f"{_WEBHOOK}/secret/rotate", WebhookViewSet, {"post": "secret_rotate"}),
    route(f"{_WEBHOOK}/test", WebhookViewSet, {"post": "test"}),
    route(f"{_WEBHOOK}/attempt", WebhookLogViewSet, {"get": "attempts"}),
    route(f"{_WEBHOOK}/message/<message_id>/resend", WebhookLogViewSet, {"post": "resend"}),
    route(f"{_WEBHOOK}/recover", WebhookLogViewSet, {"post": "recover"}),
    route(f"{_WEBHOOK}/replay_missing", WebhookLogViewSet, {"post": "replay_missing"}),
    route(f"{_TEAM}/webhook_event_type", EventTypeViewSet, {"get": "list"}),
    route(f"{_TEAM}/webhook_message", MessageViewSet, {"get": "list"}),
    route(f"{_TEAM}/webhook_message/<message_id>", MessageViewSet, {"get": "retrieve"}),
    route(f"{_TEAM}/webhook_message/<message_id>/attempt", MessageViewSet, {"get": "attempts"}),
    route(f"{_TEAM}/webhook_attempt", AttemptViewSet, {"get": "list"}),
    route(f"{_TEAM}/webhook_repair/<job_id>", RepairViewSet, {"get": "retrieve"}),
    route(f"{_TEAM}/event_delivery_metric", DeliveryMetricViewSet, {"get": "retrieve"}),
]
