"""What a renewal may bring to light: fewer scopes, an account that is gone, a login that no longer works, a limit."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.catalogue import LoginKind
from links.connectors.failures import FailureKind, GrantRefused, ProviderFailure
from links.connectors.oauth import tokens_refresh
from links.connectors.password_adapters import GenericAdapter
from links.connectors.passwords import LoggedIn, LoginFailed
from links.constants import ConnectionErrorType, LinkErrorType
from links.models import Connection, ProviderBudget, Pull
from links.services.connections import Grant, connection_store
from links.services.pulls import pull_run
from links.services.refusals import ConnectionBroken
from links.services.renewal import access_get
from tests.factories import Tenant, user_make
from tests.links.events import event_types_of
from tests.links.granting import tokens_make
from tests.links.linking import connected
from tests.links.simulators import Simulator
from users.models import User

pytestmark = [pytest.mark.slow, pytest.mark.django_db]


@pytest.fixture
def user(team: Tenant, simulator: Simulator) -> User:
    """Who is connected."""
    return user_make(team)


@pytest.fixture
def oura(team: Tenant, user: User) -> Iterator[Connection]:
    """A connection whose access token is at its end, inside its team's scope."""
    connection = connected(team, user, "oura")
    with team_scope(team.context):
        ending(connection)
        yield connection


@pytest.fixture
def peloton(team: Tenant, user: User, simulator: Simulator) -> Iterator[Connection]:
    """A connection of a password provider, inside its team's scope."""
    adapter = GenericAdapter()
    found = adapter.login(f"{simulator.url}/peloton", username="ada@example.com", password="simulator", region="")
    assert isinstance(found, LoggedIn)
    tokens = replace(tokens_make(), access_token=found.access_token, refresh_token=found.refresh_token, scopes=None)
    grant = Grant("peloton", tokens, external_user_id=found.external_user_id, login=LoginKind.PASSWORD)
    with team_scope(team.context):
        yield connection_store(team=team.context, user_id=user.id, grant=grant)


def ending(connection: Connection) -> None:
    """Let the access token be at its end, and no pause run."""
    Connection.objects.filter(pk=connection.pk).update(access_expires_at=clock.now(), token_lease_until=None)


def with_scopes(*scopes: str) -> Callable[..., Any]:
    """A token endpoint that names these scopes."""

    def refreshed(*args: Any, **values: Any) -> Any:
        return replace(tokens_refresh(*args, **values), scopes=scopes)

    return refreshed


def refused(error: Exception) -> Callable[..., Any]:
    """A token endpoint or an adapter that refuses."""

    def refuse(*args: Any, **values: Any) -> Any:
        raise error

    return refuse


def broken_after_three(connection: Connection) -> tuple[str, str]:
    """Status and error type after three refusals, and the events that told it."""
    for expected in (ProviderFailure, ProviderFailure, ConnectionBroken):
        ending(connection)
        with pytest.raises(expected):
            access_get(connection_id=connection.pk)
        connection.refresh_from_db()
    return connection.status, connection.error_type


