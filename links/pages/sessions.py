"""Who looks at a hosted page: the browser's session on a link token, in its team's scope, while the token lives."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TypeAlias
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from django.views.decorators.http import require_http_methods

from healthsvc.kernel.hooks import client_address
from healthsvc.kernel.principal import PrincipalKind
from healthsvc.kernel.scope import team_scope
from links import selectors
from links.brand import Brand, brand_of
from links.catalogue import LoginKind, Provider, catalogue
from links.constants import LinkErrorType
from links.models import LinkSession, LinkToken
from links.pages.answers import PATH, address, cookie_open_frames, cookie_read, go
from links.pages.endings import ended
from links.services.logins import link_session_find
from links.services.tokens import link_token_problem
from links.token_selectors import token_leads_to
from management.audit import access_record

#: Logins that are done on a telephone, in the customer's app.
APP_LOGINS = (LoginKind.APP, LoginKind.DEVICE)


@dataclass(frozen=True, slots=True)
class Visit:
    """A page being looked at."""

    request: HttpRequest
    session: LinkSession
    brand: Brand

    @property
    def token(self) -> LinkToken:
        """The link token the session is on."""
        return self.session.link_token

    def at(self, name: str, **parts: str) -> str:
        """The address of a page of this session."""
        return address(name, self.session, **parts)

    @property
    def pinned(self) -> bool:
        """Whether the token leads to one provider and nowhere else."""
        return bool(self.token.provider)

    @property
    def list_url(self) -> str | None:
        """The way back to the list; None where there is none."""
        return None if self.pinned else self.at("link_providers")

    def context(self) -> dict[str, object]:
        """What every page shows."""
        return {
            "team_name": self.brand.name,
            "sandbox": self.session.environment == "sandbox",
            "close_url": self.at("link_close"),
            "back_url": self.list_url,
        }


#: (visit, parts of the path by name) → answer.
SessionPage: TypeAlias = Callable[..., HttpResponse]


def session_page(*methods: str) -> Callable[[SessionPage], Callable[..., HttpResponse]]:
    """Hand a page the session of this browser, inside its team's scope; a plain page where there is none."""

    def decorated(show: SessionPage) -> Callable[..., HttpResponse]:
        @wraps(show)
        def found(request: HttpRequest, session_id: UUID, **parts: str) -> HttpResponse:
            session = link_session_find(session_id=session_id, cookie=cookie_read(request, session_id))
            if session is None:
                return ended(request, LinkErrorType.INVALID_TOKEN, None)
            with team_scope(session.context):
                visit = Visit(request, session, brand_of(session.context))
                response = show(visit, **parts)
                if request.method == "POST":
                    visit_record(visit, response)
                return _form_cookie(visit, response)

        return require_http_methods(methods)(found)

    return decorated


def visit_record(visit: Visit, response: HttpResponse) -> None:
    """Write to the audit trail what a person did on our pages: forms, and the way back from a provider."""
    match = visit.request.resolver_match
    access_record(
        team=visit.token.context,
        actor_kind=PrincipalKind.LINK_TOKEN,
        actor_id=str(visit.token.pk),
        action=f"{visit.request.method} /{match.route if match else ''}",
        ids={"user_id": str(visit.token.user_id), "session_id": str(visit.session.pk)},
        request_id=getattr(visit.request, "request_id", ""),
        address=client_address(visit.request),
        status_code=response.status_code,
    )


def living(show: SessionPage) -> SessionPage:
    """Let a page be seen only while its token lives; afterwards say so."""

    @wraps(show)
    def found(visit: Visit, **parts: str) -> HttpResponse:
        problem = link_token_problem(visit.token)
        if problem is None:
            return show(visit, **parts)
        if problem is LinkErrorType.TOKEN_CONSUMED and visit.session.provider and not visit.session.error_type:
            return go(visit.at("link_result"), visit.brand)
        if visit.request.method == "POST":
            # A form is never answered by a page; the same address says what there is to say.
            return go(visit.request.path, visit.brand)
        return ended(visit.request, problem, visit.token, brand=visit.brand, close_url=visit.at("link_close"))

    return found


def is_offered(visit: Visit, provider: Provider) -> bool:
    """Whether this session may go there: a token that names its provider leads there and nowhere else; a widget that
    asked for one gets it past the page's filter."""
    if not token_leads_to(visit.token, provider.slug):
        return False
    if visit.pinned or provider.slug == visit.session.asked_provider:
        return True
    return provider in selectors.providers_listed(visit.token) or provider in in_the_app(visit)


def in_the_app(visit: Visit) -> list[Provider]:
    """Providers that the team names and that only its app can connect."""
    wanted = visit.token.filter_on_providers
    chosen = visit.brand.link_providers
    named = [slug for slug in chosen if not wanted or slug in wanted] if chosen else wanted
    found = [catalogue()[slug] for slug in dict.fromkeys(named) if slug in catalogue()]
    return [provider for provider in found if provider.login in APP_LOGINS]


def _form_cookie(visit: Visit, response: HttpResponse) -> HttpResponse:
    """Django's cookie for forms, set here so that it can go where the page may go, and nowhere else of this host."""
    guard = CsrfViewMiddleware(lambda _request: response)
    guard.process_response(visit.request, response)
    if settings.CSRF_COOKIE_NAME in response.cookies:
        response.cookies[settings.CSRF_COOKIE_NAME]["path"] = PATH
    cookie_open_frames(response, settings.CSRF_COOKIE_NAME, visit.brand)
    return response
