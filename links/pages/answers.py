"""How the hosted pages answer: never kept, nothing told to other sites, framed only where the team allows it."""

from typing import Final
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from links.brand import Brand
from links.constants import LINK_TOKEN_SECONDS
from links.models import LinkSession
from links.services.tokens import Opened

#: Our own style, images and forms; no script at all.
_POLICY: Final = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'"
#: The cookie's home: nothing else of this host is told of it.
PATH: Final = "/link/"


def page(
    request: HttpRequest,
    template: str,
    context: dict[str, object],
    *,
    brand: Brand | None = None,
    status: int = 200,
    has_form: bool = False,
) -> HttpResponse:
    """A whole page in the team's colours. `has_form`: it is answered by POST."""
    response = render(request, template, {**context, "brand": brand}, status=status)
    return framed(response, brand, has_form=has_form)


def go(address: str, brand: Brand | None = None) -> HttpResponse:
    """303 to the next step."""
    return framed(HttpResponse(status=303, headers={"Location": address}), brand)


def leave(address: str, brand: Brand | None = None) -> HttpResponse:
    """307 to the customer's address, which may have a scheme of an app's own. Never the answer to a form: a browser
    would send the form on."""
    return framed(HttpResponse(status=307, headers={"Location": address}), brand)


def framed(response: HttpResponse, brand: Brand | None, *, has_form: bool = False) -> HttpResponse:
    """The headers that every answer has."""
    ancestors = " ".join(brand.frame_origins) if brand and brand.framed else "'none'"
    # The team's logo, where the team keeps it itself: from that one origin, fetched by the person's browser alone.
    pictures = " ".join(filter(None, ("'self'", "data:", brand.logo_origin if brand else "")))
    response["Content-Security-Policy"] = f"{_POLICY}; img-src {pictures}; frame-ancestors {ancestors}"
    response["Cache-Control"] = "no-store"
    # Under "no-referrer" browsers send `Origin: null` with forms, which the CSRF check refuses.
    response["Referrer-Policy"] = "same-origin" if has_form else "no-referrer"
    # An old header that can name no origins would contradict the policy.
    response.xframe_options_exempt = bool(brand and brand.framed)
    return response


def address(name: str, session: LinkSession, **parts: str) -> str:
    """Where a page of this session is."""
    return reverse(name, kwargs={"session_id": session.pk, **parts}, urlconf=settings.ROOT_URLCONF)


def cookie_name(session_id: UUID) -> str:
    """One cookie a session, so that two links open side by side never mix."""
    return f"link_{session_id.hex}"


def cookie_read(request: HttpRequest, session_id: UUID) -> str:
    """What this browser shows for a session; '' for nothing."""
    return request.COOKIES.get(cookie_name(session_id), "")


def cookie_give(response: HttpResponse, opened: Opened, brand: Brand) -> None:
    """Make this browser the session's."""
    name = cookie_name(opened.session.pk)
    response.set_cookie(
        name,
        opened.cookie,
        max_age=LINK_TOKEN_SECONDS,
        path=PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        # Lax, for the way back from a provider is a link from another site.
        samesite="Lax",
    )
    cookie_open_frames(response, name, brand)


def cookie_open_frames(response: HttpResponse, name: str, brand: Brand) -> None:
    """Let a cookie be seen in the frames that the team allows; each framing site gets a jar of its own (CHIPS)."""
    if name in response.cookies and brand.framed and settings.SESSION_COOKIE_SECURE:
        # This Python knows no attribute `Partitioned`; it is written behind the last one that it knows.
        response.cookies[name]["samesite"] = "None; Partitioned"
        response.cookies[name]["secure"] = True
