"""Two things at the same moment to one connection: each pair in both orders, and exactly what comes of it."""

from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from django.db import connection as database
from pytest_django import Settings

from aggregation.records import StoreResult
from aggregation.services import health_data_store
from healthsvc.kernel import clock
from healthsvc.kernel.http import HttpReply
from healthsvc.kernel.scope import team_scope
from links.constants import LinkErrorType
from links.models import Connection, LinkToken, Pull, Revocation
from links.services.connections import connection_store
from links.services.pulls import pull_run
from links.services.refusals import ConnectionBroken, LinkRefused
from links.services.tokens import link_token_create, link_token_find
from tests.aggregation.samples import heartrates, us
from tests.factories import Tenant, tenant_make, user_make
from tests.links.actions import Actions
from tests.links.events import event_types_of
from tests.links.granting import grant_make, open_pulls, pulls_done, stored, tokens_make
from tests.links.overlapping import Overlap
from tests.links.test_connections import policy
from users.models import User

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

#: Where each action stops, holding what it is about to change.
CONNECTING = "links.services.connections.connection_created_emit"
ENDING = "links.services.connection_rows.connection_hooks_drop"
BREAKING = "links.services.connections.connection_error_emit"
PAUSING = "links.services.connections.pulls_give_up"
SCHEDULING = "links.services.schedule.pulls_schedule"
REFRESHING = "links.services.refreshes.pulls_schedule"
FETCHING = "links.connectors.wire.fetch"
STORING = "links.services.pulls.pull_advance"
RENEWING = "links.connectors.oauth.fetch"

BEATS = {us(2026, 11, 1, 0, minute): 60.0 for minute in range(5)}


@pytest.fixture
def team(transactional_db: None) -> Iterator[Tenant]:
    """A team whose rows are committed."""
    yield tenant_make()
    database.close()


@pytest.fixture
def user(team: Tenant) -> User:
    """Whose connection it is."""
    return user_make(team, client_user_id="ada")


@pytest.fixture
def ring(team: Tenant, user: User) -> Connection:
    """The connection."""
    return stored(team, user)


