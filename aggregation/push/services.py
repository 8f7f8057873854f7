"""Storing a push: all of it and its receipt in one transaction, once for each batch id."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, cast
from uuid import UUID

from django.db import transaction

from aggregation.constants import PUSH_RECEIPT_DAYS
from aggregation.learning import person_learn
from aggregation.models import Push
from aggregation.push.bounds import bounds_check
from aggregation.push.checks import Checked, push_check
from aggregation.push.envelope import envelope_read
from aggregation.push.reading import ReadPush, push_read
from aggregation.push.receipts import receipt_json
from aggregation.push.summaries import Zones
from aggregation.records import StoreResult
from aggregation.registry import device_push
from aggregation.services import Told, health_data_store, user_hold
from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid
from healthsvc.kernel.principal import Principal, PrincipalKind, TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope
from healthsvc.kernel.typing import JSONObject
from users.models import User

#: The provider of data that a customer's own server sends.
MANUAL_PROVIDER: Final = "manual"
_PURGED_AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Pushed:
    """The answer to a push. `replayed`: it was stored before, and the receipt is the one of then."""

    receipt: JSONObject
    replayed: bool = False


def push_store(*, principal: Principal, team: TeamContext, user: User, body: bytes) -> Pushed:
    """Store a pushed body of a living user; synchronous, and all that is good in it or, after an error, nothing.

    413 where it holds more than a push may; 422 where the outside of the body is wrong or its batch id stands for
    another body; 403 for a provider that this caller may not push for. With a batch id the same body sent again, or at
    the same moment, gets the same receipt. A device's first backfill of a resource sends no events of its own.
    """
    bounds_check(body)
    envelope = envelope_read(body)
    provider = envelope.source.provider
    provider_permit(principal, team, user.pk, provider)
    read = push_read(envelope, Zones(envelope.time_zone, user.fallback_time_zone))
    now = clock.now()
    with transaction.atomic():
        push: Push | None = None
        if envelope.batch_id is not None:
            push = _claim(team, user.pk, envelope.batch_id, hashlib.sha256(body).digest(), now)
            if push.receipt:
                return Pushed(cast("JSONObject", push.receipt), replayed=True)
        checked = push_check(team, user, provider, read)
        person_learn(
            team=team,
            user_id=user.pk,
            provider=provider,
            time_zone=envelope.time_zone,
            summaries=checked.summaries,
            known_at=checked.latest(now),
        )
        stored = _store(team, user, read, checked, _told(principal, team, user.pk, provider))
        receipt = receipt_json(
            batch_id=envelope.batch_id,
            stored_at=clock.utc_text(now),
            slugs=read.slugs,
            stored=stored,
            refused=read.refused,
            notes=checked.notes,
        )
        if push is not None:
            Push.objects.for_team(team).filter(pk=push.pk).update(receipt=receipt)
    return Pushed(receipt)


def provider_permit(principal: Principal, team: TeamContext, user_id: UUID, provider: str) -> Told:
    """Which resources' events a push of this caller sends; 403 where it may not push data of this provider.

    A team's key may for `manual` only, a person's device for what it reads itself and the person has connected.
    """
    if principal.kind is PrincipalKind.DEVICE_SESSION:
        permitted = device_push(team, user_id, provider)
        if permitted is None:
            message = (
                "A signed-in device pushes data of providers that it reads itself and that the person has connected. "
                "Connect the provider first, with POST /v2/link/provider/manual/{provider}."
            )
            raise ServiceError(ErrorCode.NOT_ALLOWED, message)
        return permitted.backfilled
    if principal.kind not in (PrincipalKind.TEAM_KEY, PrincipalKind.ACCESS_TOKEN) or provider != MANUAL_PROVIDER:
        message = (
            f"A team key pushes data of the provider `{MANUAL_PROVIDER}` only. Data of other providers are sent by the "
            "person's device with a signed-in session, or pulled from the provider once the person has connected it."
        )
        raise ServiceError(ErrorCode.NOT_ALLOWED, message)
    return True


def pushes_purge() -> int:
    """Remove receipts that are older than they are kept; how many."""
    before = clock.now() - timedelta(days=PUSH_RECEIPT_DAYS)
    removed = 0
    with system_scope(SystemScope.PURGE):
        while ids := list(Push.objects.filter(created_at__lt=before).values_list("pk", flat=True)[:_PURGED_AT_ONCE]):
            removed += Push.objects.filter(pk__in=ids).delete()[0]
    return removed


def _claim(team: TeamContext, user_id: UUID, batch_id: str, digest: bytes, now: datetime) -> Push:
    """This batch's row: a new one with an empty receipt, or the one that is there. Waits for a twin that runs now."""
    ours = Push(**team_values(team), user_id=user_id, batch_id=batch_id, digest=digest, receipt={}, created_at=now)
    Push.objects.bulk_create([ours], ignore_conflicts=True)
    row = Push.objects.for_team(team).get(user_id=user_id, batch_id=batch_id)
    if bytes(row.digest) != digest:
        message = "This batch_id was used for this user with another body. Send a new batch_id with new data."
        raise invalid([Problem(("body", "batch_id"), message, "batch_id_reused")], ErrorCode.IDEMPOTENCY_KEY_REUSED)
    return row


def _told(principal: Principal, team: TeamContext, user_id: UUID, provider: str) -> Told:
    """Asked again while the user is held: neither does the connection end meanwhile nor a first backfill."""
    if principal.kind is PrincipalKind.DEVICE_SESSION:
        user_hold(team, user_id)
    return provider_permit(principal, team, user_id, provider)


def _store(team: TeamContext, user: User, read: ReadPush, checked: Checked, told: Told) -> StoreResult:
    stored = health_data_store(
        team=team,
        user_id=user.pk,
        series=checked.series,
        summaries=checked.summaries,
        streams=checked.streams,
        emit=told,
    )
    places = {slug: place for place, slug in read.slugs.items() if slug is not None}
    for refusal in stored.refused:
        read.refused.add_many(places[refusal.kind], None, refusal.count, refusal.reason)
    return stored
