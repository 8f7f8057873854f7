"""Fresh tokens: renewed in time, by one worker of many, and a connection that is broken only after several refusals."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.oauth import tokens_refresh
from links.models import Connection, Pull
from links.services import renewal
from links.services.pulls import pull_run
from links.services.refusals import ConnectionBroken, TokensBusy
from links.services.renewal import access_get, margin_seconds
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.events import event_types_of, events_of
from tests.links.linking import connected
from tests.links.simulators import Simulator
from users.models import User

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

_OURA_TOKEN = "/{slug}/oauth/token"


@pytest.fixture
def user(team: Tenant) -> User:
    """Who is connected."""
    return user_make(team, client_user_id="ada")


@pytest.fixture
def oura(team: Tenant, user: User, simulator: Simulator) -> Iterator[Connection]:
    """A connection, inside its team's scope."""
    connection = connected(team, user, "oura")
    with team_scope(team.context):
        yield connection


def expire(connection: Connection, **values: Any) -> None:
    """Let the access token be at its end."""
    Connection.objects.filter(pk=connection.pk).update(access_expires_at=clock.now(), **values)


def test_a_token_with_time_left_is_used_as_it_is(oura: Connection, simulator: Simulator) -> None:
    access, version = access_get(connection_id=oura.pk)
    assert (access.access_token, version) == (oura.access_token, 1)
    assert simulator.count("oura", _OURA_TOKEN) == 1


@pytest.mark.parametrize(("seconds", "renewals"), [(1, 0), (-1, 1)])
def test_a_token_near_its_end_is_renewed_first(
    oura: Connection, simulator: Simulator, seconds: int, renewals: int
) -> None:
    assert oura.access_expires_at is not None
    before_end = timedelta(seconds=margin_seconds(oura.pk) + seconds)
    with time_machine.travel(oura.access_expires_at - before_end, tick=False):
        access, version = access_get(connection_id=oura.pk)
    oura.refresh_from_db()
    assert simulator.count("oura", _OURA_TOKEN) == 1 + renewals
    assert (version, access.access_token) == (1 + renewals, oura.access_token)
    assert oura.token_lease_until is None


def test_rotated_refresh_tokens_are_kept(oura: Connection) -> None:
    seen = {oura.refresh_token}
    for _ in range(3):
        expire(oura)
        access_get(connection_id=oura.pk)
        oura.refresh_from_db()
        seen.add(oura.refresh_token)
    assert len(seen) == 4
    assert oura.token_version == 4


def test_a_rejected_token_is_renewed_and_the_pull_goes_on(
    oura: Connection, simulator: Simulator, api: ApiClient, user: User
) -> None:
    simulator.fault("oura", "token_expired", "/v2/usercollection/daily_activity")
    pull = Pull.objects.get(resource="activity")
    pull_run(pull_id=pull.pk)
    pull.refresh_from_db()
    oura.refresh_from_db()
    assert (pull.status, oura.token_version, oura.status) == ("success", 2, "connected")


