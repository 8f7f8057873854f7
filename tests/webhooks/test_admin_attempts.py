"""The staff's lists of attempts and deliveries: found by what people know, in a bounded number of rows."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_floor, uuid_instant
from healthsvc.kernel.scope import SystemScope, system_scope
from tests.factories import Tenant, user_make
from tests.webhooks.conftest import attempts, deliveries, emit, endpoint_make, pump
from tests.webhooks.receiving import Answer, Receiver
from tests.webhooks.staffing import clerk, superuser, whole
from webhooks.log_selectors import paging
from webhooks.models import Attempt

LIST = "/admin/webhooks/attempt/"
DELIVERIES = "/admin/webhooks/delivery/"
SLEEP, ACTIVITY = "daily.data.sleep.created", "daily.data.activity.created"


@pytest.fixture
def staff(db: None) -> Client:
    """A browser of staff who may do everything."""
    return superuser()


def shown(staff: Client, path: str = LIST, **query: str) -> list[str]:
    """The ids that a list shows."""
    answer = staff.get(path, query)
    assert answer.status_code == 200, answer.headers
    return [str(row.pk) for row in answer.context["cl"].result_list]


def test_an_attempt_says_what_it_was(staff: Client, team: Tenant, hook: Receiver) -> None:
    endpoint_make(team, f"{hook.url}/hook")
    hook.answers = [Answer(503, {}, b"not today")]
    emit(team)
    pump()
    (made,) = attempts()
    row = whole(staff.get(LIST).content.decode()).partition("<tbody>")[2]
    cells = [part.partition("</")[0].rpartition(">")[2] for part in row.split("<t")[2:6]]
    assert cells == ["failed: 503", SLEEP, f"{hook.url}/hook", "1"]
    page = whole(staff.get(f"{LIST}{made.pk}/change/").content.decode())
    host = hook.url.removeprefix("http://")
    assert f"<h1>Attempt 1 of {SLEEP} at {host}</h1>" in page
    assert "not today" in page
    (delivery,) = deliveries()
    title = f"Delivery of {SLEEP} to {host}"
    page = whole(staff.get(f"{DELIVERIES}{delivery.pk}/change/").content.decode())
    assert (f"<h1>{title}</h1>" in page, f"&rsaquo; {title}\n" in page) == (True, True)


def test_attempts_by_everything(staff: Client, team: Tenant, other_team: Tenant, hook: Receiver) -> None:
    one, two = endpoint_make(team, f"{hook.url}/1"), endpoint_make(team, f"{hook.url}/2")
    endpoint_make(other_team, f"{hook.url}/3")
    hook.answers = [Answer(500), Answer(404)]
    emit(team, SLEEP)
    pump()
    emit(team, ACTIVITY)
    pump()
    emit(other_team, SLEEP)
    pump()
    rows = {row.id: row for row in attempts()}
    newest = sorted(rows, reverse=True)

    def wanted(*, team_id: UUID | None = None, endpoint_id: UUID | None = None, event_type: str = "",
               code: int = 0, failed: bool | None = None) -> list[str]:  # fmt: skip
        return [
            str(pk) for pk in newest
            if team_id in (None, rows[pk].team_id) and endpoint_id in (None, rows[pk].endpoint_id)
            and event_type in ("", rows[pk].event_type) and code in (0, rows[pk].status_code)
            and failed in (None, (rows[pk].status_code or 0) >= 300)
        ]  # fmt: skip

    ours = team.team.id
    assert shown(staff) == wanted()
    assert shown(staff, team_id=str(ours)) == wanted(team_id=ours) != wanted()
    assert shown(staff, endpoint_id=str(one.id)) == wanted(endpoint_id=one.id)
    assert shown(staff, event_type=ACTIVITY) == wanted(event_type=ACTIVITY)
    assert shown(staff, status_code="404") == wanted(code=404)
    for outcome, failed in (("failed", True), ("succeeded", False)):
        assert shown(staff, outcome=outcome) == wanted(failed=failed)
        assert shown(staff, outcome=outcome, team_id=str(ours)) == wanted(failed=failed, team_id=ours)
        found = shown(staff, outcome=outcome, endpoint_id=str(two.id), event_type=SLEEP)
        assert found == wanted(failed=failed, endpoint_id=two.id, event_type=SLEEP)
    assert shown(staff, endpoint_id=str(one.id), team_id=str(other_team.team.id)) == []
    assert shown(staff, team_id=str(uuid4())) == []
    first = rows[newest[-1]]
    assert shown(staff, q=str(first.id)) == [str(first.id)]
    assert shown(staff, q=str(first.delivery_id)) == [str(first.id)]
    (event_id,) = {row.event_id for row in deliveries() if row.id == first.delivery_id}
    assert sorted(shown(staff, q=f"msg_{event_id}")) == sorted(wanted(event_type=SLEEP, team_id=ours))
    for wrong in (
        {"status_code": "5xx"},
        {"outcome": "x"},
        {"endpoint_id": "x"},
        {"before": "x"},
        {"before": "1000-01-01"},
    ):
        assert staff.get(LIST, wrong).headers["Location"].endswith("?e=1")


def test_attempts_by_time(staff: Client, team: Tenant, hook: Receiver) -> None:
    endpoint_make(team, f"{hook.url}/hook")
    for _ in range(2):
        emit(team)
        pump()
    young, old = (row.id for row in attempts())
    moved = uuid_floor(clock.now() - timedelta(days=2))
    with system_scope(SystemScope.PURGE):
        assert Attempt.objects.filter(pk=old).update(id=moved) == 1
    assert shown(staff) == [str(young)]
    assert shown(staff, within="week") == [str(young), str(moved)]
    yesterday = f"{clock.now() - timedelta(days=1):%Y-%m-%d %H:%M}"
    assert shown(staff, before=yesterday) == [str(moved)]
    assert shown(staff, before=yesterday, within="hour") == []


def test_what_no_index_finds_is_looked_for_in_so_many_rows(
    staff: Client, team: Tenant, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint_make(team, f"{hook.url}/hook")
    hook.answers = [Answer(418)]
    for _ in range(5):
        emit(team)
        pump()
    monkeypatch.setattr(paging, "LOG_SCAN_ROWS", 3)
    odd, _, third, *_ = (row.id for row in attempts())
    answer = staff.get(LIST, {"status_code": "418"})
    assert list(answer.context["cl"].result_list) == []
    end = answer.context["cl"].looked_until
    assert end == uuid_instant(third)
    further = answer.context["cl"].further_back
    assert further.replace("&", "&amp;") in answer.content.decode()
    (found,) = staff.get(f"{LIST}{further}").context["cl"].result_list
    assert found.pk == odd


def test_the_attempts_cost_the_same_queries_for_any_number(staff: Client, team: Tenant, hook: Receiver) -> None:
    endpoint_make(team, f"{hook.url}/hook")
    costs = []
    for _ in range(2):
        for _ in range(3):
            emit(team)
        pump()
        with CaptureQueriesContext(connection) as captured:
            staff.get(LIST, {"team_id": str(team.team.id), "outcome": "succeeded", "event_type": SLEEP})
        costs.append(len(captured))
        looks = [query["sql"] for query in captured if 'FROM "webhooks_attempt"' in query["sql"]]
        # Each look has an end, and rows are fetched by the ids that were found.
        assert [sql for sql in looks if "LIMIT" not in sql and '"webhooks_attempt"."id" IN (' not in sql] == []
    assert costs[0] == costs[1]


def test_seeing_attempts_needs_the_right_to(team: Tenant) -> None:
    assert clerk("view_delivery").get(LIST).status_code == 403


def test_deliveries_by_user_and_event_type(staff: Client, team: Tenant, other_team: Tenant, hook: Receiver) -> None:
    for tenant in (team, other_team):
        endpoint_make(tenant, f"{hook.url}/hook")
    ada, bo = user_make(team), user_make(team)
    made = [
        emit(team, SLEEP, user_id=ada.id), emit(team, ACTIVITY, user_id=ada.id), emit(team, SLEEP, user_id=bo.id),
        emit(other_team, SLEEP),
    ]  # fmt: skip
    pump()
    ids = {row.event_id: str(row.pk) for row in deliveries()}

    def those(*numbers: int) -> list[str]:
        return sorted((ids[made[number]] for number in numbers), reverse=True)

    user, ours = str(ada.id), str(team.team.id)
    assert shown(staff, DELIVERIES, user_id=user) == those(0, 1)
    assert shown(staff, DELIVERIES, event_type=SLEEP) == those(0, 2, 3)
    assert shown(staff, DELIVERIES, event_type=SLEEP, team_id=ours) == those(0, 2)
    assert shown(staff, DELIVERIES, event_type=SLEEP, user_id=user) == those(0)
    assert shown(staff, DELIVERIES, event_type="no.such.event") == []
    assert shown(staff, DELIVERIES, user_id=str(uuid4())) == []
    assert staff.get(DELIVERIES, {"user_id": "x"}).headers["Location"].endswith("?e=1")
