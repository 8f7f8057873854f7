"""The portal's logs: what is listed, found, shown and hidden, and at what cost."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel import clock
from healthsvc.kernel.principal import PrincipalKind
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import AccessRecord
from tests.factories import Tenant, user_make
from tests.webhooks.conftest import attempts, deliveries, emit, endpoint_make, make_due, pump
from tests.webhooks.portal_visiting import visitor
from tests.webhooks.receiving import Answer, Receiver
from webhooks import services
from webhooks.log_selectors import paging
from webhooks.models import Endpoint, Event

pytestmark = pytest.mark.django_db

TYPES = ("daily.data.sleep.created", "daily.data.sleep.updated", "provider.connection.created")


@pytest.fixture
def browser(team: Tenant) -> Client:
    """A browser with a session of our team's."""
    return visitor(team)


def shown(client: Client, address: str, status: int = 200) -> str:
    """A page's text."""
    answer = client.get(address)
    assert answer.status_code == status, answer.content.decode()
    return answer.content.decode()


def types_listed(text: str) -> list[str]:
    """The event types of the log's lines, in their order."""
    lines = text.split('<p class="log-title">')[1:]
    return [line.split("</a>")[0].split(">", 1)[1].replace("<wbr>", "") for line in lines]


def link_after(text: str, words: str) -> str:
    """The address of the link with these words."""
    before = text.replace("<wbr>", "").split(f">{words}</a>")[0]
    return before.rsplit('href="', 1)[1].split('"')[0].replace("&amp;", "&")


def test_messages_are_listed_newest_first_with_what_they_came_to(
    browser: Client, team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    user = user_make(team)
    hook.answers = [Answer(), Answer(500)]
    emit(team, TYPES[0], user_id=user.id)
    emit(team, TYPES[1])
    pump()
    endpoint_make(team, f"{hook.url}/disabled", disabled=True)
    text = shown(browser, "/portal/messages")
    assert types_listed(text) == [TYPES[1], TYPES[0]]
    newer, older = text.split('<p class="log-title">')[1:]
    assert ("Waiting for 1" in newer) + ("Waiting for 1" in older) == 1
    assert ("Delivered to 1" in newer) + ("Delivered to 1" in older) == 1
    assert f"user {user.id}" in older
    assert "Zoë" not in text  # the list shows no payload


def test_an_empty_log_says_what_to_do(browser: Client, endpoint: Endpoint) -> None:
    assert "There are no messages yet" in shown(browser, "/portal/messages")
    assert "Nothing has been sent here yet" in shown(browser, f"/portal/endpoint/{endpoint.id}/attempts")
    assert "No message matches" in shown(browser, "/portal/messages?event_type=daily")
    assert "No attempt matches" in shown(browser, f"/portal/endpoint/{endpoint.id}/attempts?outcome=failed")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("event_type=daily.data.sleep", [TYPES[1], TYPES[0]]),
        ("event_type=provider.connection.created", [TYPES[2]]),
        ("channel=provider.oura", [TYPES[1]]),
        ("channel=provider.oura&event_type=provider", []),
        ("last=1h&event_type=provider", [TYPES[2]]),
        ("after=2000-01-01T00:00&before=2001-01-01T00:00", []),
        ("after=2001-01-01T00:00&last=1h", [TYPES[2], TYPES[1], TYPES[0]]),
        ("outcome=none", [TYPES[2], TYPES[1], TYPES[0]]),
        ("outcome=failed", []),
    ],
)
def test_filters_combine_and_stay_in_the_address(browser: Client, team: Tenant, query: str, found: list[str]) -> None:
    emit(team, TYPES[0])
    emit(team, TYPES[1], channels=["provider.oura"])
    emit(team, TYPES[2])
    text = shown(browser, f"/portal/messages?{query}")
    assert types_listed(text) == found
    for part in query.split("&"):
        name, value = part.split("=")
        assert (f'value="{value}"' in text) is (name != "last" or "after" not in query)


