"""Identifiers and secrets: made here, and read strictly here."""

import re
import secrets
import zlib
from datetime import UTC, datetime
from typing import Final
from uuid import UUID, uuid4

from uuid_utils.compat import uuid7 as _uuid7

_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}")

SECRET_BITS: Final = 256
#: Base-62 digits that hold 256 bits: ceil(256 / log2(62)).
SECRET_CHARACTERS: Final = 43
CHECKSUM_CHARACTERS: Final = 6


def uuid_ordered() -> UUID:
    """A UUID version 7: rows made later sort later."""
    return _uuid7()


def uuid_floor(instant: datetime) -> UUID:
    """The least version 7 UUID of a millisecond: rows made before it have smaller ids. None is from before 1970."""
    milliseconds = max(0, int(instant.timestamp() * 1000))
    return UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62)


def uuid_instant(row_id: UUID) -> datetime:
    """When a version 7 UUID was made, to the millisecond."""
    return datetime.fromtimestamp((row_id.int >> 80) / 1000, UTC)


def uuid_random() -> UUID:
    """A UUID version 4: tells nothing of when it was made."""
    return uuid4()


def uuid_parse(text: str) -> UUID | None:
    """The UUID that `text` spells with or without hyphens, in either case; None where it spells none."""
    return UUID(text) if _UUID.fullmatch(text) else None


def base62(number: int, width: int) -> str:
    """`number` in base 62, left-padded with zeros to `width` characters."""
    digits: list[str] = []
    while number:
        number, remainder = divmod(number, 62)
        digits.append(_BASE62[remainder])
    return "".join(reversed(digits)).rjust(width, "0")


def secret_text() -> str:
    """256 random bits as 43 base-62 characters."""
    return base62(secrets.randbits(SECRET_BITS), SECRET_CHARACTERS)


def random_text(characters: int) -> str:
    """Random base-62 characters; about 5.95 bits each."""
    return "".join(secrets.choice(_BASE62) for _ in range(characters))


def checksum_text(text: str) -> str:
    """Six base-62 characters over the CRC-32 of `text`: tells a mistyped key from a wrong one, no secret."""
    return base62(zlib.crc32(text.encode()), CHECKSUM_CHARACTERS)
