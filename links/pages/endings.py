"""How a link ends: the outcome on the customer's address or on a page, closing, and links that lead nowhere."""

from django.http import HttpRequest, HttpResponse

from healthsvc.kernel.scope import team_scope
from links.brand import Brand, brand_of
from links.catalogue import LoginKind, provider_find
from links.constants import LinkErrorType, link_error_type_read
from links.models import LinkSession, LinkToken
from links.pages.answers import page
from links.pages.words import end_words, error_text
from links.redirects import redirect_with

#: 410 tells machines what the page tells people; a link we don't know is simply not there.
_END_STATUSES = {LinkErrorType.TOKEN_EXPIRED: 410, LinkErrorType.TOKEN_CONSUMED: 410}


def ended(
    request: HttpRequest,
    error_type: LinkErrorType,
    token: LinkToken | None,
    *,
    brand: Brand | None = None,
    close_url: str | None = None,
) -> HttpResponse:
    """A page for a link that leads nowhere any more, with the way back where one is known."""
    title, words = end_words(error_type)
    context: dict[str, object] = {"title": title, "words": words, "close_url": close_url, "may_close": not close_url}
    if token is not None:
        if brand is None:
            with team_scope(token.context):
                brand = brand_of(token.context)
        context["team_name"] = brand.name
        context["return_url"] = outcome(token, error_type) if token.redirect_url else None
    return page(request, "links/ended.html", context, brand=brand, status=_END_STATUSES.get(error_type, 404))


def outcome(token: LinkToken, error_type: LinkErrorType | None, login: LoginKind | None = None) -> str:
    """The customer's address with how it ended; None for success. `login` words the developer's text."""
    if error_type is None:
        return redirect_with(token.redirect_url, state="success")
    text = error_text(error_type, login)
    return redirect_with(token.redirect_url, state="error", error_type=str(error_type), error=text)


def session_outcome(session: LinkSession) -> str:
    """The customer's address with how the session's last try ended."""
    found = link_error_type_read(session.error_type) if session.error_type else None
    return outcome(session.link_token, found, provider_find(session.provider).login)
