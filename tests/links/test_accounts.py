"""An account whose id the login could not ask for: learnt with a later pull, and held to the team's policy then."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import orjson
import pytest
import time_machine

from healthsvc.kernel.scope import team_scope
from links.models import Connection, ProviderHook, Pull, Revocation
from links.services.connections import connection_account_learn
from links.services.pull_times import connections_called
from links.services.pulls import pull_run
from tests.factories import Tenant, user_make
from tests.links.events import event_types_of
from tests.links.granting import stored
from tests.links.linking import connected
from tests.links.simulators import Person, Simulator, call
from tests.links.test_connections import policy
from users.models import User

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
ASKED = "/v2/usercollection/personal_info"


@pytest.fixture(autouse=True)
def _present() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def unknown(team: Tenant, simulator: Simulator) -> Connection:
    """A connection whose login met a provider that did not answer."""
    now = orjson.dumps({"now": NOW.isoformat()}).decode()
    call("POST", f"{simulator.url}/_control/clock", now, {"Content-Type": "application/json"})
    simulator.fault("oura", "http_500", ASKED)
    made = connected(team, user_make(team), "oura", Person(account="ada@example.com"))
    assert made.external_user_id == ""
    return made


def run_all(team: Tenant) -> None:
    """Work every pull that is owed."""
    with team_scope(team.context):
        owed = list(Pull.objects.filter(status="scheduled").order_by("pk").values_list("pk", flat=True))
    for pull_id in owed:
        pull_run(pull_id=pull_id)


@pytest.mark.slow
@pytest.mark.django_db
def test_it_is_learnt_with_the_first_pulls_and_asked_for_once(
    team: Tenant, unknown: Connection, simulator: Simulator
) -> None:
    before = simulator.count("oura", f"/oura{ASKED}")
    run_all(team)
    known = connected(team, user_make(team), "oura", Person(account="ada@example.com"))
    with team_scope(team.context):
        learnt = Connection.objects.get(pk=unknown.pk)
        assert set(Pull.objects.filter(connection=unknown).values_list("status", flat=True)) == {"success"}
    assert learnt.external_user_id == known.external_user_id != ""
    # One for the id, one for the profile; and one at the login of the other.
    assert simulator.count("oura", f"/oura{ASKED}") - before == 3


@pytest.mark.slow
@pytest.mark.django_db
def test_what_cannot_be_learnt_keeps_no_data_waiting(team: Tenant, unknown: Connection, simulator: Simulator) -> None:
    simulator.fault("oura", "http_500", ASKED)
    run_all(team)
    with team_scope(team.context):
        assert set(Pull.objects.values_list("status", flat=True)) == {"success"}
        assert Connection.objects.get().external_user_id == ""


@pytest.mark.slow
@pytest.mark.django_db
def test_an_account_that_another_user_has_is_refused_late(
    team: Tenant, unknown: Connection, simulator: Simulator
) -> None:
    policy(team, "refuse")
    first = connected(team, user_make(team), "oura", Person(account="ada@example.com"))
    run_all(team)
    with team_scope(team.context):
        assert [one.pk for one in Connection.objects.filter(disconnected_at=None)] == [first.pk]
        lost = Connection.objects.get(pk=unknown.pk)
        assert (lost.status, lost.external_user_id) == ("error", first.external_user_id)
        # The account is still read, by the other's grant: what is taken back is told whose it is.
        assert Revocation.objects.get().external_user_id == first.external_user_id
        assert not Pull.objects.filter(connection=unknown, status="success").exists()
    assert event_types_of(team).count("provider.connection.error") == 1


@pytest.fixture
def user(team: Tenant) -> User:
    """Who is connected."""
    return user_make(team)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("wanted", "later", "holders"),
    [
        ("allow", True, {"known", "learnt"}),
        ("move", True, {"learnt"}),
        ("move", False, {"known"}),
        ("refuse", True, {"known"}),
        ("refuse", False, {"known"}),
    ],
)
def test_the_policy_decides_who_keeps_the_account(
    team: Tenant, user: User, wanted: str, later: bool, holders: set[str]
) -> None:
    policy(team, wanted)
    with time_machine.travel(NOW + timedelta(hours=1 if later else -1), tick=False):
        learnt = stored(team, user, external_user_id="")
    known = stored(team, user_make(team), external_user_id="ring-1")
    with team_scope(team.context):
        assert connection_account_learn(connection_id=learnt.pk, token_version=1, external_user_id="ring-1")
        living = set(Connection.objects.filter(disconnected_at=None).values_list("pk", flat=True))
    assert living == {{"known": known.pk, "learnt": learnt.pk}[name] for name in holders}
    assert event_types_of(team).count("provider.connection.error") == 2 - len(holders)


@pytest.mark.django_db
def test_an_id_that_was_asked_with_older_tokens_or_is_known_changes_nothing(team: Tenant, user: User) -> None:
    learnt = stored(team, user, external_user_id="")
    with team_scope(team.context):
        assert not connection_account_learn(connection_id=learnt.pk, token_version=2, external_user_id="ring-1")
        assert connection_account_learn(connection_id=learnt.pk, token_version=1, external_user_id="ring-1")
        assert not connection_account_learn(connection_id=learnt.pk, token_version=1, external_user_id="ring-2")
        assert Connection.objects.get().external_user_id == "ring-1"


@pytest.mark.django_db
@pytest.mark.parametrize("own", [False, True])
def test_who_cannot_be_named_is_not_called(team: Tenant, user: User, own: bool) -> None:
    named = stored(team, user_make(team), external_user_id="ring-1")
    nameless = stored(team, user, external_user_id="")
    ProviderHook.objects.all().delete()
    for connection_id in [named.pk, nameless.pk] if own else [None]:
        ProviderHook.objects.create(
            provider="oura",
            environment="sandbox",
            connection_id=connection_id,
            status="active",
            verify_token="x",
            not_before=NOW,
            created_at=NOW,
            called_at=NOW,
        )
    assert connections_called([named, nameless]) == {named.pk}
