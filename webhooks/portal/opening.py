"""In and out: a link is looked at without being used up, opened by a button, and the session it began is ended.

The token goes from the address into a cookie of the opening page at once, so that neither the address bar nor a
Referer keeps it. Messengers and scanners ask for links before people do, some with a browser that runs scripts; so a
GET consumes nothing, and nobody but a person presses the button.
"""

from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from healthsvc.kernel.principal import Environment
from webhooks.constants import PORTAL_LINK_SECONDS, PORTAL_SESSION_SECONDS
from webhooks.models import PortalSession
from webhooks.portal.frame import (
    COOKIE,
    PATH,
    PortalVisit,
    ended,
    form_cookie,
    framed,
    go,
    portal_page,
)
from webhooks.services.portal import (
    portal_end,
    portal_is_opened_by,
    portal_link_find,
    portal_open,
    portal_session_find,
)

_LINK_COOKIE: Final = "portal_link"
_LINK_PATH: Final = "/portal/open"
#: Longer than any token.
_TOKEN_MAXIMUM_CHARACTERS: Final = 200


@require_http_methods(["GET", "HEAD", "POST"])
def open_link(request: HttpRequest) -> HttpResponse:
    """`/portal/open?token=…`: the token becomes a cookie; then a page with a button, whose POST opens the link."""
    if request.method == "POST":
        return _opened(request)
    given = request.GET.get("token", "")[:_TOKEN_MAXIMUM_CHARACTERS]
    if given:
        response = go("portal_open")
        _cookie_give(response, _LINK_COOKIE, given, _LINK_PATH, PORTAL_LINK_SECONDS)
        return response
    return form_cookie(request, _door(request))


@portal_page("GET", "POST")
def sign_out(visit: PortalVisit) -> HttpResponse:
    """End the session of this browser. Who only comes to the address, by reloading it perhaps, stays in."""
    if not visit.is_form:
        return go("portal_endpoints")
    portal_end(session=visit.session)
    response = framed(render(visit.request, "webhooks/signed_out.html", {}))
    response.delete_cookie(COOKIE, path=PATH, samesite="Lax")
    return response


def _door(request: HttpRequest) -> HttpResponse:
    """The page with the button. A link that was used up by this very browser leads on to what it opened."""
    token = request.COOKIES.get(_LINK_COOKIE, "")
    link = portal_link_find(token)
    if link is None:
        session = portal_session_find(request.COOKIES.get(COOKIE, ""))
        goes_on = session is not None and (not token or portal_is_opened_by(session, token))
        response = go("portal_endpoints") if goes_on else ended(request, status=410)
        response.delete_cookie(_LINK_COOKIE, path=_LINK_PATH, samesite="Lax")
        return response
    before = portal_session_find(request.COOKIES.get(COOKIE, ""))
    context = {
        "team_name": link.team.name,
        "sandbox": _is_sandbox(link),
        "before": before,
        "before_sandbox": before is not None and _is_sandbox(before),
    }
    return framed(render(request, "webhooks/open.html", context))


def _is_sandbox(session: PortalSession) -> bool:
    return session.environment == str(Environment.SANDBOX)


def _opened(request: HttpRequest) -> HttpResponse:
    token, before = request.COOKIES.get(_LINK_COOKIE, ""), request.COOKIES.get(COOKIE, "")
    opened = portal_open(token=token, cookie_before=before)
    if opened is None:
        # A form is not answered by this page, or reloading would send it again; the same address shows it.
        return go("portal_open")
    response = go("portal_endpoints")
    _cookie_give(response, COOKIE, opened.cookie, PATH, PORTAL_SESSION_SECONDS)
    response.delete_cookie(_LINK_COOKIE, path=_LINK_PATH, samesite="Lax")
    return response


def _cookie_give(response: HttpResponse, name: str, value: str, path: str, seconds: int) -> None:
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        path=path,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        # Lax, for links come from the customer's own site.
        samesite="Lax",
    )
