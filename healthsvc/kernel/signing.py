"""Ed25519 signatures (RFC 8032) with keys derived from the service's pepper: one for each purpose.

They are the same for all teams. Whoever has written a public key down can check what was signed without the service.
"""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from healthsvc.kernel.crypto import keyed_hash


def sign(purpose: str, message: bytes) -> bytes:
    """The signature of a message."""
    return _signing_key(purpose).sign(message)


def public_key(purpose: str) -> bytes:
    """What signatures made for this purpose are checked with."""
    return _signing_key(purpose).public_key().public_bytes_raw()


def signature_is_true(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the signature is this public key's over the message."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _signing_key(purpose: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(keyed_hash(purpose, "signing key"))
