"""Pages that belong to no app, and the headers that keep browsers strict."""

import sys
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from healthsvc.kernel.errors import ErrorCode, error_body, is_outage
from healthsvc.kernel.json_io import json_encode
from healthsvc.kernel.middleware import PAGE_PREFIXES

#: Pages need their own style sheets, images and forms; nothing comes from elsewhere, no script runs inline.
_PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; font-src 'self'; script-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_API_POLICY = "default-src 'none'; frame-ancestors 'none'"


class SecurityHeadersMiddleware:
    """Adds a content security policy where a view has not set its own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        html = response.get("Content-Type", "").startswith("text/html")
        response.headers.setdefault("Content-Security-Policy", _PAGE_POLICY if html else _API_POLICY)
        return response


def _answer(request: HttpRequest, code: ErrorCode) -> HttpResponse:
    """The error body for API paths, a page for people's paths."""
    request_id: str = getattr(request, "request_id", "")
    if request.path.startswith(PAGE_PREFIXES) and not request.path.startswith("/static/"):
        # People have no key that a meaning could speak of.
        meaning = "" if code is ErrorCode.NOT_ALLOWED else code.meaning
        context = {"meaning": meaning, "request_id": request_id}
        return render(request, "error.html", context, status=code.status)
    body = json_encode(error_body(code, code.meaning, request_id))
    return HttpResponse(body, status=code.status, content_type="application/json")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: Django refused the request itself, its host for example."""
    return _answer(request, ErrorCode.BAD_REQUEST)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403."""
    return _answer(request, ErrorCode.NOT_ALLOWED)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403: a form without its token."""
    return _answer(request, ErrorCode.NOT_ALLOWED)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404."""
    return _answer(request, ErrorCode.NOT_FOUND)


def server_error(request: HttpRequest) -> HttpResponse:
    """500: tells nothing but the request id. 503 where the database is away."""
    code = ErrorCode.UNAVAILABLE if is_outage(sys.exception()) else ErrorCode.INTERNAL
    return _answer(request, code)
