"""From claims to requests: what an endpoint's row says is read, opened and parsed once, until it changes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import orjson
import structlog

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import DecryptionError, unseal
from healthsvc.kernel.http import OutboundTarget, outbound_target
from healthsvc.kernel.postgres.statements import rows_of
from webhooks import walker
from webhooks.models import Delivery
from webhooks.records import Claim, Outgoing
from webhooks.signatures import secret_key

log = structlog.get_logger(__name__)

#: A row's `xmin` is another one after each change, whoever's clock made it.
_VERSIONS: Final = """
SELECT id, xmin::text FROM webhooks_endpoint
 WHERE id = ANY (%(ids)b::uuid[]) AND NOT disabled AND deleted_at IS NULL
"""
_BODIES: Final = "SELECT id, body FROM webhooks_event WHERE id = ANY (%(ids)b::uuid[]) AND body IS NOT NULL"
_ENDPOINTS: Final = """
SELECT id, url, headers, secret, secrets_before FROM webhooks_endpoint
 WHERE id = ANY (%(ids)b::uuid[]) AND NOT disabled AND deleted_at IS NULL
"""
_CONTENT_TYPE: Final = {"Content-Type": "application/json"}


class _Unreadable:
    """Sealed with a key that is not there now. Its deliveries are neither sent nor given up: their leases run out."""


@dataclass(frozen=True, slots=True)
class _Ready:
    """An endpoint as it is sent to. `keys` with when each one's time is over."""

    version: str
    target: OutboundTarget
    keys: tuple[tuple[bytes, datetime | None], ...]

    def keys_at(self, now: datetime) -> tuple[bytes, ...]:
        return tuple(key for key, until in self.keys if until is None or until > now)


class Outgoings:
    """Makes requests of claims, for one pump and as long as it runs. In the delivery scope."""

    def __init__(self) -> None:
        self._ready: dict[UUID, _Ready] = {}

    def of_claims(self, claims: Sequence[Claim]) -> list[Outgoing]:
        """The requests of claims. Those that can't be made any more, for a dead endpoint or payload, are cancelled.

        Two statements, and one more where an endpoint was changed, or is new to this pump.
        """
        bodies = _bodies({claim.event_id for claim in claims})
        endpoints = self._endpoints({claim.endpoint_id for claim in claims})
        now = clock.now()
        made: list[Outgoing] = []
        dead: list[UUID] = []
        for claim in claims:
            body, endpoint = bodies.get(claim.event_id), endpoints.get(claim.endpoint_id)
            if body is None or endpoint is None:
                dead.append(claim.delivery_id)
            elif not isinstance(body, _Unreadable) and not isinstance(endpoint, _Unreadable):
                made.append(Outgoing(claim, endpoint.target, f"msg_{claim.event_id}", endpoint.keys_at(now), body))
        if dead:
            walker.deliveries_cancel(Delivery.objects.filter(pk__in=dead))
        return made

    def _endpoints(self, ids: Collection[UUID]) -> dict[UUID, _Ready | _Unreadable]:
        """Endpoints that may be sent to, as their rows are now."""
        versions: dict[UUID, str] = dict(rows_of(_VERSIONS, {"ids": list(ids)}))
        found: dict[UUID, _Ready | _Unreadable] = {}
        for pk, version in versions.items():
            ready = self._ready.get(pk)
            if ready is not None and ready.version == version:
                found[pk] = ready
        changed = versions.keys() - found.keys()
        if changed:
            for row in rows_of(_ENDPOINTS, {"ids": list(changed)}):
                found[row[0]] = _ready(versions[row[0]], *row)
        self._ready.update((pk, ready) for pk, ready in found.items() if isinstance(ready, _Ready))
        return found


def _ready(
    version: str, endpoint_id: UUID, url: str, headers: bytes, secret: bytes, before: bytes
) -> _Ready | _Unreadable:
    """An endpoint, opened. It was read after its version: a change between the two is seen at the next claim."""
    try:
        key = secret_key(_open("secret", secret).decode())
        earlier = orjson.loads(_open("secrets_before", before))
        still = [(secret_key(item["key"]), datetime.fromisoformat(item["until"])) for item in earlier]
        own: dict[str, str] = orjson.loads(_open("headers", headers))
    except (DecryptionError, ValueError) as error:
        log.error("endpoint_unreadable", endpoint_id=str(endpoint_id), error=type(error).__name__)
        return _Unreadable()
    return _Ready(version, outbound_target(url, {**own, **_CONTENT_TYPE}), ((key, None), *still))


def _open(column: str, sealed: bytes) -> bytes:
    return unseal(bytes(sealed), place=f"webhooks_endpoint.{column}")


def _bodies(ids: Collection[UUID]) -> dict[UUID, bytes | _Unreadable]:
    """The bytes that are sent, by event; opened once a batch, however many endpoints they go to."""
    found: dict[UUID, bytes | _Unreadable] = {}
    for event_id, sealed in rows_of(_BODIES, {"ids": list(ids)}):
        try:
            found[event_id] = unseal(bytes(sealed), place="webhooks_event.body")
        except DecryptionError as error:
            log.error("event_unreadable", event_id=str(event_id), error=type(error).__name__)
            found[event_id] = _Unreadable()
    return found