def test_a_second_worker_waits_while_the_first_renews(oura: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the first worker's lease and its new tokens, another worker comes by."""
    expire(oura)
    seen: list[type[Exception]] = []

    def meanwhile(*args: Any, **values: Any) -> Any:
        with pytest.raises(TokensBusy):
            access_get(connection_id=oura.pk)
        seen.append(TokensBusy)
        return tokens_refresh(*args, **values)

    monkeypatch.setattr("links.services.renewal.tokens_refresh", meanwhile)
    _, version = access_get(connection_id=oura.pk)
    assert (seen, version) == ([TokensBusy], 2)


def test_a_second_worker_uses_the_old_token_while_it_lasts(oura: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    soon = clock.now() + timedelta(seconds=60)
    Connection.objects.filter(pk=oura.pk).update(access_expires_at=soon)
    used: list[int] = []

    def meanwhile(*args: Any, **values: Any) -> Any:
        used.append(access_get(connection_id=oura.pk)[1])
        return tokens_refresh(*args, **values)

    monkeypatch.setattr("links.services.renewal.tokens_refresh", meanwhile)
    assert access_get(connection_id=oura.pk)[1] == 2
    assert used == [1]


def test_a_sleeping_worker_does_not_write_over_newer_tokens(oura: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker whose lease ran out while it waited for the provider finds the pair of another."""
    expire(oura)

    def slow(*args: Any, **values: Any) -> Any:
        tokens = tokens_refresh(*args, **values)
        changed = {"access_token": "newer", "refresh_token": "newest", "token_version": 9, "token_lease_until": None}
        Connection.objects.filter(pk=oura.pk).update(access_expires_at=clock.now() + timedelta(hours=1), **changed)
        return tokens

    monkeypatch.setattr("links.services.renewal.tokens_refresh", slow)
    access, version = access_get(connection_id=oura.pk)
    assert (access.access_token, version) == ("newer", 9)
    oura.refresh_from_db()
    assert oura.refresh_token == "newest"


def test_a_lease_of_a_dead_worker_ends(oura: Connection) -> None:
    expire(oura, token_lease_until=clock.now() + timedelta(seconds=60))
    with pytest.raises(TokensBusy):
        access_get(connection_id=oura.pk)
    with time_machine.travel(clock.now() + timedelta(seconds=61)):
        assert access_get(connection_id=oura.pk)[1] == 2


def test_a_busy_pull_comes_back_without_counting_a_failure(oura: Connection) -> None:
    expire(oura, token_lease_until=clock.now() + timedelta(seconds=60))
    pull = Pull.objects.get(resource="sleep")
    pull_run(pull_id=pull.pk)
    pull.refresh_from_db()
    assert (pull.status, pull.error_code, pull.attempts) == ("retrying", "resource_contention", 0)


@pytest.mark.parametrize("function", ["connection_break", "log.info"])
def test_an_old_refusal_does_not_break_a_connection_made_anew(
    oura: Connection, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    """The person connects again after the refusal, before or after it was counted."""
    expire(oura, refresh_token="revoked", token_refusals=2)
    pull = Pull.objects.get(resource="sleep")
    module: Any = renewal.log if function == "log.info" else renewal
    name = function.removeprefix("log.")
    refuse = getattr(module, name)
    changed = {"token_version": 2, "refresh_token": "newest", "token_refusals": 0}

    def meanwhile(*args: Any, **values: Any) -> Any:
        Connection.objects.filter(pk=oura.pk).update(**changed, token_lease_until=None)
        return refuse(*args, **values)

    monkeypatch.setattr(module, name, meanwhile)
    pull_run(pull_id=pull.pk)
    oura.refresh_from_db()
    assert (oura.status, oura.error_type, oura.token_version, oura.token_refusals) == ("connected", "", 2, 0)
    statuses = dict(Pull.objects.values_list("resource", "status"))
    assert statuses.pop("sleep") == "retrying"
    assert set(statuses.values()) == {"scheduled"}
    pull.refresh_from_db()
    assert (pull.error_code, pull.attempts) == ("resource_contention", 0)


def test_an_outage_of_the_provider_breaks_nothing(oura: Connection, simulator: Simulator, team: Tenant) -> None:
    expire(oura)
    simulator.fault("oura", "http_500", "/oauth/token", times=20)
    for _ in range(10):
        with pytest.raises(ProviderFailure) as caught:
            access_get(connection_id=oura.pk)
        assert caught.value.kind is FailureKind.UNAVAILABLE
    oura.refresh_from_db()
    assert (oura.status, oura.token_refusals, oura.token_lease_until) == ("connected", 0, None)


def test_a_wrong_secret_of_ours_breaks_no_connection(oura: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("links.connectors.oauth.SIMULATOR_CLIENT_SECRET", "wrong")
    expire(oura)
    for _ in range(4):
        with pytest.raises(ProviderFailure) as caught:
            access_get(connection_id=oura.pk)
        assert caught.value.kind is FailureKind.REFUSED
    oura.refresh_from_db()
    assert (oura.status, oura.token_refusals) == ("connected", 0)


@pytest.mark.parametrize("slug", ["oura", "withings"])
def test_refused_three_times_a_connection_is_broken_and_told_once(
    team: Tenant, user: User, api: ApiClient, simulator: Simulator, slug: str
) -> None:
    connection = connected(team, user, slug)
    with team_scope(team.context):
        # An unknown refresh token stands for one that the person revoked.
        expire(connection, refresh_token="revoked")
        for refusals in (1, 2):
            with pytest.raises(ProviderFailure):
                access_get(connection_id=connection.pk)
            connection.refresh_from_db()
            assert (connection.status, connection.token_refusals) == ("connected", refusals)
            # In the pause after a refusal nobody asks again.
            with pytest.raises(TokensBusy):
                access_get(connection_id=connection.pk)
            Connection.objects.update(token_lease_until=None)
        pull = Pull.objects.get(resource="sleep")
    pull_run(pull_id=pull.pk)
    (provider,) = api.get(f"/v2/user/providers/{user.id}").json()["providers"]
    assert provider["status"] == "error"
    assert provider["error_details"]["error_type"] == "token_refresh_failed"
    assert provider["error_details"]["error_message"]
    with team_scope(team.context):
        assert set(Pull.objects.values_list("status", flat=True)) == {"failure"}
        with pytest.raises(ConnectionBroken):
            access_get(connection_id=connection.pk)
    assert event_types_of(team) == ["provider.connection.created", "provider.connection.error"]
    data = events_of(team)[1][1]
    assert data["error_type"] == "token_refresh_failed"
    assert data["error_details"] == provider["error_details"]
    assert data["provider"] == slug
    assert data["message"] == provider["error_details"]["error_message"]
