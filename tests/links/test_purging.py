"""Removing what is of no use any more: portion by portion, what hangs on a row before the row, for a bounded time."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection as database

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.models import LinkSession, LinkToken, OAuthState, PasswordLogin, ProviderBudget, Revocation
from links.services.budgets import budgets_purge
from links.services.connections import connection_disconnect
from links.services.password_logins import password_logins_purge
from links.services.revocations import revocations_purge
from links.services.tokens import link_tokens_purge
from tests.factories import Tenant, user_make
from tests.links.granting import stored
from tests.links.linking import browser, departed, opened, token_make


def _tokens(tenant: Tenant) -> None:
    client = browser()
    for _ in range(3):
        page = token_make(tenant, user_make(tenant))
        departed(client, opened(client, page), "oura")
        opened(browser(), page)


def _logins(tenant: Tenant) -> None:
    now = clock.now()
    user = user_make(tenant)
    with team_scope(tenant.context):
        for _ in range(3):
            PasswordLogin.objects.create(
                team=tenant.team, environment="sandbox", user=user, provider="whoop", created_at=now, expires_at=now
            )


def _revocations(tenant: Tenant) -> None:
    for number in range(3):
        ring = stored(tenant, user_make(tenant), external_user_id=f"ring-{number}")
        with team_scope(tenant.context):
            connection_disconnect(team=tenant.context, user_id=ring.user_id, provider="oura")
    with team_scope(tenant.context):
        Revocation.objects.update(status="done", ended_at=clock.now())


def _budgets(tenant: Tenant) -> None:
    for number in range(3):
        ProviderBudget.objects.create(key=f"oura:sandbox:operator:{number}", window_started_at=clock.now(), used=1)


def _left(tenant: Tenant) -> int:
    with team_scope(tenant.context):
        models = (LinkToken, LinkSession, OAuthState, PasswordLogin, Revocation, ProviderBudget)
        return sum(model._default_manager.count() for model in models)


@pytest.mark.parametrize(
    ("make", "purge", "rows"),
    [
        (_tokens, link_tokens_purge, 12),
        (_logins, password_logins_purge, 3),
        (_revocations, revocations_purge, 3),
        (_budgets, budgets_purge, 3),
    ],
)
def test_a_purge_goes_on_until_nothing_is_left_or_the_time_is_over(
    team: Tenant,
    monkeypatch: pytest.MonkeyPatch,
    simulator: object,
    make: Callable[[Tenant], None],
    purge: Callable[[], int],
    rows: int,
) -> None:
    make(team)
    monkeypatch.setattr("links.services.purging.PURGED_AT_ONCE", 2)
    with time_machine.travel(clock.now() + timedelta(days=60)):
        with monkeypatch.context() as hurried:
            hurried.setattr("links.services.purging.PURGE_SECONDS", 0)
            # One portion, and what hangs on a row goes before it.
            assert purge() == 2
        assert purge() == rows - 2
        assert purge() == 0
    assert _left(team) == 0


def test_what_is_of_use_again_before_it_is_removed_stays(db: None) -> None:
    for number in range(2):
        started_at = clock.now() - timedelta(days=3)
        ProviderBudget.objects.create(key=f"oura:sandbox:operator:{number}", window_started_at=started_at, used=1)

    def counted_again(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if sql.startswith("DELETE"):
            ProviderBudget.objects.filter(key__endswith=":1").update(window_started_at=clock.now())
        return execute(sql, *rest)

    with database.execute_wrapper(counted_again):
        assert budgets_purge() == 1
    assert ProviderBudget.objects.get().key == "oura:sandbox:operator:1"
