"""Pulling a user's last days again, on request."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import transaction

from healthsvc.kernel.limits import RatePolicy, limit_take
from healthsvc.kernel.principal import TeamContext
from links import selectors
from links.constants import REFRESH_QUOTA, REFRESH_WINDOW_SECONDS, PullKind
from links.models import Connection, Pull
from links.services.connections import connections_resume
from links.services.pull_rows import pulls_schedule
from links.states import PULL_OPEN, PullStatus
from users import selectors as user_selectors

_POLICY: Final = RatePolicy("user_refresh", REFRESH_QUOTA, REFRESH_WINDOW_SECONDS, counted="refreshes of this user")
#: How often the pulls are looked at while a caller waits.
_LOOK_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class Refreshed:
    """Provider slugs by what became of them. `nothing_connected` where there was nothing to pull from."""

    refreshed: tuple[str, ...] = ()
    in_progress: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    nothing_connected: bool = False


def user_refresh(*, team: TeamContext, user_id: UUID, timeout_seconds: float) -> Refreshed:
    """Owe the last days of every connected resource and wait for them, `timeout_seconds` at most.

    A paused connection is pulled again from now on: whoever asks for its data wants them.
    404 for an unknown user, 429 after eight in an hour. What is not done in time goes on without the caller.
    """
    user_selectors.user_get(team, user_id)
    limit_take(_POLICY, str(user_id))
    with transaction.atomic():
        user = user_selectors.user_get(team, user_id, lock=True)
        connections_resume(selectors.connections_of(team, user_id))
        connections = selectors.connections_of(team, user_id)
        ready = [one for one in connections if selectors.is_connected(one) and selectors.is_pullable(one)]
        pulls = pulls_schedule(connections=ready, kind=PullKind.REFRESH, user=user)
    broken = tuple(one.provider for one in connections if not selectors.is_connected(one))
    if not ready:
        return Refreshed(failed=broken, nothing_connected=True)
    statuses = _wait([pull.pk for pull in pulls], timeout_seconds)
    return _sorted(ready, pulls, statuses, broken)


def _wait(pull_ids: Sequence[UUID], timeout_seconds: float) -> dict[UUID, str]:
    """The status of each pull once all have ended or the time is over."""
    deadline = time.monotonic() + timeout_seconds
    while True:
        statuses = dict(Pull.objects.filter(pk__in=pull_ids).values_list("pk", "status"))
        if time.monotonic() >= deadline or not set(statuses.values()) & set(PULL_OPEN):
            return statuses
        time.sleep(_LOOK_SECONDS)


def _sorted(
    connections: Sequence[Connection], pulls: Sequence[Pull], statuses: dict[UUID, str], broken: tuple[str, ...]
) -> Refreshed:
    refreshed: list[str] = []
    in_progress: list[str] = []
    failed = list(broken)
    for connection in connections:
        own = {statuses.get(pull.pk, PullStatus.FAILURE) for pull in pulls if pull.connection_id == connection.pk}
        if PullStatus.FAILURE in own:
            failed.append(connection.provider)
        elif own & set(PULL_OPEN):
            in_progress.append(connection.provider)
        else:
            refreshed.append(connection.provider)
    return Refreshed(tuple(refreshed), tuple(in_progress), tuple(failed))