@pytest.fixture
def overlap(team: Tenant, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Overlap:
    """Runs two actions against each other. The provider answers every question with nothing new."""
    settings.WORKER_CONCURRENCY = 8
    monkeypatch.setattr("links.connectors.wire.fetch", _nothing_new)
    monkeypatch.setattr("links.connectors.oauth.fetch", _fresh_tokens)
    return Overlap(team, monkeypatch)


def _nothing_new(*args: Any, **values: Any) -> HttpReply:
    return HttpReply(200, {}, b'{"data": [], "next_token": null}')


def _fresh_tokens(*args: Any, **values: Any) -> HttpReply:
    body = {"access_token": "late-access", "refresh_token": "late-refresh", "expires_in": 3600, "token_type": "bearer"}
    return HttpReply(200, {"Content-Type": "application/json"}, orjson.dumps(body))


@pytest.fixture
def act(team: Tenant, user: User, ring: Connection) -> Actions:
    """What can happen to the connection."""
    return Actions(team, user, ring)


def row(ring: Connection) -> Connection:
    """The connection as it is now."""
    with team_scope(ring.context):
        return Connection.objects.get(pk=ring.pk)


def due(ring: Connection) -> None:
    """Let the connection's hour have come, with nothing open."""
    with team_scope(ring.context):
        pulls_done(ring)
        Connection.objects.filter(pk=ring.pk).update(next_pull_at=clock.now())


def living(team: Tenant) -> list[Connection]:
    """Connections that have not ended."""
    with team_scope(team.context):
        return list(Connection.objects.filter(disconnected_at=None).order_by("pk"))


def revoked(team: Tenant) -> list[str]:
    """The refresh tokens that are to be revoked."""
    with team_scope(team.context):
        return sorted(one.refresh_token for one in Revocation.objects.all())


def sleep_pull(ring: Connection) -> Pull:
    """One of the connection's pulls."""
    with team_scope(ring.context):
        return Pull.objects.filter(connection=ring, resource="sleep").latest("created_at")


# connect × connect


def test_two_first_logins_to_one_provider_make_one_connection(team: Tenant, user: User, overlap: Overlap) -> None:
    def connect(number: int) -> Callable[[], Connection]:
        grant = grant_make(tokens=tokens_make(number))
        return lambda: connection_store(team=team.context, user_id=user.id, grant=grant)

    first, second = overlap.run(connect(1), connect(2), stop_at=CONNECTING)
    (made,) = living(team)
    assert (first.pk, second.pk, made.access_token, made.token_version) == (made.pk, made.pk, "access-2", 2)
    assert event_types_of(team) == ["provider.connection.created"] * 2
    with team_scope(team.context):
        pulls = list(Pull.objects.values_list("resource", flat=True))
    assert len(pulls) == len(set(pulls))


def test_two_first_logins_to_two_providers_both_survive(team: Tenant, user: User, overlap: Overlap) -> None:
    def connect(**values: Any) -> Callable[[], Connection]:
        return lambda: connection_store(team=team.context, user_id=user.id, grant=grant_make(**values))

    scale = connect(provider="withings", external_user_id="scale", scopes_granted=("user.metrics",))
    first, second = overlap.run(connect(), scale, stop_at=CONNECTING)
    assert {one.provider for one in living(team)} == {first.provider, second.provider} == {"oura", "withings"}
    assert {pull.connection_id for pull in open_pulls(team).values()} == {first.pk, second.pk}


def test_one_link_token_connects_once(team: Tenant, user: User, overlap: Overlap) -> None:
    with team_scope(team.context):
        text = link_token_create(team=team.context, user_id=user.id).token
        LinkToken.objects.update(status="validated")
    token = link_token_find(text)

    def connect(provider: str) -> Callable[[], Connection]:
        grant = grant_make(provider=provider)
        return lambda: connection_store(team=team.context, user_id=user.id, grant=grant, link_token=token)

    first, second = overlap.run(connect("oura"), connect("withings"), stop_at=CONNECTING)
    assert isinstance(second, LinkRefused)
    assert second.error_type is LinkErrorType.TOKEN_CONSUMED
    assert [one.pk for one in living(team)] == [first.pk]


@pytest.mark.parametrize(("wanted", "count"), [("allow", 2), ("refuse", 1), ("move", 1)])
def test_one_account_on_two_users_follows_the_policy(
    team: Tenant, user: User, overlap: Overlap, wanted: str, count: int
) -> None:
    policy(team, wanted)
    other = user_make(team)

    def connect(who: User) -> Callable[[], Connection]:
        return lambda: connection_store(team=team.context, user_id=who.id, grant=grant_make())

    first, second = overlap.run(connect(user), connect(other), stop_at=CONNECTING)
    holders = {one.user_id for one in living(team)}
    assert len(holders) == count
    refused = isinstance(second, LinkRefused) and second.error_type is LinkErrorType.DUPLICATE_CONNECTION
    assert refused is (wanted == "refuse")
    assert holders == {"allow": {user.id, other.id}, "refuse": {user.id}, "move": {other.id}}[wanted]
    assert isinstance(first, Connection)


def test_two_accounts_that_change_places_wait_for_nobody_for_ever(team: Tenant, user: User, overlap: Overlap) -> None:
    policy(team, "move")
    other = user_make(team)
    stored(team, user, external_user_id="ring-1")
    stored(team, other, external_user_id="ring-2")

    def connect(who: User, ring: str) -> Callable[[], Connection]:
        return lambda: connection_store(team=team.context, user_id=who.id, grant=grant_make(external_user_id=ring))

    results = overlap.together(connect(user, "ring-2"), connect(other, "ring-1"))
    assert [type(one) for one in results] == [Connection, Connection], results
    assert {(one.user_id, one.external_user_id) for one in living(team)} == {(user.id, "ring-2"), (other.id, "ring-1")}


def test_many_users_of_one_account_leave_one_holder(team: Tenant, overlap: Overlap) -> None:
    policy(team, "refuse")
    people = [user_make(team) for _ in range(4)]

    def connect(who: User) -> Callable[[], Connection]:
        return lambda: connection_store(team=team.context, user_id=who.id, grant=grant_make())

    results = overlap.together(*(connect(who) for who in people))
    assert sorted(type(one).__name__ for one in results) == ["Connection", *["LinkRefused"] * 3]
    assert len(living(team)) == 1


def test_two_first_batches_of_a_user_both_survive(
    team: Tenant, ring: Connection, act: Actions, overlap: Overlap
) -> None:
    """The first windows of two resources, stored at the same moment."""
    with team_scope(team.context):
        pulls = {one.resource: one.pk for one in Pull.objects.filter(resource__in=["sleep", "activity"])}
    overlap.run(lambda: pull_run(pull_id=pulls["sleep"]), lambda: pull_run(pull_id=pulls["activity"]), stop_at=STORING)
    with team_scope(team.context):
        done = Pull.objects.filter(pk__in=pulls.values()).values_list("status", flat=True)
        assert list(done) == ["success", "success"]


# connect × disconnect


def test_a_login_before_a_disconnection_is_ended_by_it(
    team: Tenant, ring: Connection, act: Actions, overlap: Overlap
) -> None:
    first, second = overlap.run(act.connect, act.disconnect, stop_at=CONNECTING)
    assert (first.pk, second) == (ring.pk, True)
    assert (living(team), revoked(team), open_pulls(team)) == ([], ["refresh-2"], {})


def test_a_login_after_a_disconnection_begins_anew(
    team: Tenant, ring: Connection, act: Actions, overlap: Overlap
) -> None:
    first, second = overlap.run(act.disconnect, act.connect, stop_at=ENDING)
    assert first is True
    (made,) = living(team)
    assert (made.pk, made.pk == ring.pk, made.access_token) == (second.pk, False, "access-2")
    # The login took over what was owed: the account's grant is its own now, and the old tokens are wiped.
    assert revoked(team) == [""]
    assert {pull.connection_id for pull in open_pulls(team).values()} == {made.pk}


def test_two_disconnections_end_it_once(team: Tenant, ring: Connection, act: Actions, overlap: Overlap) -> None:
    assert overlap.run(act.disconnect, act.disconnect, stop_at=ENDING) == (True, False)
    assert (living(team), revoked(team)) == ([], ["refresh-1"])


# a pull × what ends the connection


@pytest.mark.parametrize(
    ("ending", "error_code"),
    [
        ("disconnect", "connection_ended"),
        ("pause", "connection_paused"),
        ("break_", "token_refresh_failed"),
        ("delete_user", "connection_ended"),
    ],
)
@pytest.mark.parametrize("stop_at", [FETCHING, STORING])
def test_a_pull_ends_with_its_connection_wherever_it_is(
    team: Tenant, ring: Connection, act: Actions, overlap: Overlap, ending: str, error_code: str, stop_at: str
) -> None:
    """While the provider is asked nothing is held, and what it says comes too late; a write goes before the end."""
    pull = sleep_pull(ring)
    _, second = overlap.run(lambda: pull_run(pull_id=pull.pk), getattr(act, ending), stop_at=stop_at)
    assert int(second) == 1
    ended = sleep_pull(ring)
    assert (ended.status, ended.error_code) == ("failure", error_code)
    assert (ended.done_until_on is None) is (stop_at == FETCHING)
    assert open_pulls(team) == {}
    statuses = {"pause": "paused", "break_": "error"}
    assert row(ring).status == statuses.get(ending, "connected")
    assert (row(ring).disconnected_at is None) is (ending in statuses)
    assert row(ring).next_pull_at is None


def test_a_pull_that_begins_after_the_end_asks_for_nothing(
    team: Tenant, ring: Connection, act: Actions, overlap: Overlap, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("links.connectors.wire.fetch", lambda *args, **values: asked.append("fetch"))
    pull = sleep_pull(ring)
    overlap.run(act.disconnect, lambda: pull_run(pull_id=pull.pk), stop_at="links.services.connections.connection_end")
    assert asked in ([], ["fetch"])
    ended = sleep_pull(ring)
    assert (ended.status, ended.error_code, ended.done_until_on) == ("failure", "connection_ended", None)


@pytest.mark.parametrize("asking", ["hook", "refresh"])
@pytest.mark.parametrize("stop_at", [STORING, "links.services.pulls.pull_complete"])
def test_what_is_told_while_a_pull_is_read_is_read_after_it(
    team: Tenant, ring: Connection, act: Actions, overlap: Overlap, asking: str, stop_at: str
) -> None:
    """A notice, or the customer's question, between a pull's answer and its end: one that waits comes after it."""
    due(ring)
    act_on = getattr(act, asking)
    with team_scope(team.context):
        act.hook()
    pull = sleep_pull(ring)
    overlap.run(lambda: pull_run(pull_id=pull.pk), act_on, stop_at=stop_at)
    owed = open_pulls(team)["sleep", "refresh"]
    assert (owed.status, owed.done_until_on) != ("success", None)
    assert owed.pk != pull.pk or (owed.status, owed.asked_again) == ("retrying", True)


# tokens × what ends or renews the connection


def test_tokens_that_come_after_a_disconnection_are_revoked_too(
    team: Tenant, ring: Connection, act: Actions, overlap: Overlap
) -> None:
    with team_scope(team.context):
        Connection.objects.update(access_expires_at=clock.now())
    first, second = overlap.run(act.renew, act.disconnect, stop_at=RENEWING)
    assert (isinstance(first, ConnectionBroken), second) == (True, True)
    ended = row(ring)
    assert (ended.access_token, ended.refresh_token, ended.disconnected_at is None) == ("", "", False)
    assert revoked(team) == ["late-refresh", "refresh-1"]


def test_tokens_of_a_login_are_not_written_over_by_a_renewal(
    team: Tenant, ring: Connection, act: Actions, overlap: Overlap
) -> None:
    with team_scope(team.context):
        Connection.objects.update(access_expires_at=clock.now())
    first, _ = overlap.run(act.renew, act.connect, stop_at=RENEWING)
    assert first == 2
    now = row(ring)
    assert (now.access_token, now.refresh_token, now.token_version, now.status) == (
        "access-2",
        "refresh-2",
        2,
        "connected",
    )


def test_tokens_that_come_in_a_pause_are_kept(team: Tenant, ring: Connection, act: Actions, overlap: Overlap) -> None:
    with team_scope(team.context):
        Connection.objects.update(access_expires_at=clock.now())
    overlap.run(act.renew, act.pause, stop_at=RENEWING)
    now = row(ring)
    assert (now.status, now.refresh_token, now.token_version) == ("paused", "late-refresh", 2)


# break × reconnect


def test_a_login_during_a_break_mends_it(team: Tenant, ring: Connection, act: Actions, overlap: Overlap) -> None:
    first, second = overlap.run(act.break_, act.connect, stop_at=BREAKING)
    assert (first, second.pk) == (True, ring.pk)
    now = row(ring)
    assert (now.status, now.error_type, now.token_version, now.next_pull_at is None) == ("connected", "", 2, False)
    assert open_pulls(team) != {}
    assert event_types_of(team) == [
        "provider.connection.created",
        "provider.connection.error",
        "provider.connection.created",
    ]


def test_a_break_of_older_tokens_during_a_login_does_nothing(
    team: Tenant, ring: Connection, act: Actions, overlap: Overlap
) -> None:
    first, second = overlap.run(act.connect, act.break_, stop_at=CONNECTING)
    assert (first.pk, second) == (ring.pk, False)
    assert row(ring).status == "connected"
    assert open_pulls(team) != {}
    assert event_types_of(team) == ["provider.connection.created"] * 2


def test_two_workers_tell_of_one_failure_once(team: Tenant, ring: Connection, act: Actions, overlap: Overlap) -> None:
    assert overlap.run(act.break_, act.break_, stop_at=BREAKING) == (True, False)
    assert sorted(overlap.together(act.break_, act.break_, act.break_)) == [False] * 3
    assert event_types_of(team) == ["provider.connection.created", "provider.connection.error"]


def test_breaks_and_logins_in_a_row_never_wait_for_each_other_for_ever(
    team: Tenant, ring: Connection, act: Actions, overlap: Overlap
) -> None:
    pull = sleep_pull(ring)
    for _ in range(5):
        results = overlap.together(act.connect, act.break_, act.refresh, act.hook, lambda: pull_run(pull_id=pull.pk))
        assert [one for one in results if isinstance(one, Exception)] == []
    assert row(ring).disconnected_at is None


# what owes pulls × what ends the connection


@pytest.mark.parametrize(
    ("owing", "stop_at"), [("hook", SCHEDULING), ("schedule", SCHEDULING), ("refresh", REFRESHING)]
)
@pytest.mark.parametrize("ending", ["disconnect", "pause", "break_", "delete_user"])
def test_what_is_owed_just_before_the_end_ends_with_it(
    team: Tenant, ring: Connection, act: Actions, overlap: Overlap, owing: str, stop_at: str, ending: str
) -> None:
    due(ring)
    _, second = overlap.run(getattr(act, owing), getattr(act, ending), stop_at=stop_at)
    assert int(second) == 1
    assert open_pulls(team) == {}
    assert row(ring).next_pull_at is None
    with team_scope(team.context):
        assert Pull.objects.filter(kind="refresh", status="failure").exists()


@pytest.mark.parametrize("owing", ["hook", "schedule", "refresh"])
@pytest.mark.parametrize(("ending", "stop_at"), [("disconnect", ENDING), ("break_", BREAKING)])
def test_nothing_is_owed_just_after_the_end(
    team: Tenant, ring: Connection, act: Actions, overlap: Overlap, owing: str, ending: str, stop_at: str
) -> None:
    due(ring)
    first, second = overlap.run(getattr(act, ending), getattr(act, owing), stop_at=stop_at)
    assert first is True
    assert not isinstance(second, Exception), second
    assert open_pulls(team) == {}
    with team_scope(team.context):
        assert not Pull.objects.filter(kind="refresh").exists()
    assert row(ring).next_pull_at is None


def test_a_pause_and_a_refresh_leave_it_pulled(team: Tenant, ring: Connection, act: Actions, overlap: Overlap) -> None:
    due(ring)
    overlap.run(act.pause, act.refresh, stop_at=PAUSING)
    assert row(ring).status == "connected"
    assert {kind for _, kind in open_pulls(team)} == {"refresh"}


@pytest.mark.parametrize(
    ("first", "second", "stop_at"), [("refresh", "schedule", REFRESHING), ("schedule", "refresh", SCHEDULING)]
)
def test_a_refresh_and_the_schedule_owe_each_resource_once(
    team: Tenant, ring: Connection, act: Actions, overlap: Overlap, first: str, second: str, stop_at: str
) -> None:
    due(ring)
    results = overlap.run(getattr(act, first), getattr(act, second), stop_at=stop_at)
    assert [one for one in results if isinstance(one, Exception)] == []
    with team_scope(team.context):
        refreshes = list(Pull.objects.filter(kind="refresh").values_list("resource", flat=True))
    assert len(refreshes) == len(set(refreshes)) > 0
    assert row(ring).next_pull_at is not None


def test_two_schedules_take_each_connection_once(
    team: Tenant, ring: Connection, act: Actions, overlap: Overlap
) -> None:
    due(ring)
    assert overlap.run(act.schedule, act.schedule, stop_at=SCHEDULING) == (1, 0)
    assert {kind for _, kind in open_pulls(team)} == {"refresh"}


def test_a_first_push_and_a_first_login_both_survive(team: Tenant, user: User, overlap: Overlap) -> None:
    def connect() -> Connection:
        return connection_store(team=team.context, user_id=user.id, grant=grant_make())

    def push() -> StoreResult:
        return health_data_store(team=team.context, user_id=user.id, series=[heartrates(BEATS)])

    first, second = overlap.run(connect, push, stop_at=CONNECTING)
    assert [one.pk for one in living(team)] == [first.pk]
    assert second.created == {"heartrate": len(BEATS)}


def test_two_first_pushes_of_a_new_user_both_survive(team: Tenant, user: User, overlap: Overlap) -> None:
    def push(hour: int) -> Callable[[], StoreResult]:
        beats = {us(2026, 11, 1, hour, minute): 60.0 for minute in range(5)}
        return lambda: health_data_store(team=team.context, user_id=user.id, series=[heartrates(beats)])

    results = overlap.together(push(0), push(1), push(2))
    assert [one.created for one in results] == [{"heartrate": 5}] * 3
