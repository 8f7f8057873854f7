"""The log at the management address: messages, attempts, event types and figures."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from jsonschema import Draft202012Validator

from healthsvc.kernel import clock
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.ids import uuid_floor
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import AccessRecord
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.webhooks.conftest import CLIENT_USER_ID, SOME_EVENT, attempts, emit, endpoint_make, make_due, pump
from tests.webhooks.receiving import Answer, Receiver
from webhooks import log_selectors
from webhooks.constants import RETRY_DELAYS_SECONDS
from webhooks.log_selectors import AttemptFilters, MessageFilters, paging
from webhooks.models import Endpoint, Event, Tally

OTHER_EVENT = "provider.connection.created"


@pytest.fixture
def base(team: Tenant) -> str:
    """The address of our sandbox."""
    return base_of(team)


def base_of(tenant: Tenant) -> str:
    """The address of a team in its environment."""
    return f"/v1/org/{tenant.team.organisation_id}/team/{tenant.team.id}/{tenant.context.environment}"


def rows(client: ApiClient, path: str, **query: Any) -> list[dict[str, Any]]:
    """Every row of a list, page by page, two a page."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        response = client.get(path, {"limit": 2, **query, **({"next_cursor": cursor} if cursor else {})})
        assert response.status_code == 200, response.content
        found += response.json()["data"]
        cursor = response.json()["next_cursor"]
        if cursor is None:
            return found


def ids(client: ApiClient, path: str, **query: Any) -> list[str]:
    """Their ids."""
    return [row["id"] for row in rows(client, path, **query)]


def test_a_message_is_listed_with_how_far_it_is(
    management_api: ApiClient, team: Tenant, base: str, endpoint: Endpoint, hook: Receiver
) -> None:
    endpoint_make(team, f"{hook.url}/second")
    event_id = emit(team)
    pump()
    (row,) = rows(management_api, f"{base}/webhook_message")
    assert {**row, "created_at": ""} == {
        "id": f"msg_{event_id}",
        "event_type": SOME_EVENT,
        "user_id": None,
        "channels": [],
        "webhook_id": None,
        "is_payload_kept": True,
        "webhooks": {"delivered": 2, "waiting": 0, "failed": 0, "cancelled": 0},
        "created_at": "",
    }


def test_a_message_is_shown_with_its_payload_and_whose_it_is_goes_into_the_trail(
    management_api: ApiClient, team: Tenant, base: str, endpoint: Endpoint, hook: Receiver
) -> None:
    user = user_make(team)
    event_id = emit(team, user_id=user.id)
    hook.answers = [Answer(500)]
    pump()
    shown = management_api.get(f"{base}/webhook_message/msg_{event_id}").json()
    assert shown["payload"] == {
        "event_type": SOME_EVENT,
        "data": {"score": 81, "name": "Zoë"},
        "team_id": str(team.team.id),
        "user_id": str(user.id),
        "client_user_id": CLIENT_USER_ID,
    }
    (delivery,) = shown["deliveries"]
    assert (delivery["webhook_id"], delivery["status"], delivery["attempts"]) == (str(endpoint.id), "pending", 1)
    assert (delivery["url"], delivery["ended_at"]) == (endpoint.url, None)
    assert shown["webhooks"] == {"delivered": 0, "waiting": 1, "failed": 0, "cancelled": 0}
    with team_scope(team.context):
        record = AccessRecord.objects.order_by("-id").first()
        assert record is not None
        assert (record.user_id, record.object_ids["message_id"]) == (user.id, str(event_id))
    management_api.get(f"{base}/webhook_message", {"user_id": user.id})
    with team_scope(team.context):
        assert AccessRecord.objects.filter(user_id=user.id).count() == 2


def test_an_erased_payload_is_null(management_api: ApiClient, team: Tenant, base: str) -> None:
    event_id = emit(team)
    with team_scope(team.context):
        Event.objects.update(body=None)
    shown = management_api.get(f"{base}/webhook_message/msg_{event_id}").json()
    assert (shown["payload"], shown["is_payload_kept"], shown["deliveries"]) == (None, False, [])


