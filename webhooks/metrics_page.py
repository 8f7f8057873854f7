"""`GET /metrics` at the management address, for who shows the token that the operator set."""

import hmac

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from healthsvc.kernel.errors import ErrorCode, error_body
from healthsvc.kernel.json_io import json_encode
from webhooks.metrics import metrics_text


@csrf_exempt
def metrics(request: HttpRequest) -> HttpResponse:
    """The figures; without `METRICS_TOKEN` there is no such address, with another token it is 401."""
    if not settings.METRICS_TOKEN:
        return _refusal(request, ErrorCode.NOT_FOUND)
    if request.method not in ("GET", "HEAD"):
        response = _refusal(request, ErrorCode.METHOD_NOT_ALLOWED)
        response["Allow"] = "GET, HEAD"
        return response
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    is_right = hmac.compare_digest(token.strip().encode(), settings.METRICS_TOKEN.encode())
    if scheme.lower() != "bearer" or not is_right:
        response = _refusal(request, ErrorCode.NOT_AUTHENTICATED)
        response["WWW-Authenticate"] = "Bearer"
        return response
    return HttpResponse(metrics_text(), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _refusal(request: HttpRequest, code: ErrorCode) -> HttpResponse:
    body = json_encode(error_body(code, code.meaning, getattr(request, "request_id", "")))
    return HttpResponse(body, status=code.status, content_type="application/json")
