"""Dexcom over HTTP: a month of readings, its window, its delay, and its failures."""

from datetime import UTC, date, datetime, timedelta

import orjson
import pytest

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.records import SeriesBatch
from aggregation.store.checking import Ingestion, sample_reasons, summary_reason
from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment
from links.connectors.dexcom.client import DexcomConnector
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.hooks import Revokes, TakesHooks
from links.connectors.registry import connector_of
from links.connectors.wire import Access
from links.constants import SIMULATOR_CLIENT_ID, SIMULATOR_CLIENT_SECRET
from simulator.dexcom import DELAY_SECONDS
from tests.links.simulators import Simulator, call

DEXCOM = DexcomConnector()
FIRST, LAST = date(2026, 10, 24), date(2026, 11, 6)
SERIES = ("glucose", "insulin_injection", "carbohydrates")


def access_of(simulator: Simulator, account: str = "ada@example.com") -> Access:
    """An access to a simulated person."""
    form = f"client_id={SIMULATOR_CLIENT_ID}&client_secret={SIMULATOR_CLIENT_SECRET}&account={account}"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    status, _, body = call("POST", f"{simulator.url}/dexcom_v3/demo/account", f"{form}&scope=offline_access", headers)
    assert status == 200, body
    return Access(f"{simulator.url}/dexcom_v3", str(orjson.loads(body)["access_token"]), frozenset({"offline_access"}))


def batch_of(access: Access, resource: str, start_on: date, end_on: date) -> SeriesBatch:
    pulled = DEXCOM.pull(access, resource, start_on, end_on)
    assert pulled.refusals == ()
    (batch,) = pulled.series
    assert sample_reasons(SERIES_BY_SLUG[resource], batch.samples, Ingestion()) == []
    return batch


def rows_of(batch: SeriesBatch) -> list[tuple[int, float, int]]:
    samples = batch.samples
    return sorted(zip(samples.start_us.tolist(), samples.values.tolist(), samples.offset_seconds.tolist(), strict=True))


def test_a_fortnight_comes_whole_and_once(simulator: Simulator) -> None:
    access = access_of(simulator)
    samples = batch_of(access, "glucose", FIRST, LAST).samples
    # A sensor ends within it, and half an hour without readings follows.
    assert len(samples) == len(set(samples.start_us.tolist())) == 14 * 288 - 6
    assert 3.0 < min(samples.values.tolist()) < max(samples.values.tolist()) < 13.0
    start_us = int(datetime.combine(FIRST, datetime.min.time(), UTC).timestamp()) * 1_000_000
    assert all(0 <= at_us - start_us < 14 * 86_400_000_000 for at_us in samples.start_us.tolist())
    # American and European clocks go back within it.
    assert len(set(samples.offset_seconds.tolist())) == 2


@pytest.mark.parametrize("resource", SERIES)
def test_windows_that_touch_and_that_overlap_tell_the_same_as_one(simulator: Simulator, resource: str) -> None:
    access = access_of(simulator)
    whole = rows_of(batch_of(access, resource, FIRST, LAST))
    halves = [
        *rows_of(batch_of(access, resource, FIRST, FIRST + timedelta(days=6))),
        *rows_of(batch_of(access, resource, FIRST + timedelta(days=7), LAST)),
    ]
    assert halves == whole
    overlapping = rows_of(batch_of(access, resource, FIRST + timedelta(days=5), LAST))
    assert set(overlapping) <= set(whole)


def test_entries_agree_with_each_other(simulator: Simulator) -> None:
    access = access_of(simulator, "bert@example.com")
    doses = batch_of(access, "insulin_injection", FIRST, LAST).samples
    meals = batch_of(access, "carbohydrates", FIRST, LAST).samples
    assert doses.type is not None
    kinds = list(doses.type)
    rapid = {at for at, kind in zip(doses.start_us.tolist(), kinds, strict=True) if kind == "rapid_acting"}
    assert rapid == set(meals.start_us.tolist())
    assert kinds.count("long_acting") == 14


def test_the_longest_window_is_answered(simulator: Simulator) -> None:
    access = access_of(simulator)
    for resource, days in DEXCOM.window_days.items():
        if resource != "device":
            DEXCOM.pull(access, resource, LAST - timedelta(days=days - 1), LAST)
    with pytest.raises(ProviderFailure) as failed:
        DEXCOM.pull(access, "glucose", LAST - timedelta(days=30), LAST)
    assert failed.value.kind is FailureKind.REFUSED


def test_the_present_comes_an_hour_late(simulator: Simulator) -> None:
    now = clock.now()
    samples = batch_of(access_of(simulator), "glucose", now.date() - timedelta(days=1), now.date()).samples
    newest = max(samples.start_us.tolist()) / 1_000_000
    assert 0 <= now.timestamp() + 60 - DELAY_SECONDS - newest < 2_400


def test_devices_and_the_account(simulator: Simulator) -> None:
    access = access_of(simulator)
    (phone,) = DEXCOM.pull(access, "device", FIRST, LAST).summaries
    assert summary_reason(phone, Ingestion()) is None
    assert phone.fields["device_model"] == "Dexcom G7"
    account = DEXCOM.account_id(access)
    assert account == DEXCOM.account_id(access_of(simulator))
    assert account != DEXCOM.account_id(access_of(simulator, "bert@example.com"))


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("http_429", FailureKind.RATE_LIMITED),
        ("http_500", FailureKind.UNAVAILABLE),
        ("truncated_json", FailureKind.TRANSPORT),
        ("token_dead", FailureKind.TOKEN_REJECTED),
    ],
)
@pytest.mark.parametrize("resource", [*SERIES, "device"])
def test_failures_are_told_by_kind(simulator: Simulator, fault: str, kind: FailureKind, resource: str) -> None:
    access = access_of(simulator)
    simulator.fault("dexcom_v3", fault, "/v3/users/self")
    with pytest.raises(ProviderFailure) as failed:
        DEXCOM.pull(access, resource, FIRST, FIRST)
    assert failed.value.kind is kind


def test_nothing_else_is_pulled(simulator: Simulator) -> None:
    with pytest.raises(ProviderFailure) as failed:
        DEXCOM.pull(access_of(simulator), "sleep", FIRST, FIRST)
    assert failed.value.kind is FailureKind.REFUSED


def test_sandbox_and_production_have_the_connector() -> None:
    for environment in Environment:
        assert isinstance(connector_of("dexcom_v3", environment), DexcomConnector)
    # Dexcom has neither notifications nor a way to end a grant.
    assert not isinstance(DEXCOM, TakesHooks)
    assert not isinstance(DEXCOM, Revokes)
