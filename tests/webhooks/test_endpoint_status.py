"""How an endpoint stands: one answer for the API, the portal and the staff."""

from datetime import timedelta
from typing import Any

import pytest

from healthsvc.kernel import clock
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from tests.clients import ApiClient
from tests.factories import Tenant
from tests.webhooks.conftest import endpoint_make
from tests.webhooks.portal_visiting import visitor
from tests.webhooks.staffing import superuser
from tests.webhooks.test_api_log import base_of
from webhooks.log_selectors import EndpointStatus, endpoint_status, status_condition
from webhooks.models import Endpoint, EndpointHealth

URL = "https://hooks.example.com/x"
HEALTHS: list[dict[str, timedelta]] = [
    {},
    {"struggling_since": timedelta(minutes=-1)},
    {"paused_until": timedelta(minutes=-1)},
    {"paused_until": timedelta(hours=1)},
    {"paused_until": timedelta(hours=1), "struggling_since": timedelta(minutes=-1)},
    {"paused_until": timedelta(minutes=-1), "struggling_since": timedelta(minutes=-1)},
    {"failing_since": timedelta(days=-1)},
    {"failing_since": timedelta(days=-1), "struggling_since": timedelta(days=-1), "paused_until": timedelta(hours=1)},
]
STATUSES = ["enabled", "struggling", "enabled", "paused", "paused", "struggling", "failing", "failing"]
BADGES = {"enabled": "Enabled", "struggling": "Struggling", "paused": "Paused", "failing": "Failing"}


def fares(tenant: Tenant, health: dict[str, timedelta], **values: Any) -> Endpoint:
    """An endpoint of which this is noted, from now."""
    made = endpoint_make(tenant, URL, **values)
    moments = {name: clock.now() + delta for name, delta in health.items()}
    with team_scope(tenant.context):
        EndpointHealth.objects.create(
            **team_values(tenant.context), endpoint_id=made.id, updated_at=clock.now(), **moments
        )
    return made


@pytest.mark.parametrize(("health", "status"), list(zip(HEALTHS, STATUSES, strict=True)))
def test_all_doors_say_the_same(
    management_api: ApiClient, team: Tenant, health: dict[str, timedelta], status: str
) -> None:
    made = fares(team, health)
    path = f"{base_of(team)}/webhook"
    assert management_api.get(f"{path}/{made.id}").json()["status"] == status
    assert [one["status"] for one in management_api.get(path).json()["data"]] == [status]
    assert f">{BADGES[status]}<" in visitor(team).get(f"/portal/endpoint/{made.id}").content.decode()
    page = superuser().get("/admin/webhooks/endpoint/").content.decode()
    assert f'<td class="field-state">{status}' in page


def test_staff_find_endpoints_by_the_word_that_is_shown(team: Tenant) -> None:
    made = [fares(team, health) for health in HEALTHS] + [fares(team, HEALTHS[-1], disabled=True)]
    made.append(endpoint_make(team, URL))
    now = clock.now()
    staff = superuser()
    with system_scope(SystemScope.STAFF):
        rows = list(Endpoint.objects.order_by("id").select_related("health"))
        stand = {row.id: endpoint_status(row, getattr(row, "health", None), now) for row in rows}
        found = {
            status: set(Endpoint.objects.filter(status_condition(status, now)).values_list("id", flat=True))
            for status in EndpointStatus
        }
    assert [str(stand[one.id]) for one in made] == [*STATUSES, "disabled", "enabled"]
    assert found == {status: {pk for pk, one in stand.items() if one is status} for status in EndpointStatus}
    for status, ids in found.items():
        page = staff.get("/admin/webhooks/endpoint/", {"state": str(status)}).content.decode()
        assert page.count(f'<td class="field-state">{status}') == len(ids) == page.count('class="field-state"')


def test_staff_are_told_the_rest_too(team: Tenant) -> None:
    fares(team, HEALTHS[-1])
    page = superuser().get("/admin/webhooks/endpoint/").content.decode()
    state = page.split('<td class="field-state">')[1].split("</td>")[0]
    assert [part.split(" 2")[0] for part in state.split(", ")] == [
        "failing since", "paused until", "struggling since",
    ]  # fmt: skip
