"""The hosted pages: a person opens a link, chooses a provider, sees what will be shared, and comes back from it.

The token leaves the address bar at the first step; from there a cookie of this browser and the session's id go on.
Every step is a link, not a form: Chromium holds the whole chain of redirects after a form against `form-action`, and
where a provider's login leads cannot be known beforehand.
"""

from collections.abc import Callable
from functools import wraps
from typing import TypeAlias
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from healthsvc.kernel.scope import team_scope
from links import selectors
from links.catalogue import Provider, catalogue, provider_find, resource_words
from links.constants import LINK_TOKEN_SECONDS, LinkErrorType, link_error_type_read
from links.models import LinkSession, LinkToken
from links.redirects import redirect_with
from links.services.logins import ERROR_TEXTS, Returned, link_session_find, login_begin, login_finish
from links.services.refusals import LinkRefused
from links.services.tokens import Opened, link_open, link_token_find, link_token_problem

#: (request, session, parts of the path by name) → answer.
SessionPage: TypeAlias = Callable[..., HttpResponse]

#: Longer than anything a provider sends back.
_PARAMETER_MAXIMUM_CHARACTERS = 4000


@require_GET
def open_token(request: HttpRequest) -> HttpResponse:
    """`/link/open?token=…`: the token becomes a cookie of this browser and is gone from the address."""
    token = link_token_find(request.GET.get("token", "")[:_PARAMETER_MAXIMUM_CHARACTERS])
    if token is None:
        return _ended(request, LinkErrorType.INVALID_TOKEN, None)
    opened = link_open(token=token)
    if not isinstance(opened, Opened):
        return _ended(request, opened, token)
    response = _go(_first_step(opened.session, token))
    response.set_cookie(
        _cookie_name(opened.session.pk),
        opened.cookie,
        max_age=LINK_TOKEN_SECONDS,
        path="/link/",
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        # Lax, for the way back from a provider is a link from another site.
        samesite="Lax",
    )
    return response


def _session_page(page: SessionPage) -> Callable[..., HttpResponse]:
    """Hand a page the session of this browser, inside its team's scope; a plain page where there is none."""

    @wraps(page)
    def found(request: HttpRequest, session_id: UUID, **parts: str) -> HttpResponse:
        session = link_session_find(session_id=session_id, cookie=_cookie(request, session_id))
        if session is None:
            return _ended(request, LinkErrorType.INVALID_TOKEN, None)
        with team_scope(session.context):
            return page(request, session, **parts)

    return require_GET(found)


def _living(page: SessionPage) -> SessionPage:
    """Let a page be seen only while its token lives; afterwards say so."""

    @wraps(page)
    def found(request: HttpRequest, session: LinkSession, **parts: str) -> HttpResponse:
        problem = link_token_problem(session.link_token)
        if problem is None:
            return page(request, session, **parts)
        if problem is LinkErrorType.TOKEN_CONSUMED and session.provider and not session.error_type:
            return _go(_address("link_result", session))
        return _ended(request, problem, session.link_token)

    return found


@_session_page
@_living
def providers(request: HttpRequest, session: LinkSession) -> HttpResponse:
    """What there is to connect."""
    listed = [_shown(session, provider) for provider in selectors.providers_listed(session.link_token)]
    return _page(request, "links/providers.html", {**_common(session), "providers": listed})


@_session_page
@_living
def consent(request: HttpRequest, session: LinkSession, slug: str) -> HttpResponse:
    """What one provider would share, in plain words, before anything is."""
    provider = catalogue().get(slug)
    if provider is None or not _offered(session, provider):
        return _not_here(request, session)
    context = {
        **_common(session),
        "provider": _shown(session, provider),
        "resources": [resource_words()[name] for name in provider.resources],
        "backfill_days": provider.backfill_days,
        "continue_url": _address("link_depart", session, slug=slug),
        "back_url": None if session.link_token.provider else _address("link_providers", session),
    }
    return _page(request, "links/consent.html", context)


@_session_page
@_living
def depart(request: HttpRequest, session: LinkSession, slug: str) -> HttpResponse:
    """On to the provider's own login."""
    provider = catalogue().get(slug)
    if provider is None or not _offered(session, provider):
        return _not_here(request, session)
    try:
        return _go(login_begin(session=session, provider=provider))
    except LinkRefused as refused:
        session.provider, session.error_type = slug, refused.error_type
        session.save(update_fields=["provider", "error_type"])
        return _finished(request, session)


