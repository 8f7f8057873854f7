"""What staff see of webhooks, and sending again."""

from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoCaptureOnCommitCallbacks

from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import AccessRecord, StaffUser
from tests.factories import Tenant, user_make
from tests.webhooks.conftest import attempts, deliveries, emit, endpoint_make, pump
from tests.webhooks.erasing import user_erase
from tests.webhooks.receiving import Answer, Receiver
from webhooks import services
from webhooks.models import Delivery, Endpoint


@pytest.fixture
def staff(db: None) -> Client:
    """A browser of signed-in staff."""
    client = Client()
    client.force_login(StaffUser.objects.create_superuser(username="ada", email="", password="correct horse battery"))
    return client


def test_pages_open_and_show_neither_secret_nor_payload(
    staff: Client, team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    hook.answers = [Answer(500, {}, b"out of order")]
    with team_scope(team.context):
        headers = {"Authorization": "Bearer sesame"}
        services.endpoint_headers_put(team=team.context, endpoint_id=endpoint.id, headers=headers)
    emit(team)
    pump()
    (row,) = deliveries()
    pages = {
        path: staff.get(f"/admin/webhooks/{path}")
        for path in (
            "endpoint/",
            "event/",
            "delivery/",
            "attempt/",
            f"endpoint/{endpoint.id}/change/",
            f"event/{row.event_id}/change/",
            f"delivery/{row.id}/change/",
        )
    }
    assert {page.status_code for page in pages.values()} == {200}
    for page in pages.values():
        for hidden in (endpoint.secret, "sesame", "Zoë", "score"):
            assert hidden not in page.content.decode()
    shown = pages[f"delivery/{row.id}/change/"].content.decode()
    assert "out of order" in shown
    assert "500" in shown


@pytest.mark.parametrize("path", ["endpoint/", "event/", "delivery/", "attempt/"])
def test_lists_cost_the_same_queries_for_any_number(
    staff: Client, team: Tenant, endpoint: Endpoint, hook: Receiver, path: str
) -> None:
    costs = []
    for _ in range(2):
        for _ in range(3):
            emit(team)
        pump()
        with CaptureQueriesContext(connection) as captured:
            staff.get(f"/admin/webhooks/{path}")
        costs.append(len(captured))
    assert costs[0] == costs[1]


def test_staff_send_again(
    staff: Client,
    team: Tenant,
    endpoint: Endpoint,
    hook: Receiver,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    emit(team)
    pump()
    (row,) = deliveries()
    with django_capture_on_commit_callbacks() as callbacks:
        answer = staff.post(
            "/admin/webhooks/delivery/", {"action": "send_again", "_selected_action": [str(row.id)]}, follow=True
        )
    assert "1 of 1 are sent again." in answer.content.decode()
    assert len(callbacks) == 1
    assert pump().delivered == 1
    assert len({request.headers["webhook-id"] for request in hook.received}) == 1
    assert [item.number for item in attempts()] == [1, 2]


def test_sending_again_leaves_a_trace_that_names_the_user(staff: Client, team: Tenant, endpoint: Endpoint) -> None:
    user_id = user_make(team).id
    emit(team, user_id=user_id)
    pump()
    (row,) = deliveries()
    _resend(staff, row)
    assert _resends() == [("POST admin webhooks.delivery resend", user_id, str(row.pk))]


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (lambda team, row: user_erase(team.context, row.event.user_id), "The payload of this message is gone"),
        (lambda team, row: Endpoint.objects.update(disabled=True), "The endpoint is disabled."),
        (
            lambda team, row: services.endpoint_delete(team=team.context, endpoint_id=row.endpoint_id),
            "The endpoint was deleted.",
        ),
    ],
    ids=["erased", "disabled", "deleted"],
)
def test_what_can_not_be_sent_is_refused_with_words(
    staff: Client, team: Tenant, hook: Receiver, break_it: Callable[[Tenant, Delivery], object], words: str
) -> None:
    endpoint_make(team, f"{hook.url}/hook")
    emit(team, user_id=user_make(team).id)
    pump()
    (row,) = deliveries()
    with team_scope(team.context):
        break_it(team, row)
    page = _resend(staff, row)
    assert f"1 of 1 can’t be sent: {words}" in page.replace("&#x27;", "’")
    assert "are sent again" not in page
    assert [item.status for item in deliveries()] == ["delivered"]
    assert _resends() == []


def test_of_many_each_is_sent_or_refused_for_itself(staff: Client, team: Tenant, hook: Receiver) -> None:
    endpoint_make(team, f"{hook.url}/on")
    off = endpoint_make(team, f"{hook.url}/off")
    emit(team)
    pump()
    with team_scope(team.context):
        Endpoint.objects.filter(pk=off.pk).update(disabled=True)
    page = _resend(staff, *deliveries())
    assert "1 of 2 are sent again." in page
    assert "1 of 2 can&#x27;t be sent: The endpoint is disabled." in page
    assert {row.endpoint_id: row.status for row in deliveries()}[off.pk] == "delivered"
    assert len(_resends()) == 1


def _resend(staff: Client, *rows: Delivery) -> str:
    given = {"action": "send_again", "_selected_action": [str(row.pk) for row in rows]}
    return staff.post("/admin/webhooks/delivery/", given, follow=True).content.decode()


def _resends() -> list[tuple[str, object, object]]:
    with system_scope(SystemScope.STAFF):
        rows = AccessRecord.objects.filter(action__endswith=" resend").order_by("id")
        return [(row.action, row.user_id, row.object_ids["object_id"]) for row in rows]


def test_what_is_refused_before_any_view_has_the_headers_of_a_page(staff: Client) -> None:
    refused = staff.get("/admin/webhooks/event/?q=%00")
    assert refused.status_code == 422
    assert refused["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in refused["Content-Security-Policy"]
    assert "default-src 'none'" in refused["Content-Security-Policy"]
    usual = staff.get("/admin/webhooks/event/")
    for name in ("X-Frame-Options", "X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Opener-Policy"):
        assert refused[name] == usual[name]


def test_the_first_member_of_staff_is_made_by_a_command(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    password = "correct horse battery"
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", password)
    call_command("createsuperuser", username="ada", email="", interactive=False, stdout=StringIO())
    browser = Client()
    given = {"username": "ada", "password": password, "next": "/admin/webhooks/endpoint/"}
    assert browser.post("/admin/login/", given, follow=True).status_code == 200
    assert browser.get("/admin/management/staffuser/").status_code == 200
    # Whose login is not active any more is out with the next page.
    StaffUser.objects.update(is_active=False)
    assert browser.get("/admin/management/staffuser/").status_code == 302
