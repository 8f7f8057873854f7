"""Endpoints at the portal: listed, made, changed, enabled and deleted, and mistakes told beside their fields."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import AccessRecord
from tests.factories import Tenant
from tests.webhooks.conftest import SOME_EVENT, deliveries, emit, endpoint_make
from tests.webhooks.portal_visiting import text_of, visitor
from tests.webhooks.receiving import Receiver
from webhooks import services
from webhooks.constants import ENDPOINTS_MAXIMUM
from webhooks.models import Endpoint, EndpointHealth, Tally

HOOK = "https://example.com/hook"
PAGES = ("", "/edit", "/delete", "/headers", "/secret", "/secret/rotate", "/send")
FORMS = ("/edit", "/delete", "/enable", "/headers", "/secret", "/secret/rotate", "/send")


@pytest.fixture
def portal(team: Tenant) -> Client:
    """A visit of our team's."""
    return visitor(team)


def form(**changes: Any) -> dict[str, Any]:
    """What a browser sends with the button of the endpoint's form."""
    sent = {"url": HOOK, "description": "", "events": "all", "enabled": "yes", "save": "yes", **changes}
    return {name: value for name, value in sent.items() if value is not None}


def found(tenant: Tenant) -> Endpoint:
    """The team's one endpoint."""
    with team_scope(tenant.context):
        return Endpoint.objects.get()


def health_make(endpoint: Endpoint, **values: Any) -> None:
    """How an endpoint fares."""
    with system_scope(SystemScope.DELIVERY):
        EndpointHealth.objects.create(
            endpoint=endpoint,
            team_id=endpoint.team_id,
            environment=endpoint.environment,
            updated_at=clock.now(),
            **values,
        )


def tally_make(endpoint: Endpoint, **values: Any) -> None:
    """How one span of an hour ago went."""
    with system_scope(SystemScope.DELIVERY):
        Tally.objects.create(
            endpoint=endpoint,
            team_id=endpoint.team_id,
            environment=endpoint.environment,
            span_at=clock.now() - timedelta(hours=1),
            **values,
        )


def test_an_empty_list_says_what_to_do(portal: Client) -> None:
    page = text_of(portal, "/portal/")
    assert "There is no endpoint yet" in page
    assert 'href="/portal/endpoint/new"' in page


def test_the_list_shows_how_each_fares(portal: Client, team: Tenant, hook: Receiver) -> None:
    good = endpoint_make(team, f"{hook.url}/good", description="Ours <b>")
    endpoint_make(team, f"{hook.url}/off", disabled=True)
    failing = endpoint_make(team, f"{hook.url}/failing")
    paused = endpoint_make(team, f"{hook.url}/paused")
    gone = endpoint_make(team, f"{hook.url}/gone")
    now = clock.now()
    health_make(failing, failing_since=now - timedelta(days=2))
    health_make(paused, paused_until=now + timedelta(hours=1))
    tally_make(good, delivered=12345, failed=6)
    with team_scope(team.context):
        Endpoint.objects.filter(pk=gone.pk).update(disabled=True, disabled_reason="gone", disabled_at=now)
    rows = {row["endpoint"].url.rpartition("/")[2]: row for row in portal.get("/portal/").context["rows"]}
    badges = {name: row["standing"].badge for name, row in rows.items()}
    assert badges == {
        "good": "Enabled", "off": "Disabled by you", "failing": "Failing", "paused": "Paused", "gone": "Disabled"
    }  # fmt: skip
    assert (rows["good"]["delivered"], rows["good"]["failed"], rows["good"]["waiting"]) == ("12,345", "6", "0")
    page = text_of(portal, "/portal/")
    assert "12,345" in page
    assert "Ours &lt;b&gt;" in page


