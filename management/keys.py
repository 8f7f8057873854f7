"""The form of API keys: making, splitting and hashing them. Nothing here touches the database.

`sk_us_AbCd1234_<43 characters of 256 bits><6 characters of checksum>`; management keys begin `mg_`.
"""

import re
from dataclasses import dataclass
from typing import Final

from healthsvc.kernel.crypto import keyed_hash
from healthsvc.kernel.ids import CHECKSUM_CHARACTERS, SECRET_CHARACTERS, checksum_text, random_text, secret_text
from healthsvc.kernel.principal import Environment
from management.constants import KEY_ID_CHARACTERS, MANAGEMENT_KEY_PREFIX, TEAM_KEY_PREFIXES

_KEY: Final = re.compile(
    rf"(?P<prefix>(?:sk|pk)_(?:us|eu)|mg)_(?P<public_id>[0-9A-Za-z]{{{KEY_ID_CHARACTERS}}})"
    rf"_(?P<secret>[0-9A-Za-z]{{{SECRET_CHARACTERS}}})(?P<checksum>[0-9A-Za-z]{{{CHECKSUM_CHARACTERS}}})"
)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made. `text` is shown once and kept nowhere."""

    text: str
    public_id: str
    secret_hash: bytes
    last_characters: str


@dataclass(frozen=True, slots=True)
class ShownKey:
    """A well-formed key that a caller showed."""

    prefix: str
    public_id: str
    secret_hash: bytes


def team_key_prefix(environment: Environment, region: str) -> str:
    """`sk_us`, `pk_us`, `sk_eu` or `pk_eu`."""
    return f"{TEAM_KEY_PREFIXES[environment]}_{region}"


def key_make(prefix: str) -> NewKey:
    """A new key under `prefix`."""
    body = f"{prefix}_{random_text(KEY_ID_CHARACTERS)}_{secret_text()}"
    text = body + checksum_text(body)
    shown = key_read(text)
    if shown is None:
        raise ValueError("A key made here must read back.")
    return NewKey(text, shown.public_id, shown.secret_hash, text[-4:])


def key_read(text: str) -> ShownKey | None:
    """The parts of a key; None where the text is not one, or was mistyped."""
    match = _KEY.fullmatch(text)
    if match is None or checksum_text(text[:-CHECKSUM_CHARACTERS]) != match["checksum"]:
        return None
    return ShownKey(match["prefix"], match["public_id"], keyed_hash("api-key", text))


def is_management(shown: ShownKey) -> bool:
    """Whether the key is for the management address."""
    return shown.prefix == MANAGEMENT_KEY_PREFIX