def test_fewer_scopes_are_noted_and_the_rest_goes_on(oura: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(oura.scopes_granted)
    monkeypatch.setattr("links.services.renewal.tokens_refresh", with_scopes("daily", "personal", "never_asked"))
    access, _ = access_get(connection_id=oura.pk)
    oura.refresh_from_db()
    assert set(oura.scopes_granted) == {"daily", "personal"}
    assert set(oura.scopes_denied) == set(before) - {"daily", "personal"}
    assert (oura.status, access.scopes) == ("connected", frozenset(oura.scopes_granted))


def test_scopes_that_we_do_not_know_say_nothing(oura: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(oura.scopes_granted)
    monkeypatch.setattr("links.services.renewal.tokens_refresh", with_scopes("everything"))
    access_get(connection_id=oura.pk)
    oura.refresh_from_db()
    assert (oura.scopes_granted, oura.scopes_denied, oura.status) == (before, [], "connected")


def test_without_a_scope_that_any_resource_could_be_read_with_it_is_broken(
    oura: Connection, monkeypatch: pytest.MonkeyPatch, team: Tenant
) -> None:
    monkeypatch.setattr("links.services.scope_losses.selectors.resources_available", lambda *_: [])
    monkeypatch.setattr("links.services.renewal.tokens_refresh", with_scopes("personal"))
    with pytest.raises(ConnectionBroken):
        access_get(connection_id=oura.pk)
    oura.refresh_from_db()
    assert (oura.status, oura.error_type) == ("error", "required_scopes_not_granted")
    assert event_types_of(team)[-1] == "provider.connection.error"


@pytest.mark.parametrize(
    "error_type", [ConnectionErrorType.USER_NOT_FOUND, ConnectionErrorType.DEREGISTERED_PER_PROVIDER]
)
def test_what_the_vendor_says_of_a_refusal_is_told(
    oura: Connection, monkeypatch: pytest.MonkeyPatch, error_type: ConnectionErrorType
) -> None:
    monkeypatch.setattr("links.services.renewal.tokens_refresh", refused(GrantRefused(error_type)))
    assert broken_after_three(oura) == ("error", error_type)


def test_a_limit_at_the_token_endpoint_stops_the_data_calls_too(oura: Connection, simulator: Simulator) -> None:
    simulator.fault("oura", "http_429", "/oauth/token", retry_after_seconds=77)
    with pytest.raises(ProviderFailure) as caught:
        access_get(connection_id=oura.pk)
    assert (caught.value.kind, caught.value.retry_after_seconds) == (FailureKind.RATE_LIMITED, 77)
    stop = ProviderBudget.objects.get(key=f"oura:sandbox:team-{oura.team_id}:blocked")
    assert stop.blocked_until is not None
    access, _ = access_get(connection_id=oura.pk)
    with pytest.raises(ProviderFailure) as caught:
        access.get("/v2/usercollection/personal_info", {})
    assert caught.value.kind is FailureKind.RATE_LIMITED
    assert simulator.count("oura", "/oura/v2/usercollection/personal_info") == 1


def test_a_password_connection_is_renewed_by_its_adapter(peloton: Connection, simulator: Simulator) -> None:
    access, version = access_get(connection_id=peloton.pk)
    assert (access.access_token, version, access.api_url) == (peloton.access_token, 1, f"{simulator.url}/peloton")
    ending(peloton)
    access, version = access_get(connection_id=peloton.pk)
    peloton.refresh_from_db()
    assert (access.access_token, version, peloton.token_version) == (peloton.access_token, 2, 2)
    # One that names no end is used until it is rejected.
    Connection.objects.update(access_expires_at=None)
    assert access_get(connection_id=peloton.pk)[1] == 2
    assert access_get(connection_id=peloton.pk, rejected_version=2)[1] == 3


@pytest.mark.parametrize(
    ("error", "error_type"),
    [
        (LoginFailed(LinkErrorType.PROVIDER_CREDENTIAL_ERROR), "provider_credential_error"),
        (LoginFailed(LinkErrorType.PROVIDER_PASSWORD_EXPIRED), "provider_password_expired"),
        (LoginFailed(LinkErrorType.UNSUPPORTED_REGION), "token_refresh_failed"),
        (GrantRefused(), "token_refresh_failed"),
    ],
)
def test_a_password_connection_that_no_longer_works_says_why(
    peloton: Connection, monkeypatch: pytest.MonkeyPatch, error: Exception, error_type: str
) -> None:
    monkeypatch.setattr(GenericAdapter, "renew", refused(error))
    assert broken_after_three(peloton) == ("error", error_type)


def test_a_vendor_s_refusal_of_a_password_connection_is_counted(peloton: Connection) -> None:
    Connection.objects.update(refresh_token="unknown")
    assert broken_after_three(peloton) == ("error", "token_refresh_failed")


def test_a_provider_without_an_adapter_breaks_nothing(peloton: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("links.services.renewal.adapter_of", lambda *_: None)
    ending(peloton)
    for _ in range(4):
        with pytest.raises(ProviderFailure) as caught:
            access_get(connection_id=peloton.pk)
        assert caught.value.kind is FailureKind.REFUSED
    peloton.refresh_from_db()
    assert (peloton.status, peloton.token_refusals, peloton.token_lease_until) == ("connected", 0, None)


def test_a_refused_token_is_not_tried_by_every_pull_every_few_seconds(team: Tenant, simulator: Simulator) -> None:
    connection = connected(team, user_make(team), "oura")
    simulator.fault("oura", "token_dead", "/v2/usercollection", times=1_000)
    with team_scope(team.context):
        owed = list(Pull.objects.order_by("id").values_list("pk", flat=True))
    for pull_id in owed:
        pull_run(pull_id=pull_id)
    with team_scope(team.context):
        rows = list(Pull.objects.filter(connection=connection, status="retrying"))
        lease_until = Connection.objects.get(pk=connection.pk).token_lease_until
    assert {row.error_code for row in rows} == {"token_rejected"}
    assert lease_until is not None
    later = [row for row in rows if row.not_before >= lease_until - timedelta(seconds=1)]
    # The one that met the refusal itself waits by its own count.
    assert len(later) == len(rows) - 1
    asked = simulator.count("oura", "/{slug}/oauth/token")
    for row in later:
        pull_run(pull_id=row.pk)
    assert simulator.count("oura", "/{slug}/oauth/token") == asked