def test_messages_of_a_user_are_found_and_no_others(browser: Client, team: Tenant) -> None:
    user = user_make(team)
    emit(team, TYPES[0], user_id=user.id)
    emit(team, TYPES[1])
    assert types_listed(shown(browser, f"/portal/messages?user_id={user.id}")) == [TYPES[0]]
    assert types_listed(shown(browser, f"/portal/messages?channel=user.{user.id}")) == [TYPES[0]]
    assert types_listed(shown(browser, f"/portal/messages?user_id={uuid4()}")) == []


@pytest.mark.slow
def test_outcomes_are_told_apart(browser: Client, team: Tenant, endpoint: Endpoint, hook: Receiver) -> None:
    hook.answers = [Answer()]
    emit(team, TYPES[0])
    pump()
    hook.otherwise = Answer(500)
    emit(team, TYPES[1])
    pump()
    assert types_listed(shown(browser, "/portal/messages?outcome=delivered")) == [TYPES[0]]
    assert types_listed(shown(browser, "/portal/messages?outcome=waiting")) == [TYPES[1]]
    for _ in range(7):
        make_due()
        pump()
    assert types_listed(shown(browser, f"/portal/messages?outcome=failed&event_type={TYPES[1]}")) == [TYPES[1]]
    assert TYPES[1] not in types_listed(shown(browser, "/portal/messages?outcome=delivered"))


def test_an_outcome_that_is_rare_is_looked_for_further_back(
    browser: Client, team: Tenant, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "LOG_SCAN_ROWS", 250)
    emit(team, TYPES[1])
    pump()
    messages_make(team, 255)
    first = shown(browser, "/portal/messages?outcome=delivered")
    assert types_listed(first) == []
    second = shown(browser, link_after(first, "Look further back"))
    assert types_listed(second) == [TYPES[1]]
    assert "Look further back" not in second


@pytest.mark.parametrize(
    "query",
    [
        "user_id=ada",
        "event_type=Daily Data",
        "channel=a b",
        "after=yesterday",
        "after=2026-11-21T10:00&before=2026-11-21T09:00",
        "after=0001-01-01T00:00",
        "before=9999-12-31T23:59",
        "outcome=odd",
        "last=9y",
        "cursor=first",
        "message_id=msg_1",
    ],
)
def test_a_filter_that_is_not_understood_is_said_and_searches_nothing(
    browser: Client, team: Tenant, query: str
) -> None:
    emit(team, TYPES[0])
    text = shown(browser, f"/portal/messages?{query}", status=422)
    assert "nothing was searched" in text
    assert types_listed(text) == []


def test_a_message_is_found_by_the_id_that_arrived(browser: Client, team: Tenant) -> None:
    event_id = emit(team, TYPES[0])
    for typed in (f"msg_{event_id}", str(event_id), f"  msg_{event_id} "):
        answer = browser.get("/portal/messages", {"message_id": typed})
        assert (answer.status_code, answer["Location"]) == (303, f"/portal/message/{event_id}")


def test_pages_lead_to_older_ones_and_the_same_way_back(browser: Client, team: Tenant) -> None:
    messages_make(team, 120)
    first = shown(browser, "/portal/messages?event_type=daily&last=24h")
    assert len(types_listed(first)) == 50
    assert "Newer" not in first
    second = shown(browser, link_after(first, "Older"))
    third = shown(browser, link_after(second, "Older"))
    assert (len(types_listed(second)), len(types_listed(third))) == (50, 20)
    assert "Older" not in third
    assert messages_listed(shown(browser, link_after(third, "Newer"))) == messages_listed(second)
    assert messages_listed(shown(browser, link_after(second, "Newer"))) == messages_listed(first)
    assert messages_listed(shown(browser, link_after(third, "Newest"))) == messages_listed(first)
    assert len({*messages_listed(first), *messages_listed(second), *messages_listed(third)}) == 120


def messages_make(team: Tenant, count: int) -> None:
    """Messages that no pump has seen."""
    with team_scope(team.context), transaction.atomic():
        events = [(TYPES[0], {"number": number}) for number in range(count)]
        services.events_emit(team=team.context, events=events, user_id=None, client_user_id=None)


