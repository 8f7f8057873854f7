"""What a team tells of itself on the hosted pages: its own logo, and how people reach it; nothing that bites."""

import pytest

from healthsvc.kernel.scope import team_scope
from links.brand import brand_of, team_logo_url
from management import services
from management.branding import WEB_SCHEMES, web_origin
from tests.factories import Tenant, user_make
from tests.links.linking import browser, opened, token_make
from tests.links.pictures import png
from tests.links.test_pages import settings_make

LOGO = "https://cdn.acme.example/brand/logo.svg?v=3&x=1"
REACH = {
    "company_name": "Acme",
    "company_website": "https://www.acme.example/",
    "support_email": "help@acme.example",
    "support_contact": "+1 555 0100",
    "company_address": "1 Long Street, Springfield",
}


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        (LOGO, "https://cdn.acme.example"),
        ("https://CDN.acme.example:8443/a.png", "https://cdn.acme.example:8443"),
        ("http://cdn.acme.example/a.png", None),
        ("https://user@cdn.acme.example/a.png", None),
        ("https://cdn.acme.example:99999/a.png", None),
        ("https://cdn.acme.example/a.png; script-src *", None),
        ("https://cdn.acme.example;script-src", None),
        ("https://*/a.png", None),
        ("https://[::1]/a.png", None),
        ('https://cdn.acme.example/"onerror="x', None),
        ("https://bücher.example/a.png", None),
        ("javascript:alert(1)", None),
        ("data:image/png;base64,AA", None),
        ("", None),
    ],
)
def test_only_a_plain_secure_address_is_named_in_a_policy(address: str, origin: str | None) -> None:
    assert web_origin(address) == origin


def test_a_website_may_be_http() -> None:
    assert web_origin("http://www.acme.example/a", schemes=WEB_SCHEMES) == "http://www.acme.example"


def test_pages_show_the_teams_own_logo_and_how_to_reach_it(team: Tenant) -> None:
    settings_make(team, logo_url=LOGO, **REACH)
    client = browser()
    page = opened(client, token_make(team, user_make(team)))
    for path, status in ((page, 200), (f"{page}/provider/oura", 200), (f"{page}/provider/nothing", 404)):
        answer = client.get(path)
        body = answer.content.decode()
        assert answer.status_code == status
        assert 'src="https://cdn.acme.example/brand/logo.svg?v=3&amp;x=1" alt="" height="40" referrerpolicy' in body
        assert "img-src 'self' data: https://cdn.acme.example;" in answer["Content-Security-Policy"]
        assert "script-src" not in answer["Content-Security-Policy"]
        assert '<a href="mailto:help@acme.example">' in body
        assert 'href="https://www.acme.example/" target="_blank" rel="noopener noreferrer"' in body
        assert ("+1 555 0100" in body, "1 Long Street, Springfield" in body) == (True, True)
    with team_scope(team.context):
        assert team_logo_url(team.context) == LOGO


def test_a_logo_that_is_kept_here_goes_before_the_teams_own(team: Tenant) -> None:
    settings_make(team, logo_url=LOGO)
    logo = services.team_logo_set(team=team.context, content=png())
    client = browser()
    answer = client.get(opened(client, token_make(team, user_make(team))))
    assert f'src="/link/brand/{logo.pk}"' in answer.content.decode()
    assert "img-src 'self' data:;" in answer["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("column", "bad"),
    [
        ("logo_url", "http://cdn.acme.example/a.png"),
        ("logo_url", "https://cdn.acme.example/a.png; script-src *"),
        ("company_website", "javascript:alert(1)"),
        ("support_email", "a@b.example?bcc=c@d.example"),
    ],
)
def test_what_was_written_past_the_checks_is_not_shown(team: Tenant, column: str, bad: str) -> None:
    settings_make(team, company_name="Acme", **{column: bad})
    client = browser()
    answer = client.get(opened(client, token_make(team, user_make(team))))
    assert answer.status_code == 200
    assert bad not in answer.content.decode()
    assert "img-src 'self' data:;" in answer["Content-Security-Policy"]


def test_words_are_words(team: Tenant) -> None:
    settings_make(team, company_name="<b>Acme</b>", support_contact='"><script>x</script>', company_address="<i>1</i>")
    client = browser()
    body = client.get(opened(client, token_make(team, user_make(team)))).content.decode()
    assert not [tag for tag in ("<script", "<b>Acme", "<i>1") if tag in body]


def test_a_team_that_tells_nothing_has_no_footer(team: Tenant) -> None:
    client = browser()
    body = client.get(opened(client, token_make(team, user_make(team)))).content.decode()
    assert 'class="reach"' not in body
    with team_scope(team.context):
        assert brand_of(team.context).reachable is False