@require_GET
def callback(request: HttpRequest, slug: str) -> HttpResponse:
    """`/link/callback/{slug}`: where a provider sends the person back to."""
    given = {name: request.GET.get(name, "")[:_PARAMETER_MAXIMUM_CHARACTERS] for name in request.GET}
    returned = Returned(
        provider=slug,
        state=given.get("state", ""),
        code=given.get("code", ""),
        error=given.get("error", ""),
        scope=given.get("scope", ""),
    )
    session = login_finish(returned=returned, cookie_of=lambda session_id: _cookie(request, session_id))
    if session is None:
        return _ended(request, LinkErrorType.INVALID_TOKEN, None)
    with team_scope(session.context):
        return _finished(request, session)


@_session_page
def result(request: HttpRequest, session: LinkSession) -> HttpResponse:
    """How the last try ended, where there is no address to send the person to."""
    if not session.provider:
        return _go(_address("link_providers", session))
    provider = provider_find(session.provider)
    alive = link_token_problem(session.link_token) is None
    # A token that names its provider has no list to go back to.
    others = alive and not session.link_token.provider
    context = {
        **_common(session),
        "provider": _shown(session, provider),
        "error_type": session.error_type,
        "words": _words(session, provider),
        "retry_url": _address("link_depart", session, slug=provider.slug) if alive and session.error_type else None,
        "back_url": _address("link_providers", session) if others else None,
        "return_url": _outcome_url(session) if session.link_token.redirect_url else None,
    }
    return _page(request, "links/result.html", context)


@_session_page
def close(request: HttpRequest, session: LinkSession) -> HttpResponse:
    """The person wants no more of it: back to where they came from, or a page that lets them go."""
    token = session.link_token
    connected = bool(session.provider) and not session.error_type
    outcome = None if connected else LinkErrorType.USER_CANCELLED
    address = _outcome(token, outcome) if token.redirect_url else None
    if address and token.redirects_on_close:
        return _leave(address)
    context = {**_common(session), "return_url": address, "close_url": None}
    return _page(request, "links/closed.html", context)


#: What a person reads of a failure, by its type.
_FAILURES = {
    LinkErrorType.USER_CANCELLED: "You did not allow {provider} to share anything, so nothing was connected.",
    LinkErrorType.REQUIRED_SCOPES_NOT_GRANTED: (
        "Without at least one of the permissions that {provider} asked about, there is nothing to share."
        " Try again and leave what you are happy to share ticked."
    ),
    LinkErrorType.TOKEN_EXPIRED: "That took longer than this page may wait, so nothing was connected.",
    LinkErrorType.TOKEN_CONSUMED: "This link was used already, so nothing more was connected.",
    LinkErrorType.PROVIDER_CREDENTIAL_ERROR: "{provider} did not confirm your login. It helps to try again.",
}
_FAILURE = "{provider} can't be reached from here right now. Nothing was connected; please try again later."

#: What a person reads of a link that has ended, by why: title, words.
_ENDS = {
    LinkErrorType.TOKEN_EXPIRED: (
        "This link has expired",
        "Links work for an hour, to keep your data safe. Go back to where you came from and start again.",
    ),
    LinkErrorType.TOKEN_CONSUMED: (
        "This link was used already",
        "Each link connects one provider. To connect another, go back to where you came from and start again.",
    ),
}
_END = (
    "This link doesn't work here",
    "It may be incomplete, or it was opened in another browser. Go back to where you came from and start again.",
)
#: 410 tells machines what the page tells people; a link we don't know is simply not there.
_END_STATUSES = {LinkErrorType.TOKEN_EXPIRED: 410, LinkErrorType.TOKEN_CONSUMED: 410}


def _ended(request: HttpRequest, error_type: LinkErrorType, token: LinkToken | None) -> HttpResponse:
    """A page for a link that leads nowhere any more, with the way back where one is known."""
    title, words = _ENDS.get(error_type, _END)
    context: dict[str, object] = {"title": title, "words": words}
    if token is not None:
        with team_scope(token.context):
            context["team_name"] = selectors.team_name(token.context)
        context["return_url"] = _outcome(token, error_type) if token.redirect_url else None
    return _page(request, "links/ended.html", context, status=_END_STATUSES.get(error_type, 404))


