"""Secrets at rest: keyed hashes, authenticated encryption, and the encrypted model field.

Sealed form: one version byte, one byte with the length of the key id, the key id, 12 bytes of nonce, AES-256-GCM
ciphertext with tag. Associated data names table and column, so that a value can't be moved to another place.
Sources: NIST SP 800-38D (GCM), RFC 2104 (HMAC).
"""

import base64
import hashlib
import hmac
import secrets
from functools import lru_cache
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

_VERSION: Final = 1
_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32


class DecryptionError(Exception):
    """A sealed value can't be opened: unknown key, wrong place, or changed bytes."""


@lru_cache(maxsize=4)
def _keyring(text: str) -> dict[str, AESGCM]:
    """Keys by id, the current one first, from `id:base64[,id:base64…]`."""
    keys: dict[str, AESGCM] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        key_id, _, encoded = part.partition(":")
        try:
            key = base64.b64decode(encoded, validate=True)
        except ValueError:
            key = b""
        if len(key) != _KEY_BYTES or not 1 <= len(key_id.encode()) <= 255:
            raise ImproperlyConfigured("FIELD_ENCRYPTION_KEYS must be id:base64 of 32 bytes, comma separated.")
        keys[key_id] = AESGCM(key)
    if not keys:
        raise ImproperlyConfigured("FIELD_ENCRYPTION_KEYS is empty.")
    return keys


def current_key_id() -> str:
    """The id of the key that new values are sealed with."""
    return next(iter(_keyring(settings.FIELD_ENCRYPTION_KEYS)))


def seal(plaintext: bytes, *, place: str) -> bytes:
    """Encrypt and authenticate `plaintext` for `place` (as "table.column")."""
    key_id = current_key_id()
    nonce = secrets.token_bytes(_NONCE_BYTES)
    ciphertext = _keyring(settings.FIELD_ENCRYPTION_KEYS)[key_id].encrypt(nonce, plaintext, place.encode())
    name = key_id.encode()
    return bytes((_VERSION, len(name))) + name + nonce + ciphertext


def unseal(sealed: bytes, *, place: str) -> bytes:
    """The plaintext of a sealed value; DecryptionError where it can't be opened at this place."""
    name, nonce_start = _sealed_key(sealed)
    cipher = _keyring(settings.FIELD_ENCRYPTION_KEYS).get(name)
    if cipher is None:
        raise DecryptionError("A sealed value names a key that is not configured.")
    nonce = sealed[nonce_start : nonce_start + _NONCE_BYTES]
    try:
        return cipher.decrypt(nonce, sealed[nonce_start + _NONCE_BYTES :], place.encode())
    except (InvalidTag, ValueError) as error:
        raise DecryptionError("A sealed value was changed or moved.") from error


def sealed_key_id(sealed: bytes) -> str:
    """The id of the key a value was sealed with."""
    return _sealed_key(sealed)[0]


def _sealed_key(sealed: bytes) -> tuple[str, int]:
    if len(sealed) < 2 or sealed[0] != _VERSION:
        raise DecryptionError("Not a sealed value.")
    end = 2 + sealed[1]
    return sealed[2:end].decode(errors="replace"), end


def keyed_hash(purpose: str, value: str) -> bytes:
    """HMAC-SHA256 under the service's pepper; `purpose` keeps hashes of different uses apart."""
    message = purpose.encode() + b"\x00" + value.encode()
    return hmac.new(settings.KEY_PEPPER.encode(), message, hashlib.sha256).digest()


def same_hash(left: bytes, right: bytes) -> bool:
    """Constant-time comparison."""
    return hmac.compare_digest(left, right)


class EncryptedTextField(models.BinaryField):  # type: ignore[type-arg]
    """Text kept sealed as bytea and never searched. The model sees `str`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["editable"] = False
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        """Leave out `editable`, which is always False."""
        name, path, args, kwargs = super().deconstruct()
        kwargs.pop("editable", None)
        return name, path, args, kwargs

    @property
    def place(self) -> str:
        """The associated data of this field's values."""
        return f"{self.model._meta.db_table}.{self.column}"

    def plaintext_encode(self, value: Any) -> bytes:
        """The bytes that are sealed for `value`."""
        return str(value).encode()

    def plaintext_decode(self, plaintext: bytes) -> Any:
        """The value that sealed bytes stand for."""
        return plaintext.decode()

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        """Seal on the way in."""
        if value is not None:
            value = seal(self.plaintext_encode(value), place=self.place)
        return super().get_db_prep_value(value, connection, prepared)

    def from_db_value(self, value: Any, _expression: Any, _connection: BaseDatabaseWrapper) -> Any:
        """Open on the way out."""
        return None if value is None else self.plaintext_decode(unseal(bytes(value), place=self.place))


class EncryptedJSONField(EncryptedTextField):
    """A JSON value kept sealed. The model sees dicts and lists."""

    def plaintext_encode(self, value: Any) -> bytes:
        """JSON, as orjson writes it."""
        return orjson.dumps(value)

    def plaintext_decode(self, plaintext: bytes) -> Any:
        """What the JSON says."""
        return orjson.loads(plaintext)
