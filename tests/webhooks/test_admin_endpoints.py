"""What staff see of endpoints and do with them: through the services, with a trace, and never a secret."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import AccessRecord, BackgroundJob, StaffUser
from tests.factories import Tenant
from tests.webhooks.conftest import deliveries, emit, endpoint_make, pump
from tests.webhooks.receiving import Answer, Receiver
from tests.webhooks.staffing import clerk, superuser, whole
from webhooks import services
from webhooks.constants import RECOVER_JOB, REPLAY_JOB
from webhooks.models import Endpoint, Tally
from webhooks.portal.wording import REPAIR_TITLES

LIST = "/admin/webhooks/endpoint/"


@pytest.fixture
def staff(db: None) -> Client:
    """A browser of staff who may do everything."""
    return superuser()


def now(endpoint: Endpoint) -> Endpoint:
    """The endpoint as it is in the database."""
    with system_scope(SystemScope.STAFF):
        return Endpoint.objects.get(pk=endpoint.pk)


def change(staff: Client, endpoint: Endpoint, **values: str) -> str:
    """Send the form with what the endpoint has, and these; the page that answers."""
    row = now(endpoint)
    given = {
        "url": row.url,
        "description": row.description,
        "filter_types": "\n".join(row.filter_types or []),
        "channels": "\n".join(row.channels or []),
        "rate_limit": str(row.rate_limit or ""),
        **({"disabled": "on"} if row.disabled else {}),
        **values,
    }
    return staff.post(f"{LIST}{endpoint.pk}/change/", given, follow=True).content.decode()


def use(staff: Client, endpoint: Endpoint, values: Mapping[str, Any]) -> tuple[int, str]:
    """Send a form of the page of tools; the status, and the page that it ends at."""
    path = f"{LIST}{endpoint.pk}/tools/"
    answer = staff.post(path, values)
    page = staff.get(path) if answer.status_code == 302 else answer
    return answer.status_code, page.content.decode()


def traces() -> list[str]:
    """What staff did, oldest first."""
    with system_scope(SystemScope.STAFF):
        return list(AccessRecord.objects.filter(actor_kind="staff").order_by("id").values_list("action", flat=True))


def test_the_list_tells_how_each_fares(staff: Client, team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    hook.answers = [Answer(), Answer(500)]
    emit(team)
    emit(team)
    pump()
    page = staff.get(LIST).content.decode()
    assert "1 delivered, 1 failed" in page
    assert '<td class="field-owed">1</td>' in page
    assert '<td class="field-state">enabled</td>' in page


def test_the_list_costs_the_same_for_any_number(staff: Client, team: Tenant, hook: Receiver) -> None:
    costs = []
    for rows in (3, 6):
        for number in range(3):
            endpoint_make(team, f"{hook.url}/{number}")
        emit(team)
        pump()
        with CaptureQueriesContext(connection) as captured:
            page = staff.get(LIST).content.decode()
        assert page.count('<th class="field-address">') == rows
        costs.append(len(captured))
    assert costs[0] == costs[1]


@pytest.mark.parametrize(
    ("state", "shown"), [("enabled", ["a"]), ("disabled", ["b"]), ("deleted", ["c"]), ("struggling", [])]
)
def test_the_list_by_state(staff: Client, team: Tenant, state: str, shown: list[str]) -> None:
    made = {name: endpoint_make(team, f"https://example.com/{name}", disabled=name == "b") for name in "abc"}
    with team_scope(team.context):
        services.endpoint_delete(team=team.context, endpoint_id=made["c"].id)
    page = whole(staff.get(LIST, {"state": state}).content.decode())
    assert [name for name in made if f"https://example.com/{name}<" in page] == shown


def test_a_day_in_which_nothing_arrived_is_said(staff: Client, endpoint: Endpoint) -> None:
    row = Tally(endpoint=endpoint, team_id=endpoint.team_id, environment=endpoint.environment, failed=1)
    row.span_at = clock.now() - timedelta(hours=1)
    with system_scope(SystemScope.DELIVERY):
        row.save(force_insert=True)
    for page in (LIST, f"{LIST}{endpoint.pk}/change/", f"{LIST}{endpoint.pk}/tools/"):
        assert "enabled, nothing arrives" in staff.get(page).content.decode()
    with system_scope(SystemScope.DELIVERY):
        Tally.objects.update(delivered=1)
    assert "nothing arrives" not in staff.get(LIST).content.decode()


def test_the_query_of_an_address_is_not_shown(staff: Client, team: Tenant, hook: Receiver) -> None:
    endpoint = endpoint_make(team, f"{hook.url}/hook?token=sesame")
    emit(team)
    pump()
    (row,) = deliveries()
    at = f"{LIST}{endpoint.pk}/"
    paths = [LIST, f"{at}change/", f"{at}tools/", f"{at}delete/", f"{at}history/", "/admin/webhooks/delivery/",
             f"/admin/webhooks/delivery/{row.pk}/change/", f"/admin/webhooks/event/{row.event_id}/change/",
             "/admin/webhooks/attempt/", "/admin/webhooks/event/", "/admin/"]  # fmt: skip
    for client in (staff, clerk("view_endpoint", "view_delivery", "view_event", "view_attempt", "delete_endpoint")):
        for path in paths:
            answer = client.get(path)
            assert answer.status_code in (200, 403), path
            assert "sesame" not in answer.content.decode(), path
    # Saved as it is shown, it stays as it was; what is typed replaces all of it.
    change(staff, endpoint, url=f"{hook.url}/hook", description="Main")
    assert (now(endpoint).url, now(endpoint).description) == (endpoint.url, "Main")
    change(staff, endpoint, url=f"{hook.url}/other")
    assert now(endpoint).url == f"{hook.url}/other"
    assert "sesame" not in staff.get("/admin/").content.decode()


def test_an_endpoint_is_called_by_its_address(staff: Client, endpoint: Endpoint) -> None:
    page = whole(staff.get(f"{LIST}{endpoint.pk}/change/").content.decode())
    assert f"<h1>Endpoint {endpoint.url}</h1>" in page
    assert f"&rsaquo; Endpoint {endpoint.url}\n</div>" in page


def test_the_list_of_one_team(staff: Client, team: Tenant, other_team: Tenant) -> None:
    endpoint_make(team, "https://example.com/ours")
    endpoint_make(other_team, "https://example.com/theirs")
    page = whole(staff.get(LIST, {"team_id": str(team.team.id)}).content.decode())
    assert ("/ours<" in page, "/theirs<" in page) == (True, False)
    assert staff.get(LIST, {"team_id": "nonsense"}).headers["Location"].endswith("?e=1")


def test_a_change_goes_through_the_service_and_leaves_a_trace(staff: Client, endpoint: Endpoint) -> None:
    filters = {"filter_types": "daily.data\n\n webhook.test ", "channels": "provider.oura"}
    values = {"description": "Main", "rate_limit": "5", **filters}
    assert "was changed successfully" in change(staff, endpoint, **values)
    row = now(endpoint)
    assert (row.description, row.rate_limit) == ("Main", 5)
    assert (row.filter_types, row.channels) == (["daily.data", "webhook.test"], ["provider.oura"])
    assert row.updated_at > endpoint.updated_at
    assert row.secret == endpoint.secret
    assert traces() == ["POST admin webhooks.endpoint change"]
    change(staff, endpoint, filter_types="", channels="")
    assert (now(endpoint).filter_types, now(endpoint).channels) == (None, None)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("url", "http://example.com/", "Must begin with https://"),
        ("url", "https://10.0.0.1/", "This host is not public"),
        ("filter_types", "daily.data\nnonsense", "Names no event of the catalogue"),
        ("channels", "two words", "Must be letters, digits"),
        ("rate_limit", "0", "greater than or equal to 1"),
    ],
)
def test_what_the_service_refuses_is_an_error_of_its_field(
    staff: Client, endpoint: Endpoint, field: str, value: str, words: str
) -> None:
    page = change(staff, endpoint, **{field: value, "description": "never"})
    errors = page.split(f'id="id_{field}_error"', 1)[1].split("</ul>", 1)[0]
    assert words in errors
    assert now(endpoint).description == ""
    assert traces() == []


def test_off_cancels_what_is_owed_and_on_again(staff: Client, team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    hook.answers = [Answer(500)]
    emit(team)
    pump()
    change(staff, endpoint, disabled="on")
    assert now(endpoint).disabled
    assert [row.status for row in deliveries()] == ["cancelled"]
    given = {"url": endpoint.url, "description": "", "filter_types": "", "channels": "", "rate_limit": ""}
    staff.post(f"{LIST}{endpoint.pk}/change/", given)
    assert not now(endpoint).disabled
    emit(team)
    assert pump().delivered == 1


def test_deleting_asks_first_and_keeps_the_log(staff: Client, team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    emit(team)
    pump()
    path = f"{LIST}{endpoint.pk}/delete/"
    assert "Are you sure" in staff.get(path).content.decode()
    assert now(endpoint).deleted_at is None
    staff.post(path, {"post": "yes"})
    row = now(endpoint)
    assert (row.deleted_at is None, row.secret) == (False, "")
    assert len(deliveries()) == 1
    assert staff.post(path, {"post": "yes"}).status_code == 403
    assert staff.get(f"{LIST}{endpoint.pk}/tools/").status_code == 404


def test_several_are_deleted_at_once(staff: Client, team: Tenant, endpoint: Endpoint) -> None:
    other = endpoint_make(team, "https://example.com/")
    chosen = {"action": "delete_selected", "_selected_action": [str(endpoint.pk), str(other.pk)]}
    with CaptureQueriesContext(connection) as captured:
        staff.post(LIST, chosen)
    assert [query["sql"] for query in captured if "webhooks_attempt" in query["sql"]] == []
    staff.post(LIST, {**chosen, "post": "yes"})
    assert [now(row).deleted_at is None for row in (endpoint, other)] == [False, False]


def test_an_event_now(staff: Client, endpoint: Endpoint, hook: Receiver) -> None:
    status, page = use(staff, endpoint, {"tool": "event_now", "event_type": "daily.data.sleep.created"})
    assert (status, "is on its way" in page) == (302, True)
    assert pump().delivered == 1
    assert b'"event_type":"daily.data.sleep.created"' in hook.received[0].body
    assert traces() == ["POST admin webhooks.endpoint event_now"]


@pytest.mark.parametrize("values", [{"event_type": "nonsense"}, {}])
def test_no_event_that_is_not_in_the_catalogue(staff: Client, endpoint: Endpoint, values: dict[str, str]) -> None:
    status, page = use(staff, endpoint, {"tool": "event_now", **values})
    assert (status, "errorlist" in page, traces()) == (422, True, [])


def test_nothing_is_sent_to_a_disabled_one(staff: Client, team: Tenant) -> None:
    off = endpoint_make(team, "https://example.com/", disabled=True)
    status, page = use(staff, off, {"tool": "event_now", "event_type": "webhook.test"})
    assert (status, "The endpoint is disabled." in page) == (422, True)


def test_a_new_secret_is_not_shown_to_staff(staff: Client, endpoint: Endpoint) -> None:
    status, page = use(staff, endpoint, {"tool": "rotate"})
    row = now(endpoint)
    assert status == 302
    assert row.secret != endpoint.secret
    assert row.secrets_before[0]["key"] == endpoint.secret
    for shown in (page, staff.get(f"{LIST}{endpoint.pk}/change/").content.decode(), staff.get(LIST).content.decode()):
        assert "whsec_" not in shown


def test_only_names_of_headers_are_shown(staff: Client, team: Tenant, endpoint: Endpoint) -> None:
    with team_scope(team.context):
        headers = {"Authorization": "Bearer sesame", "X-Route": "plain-value"}
        services.endpoint_headers_put(team=team.context, endpoint_id=endpoint.id, headers=headers)
    page = staff.get(f"{LIST}{endpoint.pk}/change/").content.decode()
    assert "Authorization, X-Route" in page
    assert ("sesame" in page, "plain-value" in page) == (False, False)


@pytest.mark.parametrize(("tool", "kind"), [("recover", RECOVER_JOB), ("replay", REPLAY_JOB)])
def test_repairs_begin_and_show_their_progress(staff: Client, endpoint: Endpoint, tool: str, kind: str) -> None:
    since = f"{endpoint.created_at:%Y-%m-%dT%H:%M}"
    status, page = use(staff, endpoint, {"tool": tool, "since": since})
    assert (status, f"<td>{REPAIR_TITLES[kind]}<br>" in page, "0 of " in page) == (302, True, True)
    with system_scope(SystemScope.STAFF):
        (job,) = BackgroundJob.objects.all()
    assert (job.kind, job.parameters["endpoint_id"]) == (kind, str(endpoint.pk))
    status, page = use(staff, endpoint, {"tool": tool, "since": since})
    assert (status, "is running now" in page) == (422, True)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"since": "2020-01-01T00:00"}, "Must not be longer ago"),
        ({"since": "yesterday"}, "Enter a valid date/time."),
        ({}, "This field is required."),
    ],
)
def test_a_repair_of_no_time_is_refused(staff: Client, endpoint: Endpoint, values: dict[str, str], words: str) -> None:
    status, page = use(staff, endpoint, {"tool": "recover", **values})
    assert (status, words in page) == (422, True)
    with system_scope(SystemScope.STAFF):
        assert BackgroundJob.objects.count() == 0


def test_a_tool_that_there_is_not(staff: Client, endpoint: Endpoint) -> None:
    assert use(staff, endpoint, {"tool": "explode"})[0] == 422
    assert traces() == []


def test_seeing_is_not_enough_to_change(db: None, endpoint: Endpoint) -> None:
    viewer = clerk("view_endpoint")
    assert viewer.get(f"{LIST}{endpoint.pk}/change/").status_code == 200
    assert viewer.get(f"{LIST}{endpoint.pk}/tools/").status_code == 403
    assert viewer.post(f"{LIST}{endpoint.pk}/tools/", {"tool": "rotate"}).status_code == 403
    assert viewer.post(f"{LIST}{endpoint.pk}/change/", {"url": "https://example.com/"}).status_code == 403
    assert viewer.post(f"{LIST}{endpoint.pk}/delete/", {"post": "yes"}).status_code == 403
    row = now(endpoint)
    assert (row.secret, row.url, row.deleted_at) == (endpoint.secret, endpoint.url, None)


def test_strangers_see_nothing(db: None, endpoint: Endpoint) -> None:
    eve = Client()
    eve.force_login(StaffUser.objects.create_user(username="eve", password="correct horse battery"))
    assert eve.get(f"{LIST}{endpoint.pk}/tools/").status_code == 302
    assert Client().post(f"{LIST}{endpoint.pk}/tools/", {"tool": "rotate"}).status_code == 302
    assert now(endpoint).secret == endpoint.secret
