"""How much may be asked of a provider: the limits of the catalogue, counted for a registration by all workers together.

A window is a row, and a call is one statement that counts it, or finds the window used up. Windows begin at whole
multiples of their length since 1970, as the vendors' own do (quarters of an hour, days by UTC). A provider that
limits us all the same stops every worker until the time it named. The simulator, which guards nobody's machines, takes
many times as much, and each team's sandbox is counted and stopped by itself, never for long.
"""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db import connection as database
from django.db.models import Q

from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import current_scope
from links.catalogue import Provider
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.oauth import Application
from links.connectors.wire import Access
from links.constants import (
    BUDGET_KEPT_SECONDS,
    PROVIDER_BLOCK_MAXIMUM_SECONDS,
    SANDBOX_BLOCK_MAXIMUM_SECONDS,
    SIMULATOR_BUDGET_FACTOR,
)
from links.models import ProviderBudget
from links.services.purging import rows_purge

#: The part of a key that stands for a stop, in the place of a window.
_BLOCKED: Final = "blocked"

#: Counts a call, unless the provider has stopped us or the window is used up; gives a row where it did.
_TAKE: Final = """
    INSERT INTO links_provider_budget AS budget (key, window_started_at, used)
    SELECT %(key)s, %(started_at)s, 1
    WHERE NOT EXISTS (
        SELECT 1 FROM links_provider_budget AS stop WHERE stop.key = %(blocked)s AND stop.blocked_until > %(now)s)
    ON CONFLICT (key) DO UPDATE SET
        used = CASE WHEN budget.window_started_at < excluded.window_started_at THEN 1 ELSE budget.used + 1 END,
        window_started_at = GREATEST(budget.window_started_at, excluded.window_started_at)
    WHERE budget.window_started_at < excluded.window_started_at OR budget.used < %(limit)s
    RETURNING used"""
_GIVE_BACK: Final = """
    UPDATE links_provider_budget SET used = used - 1
    WHERE key = %(key)s AND window_started_at = %(started_at)s AND used > 0"""
_BLOCK: Final = """
    INSERT INTO links_provider_budget AS budget (key, window_started_at, used, blocked_until)
    VALUES (%(key)s, %(now)s, 0, %(until)s)
    ON CONFLICT (key) DO UPDATE SET
        window_started_at = excluded.window_started_at,
        blocked_until = GREATEST(budget.blocked_until, excluded.blocked_until)"""


def budget_take(
    application: Application | None, provider: Provider, environment: Environment, *, holder: str = ""
) -> None:
    """Count one call. ProviderFailure(RATE_LIMITED), with the seconds to wait, where it must not be made now.

    `holder` is who is counted, by default who they are in this scope. One statement a limit, outside every transaction
    of ours: a row lock is held for no longer than that.
    """
    now, whose = clock.now(), _whose(provider, environment, holder or _holder(application, environment))
    limits = provider.oauth.rate_limits if provider.oauth else ()
    factor = SIMULATOR_BUDGET_FACTOR if environment is Environment.SANDBOX else 1
    taken: list[dict[str, Any]] = []
    # The longest window first: what it refuses has cost the shorter ones nothing.
    for limit in sorted(limits, key=lambda one: -one.window_seconds):
        started_at = _window_start(now, limit.window_seconds)
        values: dict[str, Any] = {
            "key": f"{whose}:{limit.window_seconds}",
            "blocked": f"{whose}:{_BLOCKED}",
            "started_at": started_at,
            "now": now,
            "limit": limit.requests * factor,
        }
        if not _run(_TAKE, values):
            for one in taken:
                _run(_GIVE_BACK, one)
            ends_at = started_at + timedelta(seconds=limit.window_seconds)
            raise _limited(_blocked_until(whose) or ends_at, now)
        taken.append(values)
    until = None if limits else _blocked_until(whose)
    if until:
        raise _limited(until, now)


def budget_block(
    application: Application | None, provider: Provider, environment: Environment, seconds: int, *, holder: str = ""
) -> None:
    """No worker calls until so many seconds have passed; a longer stop that stands already stays."""
    now, whose = clock.now(), _whose(provider, environment, holder or _holder(application, environment))
    sandbox = environment is Environment.SANDBOX
    longest = SANDBOX_BLOCK_MAXIMUM_SECONDS if sandbox else PROVIDER_BLOCK_MAXIMUM_SECONDS
    until = now + timedelta(seconds=min(max(seconds, 1), longest))
    _run(_BLOCK, {"key": f"{whose}:{_BLOCKED}", "now": now, "until": until})


def access_held(
    application: Application | None,
    provider: Provider,
    environment: Environment,
    *,
    api_url: str,
    access_token: str,
    scopes: Collection[str] = (),
) -> Access:
    """An access whose every call is held to the provider's limits, wherever it is used."""
    holder = _holder(application, environment)
    return Access(
        api_url=api_url,
        access_token=access_token,
        scopes=frozenset(scopes),
        budget=lambda: budget_take(application, provider, environment, holder=holder),
        after_limited=lambda seconds: budget_block(application, provider, environment, seconds, holder=holder),
        extra_headers=provider.oauth.extra_headers if provider.oauth else {},
    )


def budgets_purge() -> int:
    """Remove windows and stops that ended days ago; how many those were."""
    now = clock.now()
    old = ProviderBudget.objects.filter(window_started_at__lt=now - timedelta(seconds=BUDGET_KEPT_SECONDS))
    return rows_purge(old.filter(Q(blocked_until=None) | Q(blocked_until__lt=now)))


def _holder(application: Application | None, environment: Environment) -> str:
    """Whose calls are counted together: a registration's; in the sandbox, where all share one, a team's."""
    team = current_scope().team
    if environment is Environment.SANDBOX and team is not None:
        return f"team-{team.team_id}"
    own = application.application_id if application else None
    return str(own or "operator")


def _whose(provider: Provider, environment: Environment, holder: str) -> str:
    return f"{provider.slug}:{environment.value}:{holder}"


def _window_start(now: datetime, window_seconds: int) -> datetime:
    elapsed = int(now.timestamp()) // window_seconds * window_seconds
    return datetime.fromtimestamp(elapsed, UTC)


def _blocked_until(whose: str) -> datetime | None:
    rows = ProviderBudget.objects.filter(key=f"{whose}:{_BLOCKED}", blocked_until__gt=clock.now())
    return rows.values_list("blocked_until", flat=True).first()


def _limited(until: datetime, now: datetime) -> ProviderFailure:
    # One more, for the rest of a second: who comes back has not come too early.
    wait_seconds = int((until - now).total_seconds()) + 1
    return ProviderFailure(FailureKind.RATE_LIMITED, retry_after_seconds=max(1, wait_seconds))


def _run(statement: str, values: dict[str, Any]) -> bool:
    """Whether the statement wrote a row."""
    with database.cursor() as cursor:
        cursor.execute(statement, values)
        return bool(cursor.rowcount)
