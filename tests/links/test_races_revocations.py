"""Taking a grant back while the same account logs in again: the login keeps what it was given, or is told."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.db import connection as database

from healthsvc.kernel import clock
from healthsvc.kernel.http import HttpReply
from healthsvc.kernel.scope import team_scope
from links.constants import LinkErrorType
from links.models import Connection, Revocation
from links.services.connections import connection_disconnect, connection_store
from links.services.refusals import LinkRefused
from links.services.revocations import revocation_run
from tests.factories import Tenant, tenant_make, user_make
from tests.links.granting import grant_make, stored, tokens_make
from tests.links.overlapping import Overlap
from users.models import User

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

CONNECTING = "links.services.connections.connection_created_emit"
#: The two calls of a revocation: fresh tokens, where the old ones are at their end, and the end of the grant.
RENEWING = "links.services.revocations.tokens_refresh"
CALLING = "links.services.revocations.token_revoke"


@pytest.fixture
def team(transactional_db: None) -> Iterator[Tenant]:
    """A team whose rows are committed."""
    yield tenant_make()
    database.close()


@pytest.fixture
def user(team: Tenant) -> User:
    """Who disconnects and comes back."""
    return user_make(team)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the provider was asked."""
    seen: list[str] = []

    def answer(method: str, url: str, **values: Any) -> HttpReply:
        seen.append(url.rpartition("/")[2])
        body = {"access_token": "late", "refresh_token": "later", "expires_in": 3600, "token_type": "bearer"}
        return HttpReply(200, {"Content-Type": "application/json"}, orjson.dumps(body))

    monkeypatch.setattr("links.connectors.oauth.fetch", answer)
    monkeypatch.setattr("links.connectors.wire.fetch", answer)
    return seen


@pytest.fixture
def overlap(team: Tenant, monkeypatch: pytest.MonkeyPatch, calls: list[str]) -> Overlap:
    """Runs two actions against each other."""
    return Overlap(team, monkeypatch)


@pytest.fixture
def owed(team: Tenant, user: User, calls: list[str]) -> Revocation:
    """The end of a grant whose access token is at its end."""
    return ended(team, stored(team, user))


def ended(tenant: Tenant, ring: Connection) -> Revocation:
    """What a disconnection owes."""
    with team_scope(tenant.context):
        Connection.objects.filter(pk=ring.pk).update(access_expires_at=clock.now())
        assert connection_disconnect(team=tenant.context, user_id=ring.user_id, provider="oura")
        return Revocation.objects.get(connection=ring)


def state(revocation: Revocation) -> tuple[str, str, str]:
    """How it stands."""
    with team_scope(revocation.context):
        revocation.refresh_from_db()
    return revocation.status, revocation.error_code, revocation.refresh_token


def living(tenant: Tenant) -> list[str]:
    """The access tokens of connections that have not ended."""
    with team_scope(tenant.context):
        return [one.access_token for one in Connection.objects.filter(disconnected_at=None)]


class Again:
    """The same account logs in again."""

    def __init__(self, tenant: Tenant, user: User) -> None:
        self.tenant, self.user = tenant, user

    def __call__(self, **values: Any) -> Connection:
        grant = grant_make(tokens=tokens_make(2), **values)
        with team_scope(self.tenant.context):
            return connection_store(team=self.tenant.context, user_id=self.user.id, grant=grant)


@pytest.fixture
def again(team: Tenant, user: User) -> Again:
    """The same account logs in again."""
    return Again(team, user)


def test_a_login_before_the_call_keeps_its_grant(
    team: Tenant, owed: Revocation, again: Again, overlap: Overlap, calls: list[str]
) -> None:
    overlap.run(lambda: revocation_run(revocation_id=owed.pk), again, stop_at=RENEWING)
    assert (calls, living(team)) == (["token"], ["access-2"])
    assert state(owed) == ("done", "grant_shared", "")


def test_a_login_during_the_call_is_told_and_may_be_tried_again(
    team: Tenant, owed: Revocation, again: Again, overlap: Overlap, calls: list[str]
) -> None:
    """Nobody knows which of the two the provider sees first: a connection that may be dead is not kept."""
    _, refused = overlap.run(lambda: revocation_run(revocation_id=owed.pk), again, stop_at=CALLING)
    assert isinstance(refused, LinkRefused)
    assert refused.error_type is LinkErrorType.PROVIDER_API_ERROR
    assert (calls, living(team), state(owed)) == (["token", "revoke"], [], ("done", "", ""))
    again()
    assert living(team) == ["access-2"]


def test_a_revocation_during_a_login_is_taken_by_it(
    team: Tenant, owed: Revocation, again: Again, overlap: Overlap, calls: list[str]
) -> None:
    overlap.run(again, lambda: revocation_run(revocation_id=owed.pk), stop_at=CONNECTING)
    assert ("revoke" in calls, living(team)) == (False, ["access-2"])
    assert state(owed) == ("done", "grant_shared", "")


def test_a_login_that_was_given_its_grant_before_the_call_is_told(
    team: Tenant, owed: Revocation, again: Again, calls: list[str]
) -> None:
    obtained_at = clock.now()
    revocation_run(revocation_id=owed.pk)
    with pytest.raises(LinkRefused) as refused:
        again(obtained_at=obtained_at)
    assert refused.value.error_type is LinkErrorType.PROVIDER_API_ERROR
    again(obtained_at=clock.now())
    assert living(team) == ["access-2"]


@pytest.mark.parametrize(
    ("before", "after"), [("ring-1", "ring-1"), ("", "ring-1"), ("ring-1", "")], ids=["same", "unknown", "untold"]
)
def test_a_login_ends_what_is_owed_of_its_own_grant_only(
    team: Tenant, user: User, again: Again, calls: list[str], before: str, after: str
) -> None:
    own = ended(team, stored(team, user, external_user_id=before))
    neighbour = user_make(team)
    strange = ended(team, stored(team, neighbour, external_user_id="ring-2"))
    again(external_user_id=after)
    assert (state(own)[:2], state(strange)[:2]) == (("done", "grant_shared"), ("owed", ""))


def test_another_team_that_shares_the_registration_keeps_its_grant(
    team: Tenant, owed: Revocation, overlap: Overlap, calls: list[str]
) -> None:
    other = tenant_make(name="Another team")
    theirs = Again(other, user_make(other))
    overlap.run(lambda: revocation_run(revocation_id=owed.pk), theirs, stop_at=RENEWING)
    assert (calls, living(other)) == (["token"], ["access-2"])
    assert state(owed) == ("done", "grant_shared", "")


def test_a_call_that_failed_long_before_the_login_is_forgotten(
    team: Tenant, owed: Revocation, again: Again, calls: list[str]
) -> None:
    with team_scope(team.context):
        Revocation.objects.update(called_at=clock.now() - timedelta(seconds=30), lease_until=None)
    again(obtained_at=clock.now())
    assert state(owed)[:2] == ("done", "grant_shared")
