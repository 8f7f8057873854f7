"""Renewal by many workers, by ones that die half-way, and over a database that goes away: one pair, never lost."""

import threading
from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from django.db import connection as database
from django.db import connections

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.scope import team_scope
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.oauth import tokens_refresh
from links.constants import TOKEN_JITTER_SECONDS, TOKEN_MARGIN_SECONDS
from links.models import Connection
from links.services.refusals import ConnectionBroken, TokensBusy
from links.services.renewal import access_get, margin_seconds
from tests.factories import Tenant, tenant_make, user_make
from tests.links.linking import connected
from tests.links.simulators import Simulator

_ROUTES = {"oura": ("/{slug}/oauth/token", ""), "withings": ("/withings/v2/oauth2", "requesttoken")}


class Killed(BaseException):
    """A worker's end, in the middle of everything."""


@pytest.fixture
def tenant(simulator: Simulator) -> Tenant:
    """A team, committed."""
    return tenant_make()


def ending(tenant: Tenant, slug: str) -> Connection:
    """A connection whose access token is at its end."""
    connection = connected(tenant, user_make(tenant), slug)
    with team_scope(tenant.context):
        Connection.objects.filter(pk=connection.pk).update(access_expires_at=clock.now())
    return connection


def renewals(simulator: Simulator, slug: str) -> int:
    """How often the token endpoint was asked since the login."""
    return simulator.count(slug, *_ROUTES[slug]) - 1


def test_connections_made_in_one_moment_are_renewed_apart() -> None:
    margins = [margin_seconds(uuid_ordered()) for _ in range(10_000)]
    assert min(margins) >= TOKEN_MARGIN_SECONDS
    assert max(margins) < TOKEN_MARGIN_SECONDS + TOKEN_JITTER_SECONDS
    # 10,000 over 600 seconds are 17 in each; chance alone does not make it 60.
    assert len(set(margins)) == TOKEN_JITTER_SECONDS
    assert max(Counter(margins).values()) < 60
    one = uuid4()
    assert margin_seconds(one) == margin_seconds(one)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_of_many_workers_one_renews(tenant: Tenant, simulator: Simulator) -> None:
    connection = ending(tenant, "oura")
    simulator.fault("oura", "slow", "/oauth/token", delay_seconds=0.5)
    start = threading.Barrier(8)
    found: list[str] = []

    def run() -> None:
        try:
            with team_scope(tenant.context):
                start.wait(10)
                found.append(access_get(connection_id=connection.pk)[0].access_token)
        except TokensBusy:
            found.append("busy")
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    with team_scope(tenant.context):
        connection.refresh_from_db()
    # Who comes after the one that renewed has its token; the others are told to come again.
    assert (len(found), set(found) - {"busy"}) == (8, {connection.access_token})
    assert (renewals(simulator, "oura"), connection.token_version) == (1, 2)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_database_that_goes_away_for_a_moment_costs_no_pair(
    tenant: Tenant, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider has rotated, and the session in which the new pair should be written is cut."""
    connection = ending(tenant, "oura")

    def cut(*args: Any, **values: Any) -> Any:
        tokens = tokens_refresh(*args, **values)
        with database.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            pid = cursor.fetchone()[0]
        thread = threading.Thread(target=_cut, args=(pid,))
        thread.start()
        thread.join(10)
        return tokens

    monkeypatch.setattr("links.services.renewal.tokens_refresh", cut)
    with team_scope(tenant.context):
        access, version = access_get(connection_id=connection.pk)
        monkeypatch.undo()
        connection.refresh_from_db()
        assert (version, access.access_token) == (2, connection.access_token)
        # The pair that was written is the provider's last one.
        assert tokens_refresh_works(connection)


def _cut(pid: int) -> None:
    try:
        with database.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
    finally:
        connections.close_all()


def tokens_refresh_works(connection: Connection) -> bool:
    """Whether the provider takes the refresh token that is stored."""
    Connection.objects.filter(pk=connection.pk).update(access_expires_at=clock.now())
    return access_get(connection_id=connection.pk)[1] == connection.token_version + 1


@pytest.mark.slow
@pytest.mark.django_db
def test_a_worker_killed_after_the_rotation_leaves_what_the_vendor_s_grace_takes(
    tenant: Tenant, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Withings takes the refresh token before the last one for eight hours."""
    connection = ending(tenant, "withings")
    _killed(tenant, connection, monkeypatch)
    with team_scope(tenant.context), time_machine.travel(clock.now() + timedelta(seconds=61)):
        _, version = access_get(connection_id=connection.pk)
    assert (version, renewals(simulator, "withings")) == (2, 2)


@pytest.mark.slow
@pytest.mark.django_db
def test_without_a_grace_the_old_token_is_tried_three_times_before_the_connection_is_broken(
    tenant: Tenant, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = ending(tenant, "oura")
    _killed(tenant, connection, monkeypatch)
    at, outcomes = clock.now() + timedelta(seconds=61), []
    with team_scope(tenant.context):
        for _ in range(3):
            with time_machine.travel(at), pytest.raises((ProviderFailure, ConnectionBroken)) as caught:
                access_get(connection_id=connection.pk)
            outcomes.append(getattr(caught.value, "kind", None))
            at += timedelta(seconds=3600)
        connection.refresh_from_db()
    assert outcomes == [FailureKind.TOKEN_REJECTED, FailureKind.TOKEN_REJECTED, None]
    assert (connection.status, connection.error_type) == ("error", "token_refresh_failed")


def _killed(tenant: Tenant, connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider answers, and the worker is gone before it writes."""

    def killed(*args: Any, **values: Any) -> Any:
        tokens_refresh(*args, **values)
        raise Killed

    monkeypatch.setattr("links.services.renewal.tokens_refresh", killed)
    with team_scope(tenant.context), pytest.raises(Killed):
        access_get(connection_id=connection.pk)
    monkeypatch.undo()
