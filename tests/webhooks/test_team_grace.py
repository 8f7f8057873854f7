"""Deliveries and letters of a team in its days of grace wait, and go out where the team comes back."""

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope
from management import services
from tests.factories import Tenant, tenant_make
from tests.webhooks.conftest import emit, endpoint_make, make_due, pump
from tests.webhooks.receiving import Receiver
from webhooks.models import Delivery, Endpoint
from webhooks.services.notices import _take


def deleted(tenant: Tenant) -> None:
    """As the management address does it."""
    services.team_delete(team_id=tenant.team.id)


def undone(tenant: Tenant) -> None:
    """Within the days of grace."""
    services.team_undelete(organisation_id=tenant.team.organisation_id, team_id=tenant.team.id)


def test_deliveries_wait_and_go_out_afterwards(team: Tenant, hook: Receiver) -> None:
    neighbour = tenant_make(team.team.organisation, name="Neighbour")
    endpoint_make(team, f"{hook.url}/ours")
    endpoint_make(neighbour, f"{hook.url}/theirs")
    emit(team)
    deleted(team)
    emit(neighbour)
    report = pump()
    assert (report.attempted, [request.path for request in hook.received]) == (1, ["/theirs"])
    with system_scope(SystemScope.DELIVERY):
        assert list(Delivery.objects.filter(team=team.team).values_list("status", "claims")) == [("pending", 0)]
    undone(team)
    make_due()
    assert pump().delivered == 1
    assert [request.path for request in hook.received] == ["/theirs", "/ours"]


def test_letters_wait(team: Tenant, hook: Receiver) -> None:
    endpoint = endpoint_make(team, f"{hook.url}/ours")
    with system_scope(SystemScope.DELIVERY):
        Endpoint.objects.filter(pk=endpoint.pk).update(disabled_tell_at=clock.now(), disabled=True)
        deleted(team)
        assert _take() is None
        undone(team)
        assert _take() is not None
