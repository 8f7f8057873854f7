"""Grants taken back at the provider: owed when the connection ends, tried until it holds, never another's."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.http import fetch
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import team_scope
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.hooks import ApplicationKeys
from links.connectors.oauth import tokens_refresh
from links.connectors.wire import Access
from links.models import Connection, Revocation
from links.services import revocations
from links.services.connections import connection_disconnect
from links.services.refusals import ConnectionBroken
from links.services.renewal import access_get
from links.services.revocations import revocation_run, revocations_last_call, revocations_purge, revocations_wake
from management.models import TeamSettings
from tests.factories import Tenant, user_make
from tests.links.linking import browser, connected, departed, opened, path_of, query_of, token_make
from tests.links.simulators import Person, Simulator, call
from tests.users.erasing import after_grace
from users.models import User

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

_REVOKE = "/oura/oauth/revoke"


@pytest.fixture
def user(team: Tenant, simulator: Simulator) -> User:
    """Who is connected."""
    return user_make(team, client_user_id="ada")


@pytest.fixture
def oura(team: Tenant, user: User) -> Iterator[Connection]:
    """A connection, inside its team's scope."""
    connection = connected(team, user, "oura")
    with team_scope(team.context):
        yield connection


def works(simulator: Simulator, access_token: str, slug: str = "oura") -> bool:
    """Whether the provider still lets this token in."""
    path = f"{simulator.url}/{slug}/v2/usercollection/personal_info"
    return call("GET", path, headers={"Authorization": f"Bearer {access_token}"})[0] == 200


def ended(connection: Connection) -> Revocation:
    """What is owed after the customer disconnected."""
    assert connection_disconnect(team=connection.context, user_id=connection.user_id, provider=connection.provider)
    return Revocation.objects.get(connection=connection)


def run(revocation: Revocation, after_seconds: float = 0) -> Revocation:
    """A try some time from now."""
    with time_machine.travel(clock.now() + timedelta(seconds=after_seconds)):
        revocation_run(revocation_id=revocation.pk)
    revocation.refresh_from_db()
    return revocation


def state(revocation: Revocation) -> tuple[str, str, int]:
    """How it stands."""
    return revocation.status, revocation.error_code, revocation.attempts


def test_a_disconnected_grant_is_revoked_and_its_tokens_are_wiped(oura: Connection, simulator: Simulator) -> None:
    token = oura.access_token
    assert works(simulator, token)
    revocation = ended(oura)
    oura.refresh_from_db()
    assert (oura.access_token, oura.refresh_token) == ("", "")
    assert revocation.access_token == token
    assert works(simulator, token)
    run(revocation)
    assert state(revocation) == ("done", "", 1)
    assert (revocation.access_token, revocation.refresh_token) == ("", "")
    assert revocation.ended_at is not None
    assert not works(simulator, token)
    # The token stood in the body, not in the address.
    assert simulator.count("oura", _REVOKE) == 1
    run(revocation)
    assert simulator.count("oura", _REVOKE) == 1


def test_a_disconnect_that_is_rolled_back_owes_nothing(oura: Connection) -> None:
    with transaction.atomic():
        ended(oura)
        transaction.set_rollback(True)
    oura.refresh_from_db()
    assert (Revocation.objects.count(), bool(oura.access_token), oura.disconnected_at) == (0, True, None)


def test_it_is_tried_until_it_holds(oura: Connection, simulator: Simulator) -> None:
    simulator.fault("oura", "http_500", "/oauth/revoke", times=2)
    revocation = run(ended(oura))
    assert state(revocation) == ("owed", "provider_unavailable", 1)
    # Not before its time.
    assert state(run(revocation)) == ("owed", "provider_unavailable", 1)
    assert state(run(revocation, 31)) == ("owed", "provider_unavailable", 2)
    assert state(run(revocation, 31 + 121)) == ("done", "", 3)


def test_after_thirty_days_it_is_given_up_without_keeping_tokens(oura: Connection, simulator: Simulator) -> None:
    simulator.fault("oura", "http_500", "/oauth/revoke", times=20)
    revocation = run(ended(oura))
    assert revocation.refresh_token
    Revocation.objects.update(attempts=20)
    run(revocation, 30 * 86_400 - 7200)
    assert state(revocation) == ("owed", "provider_unavailable", 21)
    # Once a day at the least, and in the end not later than that.
    assert revocation.not_before == revocation.created_at + timedelta(days=30)
    run(revocation, 30 * 86_400 + 1)
    assert state(revocation) == ("given_up", "provider_unavailable", 22)
    assert (revocation.access_token, revocation.refresh_token) == ("", "")


