"""Cursors: where a list goes on, as clients carry it. Opaque, and good only for the query that gave them."""

import base64
import binascii
import hashlib
import struct
from typing import Final

from healthsvc.kernel.errors import Problem, ServiceError, invalid

_DIGEST_BYTES: Final = 4


def cursor_make(query: object, position: bytes) -> str:
    """A position in what `query`, a value with a plain repr, asks for."""
    return base64.urlsafe_b64encode(position + _digest(query)).decode().rstrip("=")


def cursor_read(query: object, cursor: str, form: struct.Struct) -> tuple[int, ...]:
    """The position of a cursor that this very query gave, as `form` packed it; 422 for any other."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise _refused() from None
    position, digest = raw[:-_DIGEST_BYTES], raw[-_DIGEST_BYTES:]
    if len(position) != form.size or digest != _digest(query):
        raise _refused()
    return form.unpack(position)


def _digest(query: object) -> bytes:
    return hashlib.sha256(repr(query).encode()).digest()[:_DIGEST_BYTES]


def _refused() -> ServiceError:
    return invalid([Problem(("query", "next_cursor"), "Not a cursor that this query gave.", "cursor_invalid")])
