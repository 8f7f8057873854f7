"""Scheduled pulls stay within a registration's limits, however many people connected through it."""

from datetime import timedelta

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.catalogue import provider_get
from links.constants import PULL_INTERVAL_SECONDS
from links.models import Connection
from links.services.pace import CALLS_A_RESOURCE, paces_of, registration_of
from links.services.schedule import pulls_schedule_due
from tests.factories import Tenant, user_make
from tests.links.test_api_connections import connection_make

DAY_SECONDS = 86_400


def connected(tenant: Tenant, number: int, provider: str = "strava") -> list[Connection]:
    """So many people who connected."""
    due = clock.now() - timedelta(seconds=1)
    return [connection_make(tenant, user_make(tenant), provider, next_pull_at=due) for _ in range(number)]


def test_the_interval_grows_with_those_who_are_connected(team: Tenant, production: Tenant, other_team: Tenant) -> None:
    few = connected(production, 1)
    strava = registration_of(few[0])
    calls = len(provider_get("strava").resources) * CALLS_A_RESOURCE
    # Half of Strava's 2,000 calls a day.
    assert paces_of(few) == {strava: round(calls * DAY_SECONDS / 1_000)}
    connected(production, 4)
    connected(team, 3)
    assert paces_of(few) == {strava: round(5 * calls * DAY_SECONDS / 1_000)}


def test_who_rests_or_has_gone_is_not_counted(production: Tenant) -> None:
    (one, *others) = connected(production, 4)
    with team_scope(production.context):
        rows = Connection.objects.filter(pk__in=[other.pk for other in others])
        rows[:1].get().delete()
        Connection.objects.filter(pk=others[1].pk).update(status="paused")
        Connection.objects.filter(pk=others[2].pk).update(disconnected_at=clock.now())
    (seconds,) = paces_of([one]).values()
    assert seconds == round(len(provider_get("strava").resources) * CALLS_A_RESOURCE * DAY_SECONDS / 1_000)


def test_the_simulator_s_limits_are_wider_and_who_names_none_has_none(team: Tenant) -> None:
    (strava,) = connected(team, 1)
    (kardia,) = connected(team, 1, "kardia")
    paces = paces_of([strava, kardia])
    assert list(paces) == [registration_of(strava)]
    assert paces[registration_of(strava)] < PULL_INTERVAL_SECONDS


def test_many_are_pulled_less_often(production: Tenant) -> None:
    many = connected(production, 20)
    (shortest,) = paces_of(many).values()
    assert shortest > PULL_INTERVAL_SECONDS
    before = clock.now()
    assert pulls_schedule_due() == 20
    with team_scope(production.context):
        times = list(Connection.objects.values_list("next_pull_at", flat=True))
    assert all(at is not None and at >= before + timedelta(seconds=shortest * 0.9) for at in times)
