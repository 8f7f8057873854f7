"""What staff see of webhooks, and sending again."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoCaptureOnCommitCallbacks

from healthsvc.kernel.scope import team_scope
from management.models import StaffUser
from tests.factories import Tenant
from tests.webhooks.conftest import attempts, deliveries, emit, pump
from tests.webhooks.receiving import Answer, Receiver
from webhooks import services
from webhooks.models import Endpoint


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


@pytest.mark.parametrize("path", ["endpoint/", "event/", "delivery/"])
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
