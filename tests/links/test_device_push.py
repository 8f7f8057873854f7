"""Providers without a login, and what a person's own telephone may push for them."""

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
import time_machine
from django.db import connection
from pytest_django import Settings

from aggregation.models import Push, Series
from aggregation.push import services as push_services
from aggregation.push.reading import push_read
from aggregation.services import health_data_store, historical_announce
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import team_scope
from links.catalogue import catalogue
from links.device_selectors import MANUAL_LOGINS, RESOURCE_NAMES
from links.models import Connection, DeviceSync, LinkToken, Pull
from links.services import device_connections
from links.services.connections import connection_disconnect, connections_pause
from links.services.device_connections import device_connect
from links.services.schedule import connections_take
from management.models import AccessRecord, TeamSettings
from tests.aggregation.pushing import body_of, heartbeat, push
from tests.clients import ApiClient
from tests.factories import Tenant, environment_make, user_make
from tests.links.events import event_types_of, events_of
from tests.links.signing_in import at_once, device, link, session_of
from tests.links.test_token_api import token_of
from users.models import User

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Answer

APPLE = "apple_health_kit"
NOON = "2026-03-01T12:00:00Z"
MARK = {
    "provider": APPLE,
    "resources": ["heartrate"],
    "stage": "historical",
    "start": "2026-01-01T00:00:00Z",
    "end": "2026-03-01T00:00:00Z",
}


@pytest.fixture
def user(team: Tenant) -> User:
    """Somebody of our team."""
    return user_make(team)


@pytest.fixture
def phone(api: ApiClient, user: User) -> ApiClient:
    """Their telephone, signed in."""
    return device(session_of(api, user))


def heartbeats(at: str = NOON, *, provider: str = APPLE, **more: Any) -> dict[str, Any]:
    """A push of one heart rate."""
    return {**body_of({"heartrate": [heartbeat(at)]}), "provider": provider, **more}


def connect(client: ApiClient, provider: str = APPLE, headers: dict[str, str] | None = None, **body: str) -> "Answer":
    """The answer to a connection without a login."""
    return client.post(f"/v2/link/provider/manual/{provider}", body, **(headers or {}))


def mark(client: ApiClient, user: User, **more: Any) -> "Answer":
    """The answer to a sync mark."""
    return client.post(f"/v2/user/{user.id}/sync_complete", {**MARK, **more})


def stored(tenant: Tenant) -> int:
    """How many series the team has."""
    with team_scope(tenant.context):
        return Series.objects.count()


def living(tenant: Tenant) -> list[tuple[str, str, str, str]]:
    """Living connections: provider, login, status and the account's id."""
    with team_scope(tenant.context):
        rows = Connection.objects.filter(disconnected_at=None).order_by("provider")
        return list(rows.values_list("provider", "login", "status", "external_user_id"))


def test_the_providers_without_a_login_are_those_of_the_interface_and_samsung_health() -> None:
    assert {slug for slug, provider in catalogue().items() if provider.login in MANUAL_LOGINS} == {
        "beurer_ble", "omron_ble", "accuchek_ble", "contour_ble", "freestyle_libre_ble", "onetouch_ble",
        "apple_health_kit", "manual", "health_connect", "samsung_health",
    }  # fmt: skip


def test_connecting_by_key_by_device_and_by_link_token(
    team: Tenant, api: ApiClient, user: User, phone: ApiClient, settings: Settings
) -> None:
    answer = connect(api, "omron_ble", user_id=str(user.id), provider_id="cuff-7")
    assert (answer.status_code, answer.json()) == (200, {"success": True})
    assert connect(phone).status_code == 200
    assert connect(phone, "health_connect", user_id=str(user.id)).status_code == 200
    text = token_of(api, user)
    header = {settings.LINK_TOKEN_HEADERS[0]: text}
    assert connect(ApiClient(), "manual", headers=header).status_code == 200
    assert living(team) == [
        (APPLE, "app", "connected", ""),
        ("health_connect", "app", "connected", ""),
        ("manual", "none", "connected", ""),
        ("omron_ble", "device", "connected", "cuff-7"),
    ]
    with team_scope(team.context):
        assert LinkToken.objects.get().status == "consumed"
    assert event_types_of(team) == ["provider.connection.created"] * 4
    told = connect(ApiClient(), "manual", headers=header)
    assert (told.status_code, told.json()["detail"]["error_type"]) == (400, "token_consumed")