def test_message_filters_combine(management_api: ApiClient, team: Tenant, base: str) -> None:
    users = [user_make(team).id for _ in range(2)]
    made = [
        f"msg_{emit(team, event_type, user_id=user, channels=channels)}"
        for event_type, user, channels in [
            (SOME_EVENT, users[0], ["provider.oura"]),
            (OTHER_EVENT, users[0], []),
            (SOME_EVENT, users[1], ["provider.oura"]),
            (SOME_EVENT, None, ["provider.fitbit"]),
        ]
    ]
    path = f"{base}/webhook_message"

    def found(**query: Any) -> list[int]:
        return [made.index(one) for one in ids(management_api, path, **query)]

    assert found() == [3, 2, 1, 0]
    assert found(event_type=SOME_EVENT) == [3, 2, 0]
    assert found(event_type="daily.data") == found(event_type="daily.*") == [3, 2, 0]
    assert found(event_type="provider.connection") == [1]
    assert found(event_type="daily.da") == []
    assert found(user_id=users[0]) == found(channel=f"user.{users[0]}") == [1, 0]
    assert found(user_id=users[0], event_type=SOME_EVENT) == [0]
    assert found(channel="provider.oura") == [2, 0]
    assert found(channel="provider.oura", user_id=users[1]) == [2]
    assert found(channel="provider.oura", event_type=OTHER_EVENT) == []


def test_times_bound_messages_to_the_millisecond(management_api: ApiClient, team: Tenant, base: str) -> None:
    moments = [datetime(2026, 11, 1, hour, tzinfo=UTC) for hour in (8, 9, 10)]
    made = [f"msg_{_event_at(team, moment)}" for moment in moments]
    path = f"{base}/webhook_message"
    assert ids(management_api, path, after=utc_text(moments[1])) == made[:0:-1]
    assert ids(management_api, path, before=utc_text(moments[1])) == made[:1]
    assert ids(management_api, path, after="2026-11-01T10:00:00+01:00", before="2026-11-01T09:00:00.001Z") == [made[1]]
    for name in ("after", "before"):
        for text in ("2026-11-01T10:00:00", "2026-11-01", "yesterday", "0001-01-01T00:00:00Z"):
            response = management_api.get(path, {name: text})
            assert response.status_code == 422
            assert [problem["loc"] for problem in response.json()["detail"]] == [["query", name]]


def _event_at(tenant: Tenant, moment: datetime) -> UUID:
    """An event of another time: ids tell it."""
    with team_scope(tenant.context):
        event = Event.objects.create(
            **team_values(tenant.context), id=uuid_floor(moment), event_type=SOME_EVENT, body="{}", created_at=moment,
            fanned_out_at=moment,
        )  # fmt: skip
    return event.id


def test_a_filter_without_an_index_looks_at_so_many_rows_and_goes_on(
    team: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "LOG_SCAN_ROWS", 3)
    wanted = emit(team, channels=["provider.oura"])
    for _ in range(7):
        emit(team)
    pages: list[list[UUID]] = []
    cursor: UUID | None = None
    with team_scope(team.context):
        while not pages or cursor is not None:
            filters = MessageFilters(channel="provider.oura")
            page = log_selectors.message_page(team.context, cursor=cursor, limit=2, filters=filters)
            pages.append([row.id for row in page.messages])
            cursor = page.next_cursor
    assert pages == [[], [], [wanted]]


def test_attempts_of_a_webhook_with_their_filters(
    management_api: ApiClient, team: Tenant, base: str, endpoint: Endpoint, hook: Receiver
) -> None:
    hook.answers = [Answer(500, body=b"no way"), Answer(204), Answer(404)]
    for event_type in (SOME_EVENT, SOME_EVENT, OTHER_EVENT):
        emit(team, event_type)
        pump()
    path = f"{base}/webhook/{endpoint.id}/attempt"

    def codes(**query: Any) -> list[int]:
        return [row["status_code"] for row in rows(management_api, path, **query)]

    assert codes() == [404, 204, 500]
    assert codes(outcome="failed") == [404, 500]
    assert codes(outcome="succeeded") == [204]
    assert codes(status_code=500) == [500]
    assert codes(event_type="daily.data") == [204, 500]
    assert codes(event_type="daily.data", outcome="failed") == [500]
    first, second, third = attempts()
    assert codes(after=utc_text(second.attempted_at)) == [404, 204]
    assert codes(before=utc_text(second.attempted_at)) == [500]
    assert codes(after=utc_text(second.attempted_at), before=utc_text(third.attempted_at)) == [204]
    oldest = rows(management_api, path, status_code=500)[0]
    assert {**oldest, "attempted_at": "", "next_attempt_at": "", "duration_milliseconds": 0} == {
        "id": str(first.id),
        "message_id": oldest["message_id"],
        "event_type": SOME_EVENT,
        "webhook_id": str(endpoint.id),
        "number": 1,
        "outcome": "failed",
        "attempted_at": "",
        "duration_milliseconds": 0,
        "status_code": 500,
        "error": None,
        "answer_excerpt": "no way",
        "message_status": "pending",
        "next_attempt_at": "",
    }
    assert [row["id"] for row in rows(management_api, f"{base}/webhook_message/{oldest['message_id']}/attempt")] == [
        str(first.id)
    ]


