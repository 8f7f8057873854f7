"""After a try: back to the customer, or a page that tells how it went; and closing, which always works."""

from collections.abc import Mapping
from typing import Final

from django.http import HttpResponse

from links.catalogue import provider_find
from links.constants import LinkErrorType, link_error_type_read
from links.models import LinkSession
from links.pages.answers import go, leave, page
from links.pages.endings import is_refused, outcome, session_outcome
from links.pages.sessions import Visit, session_page
from links.pages.shown import provider_shown
from links.pages.words import failure_words, refusal_words
from links.services.tokens import link_token_problem
from links.states import TokenStatus

#: Where another try begins; at the provider's door where nothing is said.
_RETRIES: Final[Mapping[str, str]] = {LinkErrorType.REQUIRED_SCOPES_NOT_GRANTED: "link_consent"}


def finished(visit: Visit) -> HttpResponse:
    """Back to the customer with the outcome, or to a page that tells it; a page to wait on while there is none."""
    if not visit.session.provider:
        return _under_way(visit)
    if visit.token.redirect_url:
        return leave(session_outcome(visit.session), visit.brand)
    return go(visit.at("link_result"), visit.brand)


def finished_by_form(visit: Visit) -> HttpResponse:
    """The same after a form, whose answer may lead to our own pages only."""
    return go(visit.at("link_return" if visit.token.redirect_url else "link_result"), visit.brand)


@session_page("GET")
def result(visit: Visit) -> HttpResponse:
    """How the last try ended, where there is no address to send the person to."""
    session = visit.session
    if not session.provider:
        return go(visit.at("link_providers"), visit.brand)
    provider = provider_find(session.provider)
    alive = link_token_problem(visit.token) is None
    error_type = link_error_type_read(session.error_type) if session.error_type else None
    refused = is_refused(visit.token, provider, error_type)
    words = failure_words(provider, session.error_type, visit.brand.name)
    context = {
        **visit.context(),
        "provider": provider_shown(visit, provider),
        "error_type": session.error_type,
        "words": refusal_words(provider, visit.brand.name) if refused else words,
        "retry_url": visit.at(_RETRIES.get(session.error_type, "link_depart"), slug=provider.slug)
        if alive and session.error_type and not refused
        else None,
        "back_url": visit.list_url if alive else None,
        "return_url": session_outcome(session) if visit.token.redirect_url else None,
    }
    return page(visit.request, "links/result.html", context, brand=visit.brand)


@session_page("GET")
def returning(visit: Visit) -> HttpResponse:
    """Between a form and the customer's address: a page that goes on by itself, and by a link."""
    if not visit.session.provider or not visit.token.redirect_url:
        return go(visit.at("link_result"), visit.brand)
    provider = provider_find(visit.session.provider)
    failed = bool(visit.session.error_type)
    context = {
        **visit.context(),
        "title": f"{provider.name} was not connected" if failed else f"{provider.name} is connected",
        "words": f"Taking you back to {visit.brand.name}.",
        "onward_url": visit.at("link_return_go"),
        "onward_words": f"Return to {visit.brand.name}",
    }
    return page(visit.request, "links/onward.html", context, brand=visit.brand)


@session_page("GET")
def returning_go(visit: Visit) -> HttpResponse:
    """Off to the customer's address."""
    if not visit.session.provider or not visit.token.redirect_url:
        return go(visit.at("link_result"), visit.brand)
    return leave(session_outcome(visit.session), visit.brand)


@session_page("GET")
def close(visit: Visit) -> HttpResponse:
    """The person wants no more of it: back to where they came from, or a page that lets them go."""
    token, session = visit.token, visit.session
    # Consumed, perhaps in a tab beside this frame: somebody did connect with it.
    connected = token.status == TokenStatus.CONSUMED or (bool(session.provider) and not session.error_type)
    address = outcome(token, None if connected else LinkErrorType.USER_CANCELLED) if token.redirect_url else None
    if address and token.redirects_on_close:
        return leave(address, visit.brand)
    alive = link_token_problem(token) is None
    context = {
        **visit.context(),
        "title": _close_title(session, connected=connected),
        "connected": connected,
        "return_url": address,
        "close_url": None,
        "back_url": visit.list_url if alive and not connected else None,
        "again_url": visit.at("link_consent", slug=token.provider)
        if alive and visit.pinned and not connected
        else None,
        "provider_name": provider_find(token.provider).name,
    }
    return page(visit.request, "links/closed.html", context, brand=visit.brand)


def _close_title(session: LinkSession, *, connected: bool) -> str:
    if not connected:
        return "Nothing was connected"
    # In a tab beside this frame, which of them is not known here.
    return f"{provider_find(session.provider).name} is connected" if session.provider else "That is connected"


def _under_way(visit: Visit) -> HttpResponse:
    """A return that another request has taken up and not finished: a reload, or a worker that died."""
    again = "open the link again" if visit.pinned else "choose the provider again"
    context = {
        **visit.context(),
        "title": "Still working on it",
        "words": f"This takes a few seconds. Reload this page in a moment; if it stays like this, {again}.",
    }
    return page(visit.request, "links/ended.html", context, brand=visit.brand, status=202)
