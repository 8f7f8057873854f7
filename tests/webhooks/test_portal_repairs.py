"""Sending again from the portal: one message, what failed, what was never sent, and an example of an event."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.test import Client

from healthsvc.kernel import clock
from healthsvc.kernel.principal import PrincipalKind
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import AccessRecord, BackgroundJob
from tests.factories import Tenant
from tests.webhooks.conftest import deliveries, emit, endpoint_make, make_due, pump
from tests.webhooks.portal_visiting import visitor
from tests.webhooks.receiving import Answer, Receiver
from tests.webhooks.test_portal_logs import TYPES, shown
from webhooks import services
from webhooks.models import Endpoint, Event
from webhooks.registry import event_types
from webhooks.states import DeliveryStatus


@pytest.fixture
def browser(team: Tenant) -> Client:
    """A browser with a session of our team's."""
    return visitor(team)


@pytest.fixture
def failed(team: Tenant, endpoint: Endpoint, hook: Receiver) -> UUID:
    """A message that the endpoint did not take in any attempt; now it would."""
    hook.otherwise = Answer(500)
    event_id = emit(team, TYPES[0])
    for _ in range(8):
        pump()
        make_due()
    (delivery,) = [one for one in deliveries() if one.event_id == event_id]
    assert delivery.status == DeliveryStatus.FAILED
    hook.otherwise = Answer()
    hook.received.clear()
    return event_id


def job() -> BackgroundJob:
    """The one job there is."""
    with system_scope(SystemScope.DELIVERY):
        return BackgroundJob.objects.get()


def status_of(event_id: UUID, endpoint_id: UUID) -> str:
    """Where a message's way to an endpoint stands."""
    (found,) = [one for one in deliveries() if (one.event_id, one.endpoint_id) == (event_id, endpoint_id)]
    return found.status


@pytest.mark.slow
def test_one_message_is_sent_again_under_its_id(
    browser: Client, team: Tenant, endpoint: Endpoint, hook: Receiver, failed: UUID
) -> None:
    answer = browser.post(f"/portal/endpoint/{endpoint.id}/resend/{failed}")
    assert (answer.status_code, answer["Location"]) == (303, f"/portal/message/{failed}?told=resent")
    assert "on its way again" in shown(browser, answer["Location"])
    pump()
    assert [
        request.headers["webhook-id"] for request in hook.received if str(failed) in request.headers["webhook-id"]
    ] == [f"msg_{failed}"]
    assert status_of(failed, endpoint.id) == DeliveryStatus.DELIVERED
    with team_scope(team.context):
        record = AccessRecord.objects.get(action__startswith="POST", action__contains="resend")
    assert record.object_ids == {"endpoint_id": str(endpoint.id), "message_id": str(failed)}
    assert record.actor_kind == PrincipalKind.PORTAL_SESSION


def test_a_resend_that_can_t_be_is_told_and_changes_nothing(
    browser: Client, team: Tenant, endpoint: Endpoint, other_team: Tenant
) -> None:
    event_id = emit(team, TYPES[0])
    pump()
    with team_scope(team.context):
        services.endpoint_patch(team=team.context, endpoint_id=endpoint.id, changes={"disabled": True})
    answer = browser.post(f"/portal/endpoint/{endpoint.id}/resend/{event_id}")
    assert answer.status_code == 409
    assert "The endpoint is disabled." in answer.content.decode()
    stranger = visitor(other_team)
    assert stranger.post(f"/portal/endpoint/{endpoint.id}/resend/{event_id}").status_code == 404
    assert browser.get(f"/portal/endpoint/{endpoint.id}/resend/{event_id}").status_code == 405
    assert status_of(event_id, endpoint.id) == DeliveryStatus.DELIVERED


