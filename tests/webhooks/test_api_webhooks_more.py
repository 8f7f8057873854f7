"""Webhooks at the management address: filters, headers, secrets, status, and many changes at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import team_scope
from tests.clients import ApiClient
from tests.factories import Tenant
from tests.webhooks.conftest import SOME_EVENT, emit, endpoint_make, pump
from tests.webhooks.receiving import Receiver
from tests.webhooks.test_api_webhooks import URL, base_of, codes, create
from webhooks import selectors, services
from webhooks.constants import ENDPOINTS_MAXIMUM
from webhooks.models import Endpoint, EndpointHealth


@pytest.fixture
def base(team: Tenant) -> str:
    """The address of our sandbox's webhooks."""
    return base_of(team)


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("daily.data.slep.created", "daily.data.sleep.created"),
        ("provider.conection", "provider.connection"),
        ("daily.date.*", "daily.data"),
        ("zzz", None),
    ],
)
def test_a_filter_that_names_nothing_is_refused_with_what_is_near(
    management_api: ApiClient, base: str, wanted: str, near: str | None
) -> None:
    made = create(management_api, base)
    for response in (
        management_api.post(base, {"url": URL, "filter_types": ["daily", wanted]}),
        management_api.patch(f"{base}/{made['id']}", {"filter_types": ["daily", wanted]}),
    ):
        assert codes(response) == [(["body", "filter_types", 1], "event_type_unknown")]
        message = response.json()["detail"][0]["msg"]
        assert (near or "Names no event of the catalogue.") in message
        assert ("Near it" in message) == (near is not None)
        assert wanted not in message.replace(near or "", "")
    assert len(management_api.get(base).json()["data"]) == 1


@pytest.mark.parametrize("filter_type", ["daily", "daily.*", "daily.data", "daily.data.*", SOME_EVENT])
def test_filters_may_be_types_and_their_first_words(management_api: ApiClient, base: str, filter_type: str) -> None:
    assert create(management_api, base, filter_types=[filter_type])["filter_types"] == [filter_type]


def test_an_endpoint_with_channels_hears_of_those_only(
    management_api: ApiClient, team: Tenant, base: str, hook: Receiver
) -> None:
    made = create(management_api, base, url=f"{hook.url}/x", channels=["provider.oura"])
    wanted = emit(team, channels=["provider.oura"])
    emit(team, channels=["provider.fitbit"])
    emit(team)
    pump()
    assert [request.headers["webhook-id"] for request in hook.received] == [f"msg_{wanted}"]
    assert management_api.patch(f"{base}/{made['id']}", {"channels": None}).json()["channels"] is None
    emit(team)
    pump()
    assert len(hook.received) == 2


def test_headers_named_sensitive_are_never_shown_again(
    management_api: ApiClient, team: Tenant, base: str, hook: Receiver
) -> None:
    path = f"{base}/{create(management_api, base, url=f'{hook.url}/x')['id']}/headers"
    given = {"X-Tenant": "seven", "X-Plain": "8", "Authorization": "sesame"}
    assert management_api.put(path, {"headers": given, "sensitive": ["x-tenant"]}).status_code == 204
    assert management_api.get(path).json() == {"headers": {"X-Plain": "8"}, "sensitive": ["X-Tenant", "Authorization"]}
    assert management_api.patch(path, {"headers": {"x-plain": "9", "X-New": "1"}}).status_code == 204
    answer = management_api.get(path).json()
    assert answer == {"headers": {"x-plain": "9", "X-New": "1"}, "sensitive": ["X-Tenant", "Authorization"]}
    assert management_api.patch(path, {"headers": {"x-tenant": "ten"}, "sensitive": ["X-NEW"]}).status_code == 204
    answer = management_api.get(path).json()
    assert answer == {"headers": {"x-plain": "9"}, "sensitive": ["Authorization", "X-New", "x-tenant"]}
    emit(team)
    pump()
    sent = hook.received[0].headers
    assert (sent["x-tenant"], sent["authorization"], sent["x-new"], sent["x-plain"]) == ("ten", "sesame", "1", "9")
    assert management_api.patch(path, {"headers": {"AUTHORIZATION": None, "X-Tenant": None}}).status_code == 204
    assert management_api.get(path).json() == {"headers": {"x-plain": "9"}, "sensitive": ["X-New"]}
    # A name that was secret and is gone is a new one when it comes back.
    assert management_api.patch(path, {"headers": {"x-tenant": "11"}}).status_code == 204
    assert management_api.get(path).json()["headers"] == {"x-plain": "9", "x-tenant": "11"}


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"headers": {"Host": "x"}}, ["body", "headers", "Host"]),
        ({"headers": {"svix-id": None}}, ["body", "headers", "svix-id"]),
        ({"headers": {"a b": "x"}}, ["body", "headers"]),
        ({"headers": {"X-A": "1", "x-a": None}}, ["body", "headers"]),
        ({"headers": {"X-A": "a\r\nb"}}, ["body", "headers", "X-A"]),
        ({"headers": {f"x-{number}": "y" for number in range(50)}}, ["body", "headers"]),
        ({"sensitive": ["X-None"]}, ["body", "sensitive", 0]),
        ({"headers": {"X-Kept": None}, "sensitive": ["X-Kept"]}, ["body", "sensitive", 0]),
        ({"headers": {"X-A": 1}}, ["body", "headers", "X-A"]),
    ],
)
def test_changes_of_headers_that_are_refused(
    management_api: ApiClient, base: str, body: dict[str, Any], loc: list[Any]
) -> None:
    path = f"{base}/{create(management_api, base)['id']}/headers"
    management_api.put(path, {"headers": {"X-Kept": "1"}})
    assert [found for found, _kind in codes(management_api.patch(path, body))] == [loc]
    assert management_api.get(path).json() == {"headers": {"X-Kept": "1"}, "sensitive": []}


