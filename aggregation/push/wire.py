"""A pushed body as it comes over the wire: bounded, and inflated no further than the limit."""

import io
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final, cast

import pyarrow as pa
from django.http import HttpRequest
from django.http.request import HttpHeaders
from django.utils.http import parse_header_parameters

from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid
from healthsvc.kernel.json_io import body_read

#: How much a push may hold as it is sent, and inflated.
WIRE_MAXIMUM_BYTES: Final = 10_000_000
INFLATED_MAXIMUM_BYTES: Final = 100_000_000
#: What `Content-Encoding` may name.
ENCODINGS: Final = ("identity", "gzip", "x-gzip", "deflate", "zstd")

#: Streams of gzip or zlib that a body may be joined of.
MEMBERS_MAXIMUM: Final = 64

_CHUNK_BYTES: Final = 1 << 20
_PIECE_BYTES: Final = 1 << 16
#: With zlib: take gzip's header only, zlib's own, or none.
_GZIP: Final = 16 + zlib.MAX_WBITS
_RAW: Final = -zlib.MAX_WBITS


def body_take(request: HttpRequest) -> bytes:
    """The JSON text of a request.

    411 without a length, 415 for another media type or encoding, 413 too large, 422 empty or damaged.
    """
    announced = request.META.get("CONTENT_LENGTH")
    if not announced and not request.META.get("SERVER_PROTOCOL", "HTTP/1.1").startswith("HTTP/1"):
        # Of HTTP/1 there is no body then. From HTTP/2 on there may be one, which Django takes for empty.
        raise ServiceError(ErrorCode.LENGTH_REQUIRED)
    announced_bytes = int(announced or 0)
    if announced_bytes == 0:
        raise _unreadable("The body is empty.", "missing")
    media_type, _options = parse_header_parameters(request.META.get("CONTENT_TYPE", ""))
    encoding = _encoding(request.headers)
    if media_type != "application/json":
        raise _unsupported("Send the body with the Content-Type application/json.")
    if encoding not in ENCODINGS:
        raise _unsupported("Send the body with the Content-Encoding gzip, deflate or zstd, or with none.")
    if announced_bytes > WIRE_MAXIMUM_BYTES:
        raise _too_large(WIRE_MAXIMUM_BYTES)
    body = inflate(body_read(cast("BinaryIO", request), limit_bytes=WIRE_MAXIMUM_BYTES), encoding)
    if not body.strip():
        raise _unreadable("The body is empty.", "missing")
    return body


def inflate(sent: bytes, encoding: str) -> bytes:
    """`sent` without its compression; stops at the limit with 413, answers 422 where the bytes are damaged."""
    match encoding:
        case "gzip" | "x-gzip":
            return _joined(lambda: _zlib_chunks(sent, _GZIP))
        case "deflate":
            # Half of the world sends it with zlib's header, as the standard has it, and half without.
            plain = len(sent) < 2 or sent[0] & 0x0F != 8 or int.from_bytes(sent[:2]) % 31
            return _joined(lambda: _zlib_chunks(sent, _RAW if plain else zlib.MAX_WBITS))
        case "zstd":
            return _joined(lambda: _zstd_chunks(sent))
        case _:
            return sent


def _encoding(headers: HttpHeaders) -> str:
    return headers.get("Content-Encoding", "").strip().lower() or "identity"


def _joined(chunks: Callable[[], Iterator[bytes]]) -> bytes:
    found = io.BytesIO()
    try:
        for chunk in chunks():
            found.write(chunk)
            if found.tell() > INFLATED_MAXIMUM_BYTES:
                raise _too_large(INFLATED_MAXIMUM_BYTES)
    except (zlib.error, EOFError, OSError):
        raise _unreadable("The body is not what Content-Encoding says.", "encoding_invalid") from None
    return found.getvalue()  # which copies nothing


def _zlib_chunks(sent: bytes, window_bits: int) -> Iterator[bytes]:
    """Every member of the stream, in bounded pieces; EOFError where it breaks off, 422 for too many members."""
    view = memoryview(sent)
    place = members = 0
    while place < len(view):
        members += 1
        if members > MEMBERS_MAXIMUM:
            raise _unreadable(f"A compressed body may have {MEMBERS_MAXIMUM} members.", "encoding_invalid")
        machine = zlib.decompressobj(window_bits)
        pending = b""
        while not machine.eof:
            if not pending:
                # In pieces: what is over is copied each time, and of the whole body that would be a lot.
                pending = bytes(view[place : place + _PIECE_BYTES])
                place += len(pending)
            chunk = machine.decompress(pending, _CHUNK_BYTES)
            if not chunk and not pending and not machine.eof:
                raise EOFError
            pending = machine.unconsumed_tail
            yield chunk
        place -= len(machine.unused_data)


def _zstd_chunks(sent: bytes) -> Iterator[bytes]:
    with pa.CompressedInputStream(pa.BufferReader(sent), "zstd") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            yield chunk


def _unsupported(message: str) -> ServiceError:
    headers = {"Accept-Encoding": ", ".join(ENCODINGS[1:])}
    return ServiceError(ErrorCode.UNSUPPORTED_MEDIA_TYPE, message, headers=headers)


def _too_large(limit_bytes: int) -> ServiceError:
    return ServiceError(ErrorCode.TOO_LARGE, f"The body is larger than the {limit_bytes} bytes this address takes.")


def _unreadable(message: str, kind: str) -> ServiceError:
    return invalid([Problem(("body",), message, kind)])
