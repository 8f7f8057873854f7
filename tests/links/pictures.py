"""Small pictures of each kind that a team may upload, and some that it may not."""

import struct
import zlib


def png(width: int = 8, height: int = 8) -> bytes:
    """A grey PNG."""
    rows = (b"\0" + b"\x80" * width) * height
    parts = [
        _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        _chunk(b"IDAT", zlib.compress(rows)),
        _chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def jpeg() -> bytes:
    """The beginning of a JPEG."""
    return b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01" + b"\x00" * 20


def webp() -> bytes:
    """The frame of a WebP."""
    body = b"WEBPVP8L" + b"\x00" * 12
    return b"RIFF" + struct.pack("<I", len(body)) + body


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