def _not_here(request: HttpRequest, session: LinkSession) -> HttpResponse:
    context = {
        **_common(session),
        "title": "That provider can't be connected here",
        "words": "Choose one of those that can.",
        "back_url": _address("link_providers", session),
    }
    return _page(request, "links/ended.html", context, status=404)


def _finished(request: HttpRequest, session: LinkSession) -> HttpResponse:
    """Back to the customer with the outcome, or to a page that tells it; a page to wait on while there is none."""
    if not session.provider:
        return _under_way(request, session)
    if session.link_token.redirect_url:
        return _leave(_outcome_url(session))
    return _go(_address("link_result", session))


def _under_way(request: HttpRequest, session: LinkSession) -> HttpResponse:
    """A return that another request has taken up and not finished: a reload, or a worker that died."""
    alone = bool(session.link_token.provider)
    again = "open the link again" if alone else "choose the provider again"
    context = {
        **_common(session),
        "title": "Still working on it",
        "words": f"This takes a few seconds. Reload this page in a moment; if it stays like this, {again}.",
        "back_url": None if alone else _address("link_providers", session),
    }
    return _page(request, "links/ended.html", context, status=202)


def _words(session: LinkSession, provider: Provider) -> str:
    return _FAILURES.get(link_error_type_read(session.error_type), _FAILURE).format(provider=provider.name)


def _outcome_url(session: LinkSession) -> str:
    return _outcome(session.link_token, link_error_type_read(session.error_type) if session.error_type else None)


def _outcome(token: LinkToken, error_type: LinkErrorType | None) -> str:
    if error_type is None:
        return redirect_with(token.redirect_url, state="success")
    text = ERROR_TEXTS.get(error_type, str(error_type))
    return redirect_with(token.redirect_url, state="error", error_type=str(error_type), error=text)


def _offered(session: LinkSession, provider: Provider) -> bool:
    """A token that names its provider leads there and nowhere else."""
    pinned = session.link_token.provider
    return provider.slug == pinned if pinned else provider in selectors.providers_listed(session.link_token)


def _shown(session: LinkSession, provider: Provider) -> dict[str, object]:
    words = resource_words()
    return {
        "slug": provider.slug,
        "name": provider.name,
        "logo": f"links/logos/{provider.slug}.svg",
        "url": _address("link_consent", session, slug=provider.slug),
        "gives": ", ".join(words[name].title.lower() for name in list(provider.resources)[:4]).capitalize(),
    }


def _common(session: LinkSession) -> dict[str, object]:
    return {
        "team_name": selectors.team_name(session.context),
        "sandbox": session.environment == "sandbox",
        "close_url": _address("link_close", session),
    }


def _first_step(session: LinkSession, token: LinkToken) -> str:
    if token.provider:
        return _address("link_depart", session, slug=token.provider)
    return _address("link_providers", session)


def _address(name: str, session: LinkSession, **parts: str) -> str:
    return reverse(name, kwargs={"session_id": session.pk, **parts}, urlconf=settings.ROOT_URLCONF)


def _cookie_name(session_id: UUID) -> str:
    # One cookie a session, so that two links open side by side never mix.
    return f"link_{session_id.hex}"


def _cookie(request: HttpRequest, session_id: UUID) -> str:
    return request.COOKIES.get(_cookie_name(session_id), "")


#: On every answer: nothing is kept, and no other site learns where the person came from.
_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


def _page(request: HttpRequest, template: str, context: dict[str, object], status: int = 200) -> HttpResponse:
    response = render(request, template, context, status=status)
    for name, value in _HEADERS.items():
        response[name] = value
    return response


def _go(address: str) -> HttpResponse:
    """303 to the next step."""
    return HttpResponse(status=303, headers={"Location": address, **_HEADERS})


def _leave(address: str) -> HttpResponse:
    """307 to the customer's address, which may have a scheme of an app's own."""
    return HttpResponse(status=307, headers={"Location": address, **_HEADERS})