def test_there_is_nothing_to_pull_and_nothing_to_renew(team: Tenant, user: User) -> None:
    link(team, user)
    with team_scope(team.context):
        row = Connection.objects.get()
        assert (row.access_token, row.refresh_token, row.credentials) == ("", "", None)
        assert (row.access_expires_at, row.next_pull_at) == (None, None)
        assert Pull.objects.count() == 0
    with time_machine.travel("2031-01-01T00:00:00Z"):
        assert connections_take() == []


def test_connecting_again_tells_nobody(team: Tenant, api: ApiClient, user: User, phone: ApiClient) -> None:
    for _ in range(2):
        connect(phone, provider_id="phone-1")
    connect(api, user_id=str(user.id))
    assert event_types_of(team) == ["provider.connection.created"]
    assert living(team) == [(APPLE, "app", "connected", "phone-1")]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("provider_id", ["", "phone-1"])
def test_of_connections_at_once_there_is_one_and_one_event(team: Tenant, user: User, provider_id: str) -> None:
    def act(_: int) -> object:
        with team_scope(team.context):
            return device_connect(team=team.context, user_id=user.id, provider=APPLE, provider_id=provider_id).pk

    assert len(set(at_once(4, act))) == 1
    assert event_types_of(team) == ["provider.connection.created"]


def test_who_may_connect_what(
    team: Tenant, api: ApiClient, user: User, phone: ApiClient, other_api: ApiClient, other_team: Tenant
) -> None:
    neighbour, theirs = user_make(team), user_make(other_team)
    for somebody in (neighbour, theirs):
        assert connect(phone, user_id=str(somebody.id)).status_code == 404
    assert connect(other_api, user_id=str(user.id)).status_code == 404
    assert connect(api, user_id=str(uuid4())).status_code == 404
    assert connect(phone, "manual").status_code == 403
    assert connect(api).json()["detail"]["error_type"] == "MISSING_LINK_TOKEN"
    for slug in ("oura", "renpho", "nokia"):
        assert connect(api, slug, user_id=str(user.id)).json()["detail"]["error_type"] == "INVALID_PROVIDER"
    assert connect(api, user_id="nobody").status_code == 422
    assert connect(ApiClient(), user_id=str(user.id)).status_code == 401
    assert living(team) == living(other_team) == []


def test_a_link_token_connects_its_own_user_and_provider(
    team: Tenant, api: ApiClient, user: User, settings: Settings
) -> None:
    header = {settings.LINK_TOKEN_HEADERS[0]: token_of(api, user, provider="health_connect")}
    other = connect(ApiClient(), headers=header)
    assert (other.status_code, other.json()["detail"]["error_type"]) == (400, "INVALID_PROVIDER")
    another = connect(ApiClient(), "health_connect", headers=header, user_id=str(user_make(team).id))
    assert another.json()["detail"]["error_type"] == "INVALID_USER_ID"
    assert connect(ApiClient(), "health_connect", headers=header, user_id=str(user.id)).status_code == 200
    assert living(team) == [("health_connect", "app", "connected", "")]


def test_one_meter_of_two_people_follows_the_teams_policy(team: Tenant, api: ApiClient, user: User) -> None:
    with team_scope(team.context):
        TeamSettings.objects.create(team=team.team, environment="sandbox", duplicate_account_policy="refuse")
    connect(api, "omron_ble", user_id=str(user.id), provider_id="cuff-7")
    refused = connect(api, "omron_ble", user_id=str(user_make(team).id), provider_id="cuff-7")
    assert (refused.status_code, refused.json()["detail"]["error_type"]) == (400, "duplicate_connection")
    assert len(living(team)) == 1


def test_a_device_pushes_what_its_person_has_connected(
    team: Tenant, user: User, phone: ApiClient, api: ApiClient
) -> None:
    link(team, user)
    answer = push(phone, user, heartbeats())
    assert answer.status_code == 200
    assert answer.json()["timeseries"]["heartrate"]["created"] == 1
    shown = api.get(f"/v2/timeseries/{user.id}/heartrate/grouped", {"start_date": "2026-03-01"}).json()
    assert [list(shown["groups"]), shown["groups"][APPLE][0]["data"][0]["value"]] == [[APPLE], 60.0]
    with team_scope(team.context):
        row = AccessRecord.objects.get(action="POST /v2/user/<user_id>/data")
    assert (row.actor_kind, row.user_id) == ("device_session", user.id)