def test_an_erasure_has_it_tried_once_more_and_no_longer(oura: Connection, simulator: Simulator) -> None:
    simulator.fault("oura", "http_500", "/oauth/revoke", times=20)
    revocation = run(ended(oura))
    Revocation.objects.update(not_before=clock.now() + timedelta(days=8))
    with after_grace():
        for _again in range(2):
            revocations_last_call(Revocation.objects.all())
        run(revocation)
    assert state(revocation) == ("given_up", "provider_unavailable", 2)


def test_what_is_owed_since_the_erasure_alone_is_tried_for_days(oura: Connection, simulator: Simulator) -> None:
    simulator.fault("oura", "http_500", "/oauth/revoke", times=20)
    revocation = ended(oura)
    revocations_last_call(Revocation.objects.all())
    run(revocation)
    run(revocation, 3 * 86_400 - 7200)
    assert state(revocation) == ("owed", "provider_unavailable", 2)
    run(revocation, 3 * 86_400 + 1)
    assert state(revocation) == ("given_up", "provider_unavailable", 3)


def test_an_access_token_at_its_end_is_renewed_first(oura: Connection, simulator: Simulator) -> None:
    Connection.objects.update(access_expires_at=clock.now())
    oura.refresh_from_db()
    revocation = ended(oura)
    old = revocation.access_token
    assert state(run(revocation)) == ("done", "", 1)
    assert simulator.count("oura", "/{slug}/oauth/token") == 2
    assert not works(simulator, old)


def test_a_grant_that_the_person_ended_is_done(oura: Connection, simulator: Simulator) -> None:
    Connection.objects.update(access_expires_at=clock.now(), refresh_token="unknown")
    oura.refresh_from_db()
    assert state(run(ended(oura))) == ("done", "grant_ended", 1)


def test_a_vendor_without_revocation_is_done_at_once(
    team: Tenant, user: User, monkeypatch: pytest.MonkeyPatch, simulator: Simulator
) -> None:
    connection = connected(team, user, "withings")
    monkeypatch.setattr(revocations, "connector_of", lambda *_: None)
    with team_scope(team.context):
        assert state(run(ended(connection))) == ("done", "not_supported", 1)
        assert Revocation.objects.get().access_token == ""


class _Revoker:
    """A connector with its own way to end a grant; rejects the first token it sees, where it is told to."""

    def __init__(self, *failures: FailureKind) -> None:
        self.failures = list(failures)
        self.seen: list[tuple[str, str, str, str]] = []

    def revoke(self, keys: ApplicationKeys, access: Access, *, refresh_token: str, external_user_id: str) -> None:
        self.seen.append((keys.client_id, access.access_token, refresh_token, external_user_id))
        if self.failures:
            raise ProviderFailure(self.failures.pop(0))


