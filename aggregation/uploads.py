"""An uploaded file as a stream of chunks, sent as the body or as a form's file, never whole in memory or on disk."""

from collections.abc import Iterator
from typing import Final, cast

from django.http import HttpRequest
from django.http.multipartparser import FILE, ChunkIter, LazyStream, MultiPartParserError, Parser
from django.utils.http import parse_header_parameters

from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid

_CHUNK_BYTES: Final = 256 * 1024
FORM: Final = "multipart/form-data"
#: Media types under which archives and XML arrive as the body itself.
FILE_TYPES: Final = (
    "application/zip",
    "application/x-zip-compressed",
    "application/xml",
    "text/xml",
    "application/octet-stream",
)
_BOUNDARY_MAXIMUM_CHARACTERS: Final = 200


def upload_chunks(request: HttpRequest, *, limit_bytes: int) -> Iterator[bytes]:
    """The bytes of the one file that `request` carries.

    The media type and the announced length are checked at once: 415, 413. Later, while chunks are taken: 413 beyond
    the limit, 422 where there is no file in the body, where it is empty, or where it breaks off: before its announced
    length, or without a form's closing boundary.
    """
    media_type, options = parse_header_parameters(request.META.get("CONTENT_TYPE", ""))
    if media_type not in (FORM, *FILE_TYPES):
        raise ServiceError(ErrorCode.UNSUPPORTED_MEDIA_TYPE)
    announced_bytes = int(request.META.get("CONTENT_LENGTH") or 0)
    if announced_bytes > limit_bytes:
        raise _too_large(limit_bytes)
    if media_type != FORM:
        return _not_empty(_Body(request, limit_bytes, announced_bytes).pieces())
    boundary = options.get("boundary", "")
    if not 0 < len(boundary) <= _BOUNDARY_MAXIMUM_CHARACTERS or not boundary.isascii():
        raise _unreadable()
    body = _Body(request, limit_bytes, announced_bytes, closing=b"--" + boundary.encode() + b"--")
    return _not_empty(_form_file(body, boundary.encode()))


class _Body:
    """The request's body, counted. `closing`: what has to stand at the start of a line for a form to be whole."""

    def __init__(self, request: HttpRequest, limit_bytes: int, announced_bytes: int, closing: bytes = b"") -> None:
        self._request = request
        self._limit_bytes = limit_bytes
        self._announced_bytes = announced_bytes
        self._read_bytes = 0
        self._closing = b"\r\n" + closing
        #: The end of what was read, long enough for a closing line cut in two; the form may begin with it.
        self._tail = b"\r\n"
        self.is_closed = not closing

    def pieces(self) -> Iterator[bytes]:
        """What comes, as it comes."""
        while data := self._request.read(_CHUNK_BYTES):
            self._read_bytes += len(data)
            if self._read_bytes > self._limit_bytes:
                raise _too_large(self._limit_bytes)
            if not self.is_closed:
                seen = self._tail + data
                self.is_closed = self._closing in seen
                self._tail = seen[-len(self._closing) :]
            yield data
        if self._read_bytes < self._announced_bytes:
            raise _unreadable()


def _form_file(body: _Body, boundary: bytes) -> Iterator[bytes]:
    found = False
    try:
        for kind, headers, stream in Parser(LazyStream(cast("ChunkIter", body.pieces())), boundary):
            if kind != FILE or found or "content-transfer-encoding" in headers:
                for _ in stream:  # other parts are read past
                    pass
                continue
            found = True
            yield from stream
    except MultiPartParserError:
        raise _unreadable() from None
    if not body.is_closed:
        raise _unreadable()


def _not_empty(chunks: Iterator[bytes]) -> Iterator[bytes]:
    empty = True
    for chunk in chunks:
        empty = empty and not chunk
        yield chunk
    if empty:
        raise _unreadable()


def _too_large(limit_bytes: int) -> ServiceError:
    return ServiceError(ErrorCode.TOO_LARGE, f"The body is larger than the {limit_bytes} bytes this address takes.")


def _unreadable() -> ServiceError:
    return invalid([Problem(("body",), "There is no whole file in the body.", "file_missing")])
