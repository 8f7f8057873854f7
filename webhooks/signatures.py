"""Standard Webhooks signatures, version 1: HMAC-SHA256 over `id.timestamp.body`, made and verified.

The same three headers are also sent under their `svix-` names, which receivers of such services expect.
Source: Standard Webhooks specification 1.0.0.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from webhooks.constants import (
    SECRET_BYTES,
    SECRET_MAXIMUM_BYTES,
    SECRET_MINIMUM_BYTES,
    SECRET_PREFIX,
    TIMESTAMP_TOLERANCE_SECONDS,
)

_NAME_PREFIXES: Final = ("webhook", "svix")


class Verdict(StrEnum):
    """What a receiver finds."""

    VERIFIED = "verified"
    HEADERS_MISSING = "headers_missing"
    TIMESTAMP_REFUSED = "timestamp_refused"
    SIGNATURE_WRONG = "signature_wrong"


def secret_make() -> str:
    """A new secret of 256 random bits."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def secret_key(secret: str) -> bytes:
    """The bytes a secret stands for; ValueError where it is none, or shorter or longer than the standard allows."""
    if not secret.startswith(SECRET_PREFIX):
        raise ValueError("A secret begins with whsec_.")
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except ValueError:
        raise ValueError("A secret is whsec_ and base64.") from None
    if not SECRET_MINIMUM_BYTES <= len(key) <= SECRET_MAXIMUM_BYTES:
        raise ValueError(f"A secret has {SECRET_MINIMUM_BYTES} to {SECRET_MAXIMUM_BYTES} bytes.")
    return key


def signature(keys: Sequence[bytes], message_id: str, timestamp_seconds: int, body: bytes) -> str:
    """One `v1,…` entry for each key, separated by a space."""
    return " ".join(f"v1,{_digest_text(key, message_id, str(timestamp_seconds), body)}" for key in keys)


def signed_headers(keys: Sequence[bytes], message_id: str, timestamp_seconds: int, body: bytes) -> dict[str, str]:
    """Id, timestamp and signature under both families of names."""
    values = {
        "id": message_id,
        "timestamp": str(timestamp_seconds),
        "signature": signature(keys, message_id, timestamp_seconds, body),
    }
    return {f"{prefix}-{name}": value for prefix in _NAME_PREFIXES for name, value in values.items()}


def verdict(key: bytes, headers: Mapping[str, str], body: bytes, now_seconds: float) -> Verdict:
    """Whether a request comes from who holds the key, and is not an old one. Header names in lower case."""
    found = next((named for prefix in _NAME_PREFIXES if (named := _named(headers, prefix))), None)
    if found is None:
        return Verdict.HEADERS_MISSING
    message_id, timestamp, signatures = found
    if not timestamp.isdecimal() or abs(now_seconds - int(timestamp)) > TIMESTAMP_TOLERANCE_SECONDS:
        return Verdict.TIMESTAMP_REFUSED
    expected = f"v1,{_digest_text(key, message_id, timestamp, body)}".encode()
    right = [hmac.compare_digest(expected, given.encode()) for given in signatures.split(" ")]
    return Verdict.VERIFIED if any(right) else Verdict.SIGNATURE_WRONG


def _named(headers: Mapping[str, str], prefix: str) -> tuple[str, str, str] | None:
    values = [headers.get(f"{prefix}-{name}", "") for name in ("id", "timestamp", "signature")]
    return (values[0], values[1], values[2]) if all(values) else None


def _digest_text(key: bytes, message_id: str, timestamp: str, body: bytes) -> str:
    digest = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()