def test_a_device_pushes_nothing_else(
    team: Tenant, api: ApiClient, user: User, phone: ApiClient, other_team: Tenant
) -> None:
    link(team, user)
    neighbour, theirs = user_make(team), user_make(other_team)
    link(team, neighbour)
    production = environment_make(team, Environment.PRODUCTION)
    for somebody in (neighbour, theirs, user_make(production)):
        missing = push(phone, somebody, heartbeats())
        assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert phone.post(f"/v2/user/{uuid4()}/data", heartbeats()).status_code == 404
    with team_scope(team.context):
        device_connect(team=team.context, user_id=user.id, provider="manual")
    for slug in ("health_connect", "manual", "oura", "omron_ble"):
        refused = push(phone, user, heartbeats(provider=slug))
        assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    assert push(phone, user, heartbeats(provider="nokia")).status_code == 422
    # A team's key still pushes by hand only, connected or not.
    assert push(api, user, heartbeats()).status_code == 403
    assert (stored(team), stored(other_team)) == (0, 0)
    with team_scope(team.context):
        assert Push.objects.count() == 0


def test_a_signed_out_device_pushes_nothing(team: Tenant, api: ApiClient, user: User) -> None:
    link(team, user)
    pair = session_of(api, user)
    api.post(f"/v2/user/{user.id}/sessions/revoke")
    assert push(device(pair), user, heartbeats()).status_code == 401
    assert stored(team) == 0


def test_ending_or_pausing_the_connection_stops_pushes_until_it_is_connected_again(
    team: Tenant, api: ApiClient, user: User, phone: ApiClient
) -> None:
    link(team, user)
    assert push(phone, user, heartbeats()).status_code == 200
    assert api.delete(f"/v2/user/{user.id}/{APPLE}").status_code == 200
    assert push(phone, user, heartbeats("2026-03-01T13:00:00Z")).status_code == 403
    assert mark(phone, user).status_code == 403
    assert connect(phone).status_code == 200
    assert push(phone, user, heartbeats("2026-03-01T13:00:00Z")).status_code == 200
    with team_scope(team.context):
        connections_pause(team=team.context, user_ids=[user.id], provider=APPLE)
    assert push(phone, user, heartbeats("2026-03-01T14:00:00Z")).status_code == 403
    assert connect(phone).status_code == 200
    assert push(phone, user, heartbeats("2026-03-01T14:00:00Z")).status_code == 200


def test_a_push_that_is_repeated_gets_its_receipt_again(team: Tenant, user: User, phone: ApiClient) -> None:
    link(team, user)
    first, second = (push(phone, user, heartbeats(batch_id="b-1")) for _ in range(2))
    assert (first.json(), second.headers["Idempotent-Replayed"]) == (second.json(), "true")


def test_a_backfill_is_silent_until_the_device_says_that_it_is_complete(
    team: Tenant, user: User, phone: ApiClient
) -> None:
    link(team, user)
    workout = {
        "id": "run-1", "sport": "running", "time_start": "2026-02-01T17:00:00Z", "time_end": "2026-02-01T17:40:00Z"
    }  # fmt: skip
    push(phone, user, {**heartbeats("2026-02-01T12:00:00Z"), "summaries": {"workouts": [workout]}})
    assert event_types_of(team) == ["provider.connection.created"]
    assert mark(phone, user).json() == {"success": True, "announced": ["heartrate"]}
    assert events_of(team)[1:] == [
        (
            "historical.data.heartrate.created",
            {
                "user_id": str(user.id),
                "start_date": "2026-01-01T00:00:00+00:00",
                "end_date": "2026-03-01T00:00:00+00:00",
                "provider": APPLE,
                "is_final": True,
            },
        )
    ]
    # One resource is complete, the other is not yet.
    more = {**heartbeats(), "summaries": {"workouts": [{**workout, "id": "run-2"}]}}
    push(phone, user, more)
    push(phone, user, {**more, "timeseries": {"heartrate": [heartbeat(NOON, 61.0)]}})
    assert event_types_of(team)[2:] == ["daily.data.heartrate.created", "daily.data.heartrate.updated"]
    assert mark(phone, user, resources=["heartrate", "workouts", "workouts"]).json()["announced"] == ["workouts"]
    push(phone, user, {"provider": APPLE, "summaries": {"workouts": [{**workout, "id": "run-3"}]}})
    assert event_types_of(team)[4:] == ["historical.data.workouts.created", "daily.data.workouts.created"]