def test_the_list_takes_as_many_queries_for_many(
    portal: Client, team: Tenant, hook: Receiver, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(4):
        tally_make(endpoint_make(team, f"{hook.url}/{number}"), delivered=1)
        if number in (0, 3):
            # The session, the endpoints, and four for all their figures.
            with django_assert_num_queries(6):
                portal.get("/portal/")


def test_an_endpoint_is_made(portal: Client, team: Tenant) -> None:
    sent = form(description="Ours", events="some", type=["daily.data", SOME_EVENT], rate_limit=" 5 ",
                channels="provider.oura, user.1\nprovider.oura")  # fmt: skip
    made = portal.post("/portal/endpoint/new", sent)
    endpoint = found(team)
    assert (made.status_code, made["Location"]) == (303, f"/portal/endpoint/{endpoint.id}?told=created")
    assert (endpoint.url, endpoint.description, endpoint.rate_limit, endpoint.disabled) == (HOOK, "Ours", 5, False)
    # What a shorter name holds is not said twice.
    assert (endpoint.filter_types, endpoint.channels) == (["daily.data"], ["provider.oura", "user.1"])
    page = text_of(portal, made["Location"])
    assert "The endpoint is ready" in page
    assert "No attempt was made yet" in page


def test_words_of_others_are_not_put_on_a_page(portal: Client, team: Tenant, hook: Receiver) -> None:
    assert "stolen" not in text_of(portal, "/portal/?told=stolen")
    at = f"/portal/endpoint/{endpoint_make(team, hook.url).id}"
    for since in ("stolen", "2026-01-01T00:00:00", "", "2026-01-01T00:00:00+99:99", "0001-01-01T00:00:00+14:00"):
        page = portal.get(at, {"told": "enabled", "since": since})
        assert (page.status_code, "what failed since" in page.content.decode()) == (200, False)


def test_every_form_is_written_to_the_audit_trail(portal: Client, team: Tenant) -> None:
    portal.post("/portal/endpoint/new", form())
    endpoint = found(team)
    portal.post(f"/portal/endpoint/{endpoint.id}/secret")
    portal.post(f"/portal/endpoint/{endpoint.id}/edit", form(url="not a url"))
    portal.get(f"/portal/endpoint/{endpoint.id}")
    portal.post(f"/portal/endpoint/{endpoint.id}/delete")
    with team_scope(team.context):
        records = list(AccessRecord.objects.order_by("occurred_at"))
    assert [(record.actor_kind, record.action) for record in records] == [
        ("portal_session", "POST /portal/endpoint/new"),
        ("portal_session", "POST /portal/endpoint/<uuid:endpoint_id>/secret"),
        ("portal_session", "POST /portal/endpoint/<uuid:endpoint_id>/delete"),
    ]
    assert {record.object_ids["endpoint_id"] for record in records} == {str(endpoint.id)}


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"url": ""}, "url", "Type the address"),
        ({"url": "http://example.com/"}, "url", "https://"),
        ({"url": "https://10.0.0.1/"}, "url", "not public"),
        ({"url": "https://user:secret@example.com/"}, "url", "without a user name"),
        ({"url": "https://example.com/" + "x" * 2000}, "url", "2000"),
        ({"description": "x" * 1001}, "description", "1000"),
        ({"description": "a\x00b"}, "description", ""),
        ({"rate_limit": "many"}, "rate_limit", ""),
        ({"rate_limit": "0"}, "rate_limit", "1"),
        ({"rate_limit": "1.5"}, "rate_limit", ""),
        ({"rate_limit": "9" * 30}, "rate_limit", ""),
        ({"channels": "no blanks;here\u00e9"}, "channels", ""),
        ({"channels": " ".join(f"user.{number}" for number in range(51))}, "channels", ""),
        ({"events": "some"}, "filter_types", "Tick at least one"),
        ({"events": "some", "type": "Not A Type"}, "filter_types", ""),
        ({"events": "some", "type": "no.such.event"}, "filter_types", ""),
    ],
)
def test_a_mistake_is_told_beside_its_field_and_changes_nothing(
    portal: Client, team: Tenant, changes: dict[str, str], field: str, words: str
) -> None:
    sent = form(**{"description": "Kept as typed", **changes})
    answer = portal.post("/portal/endpoint/new", sent)
    assert answer.status_code == 422
    page = answer.content.decode()
    assert set(answer.context["form"].errors) == {field}
    assert words in answer.context["form"].errors[field]
    assert f'id="{field}-error"' in page
    assert ("Kept as typed" in page) == ("description" not in changes)
    with team_scope(team.context):
        assert not Endpoint.objects.exists()


