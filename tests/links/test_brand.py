"""A team's colour, logo and frames on the hosted pages: readable, checked, and only where it is allowed."""

import random
import re
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings as django_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.scope import team_scope
from links.brand import brand_of, team_logo_url
from links.palette import color_read, contrast, palette_dark, palette_light
from management import services
from management.branding import color_problem, logo_media_type, origin_problem
from management.models import StaffUser, TeamLogo, TeamSettings
from tests.factories import Tenant, user_make
from tests.links.linking import browser, opened, token_make
from tests.links.pictures import SVG, jpeg, png, webp
from tests.links.test_pages import settings_make

ORIGIN = "https://app.example"
_COLORS = ["#ffffff", "#000000", "#ffff00", "#00ff00", "#0000ff", "#ff0000", "#808080", "#0b6553"]
_SHEET = django_settings.BASE_DIR / "static" / "links" / "link.css"


def _colors() -> list[str]:
    made = random.Random(4)
    return _COLORS + [f"#{made.randrange(1 << 24):06x}" for _ in range(300)]


def _ground(name: str) -> tuple[str, str]:
    """A colour of the stylesheet, in light and in dark."""
    light, dark = re.findall(rf"--{name}: (#[0-9a-f]{{6}});", _SHEET.read_text())
    return light, dark


def test_every_colour_can_be_read_in_both_schemes() -> None:
    for scheme, palette_of in enumerate((palette_light, palette_dark)):
        grounds = [color_read(_ground(name)[scheme]) for name in ("card", "ground")]
        quiet, ink = (color_read(_ground(name)[scheme]) for name in ("quiet", "ink"))
        for color in _colors():
            palette = palette_of(color)
            accent, strong, on_accent, tint = (
                color_read(one) for one in (palette.accent, palette.accent_strong, palette.on_accent, palette.tint)
            )
            pairs = [(accent, ground) for ground in (*grounds, tint)]
            pairs += [(on_accent, accent), (on_accent, strong), (strong, tint), (quiet, tint), (ink, tint)]
            assert min(contrast(*pair) for pair in pairs) >= 4.5, (color, palette)


def test_a_colour_that_can_be_read_already_is_kept() -> None:
    assert palette_light("#0b6553").accent == "#0b6553"
    assert palette_dark("#6fcdb6").accent == "#6fcdb6"


def test_the_pages_carry_the_teams_colour_and_logo(team: Tenant) -> None:
    settings_make(team, brand_color="#E0457B", company_name="Acme")
    logo = services.team_logo_set(team=team.context, content=png())
    client = browser()
    body = client.get(opened(client, token_make(team, user_make(team)))).content.decode()
    assert 'href="/link/brand/e0457b.css"' in body
    assert f'<img src="/link/brand/{logo.pk}" alt=""' in body
    assert "style=" not in body
    sheet = client.get("/link/brand/e0457b.css")
    assert sheet["Content-Type"] == "text/css; charset=utf-8"
    assert "immutable" in sheet["Cache-Control"]
    assert "--brand:#e0457b" in sheet.content.decode()
    with team_scope(team.context):
        assert team_logo_url(team.context) == f"{django_settings.BASE_URL}/link/brand/{logo.pk}"


@pytest.mark.parametrize("color", ["E0457B", "red", "e0457", "e0457b0", "e0457b%7D"])
def test_no_other_stylesheet_is_made(db: None, color: str) -> None:
    assert browser().get(f"/link/brand/{color}.css").status_code == 404


@pytest.mark.parametrize("color", ["red", "#fff", "#12345g", "#123456;}"])
def test_a_colour_that_is_none_reaches_no_page(team: Tenant, color: str) -> None:
    settings_make(team, brand_color=color[:7])
    client = browser()
    body = client.get(opened(client, token_make(team, user_make(team)))).content.decode()
    assert ("/link/brand/" in body) is (color_problem(color[:7]) is None)


@pytest.mark.parametrize(
    ("content", "media_type"), [(png(), "image/png"), (jpeg(), "image/jpeg"), (webp(), "image/webp")]
)
def test_a_logo_is_served_as_what_it_is(team: Tenant, content: bytes, media_type: str) -> None:
    logo = services.team_logo_set(team=team.context, content=content)
    response = browser().get(f"/link/brand/{logo.pk}")
    assert (response["Content-Type"], response.content) == (media_type, content)
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Cache-Control"] == "public, max-age=31536000, immutable"
    assert "default-src 'none'" in response["Content-Security-Policy"]


