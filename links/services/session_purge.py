"""Removes what sessions leave behind: spent codes and tokens, ended sessions, old counts of guesses."""

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope
from links.constants import GUESS_WINDOW_SECONDS, SESSION_KEPT_SECONDS
from links.models import DeviceSession, GuessCount, LinkCode, SessionToken, SignInToken
from links.services.purging import rows_purge


def sessions_purge() -> int:
    """Remove in small portions what has been of no use for a week; how many rows went."""
    now = clock.now()
    before = now - timedelta(seconds=SESSION_KEPT_SECONDS)
    with system_scope(SystemScope.PURGE):
        removed = rows_purge(
            LinkCode.objects.filter(expires_at__lt=before),
            SignInToken.objects.filter(expires_at__lt=before),
            SessionToken.objects.filter(expires_at__lt=before),
            SessionToken.objects.filter(session__in=_over(before)),
            _over(before),
        )
    stale = GuessCount.objects.filter(window_started_at__lt=now - timedelta(seconds=GUESS_WINDOW_SECONDS))
    return removed + rows_purge(stale.filter(key__startswith="address:"))


def _over(before: datetime) -> QuerySet[DeviceSession]:
    """Sessions that ended, or that nobody refreshed while they could."""
    tokens = SessionToken.objects.filter(session=OuterRef("pk"))
    return DeviceSession.objects.filter(Q(ended_at__lt=before) | (Q(created_at__lt=before) & ~Exists(tokens)))
