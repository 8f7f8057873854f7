"""What happens around every request: its id, its log line, its headers, and paths with or without a last slash."""

import re
import time
from collections.abc import Callable

import structlog
from django.conf import settings
from django.core.exceptions import DisallowedHost, PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve

from healthsvc.kernel.address import ADDRESS_KEY, MANAGEMENT_ADDRESS
from healthsvc.kernel.errors import ErrorCode, Problem, error_body
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.json_io import json_encode

log = structlog.get_logger(__name__)

#: A UUID with or without hyphens (a trace id is one too), or a ULID: the trail keeps it for years, and no other text.
_REQUEST_ID = re.compile(
    r"[0-9a-fA-F]{8}(-?)[0-9a-fA-F]{4}\1[0-9a-fA-F]{4}\1[0-9a-fA-F]{4}\1[0-9a-fA-F]{12}|[0-7][0-9A-HJKMNP-TV-Z]{25}"
)
_LENGTH = re.compile(r"[0-9]{1,18}")
#: Paths of pages for people, where a browser needs redirects and cookies of its own.
PAGE_PREFIXES = ("/admin/", "/static/", "/link/", "/portal/")
#: Pages without forms: refused before anything reads a body.
READ_ONLY_PREFIXES = ("/docs", "/openapi.json", "/static/")

GetResponse = Callable[[HttpRequest], HttpResponseBase]


class RequestMiddleware:
    """First to read a request. Gives `request.request_id`, chooses the address's URLs, writes one line an answer."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        given = request.headers.get("X-Request-Id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else str(uuid_ordered())
        request.request_id = request_id  # type: ignore[attr-defined]
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        if request.META.get(ADDRESS_KEY) == MANAGEMENT_ADDRESS:
            request.urlconf = settings.MANAGEMENT_URLCONF
        response = _refused(request) or self._answered(request)
        response["X-Request-Id"] = request_id
        if not request.path.startswith(PAGE_PREFIXES):
            response.headers.setdefault("Cache-Control", "no-store")
        if request.path not in ("/healthz", "/readyz"):
            log.info(
                "request",
                method=request.method,
                route=_route(request),
                status=response.status_code,
                milliseconds=round((time.perf_counter() - started) * 1000, 1),
            )
        structlog.contextvars.clear_contextvars()
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> None:
        """Log what a page failed of, and no refusal; API views answer and log their failures themselves."""
        if not isinstance(exception, (Http404, PermissionDenied, SuspiciousOperation)):
            log.error("page_failed", route=_route(request), exc_info=exception)

    def _answered(self, request: HttpRequest) -> HttpResponseBase:
        _drop_last_slash(request)
        return self.get_response(request)


def _refused(request: HttpRequest) -> HttpResponse | None:
    """A host that is not ours, and NUL bytes in an address, reach no view."""
    try:
        request.get_host()
    except DisallowedHost:
        return _error(request, ErrorCode.BAD_REQUEST, "This host name is not one of ALLOWED_HOSTS.")
    if "Transfer-Encoding" in request.headers:
        # Django would take such a body for empty and carry out another request than the one that was sent.
        return _error(request, ErrorCode.LENGTH_REQUIRED, ErrorCode.LENGTH_REQUIRED.meaning)
    length = request.META.get("CONTENT_LENGTH")
    if length and not _LENGTH.fullmatch(length):
        return _error(request, ErrorCode.BAD_REQUEST, "The Content-Length is not a number of bytes.")
    if request.method not in ("GET", "HEAD") and request.path_info.startswith(READ_ONLY_PREFIXES):
        return _error(request, ErrorCode.METHOD_NOT_ALLOWED, ErrorCode.METHOD_NOT_ALLOWED.meaning)
    if "\x00" in request.path_info:
        return _error(request, ErrorCode.NOT_FOUND, ErrorCode.NOT_FOUND.meaning)
    if "%00" in request.META.get("QUERY_STRING", "") or "\x00" in request.META.get("QUERY_STRING", ""):
        problem = Problem(("query",), "May not hold the NUL character.", "string_nul")
        return _error(request, ErrorCode.VALIDATION_FAILED, [problem.as_json()])
    return None


def _error(request: HttpRequest, code: ErrorCode, detail: object) -> HttpResponse:
    body = json_encode(error_body(code, detail, request.request_id))  # type: ignore[arg-type, attr-defined]
    return HttpResponse(body, status=code.status, content_type="application/json")


def _drop_last_slash(request: HttpRequest) -> None:
    """Serve `/v2/user/` by the view of `/v2/user`, without a redirect, where the longer path has no view."""
    path = request.path_info
    if len(path) < 2 or not path.endswith("/") or path.startswith(PAGE_PREFIXES):
        return
    urlconf = getattr(request, "urlconf", None)
    try:
        resolve(path, urlconf)
    except Resolver404:
        request.path_info = path.rstrip("/") or "/"


def _route(request: HttpRequest) -> str:
    match = request.resolver_match
    return f"/{match.route}" if match else "(none)"
