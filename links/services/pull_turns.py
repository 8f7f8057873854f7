"""Whose turn it is: fresh data before history, and teams and their providers one after another.

Of `WORKER_CONCURRENCY` pulls at once no single provider has all, and backfills together have not all: where a provider
hangs, or a thousand people connect, one worker is left for the rest. With one worker there is nothing to share.

What workers were told of waits in the broker, where nobody overtakes: so they are told of few at once, and of those
that wait in the database a team with less under way goes first.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection as database
from django.db.models import Case, F, IntegerField, Q, QuerySet, Value, When, Window
from django.db.models.functions import RowNumber

from links.constants import PULL_LEASE_SECONDS, PULL_WOKEN_SECONDS, PULLS_WOKEN_A_WORKER, PullKind
from links.models import Pull
from links.states import PullStatus
from management.closed import of_living_team

#: A pull whose lease was not renewed for so long counts as nobody's: a worker that lives renews before every call,
#: which lasts `PROVIDER_TIMEOUT_SECONDS` at most. One that died must not keep the others waiting for its whole lease.
TURN_SEEN_SECONDS: Final = 30
_TURN_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('links-pull-turn', 0))"


@dataclass(frozen=True, slots=True)
class Full:
    """Who has as many pulls at work as they may."""

    providers: Collection[str] = ()
    backfills: bool = False


def turn_lock() -> None:
    """Until the transaction ends nobody else takes a pull, so that what is counted stays true."""
    with database.cursor() as cursor:
        cursor.execute(_TURN_LOCK)


def full_find(now: datetime) -> Full:
    """Who must wait until one of their pulls ends. One statement, over what workers are at."""
    share = max(1, settings.WORKER_CONCURRENCY - 1)
    seen_until = now + timedelta(seconds=PULL_LEASE_SECONDS - TURN_SEEN_SECONDS)
    running = Pull.objects.filter(status=PullStatus.IN_PROGRESS, lease_until__gte=seen_until)
    found = list(running.values_list("connection__provider", "kind"))
    providers = Counter(provider for provider, _ in found)
    kinds = Counter(kind for _, kind in found)
    return Full([slug for slug, count in providers.items() if count >= share], kinds[PullKind.BACKFILL] >= share)


def allowed(rows: QuerySet[Pull], full: Full) -> QuerySet[Pull]:
    """Those of `rows` that may be taken now."""
    if full.backfills:
        rows = rows.exclude(kind=PullKind.BACKFILL)
    return rows.exclude(connection__provider__in=full.providers) if full.providers else rows


def due_find(now: datetime) -> QuerySet[Pull]:
    """What nobody works on and whose time has come, or whose worker died; nothing of a deleted team."""
    waiting = Q(status__in=[PullStatus.SCHEDULED, PullStatus.RETRYING], not_before__lte=now)
    return Pull.objects.filter(waiting | Q(status=PullStatus.IN_PROGRESS, lease_until__lt=now), of_living_team())


def in_turn(rows: QuerySet[Pull], under_way: Mapping[UUID, int]) -> QuerySet[Pull]:
    """Refreshes first; of each kind one of every team and provider, then the next of each, the longest due first.

    A team that has pulls under way (`under_way_find`) is so many turns behind those that have none.
    """
    turn = Window(
        RowNumber(),
        partition_by=[F("kind"), F("team_id"), F("connection__provider")],
        order_by=[F("not_before").asc(), F("pk").asc()],
    )
    begun = [When(team_id=team_id, then=Value(count)) for team_id, count in under_way.items()]
    behind = Case(*begun, default=Value(0), output_field=IntegerField())
    return rows.annotate(turn=turn + behind).order_by("-kind", "turn", "not_before", "pk")


def woken(now: datetime) -> Q:
    """Those that a worker was told of and has not come for yet."""
    waiting = Q(status__in=[PullStatus.SCHEDULED, PullStatus.RETRYING])
    return waiting & Q(woken_at__gt=now - timedelta(seconds=PULL_WOKEN_SECONDS))


def under_way_find(now: datetime) -> Counter[UUID]:
    """How many pulls of each team workers are at, or were told of."""
    running = Q(status=PullStatus.IN_PROGRESS, lease_until__gte=now)
    return Counter(Pull.objects.filter(running | woken(now)).values_list("team_id", flat=True))


def woken_maximum() -> int:
    """How many pulls may wait in the broker before the sweep and workers tell of no more."""
    return PULLS_WOKEN_A_WORKER * settings.WORKER_CONCURRENCY
