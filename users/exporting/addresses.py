"""Addresses that download an archive without a key: signed, for minutes, and in the name of whoever asked for one.

What is signed names the archive, its team, who asked and until when; nothing of it is kept. The token stands in the
query, which no log line of the service repeats.
"""

import base64
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import keyed_hash, same_hash
from healthsvc.kernel.ids import uuid_parse
from healthsvc.kernel.principal import Environment, Principal, PrincipalKind, TeamContext
from users.constants import EXPORT_ADDRESS_SECONDS
from users.models import Export

PARAMETER: Final = "token"
_PURPOSE: Final = "user-export-download"
_PARTS: Final = 6
#: More digits are no instant that a signature of ours names.
_DIGITS_MAXIMUM: Final = 12


@dataclass(frozen=True, slots=True)
class SignedAddress:
    """Where an archive is, until when."""

    url: str
    expires_at: datetime


def address_make(export: Export, principal: Principal) -> SignedAddress:
    """An address of a finished archive, for the caller to hand on; lives no longer than the archive."""
    until = clock.now() + timedelta(seconds=EXPORT_ADDRESS_SECONDS)
    if export.expires_at is not None:
        until = min(until, export.expires_at)
    claims = (
        str(int(until.timestamp())),
        export.team_id.hex,
        export.environment,
        str(principal.kind),
        principal.key_id.hex,
    )
    token = ".".join((*claims, _signature(export.user_id, export.pk, claims)))
    url = f"{settings.BASE_URL}/v2/user/{export.user_id}/export/{export.pk}/download?{PARAMETER}={token}"
    return SignedAddress(url, datetime.fromtimestamp(int(claims[0]), UTC))


def address_read(user_id: UUID, export_id: UUID, token: str) -> Principal | None:
    """In whose name an archive of this user may be downloaded; None where the token is not ours or its time is over."""
    *claims, signature = token.split(".")
    if len(claims) != _PARTS - 1 or not same_hash(
        _signature(user_id, export_id, tuple(claims)).encode(), signature.encode()
    ):
        return None
    expires, team_hex, environment, kind, key_hex = claims
    if not (expires.isascii() and expires.isdigit() and len(expires) <= _DIGITS_MAXIMUM):
        return None
    team_id, key_id = uuid_parse(team_hex), uuid_parse(key_hex)
    if team_id is None or key_id is None or clock.now().timestamp() >= int(expires):
        return None
    team = TeamContext(team_id, Environment(environment))
    return Principal(PrincipalKind(kind), key_id, team=team, user_id=user_id)


def _signature(user_id: UUID, export_id: UUID, claims: tuple[str, ...]) -> str:
    signed = keyed_hash(_PURPOSE, ".".join((user_id.hex, export_id.hex, *claims)))
    return base64.urlsafe_b64encode(signed).rstrip(b"=").decode()
