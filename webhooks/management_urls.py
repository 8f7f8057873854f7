"""Routes of this app at the management address."""

from healthsvc.kernel.routing import route
from webhooks.management_api import WebhookViewSet

_WEBHOOKS = "v1/org/<org_id>/team/<team_id>/<environment>/webhook"
_WEBHOOK = f"{_WEBHOOKS}/<webhook_id>"

urlpatterns = [
    route(_WEBHOOKS, WebhookViewSet, {"get": "list", "post": "create"}),
    route(_WEBHOOK, WebhookViewSet, {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
    route(f"{_WEBHOOK}/headers", WebhookViewSet, {"get": "headers_get", "put": "headers_put"}),
    route(f"{_WEBHOOK}/secret", WebhookViewSet, {"get": "secret_get"}),
    route(f"{_WEBHOOK}/secret/rotate", WebhookViewSet, {"post": "secret_rotate"}),
    route(f"{_WEBHOOK}/test", WebhookViewSet, {"post": "test"}),
]
