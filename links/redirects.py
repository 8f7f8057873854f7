"""Where a person may be sent after linking: which addresses are allowed, and how the outcome is written on them."""

import re
from collections.abc import Sequence
from typing import Final
from unicodedata import normalize
from urllib.parse import SplitResult, unquote_to_bytes, urlencode, urlsplit

from links.constants import REDIRECT_URL_MAXIMUM_CHARACTERS

#: What a URL may be made of (RFC 3986); no space, control character, quote, backslash or non-ASCII.
_CHARACTERS: Final = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.\-]{1,63}")
#: Schemes that run code, read this machine, or are no app's own address.
_REFUSED_SCHEMES: Final = frozenset(
    (
        "about",
        "blob",
        "chrome",
        "content",
        "data",
        "file",
        "filesystem",
        "ftp",
        "intent",
        "jar",
        "javascript",
        "mailto",
        "resource",
        "sms",
        "tel",
        "vbscript",
        "view-source",
        "ws",
        "wss",
    )
)
#: One or two dots, and behind them nothing, or what some server cuts off.
_DOT_SEGMENT: Final = re.compile(r"\s*\.{1,2}(?![\w.~-])")
#: Escapes within escapes that are looked through; what has more is refused.
_ESCAPES_IN_ESCAPES: Final = 4
_LOCAL_HOSTS: Final = frozenset(("localhost", "127.0.0.1", "::1"))


def redirect_problem(url: str) -> str | None:
    """Why `url` is no address to send a person to; None where it is one."""
    if len(url) > REDIRECT_URL_MAXIMUM_CHARACTERS:
        return f"May have at most {REDIRECT_URL_MAXIMUM_CHARACTERS} characters."
    parts = _split(url)
    if parts is None or not _SCHEME.fullmatch(parts.scheme) or not url[len(parts.scheme) :].startswith("://"):
        return "Must be an absolute address: https, http to localhost, or an app's own scheme."
    if "@" in parts.netloc:
        return "May not hold a user name."
    if parts.scheme in _REFUSED_SCHEMES:
        return "This scheme is not allowed."
    if parts.scheme == "http" and parts.hostname not in _LOCAL_HOSTS:
        return "http is allowed to localhost only."
    if parts.scheme in ("http", "https") and not parts.hostname:
        return "Must name a host."
    return None


def redirect_allowed(url: str, prefixes: Sequence[str]) -> bool:
    """Whether `url` begins with one of a team's prefixes, whole hosts and whole path segments compared."""
    parts = _split(url)
    if parts is None or _climbs(parts.path):
        return False
    return any(_begins_with(parts, _split(prefix)) for prefix in prefixes)


def redirect_with(url: str, **parameters: str) -> str:
    """`url` with parameters added to its query; what was there stays as it was."""
    address, hash_mark, fragment = url.partition("#")
    mark = "&" if "?" in address else "?"
    return f"{address}{mark}{urlencode(parameters)}{hash_mark}{fragment}"


def _split(url: str) -> SplitResult | None:
    if not _CHARACTERS.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        # Reading the port raises for one that is no number.
        _ = parts.port
    except ValueError:
        return None
    return parts


def _climbs(path: str) -> bool:
    """Whether any server could read a dot segment in it: escaped, escaped twice, overlong, or with parameters."""
    plain = _decoded(path)
    if plain is None:
        return True
    return any(_DOT_SEGMENT.match(segment) for segment in plain.replace("\\", "/").split("/"))


def _decoded(path: str) -> str | None:
    """The path without escapes, as a server that takes one letter for another has it; None for what is no text."""
    for _ in range(_ESCAPES_IN_ESCAPES):
        try:
            plain = unquote_to_bytes(path).decode()
        except UnicodeDecodeError:
            return None
        if not plain.isprintable():
            return None
        if plain == path:
            return normalize("NFKC", plain)
        path = plain
    return None


def _begins_with(parts: SplitResult, prefix: SplitResult | None) -> bool:
    if prefix is None or (parts.scheme, parts.netloc.lower()) != (prefix.scheme, prefix.netloc.lower()):
        return False
    wanted = prefix.path.rstrip("/")
    return parts.path == wanted or parts.path.startswith(f"{wanted}/") or not wanted
