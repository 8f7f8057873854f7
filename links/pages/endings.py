"""How a link ends: the outcome on the customer's address or on a page, closing, and links that lead nowhere."""

from typing import Final
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from healthsvc.kernel.scope import team_scope
from links.brand import Brand, brand_of
from links.catalogue import Provider, provider_find
from links.constants import LinkErrorType, link_error_type_read
from links.models import LinkSession, LinkToken
from links.pages.answers import go, page
from links.pages.words import end_words, error_text, refusal_text
from links.redirects import redirect_with
from links.selectors import provider_connectable
from links.services.visits import end_open, end_ticket

#: Longer than any ticket of ours.
_TICKET_MAXIMUM_CHARACTERS: Final = 1000

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


def ended_elsewhere(error_type: LinkErrorType, token: LinkToken | None) -> HttpResponse:
    """303 to the same page at an address of its own: the one that was opened holds a token."""
    address = reverse("link_ended", urlconf=settings.ROOT_URLCONF)
    return go(f"{address}?{urlencode({'why': end_ticket(token=token, error_type=error_type)})}" if token else address)


@require_GET
def ended_page(request: HttpRequest) -> HttpResponse:
    """`/link/ended`: a link that leads nowhere any more. What `why` says of it nobody else can write."""
    found = end_open(ticket=request.GET.get("why", "")[:_TICKET_MAXIMUM_CHARACTERS])
    return ended(request, *(found or (LinkErrorType.INVALID_TOKEN, None)))


def outcome(token: LinkToken, error_type: LinkErrorType | None, provider: Provider | None = None) -> str:
    """The customer's address with how it ended; None for success. `provider` words the developer's text."""
    if error_type is None:
        return redirect_with(token.redirect_url, state="success")
    refusal = refusal_text(provider) if provider and is_refused(token, provider, error_type) else ""
    text = refusal or error_text(error_type, provider.login if provider else None)
    return redirect_with(token.redirect_url, state="error", error_type=str(error_type), error=text)


def session_outcome(session: LinkSession) -> str:
    """The customer's address with how the session's last try ended."""
    found = link_error_type_read(session.error_type) if session.error_type else None
    return outcome(session.link_token, found, provider_find(session.provider))


def is_refused(token: LinkToken, provider: Provider, error_type: LinkErrorType | None) -> bool:
    """Whether a try failed because nobody can connect the provider here, so that the provider was never asked."""
    return error_type is LinkErrorType.PROVIDER_API_ERROR and not provider_connectable(token.context, provider)
