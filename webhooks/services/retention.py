"""Retention: what is older than `WEBHOOK_RETENTION_DAYS` goes, portion by portion, for a bounded time a run.

Ids are ordered by time, so their bound says what is old. Rows that somebody holds are left to the next run, and so are
events that are still owed, however old: nobody waits for a purge, and nothing that was accepted is lost to one.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, OuterRef

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_floor
from healthsvc.kernel.scope import SystemScope, system_scope
from webhooks.constants import PURGE_ROWS, PURGE_RUN_SECONDS
from webhooks.models import Delivery, Endpoint, Event, PortalSession, Tally
from webhooks.states import OPEN

_BEFORE_ALL: Final = UUID(int=0)
_EVENTS_TAKE: Final = """
SELECT id FROM webhooks_event WHERE id > %s AND id < %s AND fanned_out_at IS NOT NULL
 ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
"""
_ATTEMPTS_REMOVE: Final = "DELETE FROM webhooks_attempt WHERE delivery_id = ANY (%s)"
_DELIVERIES_REMOVE: Final = "DELETE FROM webhooks_delivery WHERE id = ANY (%s)"
_EVENTS_REMOVE: Final = "DELETE FROM webhooks_event WHERE id = ANY (%s)"


@dataclass(frozen=True, slots=True)
class Purged:
    """What a run removed. Not `finished`: its time was over before everything old was looked at."""

    events: int
    tallies: int
    portal_sessions: int
    endpoints: int
    finished: bool


def log_purge(*, run_seconds: float = PURGE_RUN_SECONDS) -> Purged:
    """Remove what is old, a portion of each kind in turn, so that none waits for all of another; the counts."""
    ends_at = time.monotonic() + run_seconds
    before = clock.now() - timedelta(days=settings.WEBHOOK_RETENTION_DAYS)
    portions = {
        "events": _events(uuid_floor(before)),
        "tallies": _tallies(uuid_floor(before)),
        "portal_sessions": _portal_sessions(uuid_floor(before)),
        "endpoints": _endpoints(before),
    }
    removed = dict.fromkeys(portions, 0)
    with system_scope(SystemScope.PURGE):
        while portions:
            for name, portion in list(portions.items()):
                count = next(portion, None)
                if count is None:
                    del portions[name]
                else:
                    removed[name] += count
            if time.monotonic() >= ends_at:
                break
    return Purged(**removed, finished=not portions)


def _events(before: UUID) -> Iterator[int]:
    """Events with their deliveries and attempts; each step is a transaction and says how many events went."""
    after = _BEFORE_ALL
    while True:
        with transaction.atomic():
            taken = _events_take(after, before)
            removed = _events_remove(taken) if taken else 0
        if not taken:
            return
        after = taken[-1]
        yield removed


def _events_take(after: UUID, before: UUID) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(_EVENTS_TAKE, [after, before, PURGE_ROWS])
        return [row[0] for row in cursor.fetchall()]


def _events_remove(taken: list[UUID]) -> int:
    """Remove events that this transaction holds, but for those with a delivery that is owed or held by somebody."""
    ended = Delivery.objects.filter(event_id__in=taken).exclude(status__in=[*OPEN]).order_by("pk")
    held = list(ended.select_for_update(skip_locked=True).values_list("pk", "event_id"))
    others = Delivery.objects.filter(event_id__in=taken).exclude(pk__in=[pk for pk, _event in held])
    kept = set(others.values_list("event_id", flat=True))
    deliveries = [pk for pk, event_id in held if event_id not in kept]
    events = [event_id for event_id in taken if event_id not in kept]
    with connection.cursor() as cursor:
        cursor.execute(_ATTEMPTS_REMOVE, [deliveries])
        cursor.execute(_DELIVERIES_REMOVE, [deliveries])
        cursor.execute(_EVENTS_REMOVE, [events])
    return len(events)


def _tallies(before: UUID) -> Iterator[int]:
    old = Tally.objects.filter(pk__lt=before).order_by("pk").select_for_update(skip_locked=True)
    while True:
        with transaction.atomic():
            ids = list(old.values_list("pk", flat=True)[:PURGE_ROWS])
            removed, _by_table = Tally.objects.filter(pk__in=ids).delete()
        if not removed:
            return
        yield removed


def _portal_sessions(before: UUID) -> Iterator[int]:
    """A session lives for hours; its row says for as long as the log is kept who looked at it."""
    old = PortalSession.objects.filter(pk__lt=before).order_by("pk").select_for_update(skip_locked=True)
    while True:
        with transaction.atomic():
            ids = list(old.values_list("pk", flat=True)[:PURGE_ROWS])
            removed, _by_table = PortalSession.objects.filter(pk__in=ids).delete()
        if not removed:
            return
        yield removed


def _endpoints(before: datetime) -> Iterator[int]:
    """Deleted endpoints that nothing in the log names any more."""
    named = [
        Exists(Delivery.objects.filter(endpoint_id=OuterRef("pk"))),
        Exists(Event.objects.filter(endpoint_id=OuterRef("pk"))),
    ]
    old = Endpoint.objects.filter(deleted_at__lt=before).exclude(named[0]).exclude(named[1])
    while True:
        with transaction.atomic():
            ids = list(old.order_by("pk").values_list("pk", flat=True)[:PURGE_ROWS])
            _rows, by_table = Endpoint.objects.filter(pk__in=ids).delete()
        if not ids:
            return
        yield by_table.get(Endpoint._meta.label, 0)