def messages_listed(text: str) -> list[str]:
    """The ids of the messages that a page links to."""
    return [part.split('"')[0] for part in text.split('href="/portal/message/')[1:]]


def test_a_message_shows_its_payload_and_its_ways(
    browser: Client, team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    user = user_make(team)
    gone = endpoint_make(team, f"{hook.url}/gone")
    endpoint_make(team, f"{hook.url}/other", filter_types=["webhook"])
    event_id = emit(team, TYPES[0], user_id=user.id)
    hook.otherwise = Answer(503, body=b"try later, ada@example.com")
    pump()
    with team_scope(team.context):
        services.endpoint_delete(team=team.context, endpoint_id=gone.id)
    text = shown(browser, f"/portal/message/{event_id}").replace("<wbr>", "")
    assert f"msg_{event_id}" in text
    assert "&quot;name&quot;: &quot;Zoë&quot;" in text
    assert "Next attempt" in text
    assert f"{hook.url}/gone (deleted)" in text
    assert "The receiver was not available" in text
    assert f"/portal/endpoint/{endpoint.id}/resend/{event_id}" in text
    assert f"/portal/endpoint/{gone.id}/resend/{event_id}" not in text
    assert text.split("Send it to another endpoint")[1].count(f"{hook.url}/other") == 2
    with team_scope(team.context):
        record = AccessRecord.objects.get(action="GET /portal/message/<uuid:message_id>")
    assert (record.actor_kind, record.user_id) == (PrincipalKind.PORTAL_SESSION, user.id)
    assert record.object_ids == {"message_id": str(event_id), "user_id": str(user.id)}


def test_a_payload_that_is_gone_is_said_to_be_and_its_page_is_no_read_of_the_user(
    browser: Client, team: Tenant, endpoint: Endpoint
) -> None:
    user = user_make(team)
    erased, old = emit(team, TYPES[0], user_id=user.id), emit(team, TYPES[1], user_id=user.id)
    pump()
    with system_scope(SystemScope.DELIVERY):
        Event.objects.update(body=None)
        Event.objects.filter(pk=old).update(created_at=clock.now() - timedelta(days=31))
    assert "erased together with its user" in shown(browser, f"/portal/message/{erased}")
    text = shown(browser, f"/portal/message/{old}")
    assert "older than 30 days" in text
    assert "/resend/" not in text
    with team_scope(team.context):
        assert AccessRecord.objects.filter(user_id=user.id, actor_kind=PrincipalKind.PORTAL_SESSION).count() == 0


def test_a_long_payload_is_cut_until_all_of_it_is_asked_for(browser: Client, team: Tenant) -> None:
    event_id = emit(team, TYPES[0], data={"samples": ["x" * 100] * 500, "last": "the end"})
    cut = shown(browser, f"/portal/message/{event_id}")
    assert "the end" not in cut
    assert "the end" in shown(browser, link_after(cut, "Show all of it"))


def test_attempts_are_listed_by_their_filters(
    browser: Client, team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    hook.answers = [Answer()]
    emit(team, TYPES[0])
    pump()
    hook.otherwise = Answer(404)
    emit(team, TYPES[2])
    pump()
    path = f"/portal/endpoint/{endpoint.id}/attempts"
    for query, found in [
        ("", [TYPES[2], TYPES[0]]),
        ("?outcome=succeeded", [TYPES[0]]),
        ("?outcome=failed", [TYPES[2]]),
        ("?status_code=404&last=1h", [TYPES[2]]),
        ("?status_code=500", []),
        ("?event_type=daily", [TYPES[0]]),
        ("?before=2001-01-01T00:00", []),
    ]:
        assert types_listed(shown(browser, path + query)) == found, query
    assert "Nothing was found there" in shown(browser, path)
    assert "nothing was searched" in shown(browser, f"{path}?status_code=abc", status=422)


def test_an_attempt_shows_what_was_sent_without_its_secrets(
    browser: Client, team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    headers = {"X-Region": "eu-west", "Authorization": "Bearer very-secret"}
    user = user_make(team)
    with team_scope(team.context):
        services.endpoint_headers_put(team=team.context, endpoint_id=endpoint.id, headers=headers)
    hook.otherwise = Answer(301, headers={"Location": "https://elsewhere.example.com/"}, body=b"moved")
    event_id = emit(team, TYPES[0], user_id=user.id)
    pump()
    (made,) = attempts()
    text = shown(browser, f"/portal/attempt/{made.id}")
    assert "The receiver sent a redirect" in text
    assert "Redirects are not followed" in text
    assert ("eu-west" in text, "very-secret" in text, endpoint.secret in text) == (True, False, False)
    (request,) = hook.received
    for name in ("webhook-id", "webhook-timestamp", "svix-id", "svix-timestamp"):
        assert request.headers[name] in text
    signature = request.headers["webhook-signature"]
    assert signature not in text
    assert signature.partition(",")[2] not in text
    assert "moved" in text
    assert f"/portal/endpoint/{endpoint.id}/resend/{event_id}" in text
    with team_scope(team.context):
        record = AccessRecord.objects.get(action="GET /portal/attempt/<uuid:attempt_id>")
    assert record.user_id == user.id


def test_an_attempt_without_an_answer_says_why(browser: Client, team: Tenant) -> None:
    endpoint_make(team, "https://nowhere.invalid/hook")
    emit(team, TYPES[0])
    pump()
    (made,) = attempts()
    text = shown(browser, f"/portal/attempt/{made.id}")
    assert "No answer" in text
    assert "Check that the host&#x27;s name resolves" in text


def test_another_team_s_log_does_not_exist(
    other_team: Tenant, team: Tenant, endpoint: Endpoint, browser: Client
) -> None:
    event_id = emit(team, TYPES[0])
    pump()
    (made,) = attempts()
    stranger = visitor(other_team)
    missing = uuid4()
    for path, ours in [("message", event_id), ("attempt", made.id)]:
        theirs, none = stranger.get(f"/portal/{path}/{ours}"), stranger.get(f"/portal/{path}/{missing}")
        assert (theirs.status_code, none.status_code) == (404, 404)
        assert "Not found" in theirs.content.decode()
    assert stranger.get(f"/portal/endpoint/{endpoint.id}/attempts").status_code == 404
    assert stranger.get(f"/portal/endpoint/{endpoint.id}/activity").status_code == 404
    assert types_listed(shown(stranger, "/portal/messages")) == []
    with team_scope(other_team.context):
        assert AccessRecord.objects.filter(actor_kind=PrincipalKind.PORTAL_SESSION).count() == 0


def queries_of(client: Client, address: str) -> int:
    """How many queries a page takes."""
    with CaptureQueriesContext(connection) as captured:
        shown(client, address)
    return len(captured)


@pytest.mark.slow
def test_pages_take_the_same_number_of_queries_whatever_there_is(
    browser: Client, team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    event_id = emit(team, TYPES[0])
    pump()
    (made,) = attempts()
    addresses = [
        "/portal/messages",
        "/portal/messages?outcome=delivered",
        f"/portal/message/{event_id}",
        f"/portal/endpoint/{endpoint.id}/attempts",
        f"/portal/attempt/{made.id}",
        "/portal/activity",
        f"/portal/endpoint/{endpoint.id}/activity?range=7d",
    ]
    before = [queries_of(browser, address) for address in addresses]
    for number in range(3):
        endpoint_make(team, f"{hook.url}/{number}")
    for _ in range(4):
        emit(team, TYPES[1])
    again(team, event_id)
    pump()
    assert len(deliveries()) == 1 + 4 * 4 + 3
    assert [queries_of(browser, address) for address in addresses] == before


def again(team: Tenant, event_id: UUID) -> None:
    """Send an event to every endpoint."""
    with team_scope(team.context):
        for one in Endpoint.objects.all():
            services.delivery_resend(team=team.context, endpoint_id=one.id, message_id=event_id)
