"""The address that providers call when data change: no key of ours, the connector checks who is calling."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from healthsvc.kernel.errors import ErrorCode, ServiceError, error_body
from healthsvc.kernel.json_io import json_encode
from links.connectors.hooks import HookCall, HookRefused
from links.constants import HOOK_BODY_MAXIMUM_BYTES
from links.services.hook_notices import hook_answer


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def hook(request: HttpRequest, provider: str, hook_id: UUID) -> HttpResponse:
    """`/link/hook/{provider}/{hook_id}`: a challenge or a notification.

    Answered with 200 only once what it told is committed: while the database is away it is 503, and the provider
    sends it again.
    """
    length = request.headers.get("Content-Length") or "0"
    if not length.isdecimal() or int(length) > HOOK_BODY_MAXIMUM_BYTES:
        return _refusal(request, ErrorCode.TOO_LARGE)
    call = HookCall(
        # A HEAD asks what a GET would, and Django sends no body for it.
        method="POST" if request.method == "POST" else "GET",
        query={name: request.GET.get(name, "") for name in request.GET},
        headers={name.lower(): value for name, value in request.headers.items()},
        body=request.body,
    )
    try:
        answer = hook_answer(provider=provider, hook_id=hook_id, call=call)
    except HookRefused:
        return _refusal(request, ErrorCode.NOT_ALLOWED)
    except ServiceError as error:
        return _refusal(request, error.code)
    response = HttpResponse(answer.body, status=answer.status, content_type=answer.content_type)
    response["Cache-Control"] = "no-store"
    return response


def _refusal(request: HttpRequest, code: ErrorCode) -> HttpResponse:
    request_id: str = getattr(request, "request_id", "")
    body = json_encode(error_body(code, code.meaning, request_id))
    return HttpResponse(body, status=code.status, content_type="application/json")
