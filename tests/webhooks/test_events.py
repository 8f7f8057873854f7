"""Events: true with their change, complete in the catalogue, fanned out once to who wants them."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
from django.db import ProgrammingError, connection, transaction
from pytest_django import DjangoAssertNumQueries, DjangoCaptureOnCommitCallbacks

from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from healthsvc.kernel.typing import JSONValue
from tests import factories
from tests.documents import MANAGEMENT_URLCONF, TEAM_URLCONF, document
from tests.factories import Tenant
from tests.webhooks.conftest import SOME_EVENT, deliveries, emit, endpoint_make
from webhooks import services
from webhooks.constants import EMIT_CHARACTERS, EMIT_ROWS
from webhooks.models import Endpoint, Event
from webhooks.registry import EventType, event_types, event_types_register

URL = "https://hooks.example.com/a"
USER_ID = UUID("01934c7e-2b1d-7d04-8a7e-51d2f9b7c6aa")


def events() -> list[Event]:
    """Every event, oldest first."""
    with system_scope(SystemScope.DELIVERY):
        return list(Event.objects.order_by("id"))


def fan_out() -> services.FanOut:
    """One batch."""
    with system_scope(SystemScope.DELIVERY):
        return services.events_fan_out()


def test_the_envelope_is_exact_and_sealed(team: Tenant) -> None:
    user = factories.user_make(team)
    event_id = emit(team, data={"b": 1, "a": [1.5, None, "Zoë"]}, user_id=user.id)
    (event,) = events()
    assert (event.id, event.message_id) == (event_id, f"msg_{event_id}")
    assert event.body == (
        f'{{"event_type":"{SOME_EVENT}","data":{{"b":1,"a":[1.5,null,"Zoë"]}},"team_id":"{team.team.id}",'
        f'"user_id":"{user.id}","client_user_id":"customer-1"}}'
    )
    with system_scope(SystemScope.DELIVERY), connection.cursor() as cursor:
        cursor.execute("SELECT body FROM webhooks_event")
        assert b"event_type" not in bytes(cursor.fetchone()[0])


def test_a_change_that_is_undone_tells_nobody(team: Tenant) -> None:
    with transaction.atomic():
        emit(team)
        assert len(events()) == 1
        transaction.set_rollback(True)
    assert events() == []


@pytest.mark.django_db(transaction=True)
def test_outside_a_transaction_nothing_is_emitted() -> None:
    tenant = factories.tenant_make()
    arguments: dict[str, Any] = {"event_type": SOME_EVENT, "data": {}, "user_id": None, "client_user_id": None}
    with team_scope(tenant.context), pytest.raises(RuntimeError, match="transaction"):
        services.event_emit(team=tenant.context, **arguments)
    with team_scope(tenant.context), pytest.raises(RuntimeError, match="transaction"):
        services.events_emit(team=tenant.context, events=[], user_id=None, client_user_id=None)
    assert events() == []


def test_an_unknown_event_is_refused(team: Tenant) -> None:
    with pytest.raises(ValueError, match=r"nobody\.knows"):
        emit(team, "nobody.knows")
    assert events() == []


def test_the_catalogue_refuses_bad_and_taken_names() -> None:
    before = dict(event_types())
    for name in ("", "Daily.data", "daily..data", "daily.data.", "x" * 201, "a b"):
        with pytest.raises(ValueError, match="Not a name"):
            event_types_register([EventType(name, "Meaning.", {}, {})])
    with pytest.raises(ValueError, match="Two events"):
        event_types_register([EventType("webhook.test", "Another.", {}, {})])
    event_types_register([event_types()["webhook.test"]])
    assert dict(event_types()) == before


def test_every_event_is_in_the_team_document_with_an_example() -> None:
    webhooks = document(TEAM_URLCONF)["webhooks"]
    assert list(webhooks) == list(event_types())
    content = webhooks["webhook.test"]["post"]["requestBody"]["content"]["application/json"]
    assert list(content["example"]) == ["event_type", "data", "team_id", "user_id", "client_user_id"]
    assert content["example"]["data"] == event_types()["webhook.test"].sample
    assert "webhooks" not in document(MANAGEMENT_URLCONF)


def test_one_message_a_transaction_is_sent_after_its_commit(
    team: Tenant, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks() as callbacks:
        for _ in range(3):
            emit(team)
    assert len(callbacks) == 1


def emit_many(tenant: Tenant, *given: tuple[str, JSONValue]) -> int:
    """Events of a team, in a transaction of their own."""
    with team_scope(tenant.context), transaction.atomic():
        return services.events_emit(
            team=tenant.context, events=iter(given), user_id=USER_ID, client_user_id="customer-1"
        )


def test_many_events_are_as_those_emitted_one_by_one(team: Tenant) -> None:
    given: list[tuple[str, JSONValue]] = [(SOME_EVENT, {"number": number, "name": "Zoë"}) for number in range(3)]
    for event_type, data in given:
        emit(team, event_type, data=data, user_id=USER_ID, client_user_id="customer-1")
    assert emit_many(team, *given) == 3
    found = events()
    assert [event.body for event in found[3:]] == [event.body for event in found[:3]]
    assert {(event.event_type, event.user_id, event.endpoint_id, event.fanned_out_at) for event in found} == {
        (SOME_EVENT, USER_ID, None, None)
    }
    with system_scope(SystemScope.DELIVERY), connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM webhooks_event WHERE position('event_type'::bytea IN body) > 0")
        assert cursor.fetchone()[0] == 0


def test_many_events_are_one_statement_and_one_message(
    team: Tenant,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_capture_on_commit_callbacks() as callbacks, team_scope(team.context):
        for count in (1, EMIT_ROWS):
            many = ((SOME_EVENT, {"number": number}) for number in range(count))
            with django_assert_num_queries(1):
                services.events_emit(team=team.context, events=many, user_id=USER_ID, client_user_id=None)
    assert len(callbacks) == 1


def test_many_events_are_taken_by_the_statement_and_keep_their_order(
    team: Tenant, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    counts: list[int] = []

    def large(total: int) -> Iterator[tuple[str, JSONValue]]:
        for number in range(total):
            counts.append(Event.objects.count())
            yield SOME_EVENT, {"number": number, "text": "x" * (EMIT_CHARACTERS // 2)}

    with team_scope(team.context):
        services.events_emit(team=team.context, events=large(5), user_id=USER_ID, client_user_id=None)
    assert counts == [0, 0, 2, 2, 4]  # two were written before the third was made
    assert [orjson.loads(event.body or "")["data"]["number"] for event in events()] == list(range(5))
    with team_scope(team.context), django_assert_num_queries(2):
        small = ((SOME_EVENT, number) for number in range(EMIT_ROWS + 1))
        services.events_emit(team=team.context, events=small, user_id=USER_ID, client_user_id=None)


def test_no_events_are_no_statement_and_no_message(
    team: Tenant,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with team_scope(team.context), django_capture_on_commit_callbacks() as callbacks, django_assert_num_queries(0):
        assert services.events_emit(team=team.context, events=(), user_id=None, client_user_id=None) == 0
    assert callbacks == []


def test_an_unknown_event_among_many_undoes_them_all(team: Tenant) -> None:
    with pytest.raises(ValueError, match=r"nobody\.knows"):
        emit_many(team, (SOME_EVENT, {}), ("nobody.knows", {}))
    assert events() == []


def test_fan_out_is_done_once(team: Tenant) -> None:
    endpoints = {endpoint_make(team, URL).id for _ in range(2)}
    emit(team)
    assert fan_out() == services.FanOut(events=1, deliveries=2)
    with system_scope(SystemScope.DELIVERY):
        Event.objects.update(fanned_out_at=None)  # as after a worker that died before its commit was known
    assert fan_out().events == 1
    assert fan_out() == services.FanOut(events=0, deliveries=0)
    assert {row.endpoint_id for row in deliveries()} == endpoints
    assert len(deliveries()) == 2


@pytest.mark.parametrize(
    ("filter_types", "wanted"),
    [
        (None, True),
        ([], True),
        ([SOME_EVENT], True),
        (["daily"], True),
        (["daily.data.sleep"], True),
        (["daily.data.*"], True),
        (["daily.data.sleep.*"], True),
        (["provider", "daily.data"], True),
        (["daily.data.sle"], False),
        (["daily.data.sleep.updated"], False),
        (["daily.data.sleep.created.more"], False),
        (["provider.connection.created"], False),
    ],
)
def test_filters_take_types_and_their_first_words(team: Tenant, filter_types: list[str] | None, wanted: bool) -> None:
    made = endpoint_make(team, URL)
    with team_scope(team.context):
        # Some of these name nothing, and could not be chosen.
        Endpoint.objects.filter(pk=made.pk).update(filter_types=filter_types or None)
    emit(team)
    assert fan_out().deliveries == int(wanted)


def test_events_go_to_their_own_team_and_environment_only(team: Tenant, other_team: Tenant, production: Tenant) -> None:
    made = {tenant.context: endpoint_make(tenant, URL).id for tenant in (team, other_team, production)}
    for tenant in (team, other_team, production):
        emit(tenant)
    fan_out()
    rows = deliveries()
    assert [row.endpoint_id for row in rows] == list(made.values())
    assert [row.event.context for row in rows] == list(made)


def test_disabled_and_deleted_endpoints_get_nothing(team: Tenant) -> None:
    endpoint_make(team, URL, disabled=True)
    deleted = endpoint_make(team, URL)
    with team_scope(team.context):
        services.endpoint_delete(team=team.context, endpoint_id=deleted.id)
    emit(team)
    assert fan_out() == services.FanOut(events=1, deliveries=0)


def test_an_event_without_a_user(team: Tenant) -> None:
    emit(team, user_id=None, client_user_id=None)
    body = orjson.loads(events()[0].body or "")
    assert (body["user_id"], body["client_user_id"]) == (None, None)


def test_another_teams_scope_cannot_emit_for_ours(team: Tenant, other_team: Tenant) -> None:
    arguments: dict[str, Any] = {"event_type": SOME_EVENT, "data": {}, "user_id": uuid4(), "client_user_id": None}
    refused = pytest.raises(ProgrammingError, match="row-level security")
    with refused, team_scope(other_team.context), transaction.atomic():
        services.event_emit(team=team.context, **arguments)
    assert events() == []
