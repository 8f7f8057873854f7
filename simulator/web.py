"""The little of WSGI that the simulator needs: a request, a response, and a router of plain patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import parse_qs

import orjson

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

BODY_LIMIT_BYTES = 64 * 1024

#: A value on its way into a JSON answer. orjson refuses what it cannot write.
JSON: TypeAlias = object


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, read and decoded. `fields` are the form fields of a POST, every value of each."""

    method: str
    path: str
    query: Mapping[str, str]
    fields: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    cookies: Mapping[str, str]
    body: bytes
    slug: str = ""
    id: str = ""

    def field(self, name: str) -> str:
        """The first value of a form field, or of the query parameter of that name; '' where there is none."""
        values = self.fields.get(name)
        return values[0] if values else self.query.get(name, "")

    @property
    def bearer(self) -> str:
        """The token of an `Authorization: Bearer` header, or ''."""
        kind, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if kind.lower() == "bearer" else ""


@dataclass(frozen=True, slots=True)
class Response:
    """One answer. `delay_seconds` is waited before it is sent."""

    status: int = 200
    body: bytes = b""
    headers: Sequence[tuple[str, str]] = ()
    delay_seconds: float = 0.0

    def with_headers(self, *headers: tuple[str, str]) -> Response:
        return replace(self, headers=(*self.headers, *headers))


def json_response(document: JSON, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> Response:
    """A JSON answer that no cache keeps, as token and health data answers must be."""
    body = orjson.dumps(document, option=orjson.OPT_NON_STR_KEYS)
    kept_out = ("Content-Type", "application/json"), ("Cache-Control", "no-store")
    return Response(status=status, body=body, headers=(*kept_out, *headers))


def redirect(location: str) -> Response:
    """303: whatever the method was, the next request is a GET."""
    return Response(status=303, headers=(("Location", location), ("Cache-Control", "no-store")))


class BadRequestError(Exception):
    """The request cannot be read at all; `status` says why."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def read_request(environ: WSGIEnvironment) -> Request:
    """Read a request off WSGI. Raises BadRequestError for what is too large or not UTF-8."""
    headers = {
        name[5:].replace("_", "-").lower(): str(value) for name, value in environ.items() if name.startswith("HTTP_")
    }
    headers["content-type"] = str(environ.get("CONTENT_TYPE", ""))
    body = _read_body(environ)
    try:
        path = str(environ.get("PATH_INFO", "/")).encode("latin-1").decode("utf-8")
        query = _parse(str(environ.get("QUERY_STRING", "")))
        is_form = headers["content-type"].partition(";")[0].strip() == "application/x-www-form-urlencoded"
        fields = _parse(body.decode("utf-8")) if is_form else {}
    except (UnicodeDecodeError, ValueError) as error:
        raise BadRequestError(400, "The request is not UTF-8, or holds too many fields.") from error
    return Request(
        method=str(environ.get("REQUEST_METHOD", "GET")),
        path=path,
        query={name: values[0] for name, values in query.items()},
        fields=fields,
        headers=headers,
        cookies=_cookies(headers.get("cookie", "")),
        body=body,
    )


def _parse(text: str) -> dict[str, list[str]]:
    return parse_qs(text, keep_blank_values=True, max_num_fields=200, errors="strict")


def _read_body(environ: WSGIEnvironment) -> bytes:
    text = str(environ.get("CONTENT_LENGTH") or "0")
    if not text.isdigit():
        raise BadRequestError(411, "Content-Length is not a number.")
    if int(text) > BODY_LIMIT_BYTES:
        raise BadRequestError(413, "The body is too large.")
    return bytes(environ["wsgi.input"].read(int(text))) if int(text) else b""


def _cookies(header: str) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(header).items()}
    except CookieError:
        return {}


Handler: TypeAlias = Callable[[Request], Response]

#: What stands for a part of a path, and what it may hold.
_PLACEHOLDERS: Mapping[str, str] = {"slug": "[a-z0-9_]{1,40}", "id": "[A-Za-z0-9_-]{1,64}"}


@dataclass(frozen=True, slots=True)
class Route:
    """A method and a path pattern such as `/{slug}/oauth/token`; a fixed first segment is itself the slug.

    `{id}` is what a vendor calls one of its documents, or any other name in a path.
    """

    method: str
    pattern: str
    handler: Handler
    expression: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        expression = re.escape(self.pattern)
        for name, shape in _PLACEHOLDERS.items():
            expression = expression.replace(re.escape("{" + name + "}"), f"(?P<{name}>{shape})")
        object.__setattr__(self, "expression", re.compile(expression + "/?"))


@dataclass(frozen=True, slots=True)
class Match:
    """What the router found: the handler with the request it gets, or why there is none."""

    pattern: str
    request: Request
    handler: Handler | None
    allowed: tuple[str, ...] = ()


def match(routes: Iterable[Route], request: Request) -> Match:
    """The first route that fits. A HEAD is answered as a GET; a path known under another method is a 405."""
    method = "GET" if request.method == "HEAD" else request.method
    allowed: list[str] = []
    for route in routes:
        found = route.expression.fullmatch(request.path)
        if found is None:
            continue
        if route.method == method:
            parts = found.groupdict()
            slug = parts.get("slug") or route.pattern.split("/")[1]
            return Match(route.pattern, replace(request, slug=slug, id=parts.get("id") or ""), route.handler)
        allowed.append(route.method)
    return Match("(unknown)", request, None, tuple(allowed))


def send(response: Response, method: str, start_response: StartResponse) -> list[bytes]:
    """Hand an answer to the WSGI server; the body of a HEAD is left out."""
    status = HTTPStatus(response.status)
    length = ("Content-Length", str(len(response.body)))
    start_response(f"{status.value} {status.phrase}", [*response.headers, length])
    return [] if method == "HEAD" else [response.body]