def test_a_message_is_sent_to_an_endpoint_that_never_had_it(
    browser: Client, team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    event_id = emit(team, TYPES[0])
    pump()
    other = endpoint_make(team, f"{hook.url}/other", filter_types=["webhook"])
    assert browser.post(f"/portal/endpoint/{other.id}/resend/{event_id}").status_code == 303
    pump()
    assert [request.path for request in hook.received] == ["/hook", "/other"]


@pytest.mark.slow
def test_what_failed_is_recovered_and_the_page_tells_how_far_it_is(
    browser: Client, endpoint: Endpoint, hook: Receiver, failed: UUID
) -> None:
    answer = browser.post(f"/portal/endpoint/{endpoint.id}/recover", {"span": "1h"})
    begun = job()
    assert (answer.status_code, answer["Location"]) == (303, f"/portal/repair/{begun.pk}")
    page = browser.get(answer["Location"])
    assert page["Refresh"] == "3"
    assert "0 % of the time is looked through. 0 messages so far." in page.content.decode()
    services.repair_run(job_id=begun.pk)
    page = browser.get(answer["Location"])
    assert "Refresh" not in page.headers
    # The notice that the message was given up has failed once too, and waits for its second attempt.
    assert "2 messages are on the way to the endpoint." in page.content.decode()
    pump()
    assert status_of(failed, endpoint.id) == DeliveryStatus.DELIVERED
    assert "Recovering what failed" in shown(browser, f"/portal/endpoint/{endpoint.id}/recover")


def test_a_running_twin_is_shown_instead_of_an_error(browser: Client, endpoint: Endpoint) -> None:
    first = browser.post(f"/portal/endpoint/{endpoint.id}/recover", {"span": "24h"})
    second = browser.post(f"/portal/endpoint/{endpoint.id}/recover", {"span": "7d"})
    assert second["Location"] == f"{first['Location']}?told=repair_running"
    assert "running already" in shown(browser, second["Location"])
    other_kind = browser.post(f"/portal/endpoint/{endpoint.id}/replay", {"span": "24h"})
    assert other_kind["Location"] != first["Location"]
    with system_scope(SystemScope.DELIVERY):
        assert BackgroundJob.objects.count() == 2


def test_what_was_never_sent_is_replayed_by_type(browser: Client, team: Tenant, hook: Receiver) -> None:
    before, other = emit(team, TYPES[0]), emit(team, TYPES[2])
    pump()
    endpoint = endpoint_make(team, f"{hook.url}/late")
    answer = browser.post(
        f"/portal/endpoint/{endpoint.id}/replay", {"span": "24h", "event_types": [TYPES[0], TYPES[1]]}
    )
    services.repair_run(job_id=job().pk)
    pump()
    assert [request.headers["webhook-id"] for request in hook.received] == [f"msg_{before}"]
    assert other not in {one.event_id for one in deliveries()}
    text = shown(browser, answer["Location"])
    assert f"{TYPES[0]}, {TYPES[1]}" in text
    browser.post(f"/portal/endpoint/{endpoint.id}/replay", {"span": "24h", "event_types": [TYPES[0]]})
    with system_scope(SystemScope.DELIVERY):
        last = BackgroundJob.objects.order_by("-created_at")[0]
    services.repair_run(job_id=last.pk)
    assert "there was nothing to replay" in shown(browser, f"/portal/repair/{last.pk}")


def test_a_moment_counts_before_the_quick_choices(browser: Client, endpoint: Endpoint) -> None:
    since = clock.now().replace(microsecond=0) - timedelta(days=2)
    typed = {"span": "1h", "since": since.strftime("%Y-%m-%dT%H:%M:%S")}
    assert browser.post(f"/portal/endpoint/{endpoint.id}/recover", typed).status_code == 303
    assert job().parameters["since"] == since.isoformat()


def test_a_moment_in_the_address_is_proposed(browser: Client, endpoint: Endpoint) -> None:
    text = shown(browser, f"/portal/endpoint/{endpoint.id}/recover?since=2026-11-20T10:00:00%2B00:00")
    assert 'value="2026-11-20T10:00:00"' in text
    assert text.split('value="moment"')[1].split(">")[0].count("checked") == 1
    for odd in ("tomorrow", "0001-01-01T00:00:00%2B14:00", ""):
        text = shown(browser, f"/portal/endpoint/{endpoint.id}/recover?since={odd}")
        assert text.split('value="24h"')[1].split(">")[0].count("checked") == 1


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"span": "moment"}, "Say since when."),
        ({"span": "moment", "since": "yesterday"}, "Enter a valid date/time."),
        ({"span": "moment", "since": "2001-01-01T00:00"}, "Must not be longer ago than messages are kept: 30 days."),
        ({"span": "moment", "since": "2999-01-01T00:00"}, "Must not be in the future."),
        ({"span": "ever"}, "Select a valid choice."),
        ({}, "This field is required."),
    ],
)
def test_a_time_that_can_t_be_repaired_is_said_and_begins_nothing(
    browser: Client, endpoint: Endpoint, typed: dict[str, str], words: str
) -> None:
    for kind in ("recover", "replay"):
        answer = browser.post(f"/portal/endpoint/{endpoint.id}/{kind}", typed)
        assert answer.status_code == 422
        assert words in answer.content.decode()
    with system_scope(SystemScope.DELIVERY):
        assert BackgroundJob.objects.count() == 0


