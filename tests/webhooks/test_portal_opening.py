"""Links to the portal and the sessions they begin: who gets in, once, for how long, and what is left behind."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier

import pytest
from django.db import connections
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from management.models import AccessRecord
from tests.clients import ApiClient
from tests.factories import Tenant
from tests.webhooks.portal_visiting import link_make, link_open, session_change, text_of, visitor
from webhooks.models import PortalSession
from webhooks.services import portal


def _token(link: str) -> str:
    return link.partition("token=")[2]


def test_a_link_is_asked_for_by_the_api(api: ApiClient, team: Tenant) -> None:
    before = clock.now()
    answer = api.get("/v2/team/svix/url")
    assert answer.status_code == 200
    url = answer.json()["url"]
    assert url.startswith("http://localhost:8000/portal/open?token=")
    expires_at = datetime.fromisoformat(answer.json()["expires_at"])
    assert before + timedelta(minutes=10) <= expires_at <= clock.now() + timedelta(minutes=10)
    assert link_open(Client(), url.removeprefix("http://localhost:8000")) == 200
    with team_scope(team.context):
        made = PortalSession.objects.get()
        assert (made.made_by_kind, made.expires_at is not None) == ("team_key", True)
        assert [record.action for record in AccessRecord.objects.all()] == ["GET /v2/team/svix/url"]


def test_each_link_is_another_and_only_a_hash_is_kept(api: ApiClient, team: Tenant) -> None:
    tokens = {_token(api.get("/v2/team/svix/url").json()["url"]) for _ in range(2)}
    assert len(tokens) == 2
    with team_scope(team.context):
        for row in PortalSession.objects.values():
            assert not any(token in str(value) for token in tokens for value in row.values())


def test_looking_at_a_link_consumes_nothing(team: Tenant) -> None:
    link = link_make(team)
    for _ in range(3):
        looked = Client()
        answer = looked.get(link)
        assert (answer.status_code, answer["Location"]) == (303, "/portal/open")
        assert "Webhooks of Our team" in text_of(looked, "/portal/open")
    assert link_open(Client(), link) == 200


def test_a_head_is_answered_as_a_get_and_consumes_nothing(team: Tenant) -> None:
    link = link_make(team)
    looked = Client()
    answer = looked.head(link)
    assert (answer.status_code, answer["Location"]) == (303, "/portal/open")
    door = looked.head("/portal/open")
    assert (door.status_code, door.content) == (200, b"")
    assert link_open(Client(), link) == 200


def test_whose_visit_a_link_would_end_is_said_first(team: Tenant, production: Tenant, other_team: Tenant) -> None:
    client = visitor(team)
    assert "ends that visit" not in text_of(_looked(Client(), team), "/portal/open")
    for tenant in (production, other_team):
        words = text_of(_looked(client, tenant), "/portal/open")
        assert "<strong>Our team</strong> (Sandbox) now. Opening this link ends that visit." in words
    # Looking ended nothing.
    assert ">Sandbox<" in text_of(client, "/portal/")
    client.post("/portal/open")
    assert str(other_team.team.name) in text_of(client, "/portal/")


def _looked(client: Client, tenant: Tenant) -> Client:
    client.get(link_make(tenant))
    return client


def test_a_link_opens_once(team: Tenant) -> None:
    link = link_make(team)
    first, second = Client(), Client()
    assert (link_open(first, link), link_open(second, link)) == (200, 410)
    assert second.get("/portal/").status_code == 401
    # What opened it goes on.
    assert first.get("/portal/").status_code == 200


def test_its_browser_comes_back_by_the_way_it_went(team: Tenant) -> None:
    client, link = Client(), link_make(team)
    assert link_open(client, link) == 200
    for again in ("", link):
        if again:
            client.get(again)
        answer = client.get("/portal/open")
        assert (answer.status_code, answer["Location"]) == (303, "/portal/")
    # Another link that is used up does not pass for it.
    other = link_make(team)
    assert link_open(Client(), other) == 200
    client.get(other)
    assert client.get("/portal/open").status_code == 410


@pytest.mark.django_db(transaction=True)
def test_of_browsers_that_open_a_link_at_once_one_wins(team: Tenant) -> None:
    token = _token(link_make(team))
    barrier = Barrier(4)

    def try_it(_number: int) -> bool:
        barrier.wait()
        try:
            return portal.portal_open(token=token) is not None
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(try_it, range(4))) == [False, False, False, True]


def test_a_link_that_was_opened_between_look_and_press_is_refused(team: Tenant) -> None:
    link = link_make(team)
    slow = Client()
    slow.get(link)
    assert slow.get("/portal/open").status_code == 200
    assert link_open(Client(), link) == 200
    assert slow.post("/portal/open")["Location"] == "/portal/open"
    assert slow.get("/portal/open").status_code == 410


def test_links_end(team: Tenant) -> None:
    link = link_make(team)
    client = Client()
    client.get(link)
    assert client.get("/portal/open").status_code == 200
    session_change(team, link_expires_at=clock.now())
    assert client.post("/portal/open")["Location"] == "/portal/open"
    ended = client.get("/portal/open")
    assert ended.status_code == 410
    assert "ask for a new one" in ended.content.decode()
    assert client.get("/portal/").status_code == 401


@pytest.mark.parametrize("token", ["", "short", "x" * 43, "é" * 43, "'; DROP TABLE x; --", "a" * 5000])
def test_other_texts_open_nothing(team: Tenant, token: str) -> None:
    link_make(team)
    client = Client()
    client.get("/portal/open", {"token": token})
    assert client.get("/portal/open").status_code == 410
    assert client.post("/portal/open")["Location"] == "/portal/open"
    assert client.get("/portal/").status_code == 401


def test_a_session_ends_after_eight_hours_and_after_half_an_hour_without_a_page(team: Tenant) -> None:
    client = visitor(team)
    now = clock.now()
    session_change(team, last_seen_at=now - timedelta(minutes=29))
    assert client.get("/portal/").status_code == 200
    # That page began another half hour.
    with team_scope(team.context):
        seen_at = PortalSession.objects.get().last_seen_at
    assert seen_at is not None
    assert seen_at >= now
    session_change(team, last_seen_at=now - timedelta(minutes=30, seconds=1))
    assert client.get("/portal/").status_code == 401
    session_change(team, last_seen_at=clock.now())
    assert client.get("/portal/").status_code == 200
    session_change(team, expires_at=clock.now())
    assert client.get("/portal/").status_code == 401


def test_the_session_lives_for_eight_hours(team: Tenant) -> None:
    visitor(team)
    with team_scope(team.context):
        session = PortalSession.objects.get()
    assert session.opened_at is not None
    assert session.expires_at == session.opened_at + timedelta(hours=8)


def test_signing_out_ends_the_session_for_every_copy_of_the_cookie(team: Tenant) -> None:
    client, thief = visitor(team), Client()
    thief.cookies["portal"] = client.cookies["portal"].value
    assert thief.get("/portal/").status_code == 200
    out = client.post("/portal/sign_out")
    assert (out.status_code, out.cookies["portal"].value, out.cookies["portal"]["path"]) == (200, "", "/portal/")
    assert "You are signed out" in out.content.decode()
    assert (client.get("/portal/").status_code, thief.get("/portal/").status_code) == (401, 401)


def test_signing_out_is_no_link(team: Tenant) -> None:
    client = visitor(team)
    came = client.get("/portal/sign_out")
    assert (came.status_code, came["Location"]) == (303, "/portal/")
    assert client.get("/portal/").status_code == 200
    client.post("/portal/sign_out")
    # Who reloads the page that said so is told the same, not that the method is wrong.
    again = client.get("/portal/sign_out")
    assert again.status_code == 401
    assert "This link has ended" in again.content.decode()


def test_the_newest_link_wins_in_a_browser(team: Tenant, production: Tenant, other_team: Tenant) -> None:
    client = visitor(team)
    old = client.cookies["portal"].value
    assert ">Sandbox<" in text_of(client, "/portal/")
    link_open(client, link_make(production))
    assert ">Production<" in text_of(client, "/portal/")
    link_open(client, link_make(other_team))
    assert str(other_team.team.name) in text_of(client, "/portal/")
    # The one before has ended, not only left the browser.
    thief = Client()
    thief.cookies["portal"] = old
    assert thief.get("/portal/").status_code == 401


def test_cookies_are_for_the_portal_alone(team: Tenant, settings: Settings) -> None:
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    client = Client()
    waiting = client.get(link_make(team)).cookies["portal_link"]
    assert (waiting["path"], waiting["max-age"]) == ("/portal/open", 600)
    csrf = client.get("/portal/open").cookies["csrftoken"]
    opened = client.post("/portal/open").cookies
    assert (opened["portal"]["path"], opened["portal"]["max-age"]) == ("/portal/", 8 * 3600)
    # The link's own cookie is gone.
    assert (opened["portal_link"].value, opened["portal_link"]["path"]) == ("", "/portal/open")
    assert csrf["path"] == "/portal/"
    for cookie in (waiting, csrf, opened["portal"]):
        assert (cookie["httponly"], cookie["samesite"], cookie["secure"]) == (True, "Lax", True)


def test_forms_need_their_token(team: Tenant) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.get(link_make(team))
    token = strict.get("/portal/open").context["csrf_token"]
    assert strict.post("/portal/open").status_code == 403
    assert strict.post("/portal/open", {"csrfmiddlewaretoken": str(token)})["Location"] == "/portal/"
    assert strict.post("/portal/sign_out").status_code == 403
    token = strict.get("/portal/").context["csrf_token"]
    assert strict.post("/portal/sign_out", {"csrfmiddlewaretoken": str(token)}).status_code == 200


def test_no_page_is_kept_framed_or_scripted(team: Tenant) -> None:
    client = visitor(team)
    door = Client()
    door.get(link_make(team))
    for answer in (client.get("/portal/"), Client().get("/portal/"), door.get("/portal/open")):
        policy = answer["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "script-src" not in policy
        assert b"<script" not in answer.content
        assert "unsafe" not in policy
        assert (answer["Cache-Control"], answer["Referrer-Policy"]) == ("no-store", "same-origin")
        assert (answer["X-Frame-Options"], answer["X-Robots-Tag"]) == ("DENY", "noindex")


def test_the_token_reaches_no_log_and_no_page(team: Tenant, caplog: pytest.LogCaptureFixture) -> None:
    link = link_make(team)
    client = Client()
    with caplog.at_level("DEBUG"):
        pages = [client.get(link), client.get("/portal/open"), client.post("/portal/open"), client.get("/portal/")]
    assert _token(link) not in caplog.text
    for answer in pages:
        assert _token(link).encode() not in answer.content
        assert _token(link) not in answer.get("Location", "")


def test_without_a_session_there_is_nothing_to_see_or_do(team: Tenant) -> None:
    for path in ("/portal/", "/portal/messages", "/portal/endpoint/new", "/portal/event_types"):
        answer = Client().get(path)
        assert answer.status_code == 401
        assert "This link has ended" in answer.content.decode()
    assert Client().post("/portal/endpoint/new", {"url": "https://example.com/"}).status_code == 401


def test_a_page_asks_for_the_session_in_one_query(
    team: Tenant, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    cookie = visitor(team).cookies["portal"].value
    with django_assert_num_queries(1):
        found = portal.portal_session_find(cookie)
    assert found is not None
    with django_assert_num_queries(0):
        assert found.team.name == "Our team"
