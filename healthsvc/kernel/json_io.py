"""Reading and writing JSON at the edge: strict in, fast out."""

from collections.abc import Mapping
from typing import Any, BinaryIO, cast

import orjson
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid

DEFAULT_BODY_LIMIT_BYTES = 1_000_000
#: Deeper nesting is refused before any code walks it.
_DEPTH_LIMIT = 64


class StrictJSONParser(BaseParser):
    """JSON by RFC 8259: no NaN, no NUL characters, bounded size and depth."""

    media_type = "application/json"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The body's value; None for an empty body."""
        view = (parser_context or {}).get("view")
        raw = body_read(
            cast("BinaryIO", stream), limit_bytes=getattr(view, "body_limit_bytes", DEFAULT_BODY_LIMIT_BYTES)
        )
        return json_decode(raw) if raw.strip() else None


def body_read(stream: BinaryIO, *, limit_bytes: int) -> bytes:
    """Everything in `stream`, or 413 once it holds more than `limit_bytes`."""
    raw = stream.read(limit_bytes + 1)
    if len(raw) > limit_bytes:
        raise ServiceError(ErrorCode.TOO_LARGE, f"The body is larger than the {limit_bytes} bytes this address takes.")
    return raw


def json_decode(raw: bytes) -> Any:
    """The value that `raw` spells; 422 where it spells none."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        problem = Problem(("body",), f"Not valid JSON at line {error.lineno}, column {error.colno}.", "json_invalid")
        raise invalid([problem]) from None
    problem_found = _first_problem(value)
    if problem_found:
        raise invalid([problem_found])
    return value


def _first_problem(root: Any) -> Problem | None:
    """The first NUL character or too deep place in a decoded value."""
    pending: list[tuple[Any, tuple[str | int, ...]]] = [(root, ("body",))]
    while pending:
        value, loc = pending.pop()
        if isinstance(value, str):
            if "\x00" in value:
                return Problem(loc, "Text may not hold the NUL character.", "string_nul")
        elif isinstance(value, dict | list):
            if len(loc) > _DEPTH_LIMIT:
                return Problem(("body",), f"Nested deeper than {_DEPTH_LIMIT} levels.", "json_too_deep")
            children = value.items() if isinstance(value, dict) else enumerate(value)
            for key, child in children:
                if isinstance(key, str) and "\x00" in key:
                    return Problem(loc, "A name may not hold the NUL character.", "string_nul")
                if isinstance(child, str | dict | list):
                    pending.append((child, (*loc, key)))
    return None


class JSONRenderer(BaseRenderer):
    """orjson: instants as ISO 8601, UUIDs as text, NumPy arrays as lists."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The JSON text; empty for no content."""
        if data is None and getattr((renderer_context or {}).get("response"), "status_code", 200) in (202, 204):
            return b""
        return json_encode(data)


def json_encode(value: Any) -> bytes:
    """JSON text of a value, `str` subclasses (enumerations, safe strings) included."""
    return orjson.dumps(value, default=_plain, option=orjson.OPT_SERIALIZE_NUMPY)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form.")