def test_a_connector_s_own_way_is_taken_with_a_token_that_lives(
    oura: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    revoker = _Revoker(FailureKind.TOKEN_REJECTED)
    monkeypatch.setattr(revocations, "connector_of", lambda *_: revoker)
    before = (oura.access_token, oura.refresh_token)
    assert state(run(ended(oura))) == ("done", "", 1)
    first, second = revoker.seen
    assert first == ("healthsvc", *before, oura.external_user_id)
    assert (second[1] == before[0], second[2] == before[1], second[3]) == (False, False, oura.external_user_id)


def test_a_pair_that_was_renewed_is_kept_before_it_is_used(oura: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider rotated, then the revocation failed: the next try has the new pair."""
    revoker = _Revoker(FailureKind.TOKEN_REJECTED, FailureKind.UNAVAILABLE)
    monkeypatch.setattr(revocations, "connector_of", lambda *_: revoker)
    revocation = run(ended(oura))
    assert (revocation.status, revocation.refresh_token) == ("owed", revoker.seen[1][2])
    assert state(run(revocation, 60)) == ("done", "", 2)
    assert revoker.seen[2] == revoker.seen[1]


def _another_user(team: Tenant, other_team: Tenant) -> None:
    connected(team, user_make(team), "oura", Person(account="ada@example.com"))


def _another_team(team: Tenant, other_team: Tenant) -> None:
    connected(other_team, user_make(other_team), "oura", Person(account="ada@example.com"))


@pytest.mark.parametrize("holder", [_another_user, _another_team])
def test_a_grant_that_somebody_else_s_connection_rests_on_is_left_alone(
    oura: Connection,
    simulator: Simulator,
    team: Tenant,
    other_team: Tenant,
    holder: Callable[[Tenant, Tenant], None],
) -> None:
    holder(team, other_team)
    assert state(run(ended(oura))) == ("done", "grant_shared", 1)
    assert simulator.count("oura", _REVOKE) == 0
    assert Revocation.objects.get().refresh_token == ""


def test_who_connects_again_before_it_ran_keeps_the_new_grant(
    oura: Connection, simulator: Simulator, team: Tenant, user: User
) -> None:
    revocation = ended(oura)
    Connection.objects.all().update(provider="oura_before")
    connected(team, user, "oura")
    # The login took it over, before any attempt.
    assert state(run(revocation)) == ("done", "grant_shared", 0)
    assert (revocation.refresh_token, simulator.count("oura", _REVOKE)) == ("", 0)


def test_the_user_s_other_account_does_not_save_the_old_one(
    oura: Connection, simulator: Simulator, team: Tenant, user: User
) -> None:
    token = oura.access_token
    client = browser()
    client.get(
        path_of(
            Person(account="b@example.com").decide(departed(client, opened(client, token_make(team, user)), "oura"))
        )
    )
    revocation = Revocation.objects.get(connection=oura)
    assert state(run(revocation)) == ("done", "", 1)
    assert not works(simulator, token)
    assert works(simulator, Connection.objects.get(disconnected_at=None).access_token)


def test_one_that_another_worker_has_is_left_to_it(oura: Connection, simulator: Simulator) -> None:
    revocation = ended(oura)
    Revocation.objects.update(lease_until=clock.now() + timedelta(seconds=60))
    run(revocation)
    assert (revocation.status, simulator.count("oura", _REVOKE)) == ("owed", 0)
    assert revocations_wake() == 0
    # Its worker died.
    Revocation.objects.update(lease_until=clock.now() - timedelta(seconds=1))
    assert revocations_wake() == 1
    assert run(revocation).status == "done"
    assert revocations_wake() == 0


def test_two_workers_at_once_ask_once(oura: Connection, simulator: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    revocation = ended(oura)

    def meanwhile(*args: Any, **values: Any) -> Any:
        revocation_run(revocation_id=revocation.pk)
        return fetch(*args, **values)

    monkeypatch.setattr("links.connectors.oauth.fetch", meanwhile)
    run(revocation)
    assert state(revocation) == ("done", "", 1)
    assert simulator.count("oura", _REVOKE) == 1


def test_a_pair_that_comes_after_the_end_is_revoked_too(
    oura: Connection, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The customer disconnects between the provider's new pair and our write: it is on no connection, but owed."""
    Connection.objects.update(access_expires_at=clock.now())
    fresh: list[str] = []

    def meanwhile(*args: Any, **values: Any) -> Any:
        tokens = tokens_refresh(*args, **values)
        fresh.append(tokens.access_token)
        ended(Connection.objects.get(pk=oura.pk))
        return tokens

    monkeypatch.setattr("links.services.renewal.tokens_refresh", meanwhile)
    with pytest.raises(ConnectionBroken):
        access_get(connection_id=oura.pk)
    oura.refresh_from_db()
    assert (oura.access_token, oura.refresh_token) == ("", "")
    assert works(simulator, fresh[0])
    for revocation in Revocation.objects.order_by("id"):
        run(revocation)
    assert Revocation.objects.filter(status="done").count() == 2
    assert not works(simulator, fresh[0])


def test_a_login_with_nothing_useful_is_given_back(team: Tenant, user: User, simulator: Simulator) -> None:
    client, person = browser(), Person()
    refuse = ["daily", "workout", "heartrate", "spo2", "ring_configuration"]
    back = person.decide(departed(client, opened(client, token_make(team, user)), "oura"), refuse=refuse)
    client.get(path_of(back))
    with team_scope(team.context):
        assert Connection.objects.count() == 0
        revocation = Revocation.objects.get()
        token = revocation.access_token
        assert works(simulator, token)
        assert state(run(revocation)) == ("done", "", 1)
    assert not works(simulator, token)


def test_a_refused_duplicate_keeps_the_grant_of_who_has_the_account(
    oura: Connection, team: Tenant, simulator: Simulator
) -> None:
    TeamSettings.objects.update_or_create(**team_values(team.context), defaults={"duplicate_account_policy": "refuse"})
    client = browser()
    page = token_make(team, user_make(team), redirect_url="https://app.example/done")
    back = Person(account="ada@example.com").decide(departed(client, opened(client, page), "oura"))
    response = client.get(path_of(back))
    assert query_of(response["Location"])["error_type"] == "duplicate_connection"
    revocation = Revocation.objects.get()
    assert revocation.connection_id is None
    assert state(run(revocation)) == ("done", "grant_shared", 1)
    assert works(simulator, oura.access_token)


def test_those_that_ended_long_ago_are_removed(oura: Connection) -> None:
    run(ended(oura))
    assert revocations_purge() == 0
    with time_machine.travel(clock.now() + timedelta(days=31)):
        assert revocations_purge() == 1
    assert Revocation.objects.count() == 0
