"""To a provider's own login and back from it."""

from typing import Final
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from healthsvc.kernel.scope import team_scope
from healthsvc.kernel.waiting import waiting_place
from links import selectors
from links.brand import brand_of
from links.catalogue import LoginKind, Provider, catalogue
from links.choices import choices_of
from links.constants import LinkErrorType
from links.pages.answers import address, cookie_give, cookie_read, go, page
from links.pages.busy import busy_page
from links.pages.choosing import in_app_only, not_here
from links.pages.endings import ended, ended_elsewhere
from links.pages.results import finished
from links.pages.sessions import APP_LOGINS, Visit, is_offered, living, session_page, visit_record
from links.scope_requirements import requirement_of
from links.services.logins import login_begin, login_finish, returned_read, returned_team
from links.services.refusals import LinkRefused
from links.services.visits import visit_end, visit_leave_out, window_open, window_ticket

#: Longer than any ticket of ours.
_TICKET_MAXIMUM_CHARACTERS: Final = 1000
#: How a browser says that a page is to stand in another one (Fetch Metadata).
_FRAMES: Final = ("iframe", "frame")


@session_page("GET")
@living
def depart(visit: Visit, slug: str) -> HttpResponse:
    """On to the provider's own login, or to our form for it."""
    provider = catalogue().get(slug)
    if provider is None or not is_offered(visit, provider):
        return not_here(visit)
    if provider.login in APP_LOGINS:
        return in_app_only(visit, provider)
    environment = visit.token.context.environment
    if not selectors.provider_connectable(visit.token.context, provider):
        visit_end(session=visit.session, provider=slug, error_type=LinkErrorType.PROVIDER_API_ERROR)
        return finished(visit)
    if selectors.login_way(provider, environment) in (LoginKind.PASSWORD, LoginKind.EMAIL):
        return go(visit.at("link_login", slug=slug), visit.brand)
    if visit.session.scopes_left_out:
        requirement = requirement_of(visit.session.context, provider)
        if not choices_of(provider, requirement.required, requirement.optional):
            # Left out at another provider, whose scopes may have the same names.
            visit_leave_out(session=visit.session, scopes=())
    if visit.request.headers.get("Sec-Fetch-Dest") in _FRAMES:
        return _in_a_window(visit, provider)
    try:
        return go(login_begin(session=visit.session, provider=provider), visit.brand)
    except LinkRefused as refused:
        visit_end(session=visit.session, provider=slug, error_type=refused.error_type)
        return finished(visit)


@require_GET
def window(request: HttpRequest) -> HttpResponse:
    """`/link/window?ticket=…`: a tab of its own for the way to a provider, opened out of a frame."""
    opened = window_open(ticket=request.GET.get("ticket", "")[:_TICKET_MAXIMUM_CHARACTERS])
    if isinstance(opened, LinkErrorType):
        return ended_elsewhere(opened, None)
    made, slug = opened
    with team_scope(made.session.context):
        brand = brand_of(made.session.context)
    response = go(address("link_depart", made.session, slug=slug), brand)
    cookie_give(response, made, brand)
    return response


@require_GET
def callback(request: HttpRequest, slug: str) -> HttpResponse:
    """`/link/callback/{slug}`: where a provider sends the person back to."""
    returned = returned_read(provider=slug, given=dict(request.GET.lists()))
    team = returned_team(returned)
    if team is None:
        return ended(request, LinkErrorType.INVALID_TOKEN, None)
    with waiting_place(team.team_id) as may_wait:
        if not may_wait:
            # The return is not used up: the same address goes on where it stands.
            return busy_page(request)
        session = login_finish(returned=returned, cookie_of=lambda session_id: cookie_read(request, session_id))
    if session is None:
        return ended(request, LinkErrorType.INVALID_TOKEN, None)
    with team_scope(session.context):
        visit = Visit(request, session, brand_of(session.context))
        response = finished(visit)
        visit_record(visit, response)
        return response


def _in_a_window(visit: Visit, provider: Provider) -> HttpResponse:
    """Providers refuse to log people in inside a frame, and they are right."""
    ticket = window_ticket(session=visit.session, provider=provider.slug)
    context = {
        **visit.context(),
        "title": f"Log in at {provider.name}",
        "words": f"{provider.name} opens in a new tab. Come back here when you are done there, and close this.",
        "onward_url": f"{reverse('link_window', urlconf=settings.ROOT_URLCONF)}?{urlencode({'ticket': ticket})}",
        "onward_words": f"Continue to {provider.name} (opens a new tab)",
        "new_window": True,
        "back_url": visit.at("link_consent", slug=provider.slug),
        "back_words": "Back",
    }
    return page(visit.request, "links/onward.html", context, brand=visit.brand)
