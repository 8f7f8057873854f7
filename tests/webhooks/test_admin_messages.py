"""What staff see of messages and portal sessions: a payload only on request, with the right to it, and with a trace."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_floor
from healthsvc.kernel.principal import PrincipalKind
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import AccessRecord
from tests.factories import Tenant, user_make
from tests.webhooks.conftest import deliveries, emit, endpoint_make, pump
from tests.webhooks.erasing import user_erase
from tests.webhooks.receiving import Answer, Receiver
from tests.webhooks.staffing import clerk, superuser, whole
from webhooks.models import Endpoint, Event, PortalSession
from webhooks.services.portal import portal_link_make, portal_open

LIST = "/admin/webhooks/event/"
SESSIONS = "/admin/webhooks/portalsession/"


@pytest.fixture
def staff(db: None) -> Client:
    """A browser of staff who may do everything."""
    return superuser()


def shown(staff: Client, path: str = LIST, **query: str) -> list[str]:
    """The ids that a list shows."""
    page = staff.get(path, query).content.decode()
    return [part.split('"', 1)[0] for part in page.split('name="_selected_action" value="')[1:]] or [
        part.split("/change/", 1)[0] for part in page.split(f'<a href="{path}')[1:] if "/change/" in part.split(">")[0]
    ]


def payload_traces() -> list[tuple[str, object]]:
    """Who saw payloads of whom, oldest first."""
    with system_scope(SystemScope.STAFF):
        rows = AccessRecord.objects.filter(action__endswith="payload").order_by("id")
        return list(rows.values_list("action", "user_id"))


def test_a_message_with_its_deliveries_and_attempts(
    staff: Client, team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    hook.answers = [Answer(503, {}, b"not today")]
    event_id = emit(team)
    pump()
    page = whole(staff.get(f"{LIST}{event_id}/change/").content.decode())
    for words in (endpoint.url, ">pending</a>", "<td>503</td>", "not today", f"msg_{event_id}"):
        assert words in page
    assert "Zoë" not in page
    assert "<h1>Message daily.data.sleep.created</h1>" in page
    # Each attempt names its endpoint.
    assert f'<td><span class="url">{endpoint.url}</span></td>' in page


def test_a_message_costs_the_same_for_any_number(staff: Client, team: Tenant, hook: Receiver) -> None:
    costs = []
    for _ in range(2):
        for number in range(3):
            endpoint_make(team, f"{hook.url}/{number}")
        event_id = emit(team)
        pump()
        with CaptureQueriesContext(connection) as captured:
            staff.get(f"{LIST}{event_id}/change/")
        costs.append(len(captured))
    assert costs[0] == costs[1]


def test_the_payload_is_shown_on_request_and_leaves_a_trace(staff: Client, team: Tenant) -> None:
    user_id = uuid4()
    event_id = emit(team, user_id=user_id)
    assert "Show the payload" in staff.get(f"{LIST}{event_id}/change/").content.decode()
    assert staff.get(f"{LIST}{event_id}/payload/").status_code == 405
    assert payload_traces() == []
    answer = staff.post(f"{LIST}{event_id}/payload/")
    assert "Zoë" in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert payload_traces() == [("POST admin webhooks.event payload", user_id)]
    user_erase(team.context, user_id)
    assert "It was erased" in staff.post(f"{LIST}{event_id}/payload/").content.decode()
    assert staff.post(f"{LIST}{uuid4()}/payload/").status_code == 404


def test_seeing_messages_is_not_enough_to_see_payloads_or_send(
    team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    event_id = emit(team)
    pump()
    viewer = clerk("view_event", "view_delivery")
    page = viewer.get(f"{LIST}{event_id}/change/").content.decode()
    assert ("Show the payload" in page, "Send again" in page) == (False, False)
    assert viewer.post(f"{LIST}{event_id}/payload/").status_code == 403
    assert viewer.post(f"{LIST}{event_id}/resend/", {"endpoint_id": str(endpoint.pk)}).status_code == 403
    assert payload_traces() == []
    chosen = {"action": "send_again", "_selected_action": [str(deliveries()[0].pk)]}
    viewer.post("/admin/webhooks/delivery/", chosen)
    assert [row.status for row in deliveries()] == ["delivered"]


def test_with_the_right_alone_the_payload_is_shown(team: Tenant) -> None:
    event_id = emit(team)
    assert "Zoë" in clerk("view_event", "view_payload").post(f"{LIST}{event_id}/payload/").content.decode()


def test_a_message_is_sent_again(staff: Client, team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    event_id = emit(team)
    pump()
    path = f"{LIST}{event_id}/resend/"
    assert "It is sent again." in staff.post(path, {"endpoint_id": str(endpoint.pk)}, follow=True).content.decode()
    assert pump().delivered == 1
    assert len({request.headers["webhook-id"] for request in hook.received}) == 1
    assert staff.post(path, {"endpoint_id": "nonsense"}).status_code == 404
    assert staff.get(path).status_code == 405
    with team_scope(team.context):
        Endpoint.objects.update(disabled=True)
    page = staff.post(path, {"endpoint_id": str(endpoint.pk)}, follow=True).content.decode()
    assert "The endpoint is disabled." in page


def test_the_log_by_team_environment_user_type_and_status(
    staff: Client, team: Tenant, other_team: Tenant, production: Tenant, hook: Receiver
) -> None:
    endpoint_make(team, f"{hook.url}/hook")
    user = user_make(team)
    hook.answers = [Answer(500)]
    ours = emit(team, user_id=user.id)
    pump()
    test = emit(team, "daily.data.activity.created")
    pump()
    theirs, live = emit(other_team), emit(production)
    found = {
        name: shown(staff, **query)
        for name, query in {
            "all": {},
            "team": {"team_id": str(team.team.id)},
            "live": {"environment": "production"},
            "user": {"user_id": str(user.id)},
            "nobody": {"user_id": str(uuid4())},
            "type": {"event_type": "daily.data.activity.created"},
            "pending": {"status": "pending"},
            "delivered": {"status": "delivered", "environment": "sandbox"},
            "search": {"q": f"msg_{theirs}"},
            "person": {"q": str(user.id)},
            "nonsense": {"q": "nonsense"},
        }.items()
    }
    newest = [str(item) for item in (live, theirs, test, ours)]
    assert found == {
        "all": newest,
        "team": [newest[0], *newest[2:]],
        "live": [str(live)],
        "user": [str(ours)],
        "nobody": [],
        "type": [str(test)],
        "pending": [str(ours)],
        "delivered": [str(test)],
        "search": [str(theirs)],
        "person": [str(ours)],
        "nonsense": [],
    }
    for query in ({"team_id": "x"}, {"user_id": "x"}, {"within": "x"}):
        assert staff.get(LIST, query).headers["Location"].endswith("?e=1")


def test_the_log_by_time_is_bounded_by_ids(staff: Client, team: Tenant) -> None:
    young, old = emit(team), emit(team)
    moved = uuid_floor(clock.now() - timedelta(days=2))
    with system_scope(SystemScope.DELIVERY):
        Event.objects.filter(pk=old).update(id=moved)
    assert shown(staff) == [str(young)]
    assert shown(staff, within="hour") == [str(young)]
    assert shown(staff, within="week") == shown(staff, within="all") == [str(young), str(moved)]
    assert shown(staff, q=str(moved)) == [str(moved)]


@pytest.mark.parametrize("path", [LIST, "/admin/webhooks/delivery/"])
def test_a_long_log_is_never_counted_to_its_end(staff: Client, team: Tenant, path: str) -> None:
    with CaptureQueriesContext(connection) as captured:
        staff.get(path)
    counts = [query["sql"] for query in captured if "COUNT(*)" in query["sql"] and "webhooks_" in query["sql"]]
    assert counts
    assert [sql for sql in counts if "LIMIT 1000" not in sql] == []


def test_deliveries_by_any_id(staff: Client, team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    other = endpoint_make(team, f"{hook.url}/other")
    event_id = emit(team)
    pump()
    rows = {row.endpoint_id: row for row in deliveries()}
    path = "/admin/webhooks/delivery/"
    assert len(shown(staff, path, q=f"msg_{event_id}")) == 2
    assert shown(staff, path, q=str(other.pk)) == [str(rows[other.pk].pk)]
    assert shown(staff, path, endpoint_id=str(endpoint.pk)) == [str(rows[endpoint.pk].pk)]
    assert shown(staff, path, q=str(rows[endpoint.pk].pk)) == [str(rows[endpoint.pk].pk)]
    assert shown(staff, path, q=str(uuid4())) == []


def _session(tenant: Tenant) -> PortalSession:
    with team_scope(tenant.context):
        link = portal_link_make(team=tenant.context, made_by_kind=PrincipalKind.TEAM_KEY, made_by_id="1")
    opened = portal_open(token=link.url.rpartition("=")[2])
    assert opened is not None
    return opened.session


def test_portal_sessions_are_listed_and_ended(staff: Client, team: Tenant) -> None:
    session = _session(team)
    page = staff.get(SESSIONS).content.decode()
    assert ">open</a></th>" in page
    opened = whole(staff.get(f"{SESSIONS}{session.pk}/change/").content.decode())
    assert f"<h1>Portal session of {team.team.name}, sandbox</h1>" in opened
    assert "hash" not in opened
    staff.post(SESSIONS, {"action": "end", "_selected_action": [str(session.pk)]})
    with system_scope(SystemScope.STAFF):
        ended_at = PortalSession.objects.get().ended_at
    assert ended_at is not None
    assert ">ended</a></th>" in staff.get(SESSIONS).content.decode()
    assert _ends() == [("POST admin webhooks.portalsession end", str(session.pk))]
    staff.post(SESSIONS, {"action": "end", "_selected_action": [str(session.pk)]})
    with system_scope(SystemScope.STAFF):
        assert PortalSession.objects.get().ended_at == ended_at
    # Ending what has ended is nothing that happened.
    assert len(_ends()) == 1


def _ends() -> list[tuple[str, object]]:
    with system_scope(SystemScope.STAFF):
        rows = AccessRecord.objects.filter(action__endswith=" end").order_by("id")
        return [(row.action, row.object_ids["object_id"]) for row in rows]


def test_seeing_sessions_is_not_enough_to_end_them(team: Tenant) -> None:
    session = _session(team)
    clerk("view_portalsession").post(SESSIONS, {"action": "end", "_selected_action": [str(session.pk)]})
    with system_scope(SystemScope.STAFF):
        assert PortalSession.objects.get().ended_at is None