def test_no_more_than_the_allowed_number(portal: Client, team: Tenant, hook: Receiver) -> None:
    for number in range(ENDPOINTS_MAXIMUM):
        endpoint_make(team, f"{hook.url}/{number}")
    assert "which is the most there can be" in text_of(portal, "/portal/")
    answer = portal.post("/portal/endpoint/new", form())
    assert answer.status_code == 422
    assert "at most 50" in answer.content.decode()


def test_an_endpoint_is_changed(portal: Client, team: Tenant) -> None:
    portal.post("/portal/endpoint/new", form(events="some", type=SOME_EVENT, channels="provider.oura", rate_limit="9"))
    at = f"/portal/endpoint/{found(team).id}"
    page = text_of(portal, f"{at}/edit")
    assert f'value="{SOME_EVENT}" checked' in page
    assert portal.post(f"{at}/edit", form(url=f"{HOOK}/2"))["Location"] == f"{at}?told=saved"
    endpoint = found(team)
    assert (endpoint.url, endpoint.filter_types, endpoint.channels, endpoint.rate_limit) == (f"{HOOK}/2", None, None,
                                                                                             None)  # fmt: skip
    portal.post(f"{at}/edit", form(enabled=None))
    assert found(team).disabled is True
    assert "Disabled by you" in text_of(portal, at)


def test_saving_does_not_forget_why_an_endpoint_is_disabled(portal: Client, team: Tenant) -> None:
    portal.post("/portal/endpoint/new", form())
    endpoint = found(team)
    with team_scope(team.context):
        Endpoint.objects.update(disabled=True, disabled_reason="failing", disabled_at=clock.now())
    portal.post(f"/portal/endpoint/{endpoint.id}/edit", form(enabled=None, description="Looked at"))
    again = found(team)
    assert (again.description, again.disabled, again.disabled_reason) == ("Looked at", True, "failing")


def test_enabling_offers_to_recover_what_failed(portal: Client, team: Tenant, hook: Receiver) -> None:
    endpoint = endpoint_make(team, f"{hook.url}/hook")
    since = clock.now() - timedelta(days=5)
    health_make(endpoint, failing_since=since)
    with team_scope(team.context):
        Endpoint.objects.update(disabled=True, disabled_reason="failing", disabled_at=clock.now())
    answer = portal.post(f"/portal/endpoint/{endpoint.id}/enable")
    page = text_of(portal, answer["Location"])
    assert "The endpoint is enabled again." in page
    assert f'what failed since <time datetime="{since.strftime("%Y-%m-%dT%H:%M:%S")}' in page
    assert f"/portal/endpoint/{endpoint.id}/recover?since={since.strftime('%Y-%m-%dT')}" in page
    assert found(team).disabled is False


def test_deleting_asks_first(portal: Client, team: Tenant, hook: Receiver) -> None:
    endpoint = endpoint_make(team, f"{hook.url}/hook")
    emit(team)
    with system_scope(SystemScope.DELIVERY):
        services.events_fan_out()
    at = f"/portal/endpoint/{endpoint.id}/delete"
    assert "what waits for it (1) is cancelled" in text_of(portal, at)
    assert [str(one.status) for one in deliveries()] == ["pending"]
    assert portal.post(at)["Location"] == "/portal/?told=deleted"
    assert [str(one.status) for one in deliveries()] == ["cancelled"]
    assert portal.get(at).status_code == 404


def test_anothers_endpoint_is_as_a_missing_one(
    portal: Client, other_team: Tenant, production: Tenant, hook: Receiver
) -> None:
    for tenant in (other_team, production):
        theirs = endpoint_make(tenant, f"{hook.url}/theirs")
        for method, parts in (("get", PAGES), ("post", FORMS)):
            for part in parts:
                pages = [
                    getattr(portal, method)(f"/portal/endpoint/{which}{part}", form()) for which in (theirs.id, uuid4())
                ]
                assert [page.status_code for page in pages] == [404, 404], part
                assert "There is nothing at this address" in pages[0].content.decode()
        with team_scope(tenant.context):
            kept = Endpoint.objects.get(pk=theirs.pk)
        assert (kept.url, kept.deleted_at, kept.secret, kept.headers) == (theirs.url, None, theirs.secret, {})
        with team_scope(tenant.context):
            assert not AccessRecord.objects.exists()