def test_there_is_no_logo_at_another_address(db: None) -> None:
    assert browser().get(f"/link/brand/{uuid4()}").status_code == 404


@pytest.mark.parametrize(
    "content", [SVG, b"", b"GIF89a", png()[:8] + b"x" * 40, webp() + b"x", b"<html>", png() + b"\0" * 200_000]
)
def test_what_is_no_picture_is_refused(team: Tenant, content: bytes) -> None:
    kept = services.team_logo_set(team=team.context, content=png())
    with pytest.raises(ServiceError):
        services.team_logo_set(team=team.context, content=content)
    with team_scope(team.context):
        assert TeamLogo.objects.get().pk == kept.pk


def test_a_new_logo_has_a_new_address_and_others_keep_theirs(team: Tenant, other_team: Tenant) -> None:
    first = services.team_logo_set(team=team.context, content=png())
    theirs = services.team_logo_set(team=other_team.context, content=png())
    second = services.team_logo_set(team=team.context, content=jpeg())
    assert second.pk != first.pk
    assert browser().get(f"/link/brand/{first.pk}").status_code == 404
    assert browser().get(f"/link/brand/{theirs.pk}").status_code == 200
    assert services.team_logo_remove(team=team.context)
    assert not services.team_logo_remove(team=team.context)


def test_kinds_of_pictures_are_told_by_their_bytes() -> None:
    assert [logo_media_type(one) for one in (png(), jpeg(), webp(), SVG)] == [
        "image/png",
        "image/jpeg",
        "image/webp",
        None,
    ]


def test_pages_are_framed_only_where_the_team_says_so(team: Tenant, other_team: Tenant) -> None:
    settings_make(team, link_frame_origins=[ORIGIN, "https://two.example:8443"])
    client = browser()
    page = opened(client, token_make(team, user_make(team)))
    for address in (page, f"{page}/provider/oura", f"{page}/provider/nonsense", f"{page}/close"):
        response = client.get(address)
        policy = response["Content-Security-Policy"]
        assert policy.endswith(f"frame-ancestors {ORIGIN} https://two.example:8443"), address
        assert "X-Frame-Options" not in response
    theirs = browser()
    for address in (opened(theirs, token_make(other_team, user_make(other_team))), "/link/open?token=nonsense"):
        response = theirs.get(address)
        assert response["Content-Security-Policy"].endswith("frame-ancestors 'none'")
        assert response["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize("origin", ["https://a.example; script-src *", "*", "https:", "http://a.example", "'self'"])
def test_an_origin_that_is_none_reaches_no_header(team: Tenant, origin: str) -> None:
    settings_make(team, link_frame_origins=[origin])
    client = browser()
    response = client.get(opened(client, token_make(team, user_make(team))))
    assert response["Content-Security-Policy"].endswith("frame-ancestors 'none'")


@pytest.mark.parametrize("secure", [True, False])
@pytest.mark.parametrize("origins", [[ORIGIN], []])
def test_cookies_go_into_frames_only_where_they_must(
    team: Tenant, settings: Settings, origins: list[str], secure: bool
) -> None:
    settings.SESSION_COOKIE_SECURE = secure
    settings_make(team, link_frame_origins=origins)
    client = browser()
    first = client.get(token_make(team, user_make(team)))
    page = client.get(f"{first['Location']}/provider/oura")
    texts = [str(response.cookies).lower() for response in (first, page)]
    for text in texts:
        assert ("samesite=none; partitioned" in text) is (bool(origins) and secure)
        assert ("secure" in text) is (secure and (bool(origins) or text is texts[0]))
        assert text.count("set-cookie") == 1


def test_a_frame_sends_the_person_to_a_tab_of_its_own(team: Tenant) -> None:
    settings_make(team, link_frame_origins=[ORIGIN])
    client = browser()
    page = opened(client, token_make(team, user_make(team)))
    client.post(f"{page}/provider/oura", {"keep": ["sleep"]})
    framed = client.get(f"{page}/provider/oura/continue", headers={"Sec-Fetch-Dest": "iframe"})
    assert framed.status_code == 200
    body = framed.content.decode()
    assert 'http-equiv="refresh"' not in body
    window = re.findall(r'href="(/link/window\?ticket=[^"]+)" target="_blank" rel="noopener"', body)[0]
    tab = browser()
    first = tab.get(window)
    assert first.status_code == 303
    assert "ticket" not in first["Location"]
    asked = tab.get(first["Location"])["Location"]
    assert asked.startswith("http://127.0.0.1:8002/oura/oauth/authorize?")
    assert "heartrate" not in asked
    for wrong in ("", "nonsense", window.partition("ticket=")[2] + "x"):
        assert browser().get("/link/window", {"ticket": wrong})["Location"] == "/link/ended"


@pytest.mark.parametrize(
    ("origin", "good"),
    [
        ("https://app.example", True),
        ("https://app.example:8443", True),
        ("http://localhost:3000", True),
        ("http://127.0.0.1", True),
        ("http://app.example", False),
        ("https://app.example/", False),
        ("https://App.example", False),
        ("https://*.example", False),
        ("https://app.example:0", False),
        ("https://app.example:99999", False),
        ("https://a..example", False),
        ("https://app.example https://b.example", False),
        ("https://app.example\n", False),
        ("data:", False),
        ("", False),
    ],
)
def test_origins_are_whole_and_safe(origin: str, good: bool) -> None:
    assert (origin_problem(origin) is None) is good


@pytest.fixture
def staff(db: None) -> Client:
    """A browser in which staff are signed in."""
    client = Client()
    client.force_login(StaffUser.objects.create(username="staff", is_staff=True, is_superuser=True))
    return client


def _fields(team: Tenant, **values: Any) -> dict[str, Any]:
    fields = {"team": str(team.team.pk), "environment": "sandbox", "duplicate_account_policy": "allow"}
    return {**fields, "aggregation_enabled": "on", **values}


def test_staff_set_what_a_team_shows(staff: Client, team: Tenant) -> None:
    good = _fields(
        team, brand_color="#E0457B", link_providers="oura,strava,oura", link_frame_origins=f"{ORIGIN},{ORIGIN}"
    )
    assert staff.post("/admin/management/teamsettings/add/", good).status_code == 302
    with team_scope(team.context):
        found = TeamSettings.objects.get()
        brand = brand_of(team.context)
    assert (found.brand_color, found.link_providers, found.link_frame_origins) == (
        "#e0457b",
        ["oura", "strava"],
        [ORIGIN],
    )
    assert brand.framed


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("brand_color", "red"),
        ("link_providers", "oura,nonsense"),
        ("link_frame_origins", "https://app.example/path"),
        ("link_frame_origins", ",".join(f"https://a{number}.example" for number in range(21))),
    ],
)
def test_staff_are_told_what_is_wrong(staff: Client, team: Tenant, field: str, value: str) -> None:
    response = staff.post("/admin/management/teamsettings/add/", _fields(team, **{field: value}))
    assert response.status_code == 200
    assert "errorlist" in response.content.decode()
    with team_scope(team.context):
        assert TeamSettings.objects.count() == 0


