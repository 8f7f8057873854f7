"""Subscriptions to vendors' notifications: wanted, made, renewed, tried again, and ended with the connection."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
import pytest
import time_machine
from pytest_django import Settings
from structlog.testing import capture_logs

from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import team_scope
from links.connectors.hooks import ApplicationKeys, Subscribed
from links.connectors.wire import Access
from links.connectors.withings.client import WithingsConnector
from links.constants import HOOK_ATTEMPTS_MAXIMUM
from links.models import Connection, ProviderHook
from links.services.connections import connection_disconnect
from links.services.hooks import connection_hooks_drop, connection_hooks_want, hook_run, hooks_reconcile
from links.services.revocations import revocation_run
from tests.factories import Tenant, user_make
from tests.links.hooking import JSON, echo_running, hooks_at, notices
from tests.links.linking import connected
from tests.links.simulators import Person, Simulator, call
from users.models import User

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
ACCOUNT = "ada@example.com"
_SUBSCRIPTION = "/oura/v2/webhook/subscription"
_KINDS = ("daily_activity", "daily_sleep", "daily_spo2", "ring_configuration", "sleep", "workout")
OURA_TOPICS = sorted(f"{change}.{kind}" for change in ("create", "update") for kind in _KINDS)
WITHINGS_TOPICS = ["1", "16", "2", "4", "44", "46"]


@pytest.fixture(scope="module")
def _echo() -> Iterator[str]:
    with echo_running() as url:
        yield url


@pytest.fixture(autouse=True)
def present(simulator: Simulator, settings: Settings, _echo: str) -> Iterator[time_machine.Traveller]:
    settings.BASE_URL = _echo
    with time_machine.travel(NOW, tick=False) as traveller:
        clock_set(simulator, NOW)
        yield traveller


@pytest.fixture
def user(team: Tenant) -> User:
    """Who is connected."""
    return user_make(team, client_user_id="ada")


def clock_set(simulator: Simulator, now: datetime) -> None:
    """Let it be this late at the vendors."""
    call("POST", f"{simulator.url}/_control/clock", orjson.dumps({"now": now.isoformat()}).decode(), JSON)


def linked(tenant: Tenant, user: User, slug: str) -> Connection:
    """A connection to the account."""
    return connected(tenant, user, slug, Person(account=ACCOUNT))


def run_due() -> int:
    """What one turn of the sweep and its workers do; how many subscriptions it was."""
    due = list(ProviderHook.objects.filter(not_before__lte=datetime.now(UTC)).values_list("pk", flat=True))
    found = hooks_reconcile()
    for hook_id in due:
        hook_run(hook_id=hook_id)
    return found


def statuses(**wanted: Any) -> dict[str, str]:
    """Topic → status."""
    return dict(ProviderHook.objects.filter(**wanted).values_list("topic", "status"))


def some(**wanted: Any) -> ProviderHook:
    """One subscription."""
    found = ProviderHook.objects.filter(**wanted).order_by("topic").first()
    assert found is not None
    return found


def test_an_application_subscribes_once_for_everybody(
    team: Tenant, other_team: Tenant, user: User, simulator: Simulator
) -> None:
    linked(team, user, "oura")
    linked(other_team, user_make(other_team, client_user_id="bo"), "oura")
    assert statuses() == dict.fromkeys(OURA_TOPICS, "wanted")
    assert run_due() == 12
    assert statuses() == dict.fromkeys(OURA_TOPICS, "active")
    assert sorted(one["topic"] for one in hooks_at(simulator)) == OURA_TOPICS
    assert {one["callback_url"] for one in hooks_at(simulator)} == {
        f"{_base()}/link/hook/oura/{pk}" for pk in ProviderHook.objects.values_list("pk", flat=True)
    }
    connected(team, user_make(team, client_user_id="cy"), "oura")
    assert run_due() == 0
    assert simulator.count("oura", _SUBSCRIPTION) == 24


def _base() -> str:
    from django.conf import settings

    return str(settings.BASE_URL)


def test_each_connection_subscribes_to_what_it_may_read(
    team: Tenant, other_team: Tenant, user: User, simulator: Simulator
) -> None:
    ours = linked(team, user, "withings")
    person, other_user = Person(account=ACCOUNT), user_make(other_team)
    theirs = connected(other_team, other_user, "withings", person, refuse=["user.metrics"])
    assert run_due() == 9
    assert statuses(connection_id=ours.pk) == dict.fromkeys(WITHINGS_TOPICS, "active")
    assert statuses(connection_id=theirs.pk) == dict.fromkeys(["16", "44", "46"], "active")
    assert len(hooks_at(simulator)) == 9


def test_a_subscription_is_renewed_half_way_to_its_end(
    team: Tenant, user: User, simulator: Simulator, present: time_machine.Traveller
) -> None:
    linked(team, user, "oura")
    run_due()
    before = some()
    assert (before.expires_at, before.not_before) == (NOW + timedelta(days=90), NOW + timedelta(days=7))
    ProviderHook.objects.exclude(pk=before.pk).delete()
    # Half of what is left, however little that is.
    ProviderHook.objects.update(not_before=NOW + timedelta(days=89))
    later = NOW + timedelta(days=89)
    present.move_to(later)
    clock_set(simulator, later)
    hook_run(hook_id=before.pk)
    after = some(pk=before.pk)
    assert (after.status, after.external_id) == ("active", before.external_id)
    assert after.expires_at == later + timedelta(days=90)
    assert simulator.count("oura", _SUBSCRIPTION + "/renew/{id}") == 1
    assert len(hooks_at(simulator)) == 12


def test_a_subscription_that_the_vendor_forgot_is_made_anew(
    team: Tenant, user: User, simulator: Simulator, present: time_machine.Traveller
) -> None:
    linked(team, user, "oura")
    run_due()
    before = some()
    later = NOW + timedelta(days=91)
    present.move_to(later)
    clock_set(simulator, later)
    hook_run(hook_id=before.pk)
    after = some(pk=before.pk)
    assert after.status == "active"
    assert after.external_id != before.external_id
    assert after.expires_at == later + timedelta(days=90)


def test_a_vendor_that_fails_is_tried_again(
    team: Tenant, user: User, simulator: Simulator, present: time_machine.Traveller
) -> None:
    connection = linked(team, user, "oura")
    hook = some()
    simulator.fault("oura", "http_500", "/v2/webhook", times=2)
    hook_run(hook_id=hook.pk)
    waiting = some(pk=hook.pk)
    assert (waiting.status, waiting.attempts, waiting.error_code) == ("wanted", 1, "provider_unavailable")
    assert (waiting.not_before, waiting.lease_until) == (NOW + timedelta(seconds=5), None)
    hook_run(hook_id=hook.pk)
    assert some(pk=hook.pk).attempts == 1
    present.shift(timedelta(seconds=5))
    hook_run(hook_id=hook.pk)
    assert some(pk=hook.pk).not_before == NOW + timedelta(seconds=20)
    present.shift(timedelta(seconds=15))
    hook_run(hook_id=hook.pk)
    done = some(pk=hook.pk)
    assert (done.status, done.attempts, done.error_code) == ("active", 0, "")
    # The connection has heard nothing of it.
    with team_scope(team.context):
        assert Connection.objects.get(pk=connection.pk).status == "connected"


def test_a_rate_limit_is_no_failure(team: Tenant, user: User, simulator: Simulator) -> None:
    linked(team, user, "oura")
    simulator.fault("oura", "http_429", "/v2/webhook", retry_after_seconds=90)
    hook_run(hook_id=some().pk)
    waiting = some()
    assert (waiting.status, waiting.attempts, waiting.not_before) == ("wanted", 0, NOW + timedelta(seconds=90))


def test_a_vendor_that_never_takes_it_is_asked_once_a_day(
    team: Tenant, user: User, simulator: Simulator, present: time_machine.Traveller
) -> None:
    connection = linked(team, user, "oura")
    hook = some()
    ProviderHook.objects.filter(pk=hook.pk).update(attempts=HOOK_ATTEMPTS_MAXIMUM - 1)
    simulator.fault("oura", "http_500", "/v2/webhook", times=2)
    hook_run(hook_id=hook.pk)
    failed = some(pk=hook.pk)
    assert (failed.status, failed.error_code) == ("failed", "provider_unavailable")
    assert failed.not_before == NOW + timedelta(days=1)
    with team_scope(team.context):
        assert Connection.objects.get(pk=connection.pk).status == "connected"
    present.shift(timedelta(days=1))
    hook_run(hook_id=hook.pk)
    assert some(pk=hook.pk).status == "failed"
    present.shift(timedelta(days=1))
    hook_run(hook_id=hook.pk)
    assert some(pk=hook.pk).status == "active"


def test_an_address_that_answers_nothing_is_refused(
    team: Tenant, user: User, simulator: Simulator, settings: Settings
) -> None:
    settings.BASE_URL = "http://127.0.0.1:9"
    linked(team, user, "oura")
    hook_run(hook_id=some().pk)
    assert (some().status, some().error_code) == ("failed", "non_retriable_error")
    linked(team, user, "withings")
    hook = some(provider="withings")
    hook_run(hook_id=hook.pk)
    assert some(pk=hook.pk).error_code == "provider_unavailable"
    assert hooks_at(simulator) == []


def test_two_workers_do_not_subscribe_at_once(
    team: Tenant, user: User, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked(team, user, "withings")
    hook = some(topic="1")
    original = WithingsConnector.hook_subscribe
    asked = []

    def meanwhile(self: WithingsConnector, keys: ApplicationKeys, access: Access | None, **values: str) -> Subscribed:
        asked.append(values["topic"])
        hook_run(hook_id=hook.pk)
        return original(self, keys, access, **values)

    monkeypatch.setattr(WithingsConnector, "hook_subscribe", meanwhile)
    hook_run(hook_id=hook.pk)
    assert (asked, some(pk=hook.pk).status) == (["1"], "active")


def test_a_disconnection_ends_the_subscriptions(team: Tenant, user: User, simulator: Simulator) -> None:
    connection = linked(team, user, "withings")
    run_due()
    (notice,) = notices(simulator, "withings", ACCOUNT, resource="1", day="2026-11-10")
    with team_scope(team.context):
        assert connection_disconnect(team=team.context, user_id=user.id, provider="withings")
    assert statuses() == dict.fromkeys(WITHINGS_TOPICS, "unwanted")
    # From that moment the address is nobody's.
    assert notice.bring().status_code == 404
    run_due()
    assert not ProviderHook.objects.exists()
    assert hooks_at(simulator) == []
    assert simulator.count("withings", "/withings/notify", "revoke") == len(WITHINGS_TOPICS)
    assert connection.pk


def test_a_grant_that_others_use_lends_its_token_to_end_a_subscription(
    team: Tenant, other_team: Tenant, user: User, simulator: Simulator
) -> None:
    linked(team, user, "withings")
    theirs = linked(other_team, user_make(other_team, client_user_id="bo"), "withings")
    run_due()
    with team_scope(team.context):
        connection_disconnect(team=team.context, user_id=user.id, provider="withings")
    for revocation_id in _revocations(team):
        revocation_run(revocation_id=revocation_id)
    run_due()
    assert statuses() == dict.fromkeys(WITHINGS_TOPICS, "active")
    assert set(ProviderHook.objects.values_list("connection_id", flat=True)) == {theirs.pk}
    assert len(hooks_at(simulator)) == len(WITHINGS_TOPICS)


def _revocations(tenant: Tenant) -> list[UUID]:
    from links.models import Revocation

    with team_scope(tenant.context):
        return list(Revocation.objects.values_list("pk", flat=True))


def test_an_end_without_any_token_left_is_left_to_the_vendor(team: Tenant, user: User, simulator: Simulator) -> None:
    linked(team, user, "withings")
    run_due()
    with team_scope(team.context):
        connection_disconnect(team=team.context, user_id=user.id, provider="withings")
    for revocation_id in _revocations(team):
        revocation_run(revocation_id=revocation_id)
    run_due()
    assert not ProviderHook.objects.exists()
    # Taking the grant back ended them at the vendor.
    assert hooks_at(simulator) == []


def test_a_disconnection_while_it_is_being_made(
    team: Tenant, user: User, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked(team, user, "withings")
    hook = some(topic="1")
    original = WithingsConnector.hook_subscribe

    def meanwhile(self: WithingsConnector, keys: ApplicationKeys, access: Access | None, **values: str) -> Subscribed:
        with team_scope(team.context):
            connection_disconnect(team=team.context, user_id=user.id, provider="withings")
        return original(self, keys, access, **values)

    monkeypatch.setattr(WithingsConnector, "hook_subscribe", meanwhile)
    hook_run(hook_id=hook.pk)
    left = some(pk=hook.pk)
    assert (left.status, left.external_id, left.lease_until) == ("unwanted", "1", None)
    monkeypatch.undo()
    hook_run(hook_id=hook.pk)
    assert not ProviderHook.objects.filter(pk=hook.pk).exists()
    assert hooks_at(simulator) == []


def test_connecting_again_wants_what_was_being_ended(
    team: Tenant, user: User, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = linked(team, user, "withings")
    run_due()
    with team_scope(team.context):
        connection_hooks_drop(connection)
    hook = some(topic="1")
    original = WithingsConnector.hook_unsubscribe

    def meanwhile(self: WithingsConnector, keys: ApplicationKeys, access: Access | None, **values: str) -> None:
        original(self, keys, access, **values)
        with team_scope(team.context):
            connection_hooks_want(connection)

    monkeypatch.setattr(WithingsConnector, "hook_unsubscribe", meanwhile)
    hook_run(hook_id=hook.pk)
    assert (some(pk=hook.pk).status, some(pk=hook.pk).lease_until) == ("wanted", None)
    monkeypatch.undo()
    run_due()
    assert statuses() == dict.fromkeys(WITHINGS_TOPICS, "active")
    assert sorted(one["topic"] for one in hooks_at(simulator)) == WITHINGS_TOPICS


def test_a_broken_connection_keeps_its_subscriptions_for_later(team: Tenant, user: User, simulator: Simulator) -> None:
    connection = linked(team, user, "withings")
    with team_scope(team.context):
        Connection.objects.filter(pk=connection.pk).update(status="error", error_type="unknown", errored_at=NOW)
    hook_run(hook_id=some(topic="1").pk)
    resting = some(topic="1")
    assert (resting.status, resting.error_code, resting.attempts) == ("wanted", "connection_broken", 0)
    assert resting.not_before == NOW + timedelta(days=1)
    linked(team, user, "withings")
    assert some(topic="1").not_before == NOW
    run_due()
    assert statuses() == dict.fromkeys(WITHINGS_TOPICS, "active")


@pytest.mark.parametrize("base_url", ["http://api.example.com", "https://localhost", "https://127.0.0.1:8000"])
def test_vendors_are_not_asked_to_call_this_machine(settings: Settings, base_url: str) -> None:
    settings.BASE_URL = base_url
    hook = ProviderHook.objects.create(
        provider="oura",
        environment=Environment.PRODUCTION,
        topic="update.sleep",
        verify_token="t",
        not_before=NOW,
        created_at=NOW,
    )
    with capture_logs() as logs:
        assert hooks_reconcile() == 0
        hook_run(hook_id=hook.pk)
    said = [line for line in logs if line["event"] == "hooks_need_a_public_https_address"]
    assert len(said) == 1
    found = some()
    assert (found.status, found.attempts, found.not_before) == ("wanted", 0, NOW)


def test_a_registration_that_is_gone_is_called_for_no_more(settings: Settings) -> None:
    settings.BASE_URL = "https://api.example.com"
    values = {"provider": "oura", "environment": Environment.PRODUCTION, "verify_token": "t", "not_before": NOW}
    kept = ProviderHook.objects.create(topic="update.sleep", created_at=NOW, **values)
    ended = ProviderHook.objects.create(topic="update.tag", created_at=NOW, status="unwanted", **values)
    hook_run(hook_id=kept.pk)
    hook_run(hook_id=ended.pk)
    assert statuses() == {"update.sleep": "wanted"}
    assert (some().error_code, some().not_before) == ("unreachable", NOW + timedelta(days=1))


def test_topics_that_came_or_went_with_a_release(team: Tenant, user: User, simulator: Simulator) -> None:
    linked(team, user, "oura")
    run_due()
    ProviderHook.objects.filter(topic="update.sleep").delete()
    old = some(topic="create.sleep")
    ProviderHook.objects.filter(pk=old.pk).update(topic="create.tag")
    hooks_reconcile()
    assert statuses(topic__in=["update.sleep", "create.sleep", "create.tag"]) == {
        "update.sleep": "wanted",
        "create.sleep": "wanted",
        "create.tag": "unwanted",
    }
