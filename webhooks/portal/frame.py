"""What every page of the portal has: the visit behind it, its team's scope, its headers, and one way to refuse."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Final, TypeAlias
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.hooks import client_address
from healthsvc.kernel.principal import Environment, PrincipalKind, TeamContext
from healthsvc.kernel.scope import team_scope
from management.audit import access_record
from webhooks.models import PortalSession
from webhooks.portal.told import TOLD
from webhooks.services.portal import portal_session_find

COOKIE: Final = "portal"
#: The cookies' home: nothing else of this host is told of them.
PATH: Final = "/portal/"
#: Our own style, images and forms; no script, no style in attributes.
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)
#: What a refusal is called, where its code has a better name than "Something went wrong".
_REFUSALS: Final[Mapping[ErrorCode, tuple[str, str]]] = {
    ErrorCode.NOT_FOUND: ("Not found", "There is nothing at this address. It may have been deleted."),
}


@dataclass(frozen=True, slots=True)
class PortalVisit:
    """A page being looked at, in its team's scope.

    A form that is taken, which its 303 says, goes to the audit trail with the ids of its path; `ids` takes what else
    it was about.
    """

    request: HttpRequest
    session: PortalSession
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def team(self) -> TeamContext:
        """Whose webhooks are shown, in which environment."""
        return self.session.context

    @property
    def is_form(self) -> bool:
        """Whether a form was sent."""
        return self.request.method == "POST"

    def record(self, **ids: object) -> None:
        """Write to the audit trail what was read: identifiers only; `user_id` says whose data it was."""
        match = self.request.resolver_match
        access_record(
            team=self.team,
            actor_kind=PrincipalKind.PORTAL_SESSION,
            actor_id=str(self.session.pk),
            action=f"{self.request.method} /{match.route if match else ''}",
            ids={name: str(value) for name, value in ids.items()},
            request_id=getattr(self.request, "request_id", ""),
            address=client_address(self.request),
        )


#: (visit, parts of the path by name) → answer.
PortalPage: TypeAlias = Callable[..., HttpResponse]


def portal_page(*methods: str) -> Callable[[PortalPage], Callable[..., HttpResponse]]:
    """Hand a page the visit of this browser, inside its team's scope; without a living session, say that it ended."""

    def decorated(show: PortalPage) -> Callable[..., HttpResponse]:
        @wraps(show)
        def found(request: HttpRequest, **parts: object) -> HttpResponse:
            session = portal_session_find(request.COOKIES.get(COOKIE, ""))
            if session is None:
                return ended(request, status=401)
            with team_scope(session.context):
                visit = PortalVisit(request, session)
                return form_cookie(request, _answered(visit, show, parts))

        return require_http_methods(methods)(found)

    return decorated


def page(
    visit: PortalVisit, template: str, context: Mapping[str, object], *, nav: str = "endpoints", status: int = 200
) -> HttpResponse:
    """A whole page. `nav` names the part of the portal it is in: endpoints, messages or event_types."""
    shown = {
        "team_name": visit.session.team.name,
        "sandbox": visit.session.environment == str(Environment.SANDBOX),
        "nav": nav,
        "told": TOLD.get(visit.request.GET.get("told", ""), ""),
        **context,
    }
    return framed(render(visit.request, template, shown, status=status))


def go(name: str, *, told: str = "", query: Mapping[str, str] | None = None, **parts: UUID | str) -> HttpResponse:
    """303 to a page, which says what was done: a key of `webhooks.portal.told.TOLD`."""
    address = portal_address(name, **parts)
    parameters = {**(query or {}), **({"told": told} if told else {})}
    location = f"{address}?{urlencode(parameters)}" if parameters else address
    return framed(HttpResponse(status=303, headers={"Location": location}))


def portal_address(name: str, **parts: UUID | str) -> str:
    """Where a page is."""
    return reverse(name, kwargs=parts, urlconf=settings.ROOT_URLCONF)


def problem(visit: PortalVisit, title: str, words: str, *, status: int) -> HttpResponse:
    """A page that says why something is not so."""
    return page(visit, "webhooks/problem.html", {"title": title, "words": words}, status=status)


def ended(request: HttpRequest, *, status: int) -> HttpResponse:
    """The page of a link or a session that leads nowhere any more."""
    return framed(render(request, "webhooks/ended.html", {}, status=status))


def framed(response: HttpResponse) -> HttpResponse:
    """The headers that every answer has."""
    response["Content-Security-Policy"] = _POLICY
    response["Cache-Control"] = "no-store"
    response["X-Robots-Tag"] = "noindex"
    # Under "no-referrer" browsers send `Origin: null` with forms, which the CSRF check refuses.
    response["Referrer-Policy"] = "same-origin"
    return response


def form_cookie(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Django's cookie for forms, set here so that it goes to the portal and nowhere else of this host."""
    CsrfViewMiddleware(lambda _request: response).process_response(request, response)
    if settings.CSRF_COOKIE_NAME in response.cookies:
        response.cookies[settings.CSRF_COOKIE_NAME]["path"] = PATH
    return response


def refusal_words(error: ServiceError) -> str:
    """What a refusal says, as one sentence for people."""
    if isinstance(error.detail, str):
        return error.detail
    if isinstance(error.detail, list):
        messages = [item.get("msg") for item in error.detail if isinstance(item, Mapping)]
        return " ".join(text for text in messages if isinstance(text, str))
    return error.code.meaning


def _answered(visit: PortalVisit, show: PortalPage, parts: Mapping[str, object]) -> HttpResponse:
    try:
        response = show(visit, **parts)
    except ServiceError as error:
        title, words = _REFUSALS.get(error.code, ("That was not possible", refusal_words(error)))
        response = problem(visit, title, words, status=error.code.status)
        for name, value in error.headers.items():
            response[name] = value
    if visit.is_form and response.status_code == 303:
        visit.record(**{**parts, **visit.ids})
    return response
