"""What a seal is: the digest of a record, the list of a stretch, the digest over both and the seal before, a signature.

Pure functions over rows. `docs/audit.md` says the same for whoever checks a chain without the service.
"""

import hashlib
from collections.abc import Iterator
from typing import Final
from uuid import UUID

import orjson

from healthsvc.kernel import signing
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.principal import PrincipalKind
from management.models import AccessRecord, AccessSeal

#: Callers who are the person, at an address of theirs: an erasure empties it, so no digest covers it.
PERSONS_OWN: Final = (PrincipalKind.LINK_TOKEN, PrincipalKind.DEVICE_SESSION)
#: The digest before a chain's first seal, and where its first stretch begins.
BEGINNING: Final = bytes(32)
BEFORE_ALL: Final = (-1, UUID(int=0))
_ID_BYTES: Final = 16
ENTRY_BYTES: Final = 32
_PURPOSE: Final = "audit-seal"


def record_digest(record: AccessRecord) -> bytes:
    """The first 16 bytes of the SHA-256 of a record, all of it but an address that may be erased."""
    content = {
        "id": str(record.pk),
        "team_id": str(record.team_id),
        "environment": record.environment,
        "user_id": None if record.user_id is None else str(record.user_id),
        "actor_kind": record.actor_kind,
        "actor_id": record.actor_id,
        "action": record.action,
        "object_ids": record.object_ids,
        "request_id": record.request_id,
        "address": None if record.actor_kind in PERSONS_OWN else record.address,
        "occurred_at": utc_text(record.occurred_at),
        "status_code": record.status_code,
        "position": record.position,
    }
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).digest()[:_ID_BYTES]


def entry(record: AccessRecord) -> bytes:
    """What a seal holds of a record: its id and its digest."""
    return record.pk.bytes + record_digest(record)


def entries_read(entries: bytes) -> Iterator[tuple[UUID, bytes]]:
    """The ids and digests of a list."""
    for start in range(0, len(entries), ENTRY_BYTES):
        one = entries[start : start + ENTRY_BYTES]
        yield UUID(bytes=one[:_ID_BYTES]), one[_ID_BYTES:]


def entries_digest(entries: bytes) -> bytes:
    """The SHA-256 of a list, which stays when the list goes."""
    return hashlib.sha256(entries).digest()


def seal_digest(seal: AccessSeal) -> bytes:
    """The SHA-256 of all that a seal says."""
    content = {
        "team_id": str(seal.team_id),
        "environment": seal.environment,
        "number": seal.number,
        "to_position": seal.to_position,
        "to_id": str(seal.to_id),
        "row_count": seal.row_count,
        "first_id": str(seal.first_id),
        "last_id": str(seal.last_id),
        "entries_digest": bytes(seal.entries_digest).hex(),
        "previous_digest": bytes(seal.previous_digest).hex(),
        "sealed_at": utc_text(seal.sealed_at),
    }
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).digest()


def seal_sign(digest: bytes) -> bytes:
    """The Ed25519 signature of a seal's digest."""
    return signing.sign(_PURPOSE, digest)


def signature_is_true(seal: AccessSeal) -> bool:
    """Whether this service's key signed the seal's digest. The key is never taken from the row."""
    return signing.signature_is_true(public_key(), bytes(seal.signature), bytes(seal.digest))


def public_key() -> bytes:
    """What a seal's signature is checked with."""
    return signing.public_key(_PURPOSE)
