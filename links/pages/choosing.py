"""From the link to the provider's door: the token leaves the address, a provider is chosen, what is shared is told."""

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from healthsvc.kernel.scope import team_scope
from links import selectors
from links.brand import brand_of
from links.catalogue import LoginKind, Provider, catalogue
from links.choices import Choice, choices_of, is_something, scopes_left_out, shared_resources
from links.constants import LinkErrorType
from links.models import LinkSession, LinkToken
from links.pages.answers import address, cookie_give, go, page
from links.pages.endings import ended_elsewhere
from links.pages.sessions import APP_LOGINS, Visit, in_the_app, is_offered, living, session_page
from links.pages.shown import SEARCH_MAXIMUM_CHARACTERS, found_by, groups_of, provider_shown
from links.pages.told import Told, told_find, told_forget, told_go
from links.scope_requirements import requirement_of
from links.services.tokens import Opened, link_open, link_token_find
from links.services.visits import visit_ask, visit_leave_out

#: Longer than any token or slug.
_PARAMETER_MAXIMUM_CHARACTERS: Final = 200
#: A list shorter than this needs no search.
_SEARCH_ABOVE: Final = 8


@require_GET
def open_token(request: HttpRequest) -> HttpResponse:
    """`/link/open?token=…`: the token becomes a cookie of this browser and is gone from the address.

    `provider=…` is a widget's wish for one provider. Opening consumes nothing: messengers open links for previews.
    """
    token = link_token_find(request.GET.get("token", "")[:_PARAMETER_MAXIMUM_CHARACTERS])
    if token is None:
        return ended_elsewhere(LinkErrorType.INVALID_TOKEN, None)
    opened = link_open(token=token)
    if not isinstance(opened, Opened):
        return ended_elsewhere(opened, token)
    asked = request.GET.get("provider", "")[:_PARAMETER_MAXIMUM_CHARACTERS]
    with team_scope(token.context):
        brand = brand_of(token.context)
        if asked in catalogue() and not token.provider:
            visit_ask(session=opened.session, provider=asked)
    response = go(_first_step(opened.session, token, asked), brand)
    cookie_give(response, opened, brand)
    return response


@session_page("GET")
@living
def providers(visit: Visit) -> HttpResponse:
    """What there is to connect; `q` finds among it."""
    typed = visit.request.GET.get("q", "")[:SEARCH_MAXIMUM_CHARACTERS].strip()
    # A token that names its provider has no list.
    listed = [] if visit.pinned else selectors.providers_listed(visit.token)
    apps = [] if visit.pinned else in_the_app(visit)
    found, found_apps = found_by(typed, listed), found_by(typed, apps)
    context = {
        **visit.context(),
        "back_url": None,
        "list_url": visit.at("link_providers"),
        "groups": groups_of(visit, found, found_apps),
        "listed_count": len(listed) + len(apps),
        "found_count": len(found) + len(found_apps),
        "typed": typed,
        "searches": bool(typed) or len(listed) + len(apps) > _SEARCH_ABOVE,
    }
    return page(visit.request, "links/providers.html", context, brand=visit.brand)


@session_page("GET", "POST")
@living
def consent(visit: Visit, slug: str) -> HttpResponse:
    """What one provider would share, in plain words, before anything is; the person may leave parts of it out."""
    provider = catalogue().get(slug)
    if provider is None or not is_offered(visit, provider):
        return not_here(visit)
    if provider.login in APP_LOGINS:
        return in_app_only(visit, provider)
    way = selectors.login_way(provider, visit.token.context.environment)
    requirement = requirement_of(visit.session.context, provider)
    oauth = way is LoginKind.OAUTH
    choices = choices_of(provider, requirement.required, requirement.optional) if oauth else ()
    here = visit.at("link_consent", slug=slug)
    if visit.request.method != "POST":
        return told_forget(visit, _consent_page(visit, provider, choices, told_find(visit, here)))
    kept = set(visit.request.POST.getlist("keep"))
    if choices and not is_something(choices, kept):
        return told_go(visit, here, Told("Leave at least one ticked, or choose Not now."))
    visit_leave_out(session=visit.session, scopes=scopes_left_out(choices, kept))
    return go(visit.at("link_onward", slug=slug), visit.brand)


@session_page("GET")
@living
def onward(visit: Visit, slug: str) -> HttpResponse:
    """Between our form and the provider's login: a page that goes on by itself, and by a link.

    Chromium holds the whole chain of redirects after a form against `form-action`, and where a provider's login leads
    cannot be known beforehand. A page in between ends the chain.
    """
    provider = catalogue().get(slug)
    if provider is None or not is_offered(visit, provider):
        return not_here(visit)
    context = {
        **visit.context(),
        "provider": provider_shown(visit, provider),
        "title": f"Going on to {provider.name}",
        "words": f"{provider.name} asks you to log in, and what you want to share.",
        "onward_url": visit.at("link_depart", slug=slug),
        "onward_words": f"Continue to {provider.name}",
        "back_url": visit.at("link_consent", slug=slug),
        "back_words": "Back",
    }
    return page(visit.request, "links/onward.html", context, brand=visit.brand)


def not_here(visit: Visit) -> HttpResponse:
    """A provider that this link does not lead to."""
    pinned = "This link is for another provider. Go back to where you came from and start again."
    context = {
        **visit.context(),
        "title": "That provider can't be connected here",
        "words": pinned if visit.pinned else "Choose one of those that can.",
    }
    return page(visit.request, "links/ended.html", context, brand=visit.brand, status=404)


def in_app_only(visit: Visit, provider: Provider) -> HttpResponse:
    """A provider whose data only an app on the person's telephone can read."""
    device = provider.login is LoginKind.DEVICE
    read = "talks to your phone only" if device else "keeps its data on your phone"
    context = {
        **visit.context(),
        "title": f"Connect {provider.name} in the app",
        "words": (
            f"{provider.name} {read}, where no web page can read it."
            f" Open {visit.brand.name}'s app on that phone and connect {provider.name} there."
        ),
    }
    return page(visit.request, "links/ended.html", context, brand=visit.brand)


def _consent_page(visit: Visit, provider: Provider, choices: tuple[Choice, ...], told: Told | None) -> HttpResponse:
    way = selectors.login_way(provider, visit.token.context.environment)
    out = {scope for choice in choices for scope in choice.scopes} if told else set(visit.session.scopes_left_out)
    context = {
        **visit.context(),
        "provider": provider_shown(visit, provider),
        "way": str(way),
        "resources": shared_resources(provider),
        "choices": [{"choice": choice, "kept": not out.intersection(choice.scopes)} for choice in choices],
        "may_leave_out": any(not choice.fixed for choice in choices),
        "backfill_days": provider.backfill_days,
        "problem": told.problem if told else "",
        "continue_url": visit.at("link_depart", slug=provider.slug),
    }
    return page(visit.request, "links/consent.html", context, brand=visit.brand, has_form=bool(choices))


def _first_step(session: LinkSession, token: LinkToken, asked: str) -> str:
    """Straight to the one provider, where there is one: the token's own before the widget's."""
    if token.provider and asked in ("", token.provider):
        return address("link_depart", session, slug=token.provider)
    if session.asked_provider:
        return address("link_depart", session, slug=session.asked_provider)
    if asked:
        # A provider that this token does not lead to, or that there is none of: the page says so.
        return address("link_refused", session)
    return address("link_providers", session)


@session_page("GET")
@living
def refused(visit: Visit) -> HttpResponse:
    """What a widget asked for is not to be had with this link."""
    return not_here(visit)
