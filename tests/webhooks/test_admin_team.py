"""What staff set of a team's webhooks: which events it is sent at all, and who is written to."""

import pytest
from django.test import Client

from healthsvc.kernel.scope import team_scope
from management.models import TeamSettings
from tests.factories import Tenant
from tests.webhooks.conftest import deliveries, emit, pump
from tests.webhooks.receiving import Receiver
from tests.webhooks.staffing import superuser
from webhooks.models import Endpoint

PATH = "/admin/management/teamsettings/add/"


@pytest.fixture
def staff(db: None) -> Client:
    """A browser of staff who may do everything."""
    return superuser()


def _set(staff: Client, team: Tenant, **values: str) -> int:
    given = {"team": str(team.team.pk), "environment": "sandbox", "duplicate_account_policy": "allow", **values}
    return staff.post(PATH, given).status_code


def test_a_team_is_sent_what_staff_allow(staff: Client, team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    email = "ops@example.com"
    assert _set(staff, team, event_type_prefixes="daily.data.sleep,provider.*", webhook_notice_email=email) == 302
    with team_scope(team.context):
        row = TeamSettings.objects.get()
    assert (row.event_type_prefixes, row.webhook_notice_email) == (["daily.data.sleep", "provider.*"], email)
    allowed = emit(team, "daily.data.sleep.created")
    emit(team, "daily.data.activity.created")
    pump()
    assert [item.event_id for item in deliveries()] == [allowed]


@pytest.mark.parametrize(
    "values",
    [
        {"event_type_prefixes": "daily.data,nonsense"},
        {"event_type_prefixes": "webhook.test.*"},
        {"webhook_notice_email": "not an address"},
    ],
)
def test_staff_are_told_what_is_wrong(staff: Client, team: Tenant, values: dict[str, str]) -> None:
    assert _set(staff, team, **values) == 200
    with team_scope(team.context):
        assert TeamSettings.objects.count() == 0
