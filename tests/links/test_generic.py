"""The generic connector: who uses it, a month of everything from the simulator, in range and in agreement."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

import orjson
import pytest
import time_machine

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.models import Series, Summary
from aggregation.records import OFFSET_UNKNOWN, DataSource
from aggregation.store.checking import Ingestion, sample_reasons, summary_reason
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import team_scope
from links.catalogue import LoginKind, catalogue
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.generic.client import GenericConnector
from links.connectors.registry import CONNECTORS, connector_of
from links.connectors.wire import Access
from links.models import Pull
from links.services.pulls import pull_run
from tests.factories import Tenant, user_make
from tests.links.linking import connected
from tests.links.password_steps import clock_set
from tests.links.simulators import Simulator, call
from users.models import User

SOURCE = DataSource(provider="renpho", type="scale")
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
FIRST, LAST = date(2026, 10, 16), date(2026, 11, 14)
_JSON = {"Content-Type": "application/json"}
LOGGED_IN = (LoginKind.OAUTH, LoginKind.PASSWORD, LoginKind.EMAIL)
GENERIC = sorted(slug for slug, one in catalogue().items() if one.login in LOGGED_IN and slug not in CONNECTORS)


def test_who_reads_it() -> None:
    assert set(GENERIC) >= {"abbott_libreview", "freestyle_libre", "kardia"}
    for slug in GENERIC:
        connector = connector_of(slug, Environment.SANDBOX)
        assert isinstance(connector, GenericConnector)
        assert set(catalogue()[slug].resources) <= set(connector.window_days), slug
        assert connector_of(slug, Environment.PRODUCTION) is None
    for slug in ("oura", "manual", "omron_ble", "nothing_such"):
        assert not isinstance(connector_of(slug, Environment.SANDBOX), GenericConnector)


@pytest.fixture
def access(simulator: Simulator) -> Access:
    """Somebody's data at the simulator, whose clock stands still."""
    clock_set(simulator, NOW)
    body = orjson.dumps({"username": "dora@example.com", "password": "simulator"}).decode()
    _, _, answer = call("POST", f"{simulator.url}/garmin/password/login", body, _JSON)
    return Access(f"{simulator.url}/garmin", orjson.loads(answer)["access_token"], frozenset())


CONNECTOR = GenericConnector("garmin")


@pytest.mark.slow
@pytest.mark.parametrize("resource", sorted(GenericConnector.window_days))
def test_a_month_of_each_resource_is_in_range(resource: str, access: Access) -> None:
    pulled = CONNECTOR.pull(access, resource, FIRST, LAST)
    assert pulled.refusals == ()
    assert pulled.time_zone is not None
    kept = {one.resource for rows in (pulled.series, pulled.summaries, pulled.streams) for one in rows}
    assert resource in kept
    for batch in pulled.series:
        assert sample_reasons(SERIES_BY_SLUG[batch.resource], batch.samples, Ingestion()) == []
        assert OFFSET_UNKNOWN not in batch.samples.offset_seconds
    for summary in pulled.summaries:
        if summary.resource != "sleep_cycle":
            assert summary_reason(summary, Ingestion()) is None
    identities = [(one.resource, one.external_id) for one in pulled.summaries]
    assert len(set(identities)) == len(identities)
    # The same is told again, whoever asks.
    again = CONNECTOR.pull(access, resource, FIRST, LAST)
    assert [one.fields for one in again.summaries] == [one.fields for one in pulled.summaries]


def values(resource: str, access: Access, first: date = FIRST, last: date = LAST) -> Sequence[float]:
    """The values of a series."""
    return [
        float(one) for batch in CONNECTOR.pull(access, resource, first, last).series for one in batch.samples.values
    ]


@pytest.mark.slow
def test_what_is_told_agrees(access: Access) -> None:
    day = date(2026, 11, 10)
    (activity,) = CONNECTOR.pull(access, "activity", day, day).summaries
    assert sum(values("steps", access, day, day)) == activity.fields["steps"]
    moved, told = sum(values("distance", access, day, day)), activity.fields["distance"]
    assert isinstance(told, float)
    assert moved == pytest.approx(told, abs=5)
    energy = activity.fields["calories_active"]
    assert isinstance(energy, float)
    assert sum(values("calories_active", access, day, day)) == pytest.approx(energy, abs=1)
    weights = [one.fields["weight"] for one in CONNECTOR.pull(access, "body", FIRST, LAST).summaries]
    assert weights == values("weight", access)
    meals = CONNECTOR.pull(access, "meal", FIRST, LAST).summaries
    assert len(meals) == 90
    assert len(values("insulin_injection", access)) == 120
    assert values("carbohydrates", access) == [one.fields["macros"]["carbs"] for one in meals]  # type: ignore[index, call-overload]
    glucose = values("glucose", access)
    assert 3.8 < min(glucose) < 5.2
    assert 6.5 < max(glucose) < 12
    courses = CONNECTOR.pull(access, "workout_stream", FIRST, LAST)
    assert [one.workout for one in courses.streams] == [one.external_id for one in courses.summaries]


@pytest.mark.slow
def test_pages(access: Access, simulator: Simulator) -> None:
    found = CONNECTOR.pull(access, "heartrate", FIRST, date(2026, 10, 22))
    (batch,) = found.series
    assert len(batch.samples) == len(set(batch.samples.start_us.tolist())) > 1500
    assert simulator.count("garmin", "/{slug}/data/heartrate") == len(batch.samples) // 500 + 1
    days = CONNECTOR.pull(access, "activity", FIRST, LAST).summaries
    assert [one.calendar_date.toordinal() for one in days] == list(range(FIRST.toordinal(), LAST.toordinal() + 1))
    assert simulator.count("garmin", "/{slug}/data/activity") == 2


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("http_429", FailureKind.RATE_LIMITED),
        ("http_500", FailureKind.UNAVAILABLE),
        ("truncated_json", FailureKind.TRANSPORT),
        ("token_dead", FailureKind.TOKEN_REJECTED),
    ],
)
def test_faults(fault: str, kind: FailureKind, access: Access, simulator: Simulator) -> None:
    simulator.fault("garmin", fault)
    with pytest.raises(ProviderFailure) as failure:
        CONNECTOR.pull(access, "activity", LAST, LAST)
    assert failure.value.kind is kind


def test_an_unknown_resource(access: Access) -> None:
    with pytest.raises(ProviderFailure) as failure:
        CONNECTOR.pull(access, "ige", LAST, LAST)
    assert failure.value.kind is FailureKind.REFUSED


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("slug", [slug for slug in GENERIC if catalogue()[slug].login is LoginKind.OAUTH])
def test_every_oauth_login_of_the_sandbox_gives_data(slug: str, team: Tenant, simulator: Simulator) -> None:
    clock_set(simulator, NOW)
    with time_machine.travel(NOW, tick=False):
        # A woman of forty at every one of these vendors would be luck; cycles are tested above.
        expected = set(catalogue()[slug].resources) - {"menstrual_cycle"}
        user = user_make(team, client_user_id="ada")
        with team_scope(team.context):
            User.objects.filter(pk=user.pk).update(ingestion_start_on=date(2026, 11, 4))
        connection = connected(team, user, slug)
        with team_scope(team.context):
            for pull in Pull.objects.all():
                pull_run(pull_id=pull.pk)
            ended = {pull.status for pull in Pull.objects.all()}
            stored = {one.resource for rows in (Series, Summary) for one in rows.objects.all()}
    assert connection.external_user_id == ""
    assert (ended, expected - stored) == ({"success"}, set())
