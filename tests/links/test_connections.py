"""Connections: renewed and kept, moved between users by the team's policy, paused, and told exactly once."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
import time_machine

from healthsvc.kernel.scope import team_scope
from links.catalogue.shapes import LoginKind
from links.constants import ConnectionErrorType, LinkErrorType
from links.models import Connection, LinkToken, Pull
from links.services.connections import connection_break, connection_store, connections_pause
from links.services.pull_rows import pull_claim
from links.services.refreshes import user_refresh
from links.services.refusals import LinkRefused
from links.services.tokens import link_token_create, link_token_find
from links.shapes import ERROR_MESSAGES
from management.models import TeamSettings
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.events import event_types_of, events_of
from tests.links.granting import grant_make, open_pulls, pulls_done, stored, tokens_make
from users.models import User

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
TODAY = NOW.date()


@pytest.fixture(autouse=True)
def _present() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def user(team: Tenant) -> User:
    """Who is connected."""
    return user_make(team, client_user_id="ada")


def policy(tenant: Tenant, value: str) -> None:
    """What the team wants of one vendor account on two users."""
    with team_scope(tenant.context):
        TeamSettings.objects.update_or_create(
            team=tenant.team, environment=str(tenant.context.environment), defaults={"duplicate_account_policy": value}
        )


def broken(connection: Connection, error_type: ConnectionErrorType = ConnectionErrorType.TOKEN_REFRESH_FAILED) -> bool:
    """Whether the connection was broken by this."""
    with team_scope(connection.context):
        return connection_break(
            connection_id=connection.pk, token_version=connection.token_version, error_type=error_type
        )


def reread(connection: Connection) -> Connection:
    """The row as it is now."""
    with team_scope(connection.context):
        return Connection.objects.get(pk=connection.pk)


def test_a_first_connection_owes_everything_and_its_next_pull(team: Tenant, user: User) -> None:
    made = stored(team, user, region="eu", external_user_id="ring-1")
    assert (made.status, made.login, made.region, made.token_version) == ("connected", "oauth", "eu", 1)
    spans = {(pull.kind, pull.start_on, pull.end_on) for pull in open_pulls(team).values()}
    assert spans == {("backfill", TODAY - timedelta(days=30), TODAY + timedelta(days=1))}
    assert made.next_pull_at is not None
    assert timedelta(minutes=54) <= made.next_pull_at - NOW <= timedelta(minutes=66)
    assert event_types_of(team) == ["provider.connection.created"]


def test_the_same_account_again_keeps_the_row_and_owes_the_gap(team: Tenant, user: User) -> None:
    made = stored(team, user)
    with team_scope(team.context):
        pulls_done(made)
        Pull.objects.filter(resource="sleep").update(status="failure", done_until_on=date(2026, 11, 1))
        Pull.objects.filter(resource="workouts").delete()
    assert broken(made)
    later = NOW + timedelta(days=60)
    with time_machine.travel(later, tick=False):
        again = stored(team, user, tokens=tokens_make(2))
    assert (again.pk, again.created_at, again.connected_at) == (made.pk, NOW, later)
    assert (again.status, again.error_type, again.errored_at, again.token_version) == ("connected", "", None, 2)
    assert (again.access_token, again.refresh_token) == ("access-2", "refresh-2")
    assert again.next_pull_at is not None
    owed = open_pulls(team)
    assert {kind for _, kind in owed} == {"backfill"}
    assert {pull.end_on for pull in owed.values()} == {later.date() + timedelta(days=1)}
    starts = {resource: pull.start_on for (resource, _), pull in owed.items()}
    # Three days before the last good pull: providers revise them. What stopped half-way goes on from there.
    assert starts["activity"] == TODAY - timedelta(days=3)
    assert starts["sleep"] == date(2026, 11, 1)
    assert starts["workouts"] == later.date() - timedelta(days=30)
    created, error, again_created = event_types_of(team)
    assert (created, error, again_created) == (
        "provider.connection.created",
        "provider.connection.error",
        "provider.connection.created",
    )


def test_a_break_of_years_is_not_filled_beyond_two_of_them(team: Tenant, user: User) -> None:
    made = stored(team, user)
    with team_scope(team.context):
        pulls_done(made)
    later = NOW + timedelta(days=3000)
    with time_machine.travel(later, tick=False):
        stored(team, user)
    assert {pull.start_on for pull in open_pulls(team).values()} == {later.date() - timedelta(days=730)}


def test_another_account_ends_the_old_connection_and_begins_a_new_one(team: Tenant, user: User) -> None:
    made = stored(team, user)
    new = stored(team, user, external_user_id="ring-2", tokens=tokens_make(2))
    old = reread(made)
    assert new.pk != made.pk
    assert (old.disconnected_at, old.access_token, old.refresh_token, old.next_pull_at) == (NOW, "", "", None)
    assert open_pulls(team, made) == {}
    with team_scope(team.context):
        assert set(Pull.objects.filter(connection=made).values_list("status", "error_code")) == {
            ("failure", "connection_ended")
        }
        (revocation,) = made.revocations.all()
    assert (revocation.access_token, revocation.refresh_token, revocation.status) == ("access-1", "refresh-1", "owed")
    spans = {pull.start_on for pull in open_pulls(team, new).values()}
    assert spans == {TODAY - timedelta(days=30)}


@pytest.mark.parametrize(("before", "after"), [("ring-1", ""), ("", "ring-1"), ("", "")])
def test_an_account_that_is_not_told_is_taken_for_the_same(team: Tenant, user: User, before: str, after: str) -> None:
    made = stored(team, user, external_user_id=before)
    again = stored(team, user, external_user_id=after)
    assert (again.pk, again.external_user_id) == (made.pk, before or after)


def test_an_account_on_two_users_is_allowed_where_the_team_says_nothing(team: Tenant, user: User) -> None:
    made, other = stored(team, user), stored(team, user_make(team))
    assert (made.external_user_id, reread(made).disconnected_at, other.disconnected_at) == ("ring-1", None, None)


def test_an_account_on_two_users_is_refused_and_nothing_changes(team: Tenant, user: User) -> None:
    policy(team, "refuse")
    made, second = stored(team, user), user_make(team)
    with team_scope(team.context):
        text = link_token_create(team=team.context, user_id=second.id).token
    token = link_token_find(text)
    assert token is not None
    with team_scope(team.context):
        LinkToken.objects.update(status="validated")
        token.refresh_from_db()
        with pytest.raises(LinkRefused) as refused:
            connection_store(team=team.context, user_id=second.id, grant=grant_make(), link_token=token)
        assert refused.value.error_type is LinkErrorType.DUPLICATE_CONNECTION
        token.refresh_from_db()
        assert token.status == "validated"
        assert Connection.objects.count() == 1
    assert event_types_of(team) == ["provider.connection.created"]
    # The one who has it may renew it, and another team is another world.
    assert stored(team, user).pk == made.pk


def test_an_account_of_a_user_who_is_gone_is_free(team: Tenant, user: User) -> None:
    policy(team, "refuse")
    stored(team, user)
    with team_scope(team.context):
        User.objects.filter(pk=user.pk).update(deleted_at=NOW)
    assert stored(team, user_make(team)).status == "connected"


def test_other_teams_and_environments_hold_no_account(team: Tenant, other_team: Tenant, production: Tenant) -> None:
    for tenant in (team, other_team, production):
        policy(tenant, "refuse")
        stored(tenant, user_make(tenant))


def test_an_account_moves_to_the_user_who_connected_last(team: Tenant, user: User) -> None:
    policy(team, "move")
    made, second = stored(team, user), user_make(team, client_user_id="bob")
    moved = stored(team, second, tokens=tokens_make(2))
    old = reread(made)
    assert (old.disconnected_at, old.access_token) == (NOW, "")
    assert (moved.user_id, moved.status) == (second.id, "connected")
    assert open_pulls(team, made) == {}
    types = event_types_of(team)
    assert types == ["provider.connection.created", "provider.connection.error", "provider.connection.created"]
    data = events_of(team)[1][1]
    assert (data["user_id"], data["error_type"]) == (str(user.id), "unknown")
    assert data["message"] == data["error_details"]["error_message"]
    assert "another user" in data["message"]


def test_a_token_is_used_up_by_its_own_user_only(team: Tenant, user: User) -> None:
    with team_scope(team.context):
        text = link_token_create(team=team.context, user_id=user.id).token
    token = link_token_find(text)
    assert token is not None
    with team_scope(team.context):
        LinkToken.objects.update(status="validated")
        with pytest.raises(LinkRefused) as refused:
            connection_store(team=team.context, user_id=user_make(team).id, grant=grant_make(), link_token=token)
        assert refused.value.error_type is LinkErrorType.INVALID_TOKEN
        connection_store(team=team.context, user_id=user.id, grant=grant_make(), link_token=token)
        token.refresh_from_db()
        assert token.status == "consumed"
        with pytest.raises(LinkRefused) as refused:
            connection_store(team=team.context, user_id=user.id, grant=grant_make(), link_token=token)
        assert refused.value.error_type is LinkErrorType.TOKEN_CONSUMED
        assert Connection.objects.get().token_version == 1


def test_a_user_who_is_gone_is_not_connected(team: Tenant, user: User) -> None:
    with team_scope(team.context):
        User.objects.filter(pk=user.pk).update(deleted_at=NOW)
    with pytest.raises(LinkRefused) as refused:
        stored(team, user)
    assert refused.value.error_type is LinkErrorType.INVALID_TOKEN
    with team_scope(team.context):
        assert Connection.objects.count() == 0


@pytest.mark.parametrize("login", [LoginKind.APP, LoginKind.DEVICE])
def test_a_telephones_connection_has_no_tokens_and_owes_nothing(team: Tenant, user: User, login: LoginKind) -> None:
    slug = {LoginKind.APP: "apple_health_kit", LoginKind.DEVICE: "omron_ble"}[login]
    made = stored(team, user, provider=slug, tokens=None, scopes_granted=(), login=login)
    assert (made.login, made.access_token, made.access_expires_at, made.next_pull_at) == (login.value, "", None, None)
    assert open_pulls(team) == {}


def test_a_password_login_keeps_what_it_logs_in_again_with(team: Tenant, user: User) -> None:
    stored(team, user, login=LoginKind.PASSWORD, credentials='{"token": "x"}', region="eu")
    with team_scope(team.context):
        row = Connection.objects.get()
    assert (row.login, row.credentials, row.region) == ("password", '{"token": "x"}', "eu")


def test_a_demo_is_for_users_without_a_real_connection(team: Tenant, user: User) -> None:
    stored(team, user, provider="withings", external_user_id="")
    with pytest.raises(LinkRefused) as refused:
        stored(team, user, expires_at=NOW + timedelta(days=7))
    assert refused.value.error_type is LinkErrorType.DUPLICATE_CONNECTION


def test_a_real_login_takes_the_place_of_a_demo(team: Tenant, user: User) -> None:
    demo = stored(team, user, expires_at=NOW + timedelta(days=7), external_user_id="")
    real = stored(team, user, external_user_id="")
    assert (reread(demo).disconnected_at, real.expires_at, real.pk == demo.pk) == (NOW, None, False)


def test_a_failure_is_told_once(team: Tenant, user: User, api: ApiClient) -> None:
    made = stored(team, user)
    assert [broken(made), broken(made)] == [True, False]
    assert event_types_of(team)[1:] == ["provider.connection.error"]
    assert reread(made).next_pull_at is None


def test_a_failure_of_older_tokens_breaks_nothing(team: Tenant, user: User) -> None:
    made = stored(team, user)
    stored(team, user)
    assert not broken(made)
    assert reread(made).status == "connected"


@pytest.mark.parametrize("error_type", list(ConnectionErrorType))
def test_every_error_says_what_to_do(team: Tenant, user: User, api: ApiClient, error_type: ConnectionErrorType) -> None:
    assert broken(stored(team, user), error_type)
    (provider,) = api.get(f"/v2/user/providers/{user.id}").json()["providers"]
    assert (provider["status"], provider["error_details"]) == (
        "error",
        {
            "error_type": str(error_type),
            "error_message": ERROR_MESSAGES[error_type],
            "errored_at": NOW.isoformat(),
        },
    )
    assert "need" in provider["error_details"]["error_message"]
    assert events_of(team)[1][1]["error_details"] == provider["error_details"]


def test_every_error_type_has_its_words() -> None:
    assert set(ERROR_MESSAGES) == set(ConnectionErrorType.values)


@pytest.mark.parametrize(
    ("slug", "login"), [("apple_health_kit", "app"), ("omron_ble", "device"), ("freestyle_libre", "email")]
)
def test_a_login_without_scopes_makes_everything_available(
    team: Tenant, user: User, api: ApiClient, slug: str, login: str
) -> None:
    stored(team, user, provider=slug, login=LoginKind(login), tokens=None, scopes_granted=())
    (provider,) = api.get(f"/v2/user/providers/{user.id}").json()["providers"]
    none: dict[str, list[str]] = {"required": [], "optional": []}
    assert provider["resource_availability"]
    for one in provider["resource_availability"].values():
        assert one == {"status": "available", "scope_requirements": {"user_granted": none, "user_denied": none}}


def test_what_the_person_denied_is_named(team: Tenant, user: User, api: ApiClient) -> None:
    stored(team, user, scopes_granted=("daily", "personal"), scopes_denied=("heartrate", "workout"))
    (provider,) = api.get(f"/v2/user/providers/{user.id}").json()["providers"]
    found = provider["resource_availability"]["heartrate"]
    assert found["status"] == "unavailable"
    assert found["scope_requirements"]["user_denied"]["required"] == ["heartrate"]
    assert found["scope_requirements"]["user_granted"] == {"required": [], "optional": ["daily"]}
    assert ("heartrate", "backfill") not in open_pulls(team)


def test_a_pause_ends_what_is_owed_and_a_refresh_ends_the_pause(team: Tenant, user: User, api: ApiClient) -> None:
    made, second = stored(team, user), user_make(team)
    other = stored(team, second, external_user_id="ring-2")
    stranger = stored(team, user_make(team), external_user_id="ring-3")
    pull = open_pulls(team, made)["sleep", "backfill"]
    claimed = pull_claim(pull_id=pull.pk)
    assert claimed is not None
    with team_scope(team.context):
        assert connections_pause(team=team.context, user_ids=[user.id, second.id], provider="oura") == 2
        assert connections_pause(team=team.context, user_ids=[user.id, second.id], provider="oura") == 0
    assert open_pulls(team, made) == open_pulls(team, other) == {}
    assert open_pulls(team, stranger) != {}
    (provider,) = api.get(f"/v2/user/providers/{user.id}").json()["providers"]
    assert (provider["status"], provider["error_details"]) == ("paused", None)
    assert reread(made).next_pull_at is None
    with team_scope(team.context):
        found = user_refresh(team=team.context, user_id=user.id, timeout_seconds=0)
    assert (found.in_progress, reread(made).status, reread(other).status) == (("oura",), "connected", "paused")
    assert reread(made).next_pull_at is not None


def test_connecting_again_ends_a_pause(team: Tenant, user: User) -> None:
    made = stored(team, user)
    with team_scope(team.context):
        pulls_done(made)
        connections_pause(team=team.context, user_ids=[user.id], provider="oura")
    again = stored(team, user)
    assert (again.pk, again.status) == (made.pk, "connected")
    assert open_pulls(team, made) != {}


def test_a_broken_connection_stays_broken_when_it_is_paused(team: Tenant, user: User) -> None:
    made = stored(team, user)
    assert broken(made)
    with team_scope(team.context):
        assert connections_pause(team=team.context, user_ids=[user.id], provider="oura") == 0
    assert reread(made).status == "error"


@pytest.mark.parametrize(("days_after", "status"), [(7, "connected"), (8, "paused")])
def test_after_the_ingestion_bounds_and_a_week_it_shows_as_paused(
    team: Tenant, api: ApiClient, days_after: int, status: str
) -> None:
    bounded = user_make(team, ingestion_end=TODAY - timedelta(days=days_after))
    stored(team, bounded)
    (provider,) = api.get(f"/v2/user/providers/{bounded.id}").json()["providers"]
    assert provider["status"] == status


def test_the_first_claim_is_the_start(team: Tenant, user: User, api: ApiClient) -> None:
    made = stored(team, user)
    pull = open_pulls(team, made)["sleep", "backfill"]

    def timeline() -> dict[str, Any]:
        body = api.get("/v2/introspect/historical_pull", {"user_id": str(user.id)}).json()
        found: dict[str, Any] = body["data"][0]["provider"]["oura"]["pulled"]["sleep"]["timeline"]
        return found

    assert timeline() == {"scheduled_at": NOW.isoformat(), "started_at": None, "ended_at": None}
    for seconds in (10, 500):
        with time_machine.travel(NOW + timedelta(seconds=seconds), tick=False):
            assert pull_claim(pull_id=pull.pk) is not None
    assert timeline()["started_at"] == (NOW + timedelta(seconds=10)).isoformat()
