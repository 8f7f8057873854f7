"""What a team may show of itself on the hosted link pages, and where these may be framed: the checks."""

import re
from typing import Final
from urllib.parse import urlsplit

from management.constants import LOGO_MAXIMUM_BYTES, LogoMediaType

_COLOR: Final = re.compile(r"#[0-9a-fA-F]{6}")
#: A host name or an IPv4 address, with a port where it is not the usual one. Nothing that means more in a policy.
_ORIGIN: Final = re.compile(r"https?://[a-z0-9](?:[a-z0-9.\-]{0,251}[a-z0-9])?(?::[0-9]{1,5})?")
#: No space, quote, bracket, backslash, comma or semicolon, and nothing outside ASCII.
_ADDRESS: Final = re.compile(r"""https?://[^\s"'<>`\\;,\x00-\x20\x7f-\U0010ffff]{1,2075}""")
_SECURE: Final = frozenset(("https",))
#: What a link may lead to; a picture is shown from a secure address only.
WEB_SCHEMES: Final = frozenset(("https", "http"))
_LOCAL_HOSTS: Final = frozenset(("localhost", "127.0.0.1"))
_HIGHEST_PORT: Final = 65_535


def color_problem(color: str) -> str | None:
    """Why `color` is no colour of the web; None where it is one."""
    return None if _COLOR.fullmatch(color) else "Write it as # and six hexadecimal digits, such as #0b6553."


def origin_problem(origin: str) -> str | None:
    """Why `origin` may not frame a page; None where it may: https, or http to this machine, and nothing behind."""
    written = "Write it as https:// and a host in lower case, with no path: https://app.example."
    if not _ORIGIN.fullmatch(origin) or ".." in origin:
        return written
    parts = urlsplit(origin)
    port = parts.netloc.partition(":")[2]
    if port and not 0 < int(port) <= _HIGHEST_PORT:
        return written
    if parts.scheme == "http" and parts.hostname not in _LOCAL_HOSTS:
        return "Must be https; http is allowed to localhost only."
    return None


def web_origin(address: str, *, schemes: frozenset[str] = _SECURE) -> str | None:
    """The origin of an address that a page may name, as a policy writes it; None for every other text.

    An address with anything in it that ends an attribute or a directive, or with a name before the host, is none.
    """
    if not _ADDRESS.fullmatch(address):
        return None
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in schemes or "@" in parts.netloc or not parts.hostname or port == 0:
        return None
    origin = f"{parts.scheme}://{parts.hostname}" + (f":{port}" if port else "")
    return origin if _ORIGIN.fullmatch(origin) and ".." not in origin else None


def web_address(address: str, *, schemes: frozenset[str] = _SECURE) -> str | None:
    """An address as pages show it, its scheme in lower case; None for one that they never would."""
    scheme, mark, rest = address.partition("://")
    written = f"{scheme.lower()}{mark}{rest}"
    return written if web_origin(written, schemes=schemes) else None


def logo_media_type(content: bytes) -> LogoMediaType | None:
    """What kind of picture this is by its own first bytes; None for anything else, scripts in SVG among it."""
    if content.startswith(b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"):
        return LogoMediaType.PNG
    if content.startswith(b"\xff\xd8\xff"):
        return LogoMediaType.JPEG
    if content[:4] == b"RIFF" and content[8:15] == b"WEBPVP8" and content[15:16] in (b" ", b"L", b"X"):
        # The size that a RIFF file tells of itself leaves out its first eight bytes.
        return LogoMediaType.WEBP if int.from_bytes(content[4:8], "little") + 8 == len(content) else None
    return None


def logo_problem(content: bytes) -> str | None:
    """Why this is no logo; None where it is one."""
    if len(content) > LOGO_MAXIMUM_BYTES:
        return f"May have at most {LOGO_MAXIMUM_BYTES // 1000} kB."
    if logo_media_type(content) is None:
        return "Must be a PNG, JPEG or WebP picture."
    return None