def test_all_that_is_kept_may_be_asked_for(browser: Client, endpoint: Endpoint) -> None:
    assert browser.post(f"/portal/endpoint/{endpoint.id}/recover", {"span": "all"}).status_code == 303


def test_a_repair_that_stopped_says_why(browser: Client, team: Tenant, endpoint: Endpoint) -> None:
    answer = browser.post(f"/portal/endpoint/{endpoint.id}/recover", {"span": "all"})
    with team_scope(team.context):
        services.endpoint_delete(team=team.context, endpoint_id=endpoint.id)
    services.repair_run(job_id=job().pk)
    text = shown(browser, answer["Location"])
    assert "stopped because the endpoint was deleted" in text
    assert "Begin another" not in text


def test_a_disabled_endpoint_is_not_repaired(browser: Client, team: Tenant, hook: Receiver) -> None:
    endpoint = endpoint_make(team, f"{hook.url}/off", disabled=True)
    assert "The endpoint is disabled." in shown(browser, f"/portal/endpoint/{endpoint.id}/replay")
    answer = browser.post(f"/portal/endpoint/{endpoint.id}/replay", {"span": "1h"})
    assert answer.status_code == 422
    assert 'role="alert">The endpoint is disabled.' in answer.content.decode()


def test_another_team_s_repairs_do_not_exist(browser: Client, endpoint: Endpoint, other_team: Tenant) -> None:
    browser.post(f"/portal/endpoint/{endpoint.id}/recover", {"span": "1h"})
    stranger = visitor(other_team)
    paths = [f"/portal/repair/{job().pk}", f"/portal/repair/{uuid4()}", f"/portal/endpoint/{endpoint.id}/replay"]
    assert [stranger.get(path).status_code for path in paths] == [404, 404, 404]
    assert stranger.post(f"/portal/endpoint/{endpoint.id}/replay", {"span": "1h"}).status_code == 404


def test_event_types_are_found_by_words(browser: Client) -> None:
    text = shown(browser, "/portal/event_types")
    assert f"{len(event_types())} event types" in text
    assert all(f"/portal/event_type/{name}" in text for name in event_types())
    text = shown(browser, "/portal/event_types?q=SLEEP+created")
    assert "/portal/event_type/daily.data.sleep.created" in text
    assert "/portal/event_type/daily.data.sleep.updated" not in text
    assert "Nothing is called that." in shown(browser, "/portal/event_types?q=%3Cb%3E")


@pytest.mark.slow
def test_every_event_type_has_its_page(browser: Client, endpoint: Endpoint) -> None:
    for name in event_types():
        text = shown(browser, f"/portal/event_type/{name}")
        assert "&quot;$defs&quot;" in text or "&quot;type&quot;: &quot;object&quot;" in text
        assert "#/components/" not in text
    assert "Not found" in shown(browser, "/portal/event_type/daily.data.luck.created", status=404)


def test_an_example_is_sent_to_one_endpoint(browser: Client, team: Tenant, hook: Receiver, endpoint: Endpoint) -> None:
    other = endpoint_make(team, f"{hook.url}/other", description="Second", filter_types=["webhook"])
    page = shown(browser, f"/portal/event_type/{TYPES[0]}")
    assert f"Second ({hook.url}/other)" in page
    answer = browser.post(f"/portal/event_type/{TYPES[0]}", {"endpoint": str(other.id)})
    assert answer.status_code == 303
    pump()
    assert [request.path for request in hook.received] == ["/other"]
    text = shown(browser, answer["Location"])
    assert "The event is on its way." in text
    assert TYPES[0] in text
    assert text.count('href="/portal/attempt/') == 1


def test_an_example_goes_to_no_endpoint_that_is_disabled_or_another_team_s(
    browser: Client, team: Tenant, other_team: Tenant, hook: Receiver
) -> None:
    assert "There is no enabled endpoint" in shown(browser, f"/portal/event_type/{TYPES[0]}")
    off = endpoint_make(team, f"{hook.url}/off", disabled=True)
    theirs = endpoint_make(other_team, f"{hook.url}/theirs")
    for endpoint_id in (str(off.id), str(theirs.id), "x", ""):
        assert browser.post(f"/portal/event_type/{TYPES[0]}", {"endpoint": endpoint_id}).status_code == 422
    with system_scope(SystemScope.DELIVERY):
        assert Event.objects.count() == 0