def test_attempts_without_an_answer_are_failures(
    management_api: ApiClient, team: Tenant, base: str, endpoint: Endpoint, hook: Receiver
) -> None:
    hook.slow_paths = {"/hook"}
    emit(team)
    pump(timeout_seconds=0.2)
    (row,) = rows(management_api, f"{base}/webhook/{endpoint.id}/attempt", outcome="failed")
    assert (row["status_code"], row["error"], row["outcome"]) == (None, "timeout", "failed")


def test_attempts_of_all_endpoints_of_a_team_in_one_order(team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    endpoint_make(team, f"{hook.url}/second")
    for _ in range(3):
        emit(team)
        pump()
    # Of two that were sent at once either may have begun first, and either may have been written first.
    newest_first = [row.id for row in sorted(attempts(), key=lambda row: (row.attempted_at, row.id), reverse=True)]
    with team_scope(team.context):
        first = log_selectors.attempt_page(team.context, limit=4)
        second = log_selectors.attempt_page(team.context, limit=4, cursor=first.next_cursor)
        filters = AttemptFilters(event_type=SOME_EVENT)
        filtered = log_selectors.attempt_page(team.context, limit=9, filters=filters)
    assert [row.id for row in first.attempts + second.attempts] == newest_first
    assert second.next_cursor is None
    assert [row.id for row in filtered.attempts] == newest_first


def test_a_floor_over_several_endpoints_misses_none(
    team: Tenant, endpoint: Endpoint, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "LOG_SCAN_ROWS", 4)
    endpoint_make(team, f"{hook.url}/second", filter_types=["provider.connection"])
    for number in range(7):
        emit(team, OTHER_EVENT if number == 1 else SOME_EVENT)
        pump()
    wanted = [row.id for row in reversed(attempts()) if row.event_type == OTHER_EVENT]
    found: list[UUID] = []
    cursor: UUID | None = None
    pages = 0
    with team_scope(team.context):
        while not pages or cursor is not None:
            filters = AttemptFilters(event_type=OTHER_EVENT)
            page = log_selectors.attempt_page(team.context, cursor=cursor, limit=1, filters=filters)
            found += [row.id for row in page.attempts]
            cursor = page.next_cursor
            pages += 1
    assert (found, len(wanted)) == (wanted, 2)


@pytest.mark.parametrize("count", [1, 6])
def test_lists_cost_the_same_queries_for_any_number(
    management_api: ApiClient, team: Tenant, base: str, endpoint: Endpoint, hook: Receiver, count: int
) -> None:
    for _ in range(count):
        emit(team, channels=["provider.oura"])
        emit(team, OTHER_EVENT)
    hook.otherwise = Answer(500)
    pump()
    costs = {
        f"{base}/webhook_message": 6,  # key, team, ids, lines, counts, audit
        f"{base}/webhook_message?channel=provider.oura": 7,  # and how far was looked
        f"{base}/webhook_message?event_type=provider.connection": 6,
        f"{base}/webhook/{endpoint.id}/attempt": 6,  # key, team, endpoint, ids, rows, audit
        f"{base}/webhook/{endpoint.id}/attempt?outcome=failed": 6,
        f"{base}/webhook/{endpoint.id}/attempt?event_type=daily": 7,
        f"{base}/webhook/{endpoint.id}": 7,  # key, team, endpoint, tallies, health, waiting, audit
        f"{base}/event_delivery_metric": 4,
    }
    management_api.get(f"{base}/webhook_message")
    found = {}
    for path in costs:
        with CaptureQueriesContext(connection) as captured:
            answer = management_api.get(path).json()
        assert "data" not in answer or answer["data"]
        found[path] = len(captured)
    assert found == costs


def test_anothers_messages_and_attempts_are_as_missing_ones(
    management_api: ApiClient, team: Tenant, other_team: Tenant, production: Tenant, base: str, hook: Receiver
) -> None:
    paths = [f"{base}/webhook_message/msg_{uuid4()}"]
    for tenant in (other_team, production):
        theirs = endpoint_make(tenant, f"{hook.url}/theirs")
        event_id = emit(tenant)
        pump()
        paths += [
            f"{base}/webhook_message/msg_{event_id}",
            f"{base}/webhook_message/msg_{event_id}/attempt",
            f"{base}/webhook/{theirs.id}/attempt",
        ]
    answers = [management_api.get(path) for path in paths]
    assert {answer.status_code for answer in answers} == {404}
    assert len({str({**answer.json(), "request_id": ""}) for answer in answers}) == 1
    assert rows(management_api, f"{base}/webhook_message") == []
    with team_scope(team.context):
        assert log_selectors.attempt_page(team.context, limit=9).attempts == []


def test_a_malformed_message_id_is_named(management_api: ApiClient, base: str) -> None:
    response = management_api.get(f"{base}/webhook_message/msg_7")
    assert response.status_code == 422
    assert [problem["loc"] for problem in response.json()["detail"]] == [["path", "message_id"]]


def test_the_catalogue_is_listed_with_schema_and_sample(management_api: ApiClient, base: str) -> None:
    path = f"{base}/webhook_event_type"
    found = rows(management_api, path, limit=50)
    names = [one["name"] for one in found]
    assert names == sorted(set(names))
    assert {SOME_EVENT, OTHER_EVENT, "webhook.test"} <= set(names)
    narrow = rows(management_api, path, prefix="provider.connection", limit=1)
    assert [one["name"] for one in narrow] == [name for name in names if name.startswith("provider.connection.")]
    for one in found:
        Draft202012Validator.check_schema(one["schema"])
        problems = [error.message for error in Draft202012Validator(one["schema"]).iter_errors(one["sample"])]
        assert problems == [], one["name"]


def test_figures_come_from_tallies_in_the_form_of_prometheus(
    management_api: ApiClient, team: Tenant, base: str, endpoint: Endpoint
) -> None:
    now = clock.now()
    step = int(now.timestamp()) // 3600 * 3600
    _tally(team, endpoint, datetime.fromtimestamp(step, UTC), delivered=3, failed=1)
    _tally(team, endpoint, datetime.fromtimestamp(step - 3600, UTC), delivered=5, exhausted=2)
    _tally(team, endpoint, datetime.fromtimestamp(step - 3300, UTC), delivered=7)
    _tally(team, endpoint, now - timedelta(days=8), delivered=100)
    answer = management_api.get(f"{base}/event_delivery_metric").json()
    assert (answer["status"], answer["data"]["resultType"]) == ("success", "matrix")
    series = {one["metric"]["outcome"]: one for one in answer["data"]["result"]}
    assert series["delivered"]["metric"] == {
        "__name__": "webhook_event_deliveries", "webhook_id": str(endpoint.id), "outcome": "delivered",
    }  # fmt: skip
    assert [len(one["values"]) for one in series.values()] == [168, 168, 168]
    assert series["delivered"]["values"][-3:] == [[step - 7200, "0"], [step - 3600, "12"], [step, "3"]]
    assert series["failed"]["values"][-1] == [step, "1"]
    assert series["exhausted"]["values"][-2] == [step - 3600, "2"]
    widths = {}
    for interval in ("5m", "15m", "1h", "1d"):
        values = management_api.get(f"{base}/event_delivery_metric", {"interval": interval}).json()["data"]["result"]
        widths[interval] = (len(values[0]["values"]), values[0]["values"][1][0] - values[0]["values"][0][0])
    assert widths == {"5m": (72, 300), "15m": (96, 900), "1h": (168, 3600), "1d": (30, 86400)}
    assert management_api.get(f"{base}/event_delivery_metric", {"interval": "2h"}).status_code == 422


def _tally(tenant: Tenant, endpoint: Endpoint, span_at: datetime, **counts: int) -> None:
    with team_scope(tenant.context):
        Tally.objects.create(**team_values(tenant.context), endpoint=endpoint, span_at=span_at, **counts)


def test_a_webhook_shows_its_last_day_and_what_waits(
    management_api: ApiClient, team: Tenant, base: str, endpoint: Endpoint, hook: Receiver
) -> None:
    _tally(team, endpoint, clock.now() - timedelta(hours=30), delivered=50)
    hook.answers = [Answer(204), Answer(500)]
    emit(team)
    pump()
    emit(team)
    pump()
    detail = management_api.get(f"{base}/webhook/{endpoint.id}").json()
    assert detail["last_24_hours"] == {"delivered": 1, "failed": 1, "exhausted": 0, "waiting": 1}
    for _ in RETRY_DELAYS_SECONDS:
        hook.answers = [Answer(500)]
        make_due()
        pump()
    detail = management_api.get(f"{base}/webhook/{endpoint.id}").json()
    assert detail["last_24_hours"]["exhausted"] == 1
    with system_scope(SystemScope.DELIVERY):
        assert Tally.objects.count() >= 2