def test_staff_read_how_each_switch_is_written(staff: Client) -> None:
    body = staff.get("/admin/management/teamsettings/add/").content.decode()
    for words in ("such as #0b6553", "slugs separated by commas", "origins separated by commas", "Move: the second"):
        assert words in body


def _upload(staff: Client, team: Tenant, content: bytes) -> int:
    picture = SimpleUploadedFile("logo.png", content, content_type="image/png")
    fields = {"team": str(team.team.pk), "environment": "sandbox", "picture": picture}
    return staff.post("/admin/management/teamlogo/add/", fields).status_code


def test_staff_upload_a_logo_and_take_it_away(staff: Client, team: Tenant) -> None:
    assert _upload(staff, team, png()) == 302
    # One each: the old one goes first.
    assert _upload(staff, team, jpeg()) == 200
    with team_scope(team.context):
        logo = TeamLogo.objects.get()
    assert (bytes(logo.content), logo.media_type) == (png(), "image/png")
    assert staff.get("/admin/management/teamlogo/").status_code == 200
    assert staff.get(f"/admin/management/teamlogo/{logo.pk}/change/").status_code == 200
    assert staff.post(f"/admin/management/teamlogo/{logo.pk}/delete/", {"post": "yes"}).status_code == 302
    with team_scope(team.context):
        assert TeamLogo.objects.count() == 0


@pytest.mark.parametrize("content", [SVG, b"x", png() + b"\0" * 200_000])
def test_staff_upload_nothing_else(staff: Client, team: Tenant, content: bytes) -> None:
    assert _upload(staff, team, content) == 200
    with team_scope(team.context):
        assert TeamLogo.objects.count() == 0
