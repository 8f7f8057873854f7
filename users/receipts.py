"""Erasure receipts: what was erased, how much and when, signed, and nothing that leads to the person.

The signature is Ed25519 (RFC 8032) over the receipt's bytes as they are kept, so whoever has written the public key
down can check a receipt without the service. The key is derived from the service's pepper and is the same for all
teams. The user is named by a keyed hash: the operator can tell whether a receipt is about a user id that somebody
shows, nobody else can, and nobody finds the id from it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import orjson

from healthsvc.kernel import signing
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.crypto import keyed_hash
from users import registry
from users.models import Erasure

ALGORITHM: Final = "Ed25519"
_VERSION: Final = 1
_PURPOSE: Final = "erasure-receipt"
#: What stays of a person, by table.
KEPT: Final = {"management_access_record": "the audit trail: who read or changed what of the person and when, by ids"}


@dataclass(frozen=True, slots=True)
class SignedReceipt:
    """A receipt's text, and what proves it."""

    text: str
    signature: bytes
    public_key: bytes


def receipt_make(erasure: Erasure, *, user_id: UUID, erased_at: datetime) -> SignedReceipt:
    """The receipt of an erasure that ends at `erased_at`."""
    rows_erased, rows_emptied = registry.rows_split(erasure.rows_erased)
    content = {
        "version": _VERSION,
        "erasure_id": str(erasure.pk),
        "team_id": str(erasure.team_id),
        "environment": erasure.environment,
        "user_hash": user_hash(user_id),
        "requested_at": utc_text(erasure.requested_at),
        "due_at": utc_text(erasure.due_at),
        "erased_at": utc_text(erased_at),
        "rows_erased": rows_erased,
        "rows_emptied": rows_emptied,
        "kept": KEPT,
        "grants_not_revoked": erasure.grants_not_revoked,
    }
    text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS).decode()
    return SignedReceipt(text, signing.sign(_PURPOSE, text.encode()), signing.public_key(_PURPOSE))


def receipt_is_true(receipt: SignedReceipt) -> bool:
    """Whether the signature is the public key's over this text."""
    return signing.signature_is_true(receipt.public_key, receipt.signature, receipt.text.encode())


def public_key() -> bytes:
    """What receipts are checked with; whoever wrote it down needs nothing else of the service."""
    return signing.public_key(_PURPOSE)


def user_hash(user_id: UUID) -> str:
    """How a receipt names a user."""
    return keyed_hash("erased-user", str(user_id)).hex()