@pytest.mark.parametrize(("overlap", "signatures"), [(None, 2), (0, 1), (60, 2), (7 * 86400, 2)])
def test_the_old_secret_signs_along_for_as_long_as_is_said(
    management_api: ApiClient, team: Tenant, base: str, hook: Receiver, overlap: int | None, signatures: int
) -> None:
    path = f"{base}/{create(management_api, base, url=f'{hook.url}/x')['id']}/secret"
    body = {} if overlap is None else {"overlap_seconds": overlap}
    assert management_api.post(f"{path}/rotate", body).status_code == 204
    emit(team)
    pump()
    assert len(hook.received[0].headers["webhook-signature"].split()) == signatures


def test_a_rotation_without_overlap_stops_all_that_were_before(
    management_api: ApiClient, team: Tenant, base: str
) -> None:
    made = create(management_api, base)
    rotate = f"{base}/{made['id']}/secret/rotate"
    for overlap in (86400, 3600):
        management_api.post(rotate, {"overlap_seconds": overlap})
    with team_scope(team.context):
        endpoint = Endpoint.objects.get()
        now = clock.now()
        assert len(selectors.secrets_signing(endpoint, now)) == 3
        assert len(selectors.secrets_signing(endpoint, now + timedelta(hours=2))) == 1
    management_api.post(rotate, {"overlap_seconds": 0})
    with team_scope(team.context):
        assert len(selectors.secrets_signing(Endpoint.objects.get(), clock.now())) == 1
    for wrong in (-1, 7 * 86400 + 1, "x"):
        assert codes(management_api.post(rotate, {"overlap_seconds": wrong}))[0][0] == ["body", "overlap_seconds"]


def test_a_secret_that_is_given_again_signs_once(management_api: ApiClient, team: Tenant, base: str) -> None:
    made = create(management_api, base)
    path = f"{base}/{made['id']}/secret"
    first = management_api.get(path).json()["key"]
    management_api.post(f"{path}/rotate", {})
    management_api.post(f"{path}/rotate", {"key": first})
    with team_scope(team.context):
        signing = selectors.secrets_signing(Endpoint.objects.get(), clock.now())
    assert (signing[0], len(signing), len(set(signing))) == (first, 2, 2)


def test_status_tells_failing_and_paused_from_enabled(management_api: ApiClient, team: Tenant, base: str) -> None:
    made = create(management_api, base)
    path = f"{base}/{made['id']}"
    now = clock.now()
    with team_scope(team.context):
        EndpointHealth.objects.create(
            **team_values(team.context), endpoint_id=made["id"], paused_until=now + timedelta(hours=1), updated_at=now
        )
    assert management_api.get(path).json()["status"] == "paused"
    with team_scope(team.context):
        EndpointHealth.objects.update(failing_since=now, paused_until=now - timedelta(hours=1))
    assert [item["status"] for item in management_api.get(base).json()["data"]] == ["failing"]
    with team_scope(team.context):
        Endpoint.objects.update(disabled=True, disabled_reason="failing", disabled_at=now)
    answer = management_api.patch(path, {"disabled": True, "description": "x"}).json()
    assert (answer["status"], answer["disabled_reason"]) == ("disabled", "failing")
    assert answer["disabled_at"] is not None
    answer = management_api.patch(path, {"disabled": False}).json()
    assert (answer["status"], answer["disabled_reason"], answer["disabled_at"]) == ("enabled", None, None)
    assert management_api.get(path).json()["failing_since"] is None


