"""A team that limits itself to some event types is sent no others."""

import pytest
from django.db import transaction

from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import TeamSettings
from tests.factories import Tenant
from tests.webhooks.conftest import deliveries, emit, endpoint_make
from webhooks import services
from webhooks.models import Endpoint
from webhooks.services.events import event_emit_to


def _limit(tenant: Tenant, *prefixes: str, environment: str | None = None) -> None:
    with system_scope(SystemScope.STAFF):
        TeamSettings.objects.update_or_create(
            team=tenant.team,
            environment=environment or str(tenant.context.environment),
            defaults={"event_type_prefixes": list(prefixes)},
        )


@pytest.mark.parametrize(
    ("prefixes", "sent"),
    [
        ((), True),
        (("daily",), True),
        (("daily.data.sleep.created",), True),
        (("daily.data.*",), True),
        (("provider", "daily.data.sleep"), True),
        (("daily.data.sle",), False),
        (("provider",), False),
    ],
)
def test_the_limit_of_a_team(team: Tenant, endpoint: Endpoint, prefixes: tuple[str, ...], sent: bool) -> None:
    _limit(team, *prefixes)
    emit(team, "daily.data.sleep.created")
    with system_scope(SystemScope.DELIVERY):
        assert services.events_fan_out().deliveries == int(sent)


def test_it_is_of_one_team_and_environment(team: Tenant, other_team: Tenant, endpoint: Endpoint) -> None:
    endpoint_make(other_team, "https://hooks.example.com/a")
    _limit(team, "provider", environment="production")
    _limit(other_team, "provider")
    emit(team)
    emit(other_team)
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
    assert [row.endpoint_id for row in deliveries()] == [endpoint.id]


def test_what_is_for_one_endpoint_is_sent_all_the_same(team: Tenant, endpoint: Endpoint) -> None:
    _limit(team, "provider")
    with team_scope(team.context), transaction.atomic():
        event_emit_to(
            endpoint,
            team=team.context,
            event_type="webhook.test",
            data={"endpoint_id": str(endpoint.id), "message": "This is a test."},
        )
    with system_scope(SystemScope.DELIVERY):
        assert services.events_fan_out().deliveries == 1
