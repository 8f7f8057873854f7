"""What ends a connection ends the one that was looked at, and no other that took its place meanwhile."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection as database

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.constants import SessionEnd
from links.models import Connection, DeviceSession, LinkCode, SignInToken
from links.services.connections import connection_store, user_disconnect
from links.services.demo import demos_end
from links.services.link_codes import link_code_create, link_code_exchange
from links.services.sessions import session_begin, sign_in_token_create
from tests.factories import Tenant, tenant_make, user_make
from tests.links.granting import grant_make, stored, tokens_make
from tests.links.overlapping import Overlap
from users.models import User

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

#: Where each action stops: before it locks the user, and holding what it is about to change.
LOCKING = "links.services.connections.users_lock"
ENDING = "links.services.connection_rows.connection_hooks_drop"
CONNECTING = "links.services.connections.connection_created_emit"


@pytest.fixture
def team(transactional_db: None) -> Iterator[Tenant]:
    """A team whose rows are committed."""
    yield tenant_make()
    database.close()


@pytest.fixture
def user(team: Tenant) -> User:
    """Whose connection it is."""
    return user_make(team)


@pytest.fixture
def overlap(team: Tenant, monkeypatch: pytest.MonkeyPatch) -> Overlap:
    """Runs two actions against each other."""
    return Overlap(team, monkeypatch)


@pytest.fixture
def demo(team: Tenant, user: User) -> Connection:
    """A demonstration whose week is over."""
    return stored(team, user, expires_at=clock.now() - timedelta(seconds=1), external_user_id="demo-1")


def living(tenant: Tenant) -> list[Connection]:
    """Connections that have not ended."""
    with team_scope(tenant.context):
        return list(Connection.objects.filter(disconnected_at=None))


@pytest.mark.parametrize("stop_at", [LOCKING, ENDING])
def test_a_real_login_while_a_demonstration_ends_stays(
    team: Tenant, user: User, demo: Connection, overlap: Overlap, stop_at: str
) -> None:
    def connect() -> Connection:
        return connection_store(team=team.context, user_id=user.id, grant=grant_make(tokens=tokens_make(2)))

    ended, made = overlap.run(demos_end, connect, stop_at=stop_at)
    (kept,) = living(team)
    assert (kept.pk, kept.expires_at, kept.access_token) == (made.pk, None, "access-2")
    assert kept.pk != demo.pk
    assert ended == (0 if stop_at == LOCKING else 1)


def test_a_demonstration_that_ends_during_a_real_login_ends_nothing_else(
    team: Tenant, user: User, demo: Connection, overlap: Overlap
) -> None:
    def connect() -> Connection:
        return connection_store(team=team.context, user_id=user.id, grant=grant_make(tokens=tokens_make(2)))

    made, ended = overlap.run(connect, demos_end, stop_at=CONNECTING)
    assert ([one.pk for one in living(team)], ended) == ([made.pk], 0)


def test_a_demonstration_that_is_made_again_meanwhile_has_its_week(
    team: Tenant, user: User, demo: Connection, overlap: Overlap
) -> None:
    week = clock.now() + timedelta(days=7)

    def again() -> Connection:
        grant = grant_make(expires_at=week, external_user_id="demo-1")
        return connection_store(team=team.context, user_id=user.id, grant=grant)

    ended, made = overlap.run(demos_end, again, stop_at=LOCKING)
    assert [(one.pk, one.expires_at) for one in living(team)] == [(made.pk, week)] == [(demo.pk, week)]
    assert ended == 0


@pytest.mark.parametrize("first", ["begin", "end"])
def test_a_session_that_begins_while_its_user_goes_is_ended(
    team: Tenant, user: User, overlap: Overlap, first: str
) -> None:
    with team_scope(team.context):
        text = sign_in_token_create(team=team.context, user_id=user.id)

    def begin() -> object:
        return session_begin(sign_in_token=text)

    def end() -> int:
        return user_disconnect(team.context, user.id)

    if first == "begin":
        overlap.run(begin, end, stop_at="links.services.sessions._pair_make")
    else:
        overlap.run(end, begin, stop_at="links.services.connections.sessions_revoke")
    with team_scope(team.context):
        assert DeviceSession.objects.filter(ended_at=None).count() == 0
        assert set(DeviceSession.objects.values_list("end_reason", flat=True)) <= {SessionEnd.USER_DELETED}
        assert SignInToken.objects.filter(used_at=None).count() == 0


@pytest.mark.parametrize("first", ["exchange", "end"])
def test_a_code_that_is_exchanged_while_its_user_goes_opens_nothing(
    team: Tenant, user: User, overlap: Overlap, first: str
) -> None:
    with team_scope(team.context):
        code = link_code_create(team=team.context, user_id=user.id).code

    def exchange() -> object:
        return link_code_exchange(code=code, address="192.0.2.1")

    def end() -> int:
        return user_disconnect(team.context, user.id)

    if first == "exchange":
        overlap.run(exchange, end, stop_at="links.services.link_codes.sign_in_token_create")
    else:
        overlap.run(end, exchange, stop_at="links.services.connections.sessions_revoke")
    with team_scope(team.context):
        assert LinkCode.objects.filter(used_at=None).count() == 0
        assert SignInToken.objects.filter(used_at=None).count() == 0