def test_the_sample_of_any_event_is_sent_now(
    management_api: ApiClient, team: Tenant, base: str, hook: Receiver
) -> None:
    made = create(management_api, base, url=f"{hook.url}/x", filter_types=["provider"])
    path = f"{base}/{made['id']}/test"
    answer = management_api.post(path, {"event_type": SOME_EVENT}).json()
    pump()
    (request,) = hook.received
    assert (request.headers["webhook-id"], answer["event_type"]) == (answer["message_id"], SOME_EVENT)
    assert SOME_EVENT.encode() in request.body
    assert codes(management_api.post(path, {"event_type": "daily.data"})) == [
        (["body", "event_type"], "event_type_unknown")
    ]


def together(count: int, action: Callable[[int], Any]) -> list[Any]:
    """What `action` answers, called so often at once; a refusal's code where it refuses."""
    barrier = Barrier(count)

    def run(number: int) -> Any:
        try:
            barrier.wait(10)
            return action(number)
        except ServiceError as error:
            return error.code.code
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


@pytest.mark.django_db(transaction=True)
def test_a_team_has_a_bounded_number_however_many_are_made_at_once(management_api: ApiClient, team: Tenant) -> None:
    for _ in range(ENDPOINTS_MAXIMUM - 2):
        endpoint_make(team, URL)
    made = together(6, lambda _number: isinstance(endpoint_make(team, URL), Endpoint))
    assert sorted(map(str, made)) == ["True"] * 2 + ["conflict"] * 4
    with team_scope(team.context):
        assert Endpoint.objects.count() == ENDPOINTS_MAXIMUM
    assert management_api.post(base_of(team), {"url": URL}).status_code == 409


@pytest.mark.django_db(transaction=True)
def test_changes_at_once_lose_none(team: Tenant) -> None:
    endpoint = endpoint_make(team, URL)
    changes: list[dict[str, Any]] = [
        {"description": "Changed"},
        {"rate_limit": 7},
        {"filter_types": ["daily"]},
        {"channels": ["user.1"]},
    ]

    def change(number: int) -> str:
        with team_scope(team.context):
            services.endpoint_patch(team=team.context, endpoint_id=endpoint.id, changes=changes[number])
            services.endpoint_headers_patch(
                team=team.context, endpoint_id=endpoint.id, changes={f"X-{number}": str(number)}
            )
            services.endpoint_secret_rotate(team=team.context, endpoint_id=endpoint.id, key=None)
        return "changed"

    assert together(4, change) == ["changed"] * 4
    with team_scope(team.context):
        found = Endpoint.objects.get()
    assert (found.description, found.rate_limit, found.filter_types, found.channels) == (
        "Changed", 7, ["daily"], ["user.1"],
    )  # fmt: skip
    assert found.headers == {f"X-{number}": str(number) for number in range(4)}
    signing = selectors.secrets_signing(found, clock.now())
    assert (len(set(signing)), signing[-1]) == (5, endpoint.secret)


@pytest.mark.django_db(transaction=True)
def test_a_change_beside_a_deletion_brings_nothing_back(team: Tenant) -> None:
    endpoint = endpoint_make(team, URL)

    def act(number: int) -> str:
        with team_scope(team.context):
            if number == 0:
                services.endpoint_delete(team=team.context, endpoint_id=endpoint.id)
                return "deleted"
            services.endpoint_headers_put(team=team.context, endpoint_id=endpoint.id, headers={"X-Key": "sesame"})
            services.endpoint_patch(team=team.context, endpoint_id=endpoint.id, changes={"disabled": False})
        return "changed"

    answers = together(4, act)
    assert answers[0] == "deleted"
    assert set(answers[1:]) <= {"changed", "not_found"}
    with team_scope(team.context):
        found = Endpoint.objects.get()
        assert (found.secret, found.headers, found.secrets_before) == ("", {}, [])
        assert found.deleted_at is not None


def test_a_long_list_of_mistyped_types_is_told_in_part(management_api: ApiClient, base: str) -> None:
    mistyped = [f"daily.data.slep{number}" for number in range(500)]
    refused = management_api.post(base, {"url": URL, "filter_types": mistyped})
    told = refused.json()["detail"]
    assert (refused.status_code, len(told)) == (422, 20)
    assert [one["loc"][-1] for one in told] == list(range(20))
    assert [("Near it" in one["msg"]) for one in told] == [True] * 5 + [False] * 15


def test_a_deleted_webhook_keeps_no_query_of_its_url(management_api: ApiClient, base: str, team: Tenant) -> None:
    made = create(management_api, base, url="https://hooks.example.com/in?secret=sesame")
    assert management_api.delete(f"{base}/{made['id']}").status_code == 204
    with team_scope(team.context):
        assert "sesame" not in Endpoint.objects.get(pk=made["id"]).url
