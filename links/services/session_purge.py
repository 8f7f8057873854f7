"""Removes what sessions leave behind: spent codes and tokens, ended sessions, old counts of guesses."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope
from links.constants import GUESS_WINDOW_SECONDS, PURGED_AT_ONCE, SESSION_KEPT_SECONDS
from links.models import DeviceSession, GuessCount, LinkCode, SessionToken, SignInToken


def sessions_purge() -> int:
    """Remove in small portions what has been of no use for a week; how many rows went."""
    now = clock.now()
    before = now - timedelta(seconds=SESSION_KEPT_SECONDS)
    with system_scope(SystemScope.PURGE):
        removed = sum(
            _removed(rows)
            for rows in (
                LinkCode.objects.filter(expires_at__lt=before),
                SignInToken.objects.filter(expires_at__lt=before),
                SessionToken.objects.filter(expires_at__lt=before),
                _over(before),
            )
        )
    stale = GuessCount.objects.filter(window_started_at__lt=now - timedelta(seconds=GUESS_WINDOW_SECONDS))
    return removed + _removed(stale.filter(key__startswith="address:"))


def _over(before: datetime) -> QuerySet[DeviceSession]:
    """Sessions that ended, or that nobody refreshed while they could."""
    tokens = SessionToken.objects.filter(session=OuterRef("pk"))
    return DeviceSession.objects.filter(Q(ended_at__lt=before) | (Q(created_at__lt=before) & ~Exists(tokens)))


def _removed(rows: QuerySet[Any]) -> int:
    model: type[Model] = rows.model
    removed = 0
    while ids := list(rows.values_list("pk", flat=True)[:PURGED_AT_ONCE]):
        removed += model._default_manager.filter(pk__in=ids).delete()[0]
    return removed