def test_a_device_of_the_person_is_told_even_during_a_backfill(team: Tenant, user: User, phone: ApiClient) -> None:
    link(team, user)
    watch = {"id": "w-1", "device_model": "Band"}
    answer = push(phone, user, {"provider": APPLE, "summaries": {"device": [watch]}})
    assert answer.json()["summaries"]["device"]["created"] == 1
    assert event_types_of(team) == ["provider.connection.created", "provider.device.created"]


def test_marks_that_are_repeated_change_and_tell_nothing(team: Tenant, user: User, phone: ApiClient) -> None:
    link(team, user)
    mark(phone, user)
    assert mark(phone, user, end="2026-03-05T00:00:00Z").json()["announced"] == []
    for end in ("2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z"):
        assert mark(phone, user, stage="daily", end=end).json() == {"success": True, "announced": []}
    with team_scope(team.context):
        found = list(DeviceSync.objects.order_by("stage").values_list("resource", "stage", "end_at__day"))
    assert found == [("heartrate", "daily", 3), ("heartrate", "historical", 1)]
    assert event_types_of(team)[1:] == ["historical.data.heartrate.created"]


@pytest.mark.django_db(transaction=True)
def test_of_marks_at_once_one_tells(team: Tenant, api: ApiClient, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    link(team, user)
    pair = session_of(api, user)
    ended = Event()

    def act() -> list[str]:
        try:
            announced: list[str] = mark(device(pair), user, resources=["heartrate", "steps"]).json()["announced"]
            ended.set()
            return announced
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:

        def announce_late(**values: Any) -> None:
            if not running:
                running.append(pool.submit(act))
                assert not ended.wait(0.5)
            historical_announce(**values)

        running: list[Future[list[str]]] = []
        monkeypatch.setattr(device_connections, "historical_announce", announce_late)
        assert mark(device(pair), user).json()["announced"] == ["heartrate"]
        assert running[0].result() == ["steps"]
    assert event_types_of(team)[1:] == ["historical.data.heartrate.created", "historical.data.steps.created"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("other", ["mark", "disconnect"])
def test_a_mark_and_a_disconnection_wait_for_a_push_that_has_begun(
    team: Tenant, api: ApiClient, user: User, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    link(team, user)
    pair = session_of(api, user)
    ended = Event()

    def act() -> None:
        try:
            if other == "mark":
                assert mark(device(pair), user).json()["announced"] == ["heartrate"]
            else:
                with team_scope(team.context):
                    assert connection_disconnect(team=team.context, user_id=user.id, provider=APPLE)
            ended.set()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:

        def store_late(**values: Any) -> Any:
            running.append(pool.submit(act))
            # Were the person not held, it would be done long before.
            assert not ended.wait(0.5)
            return health_data_store(**values)

        running: list[Future[None]] = []
        monkeypatch.setattr(push_services, "health_data_store", store_late)
        assert push(device(pair), user, heartbeats()).status_code == 200
        running[0].result()
    assert stored(team) == 1
    # The push is part of the backfill that the mark tells of: it has no event of its own.
    told = ["historical.data.heartrate.created"] if other == "mark" else []
    assert event_types_of(team) == ["provider.connection.created", *told]


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_ends_between_check_and_act_stores_nothing(
    team: Tenant, api: ApiClient, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    link(team, user)
    pair = session_of(api, user)

    def read_late(*values: Any) -> Any:
        with team_scope(team.context):
            connection_disconnect(team=team.context, user_id=user.id, provider=APPLE)
        return push_read(*values)

    monkeypatch.setattr(push_services, "push_read", read_late)
    assert push(device(pair), user, heartbeats(batch_id="b-1")).status_code == 403
    with team_scope(team.context):
        assert (Push.objects.count(), Series.objects.count()) == (0, 0)


def test_a_new_connection_begins_with_a_backfill_of_its_own(
    team: Tenant, api: ApiClient, user: User, phone: ApiClient
) -> None:
    link(team, user)
    mark(phone, user)
    api.delete(f"/v2/user/{user.id}/{APPLE}")
    connect(phone)
    push(phone, user, heartbeats())
    assert mark(phone, user).json()["announced"] == ["heartrate"]
    assert [one for one in event_types_of(team) if one.startswith("daily")] == []


def test_who_may_mark_what(team: Tenant, api: ApiClient, user: User, phone: ApiClient, other_api: ApiClient) -> None:
    assert mark(phone, user).status_code == 403
    link(team, user)
    neighbour = user_make(team)
    link(team, neighbour)
    assert mark(phone, neighbour).status_code == 404
    assert mark(other_api, user).status_code == 404
    assert mark(phone, user, provider="oura").status_code == 403
    refused = {
        "resources": ([], ["hearts"], "heartrate", ["heartrate"] * 200, ["device"]),
        "stage": ("weekly", None),
        "start": ("2026-03-02T00:00:00Z", "yesterday", None),
        "provider": ("nokia",),
    }
    for name, values in refused.items():
        for value in values:
            assert mark(phone, user, **{name: value}).status_code == 422
    assert event_types_of(team) == ["provider.connection.created"] * 2
    # The customer's own server may speak for an app that forgot to.
    assert mark(api, user).json()["announced"] == ["heartrate"]


def test_resources_are_known_by_both_their_names(team: Tenant, user: User, phone: ApiClient) -> None:
    assert (RESOURCE_NAMES["body_weight"], RESOURCE_NAMES["weight"]) == ("weight", "weight")
    link(team, user)
    assert mark(phone, user, resources=["body_weight", "weight"]).json()["announced"] == ["weight"]


def test_a_reply_to_one_person_is_never_anothers(team: Tenant, api: ApiClient, user: User, phone: ApiClient) -> None:
    neighbour = user_make(team)
    other_phone = device(session_of(api, neighbour))
    key = {"Idempotency-Key": "the same"}
    for client in (phone, other_phone):
        assert connect(client, headers=key).status_code == 200
    assert [one[0] for one in living(team)] == [APPLE, APPLE]
    path = f"/v2/user/{user.id}/sync_complete"
    assert phone.post(path, MARK, **key).status_code == 200
    assert other_phone.post(path, MARK, **key).status_code == 404


@pytest.mark.parametrize("provider", [APPLE, "omron_ble"])
def test_two_devices_of_one_person_are_one_connection(
    team: Tenant, api: ApiClient, user: User, phone: ApiClient, settings: Settings, provider: str
) -> None:
    connect(phone, provider, provider_id="phone-a")
    assert mark(phone, user, provider=provider).status_code == 200
    for _ in range(3):
        for provider_id in ("phone-b", "phone-a"):
            assert connect(phone, provider, provider_id=provider_id).status_code == 200
    login = catalogue()[provider].login.value
    assert living(team) == [(provider, login, "connected", "phone-a")]
    with team_scope(team.context):
        assert (Connection.objects.count(), DeviceSync.objects.count()) == (1, 1)
    told = [one for one in event_types_of(team) if one.startswith("provider.")]
    assert told == ["provider.connection.created"]
    # A link token is used up by a connection, so that is told; the connection is still the one there was.
    header = {settings.LINK_TOKEN_HEADERS[0]: token_of(api, user)}
    assert connect(ApiClient(), provider, headers=header, provider_id="phone-c").status_code == 200
    assert living(team) == [(provider, login, "connected", "phone-a")]
    with team_scope(team.context):
        assert (Connection.objects.count(), DeviceSync.objects.count()) == (1, 1)
    assert mark(phone, user, provider=provider).json()["announced"] == []


def test_the_first_id_of_a_device_is_kept_where_none_was_known(
    team: Tenant, user: User, phone: ApiClient, api: ApiClient
) -> None:
    connect(phone)
    assert connections_paused(team, user) == 1
    connect(phone, provider_id="phone-a")
    connect(phone, provider_id="phone-b")
    assert living(team) == [(APPLE, "app", "connected", "phone-a")]


def connections_paused(tenant: Tenant, user: User) -> int:
    """Pause the person's connection."""
    with team_scope(tenant.context):
        return connections_pause(team=tenant.context, user_ids=[user.id], provider=APPLE)
