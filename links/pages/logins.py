"""Our own forms: name and password, e-mail address, and the code that a provider sends. Nothing typed is kept."""

from collections.abc import Callable
from typing import Final, TypeAlias

from django.http import HttpResponse

from healthsvc.kernel.waiting import waiting_place
from links import selectors
from links.catalogue import LoginKind, Provider, catalogue
from links.choices import shared_resources
from links.constants import LinkErrorType
from links.forms import CodeForm, EmailForm, LinkForm, PasswordForm
from links.pages.answers import go, page
from links.pages.busy import BUSY_WORDS
from links.pages.choosing import not_here
from links.pages.results import finished_by_form
from links.pages.sessions import SessionPage, Visit, is_offered, living, session_page
from links.pages.shown import provider_shown
from links.pages.told import Told, told_find, told_forget, told_go
from links.pages.words import failure_words
from links.services.password_logins import (
    LinkOutcome,
    MfaWanted,
    OutcomeState,
    email_login,
    mfa_waiting,
    password_login,
    password_mfa_complete,
)
from links.services.visits import visit_end

_SECONDS_A_MINUTE: Final = 60
#: The token's own end; the other failures are the form's.
_TOKEN_ENDS: Final = (LinkErrorType.TOKEN_EXPIRED, LinkErrorType.TOKEN_CONSUMED, LinkErrorType.INVALID_TOKEN)
#: The field that a failure is told beside; the others are told above the form.
_FIELDS: Final = {
    LinkErrorType.PROVIDER_CREDENTIAL_ERROR: ("password", "email"),
    LinkErrorType.UNSUPPORTED_REGION: ("region",),
    LinkErrorType.INCORRECT_MFA_CODE: ("code",),
}

#: (visit, provider) → answer.
ProviderPage: TypeAlias = Callable[[Visit, Provider], HttpResponse]


def _by_form(*kinds: LoginKind) -> Callable[[ProviderPage], SessionPage]:
    """Only for providers that this session may go to, and that are logged in to by our forms."""

    def decorated(show: ProviderPage) -> SessionPage:
        def found(visit: Visit, slug: str) -> HttpResponse:
            provider = catalogue().get(slug)
            if provider is None or not is_offered(visit, provider):
                return not_here(visit)
            if selectors.login_way(provider, visit.token.context.environment) not in kinds:
                return not_here(visit)
            if not selectors.provider_connectable(visit.token.context, provider):
                # Nobody types a password for nothing; the way there says why.
                return go(visit.at("link_depart", slug=slug), visit.brand)
            return show(visit, provider)

        return found

    return decorated


@session_page("GET", "POST")
@living
@_by_form(LoginKind.PASSWORD, LoginKind.EMAIL)
def login(visit: Visit, provider: Provider) -> HttpResponse:
    """Name and password, or e-mail address, with the region where accounts are kept apart by it."""
    form = _login_form(visit, provider)
    if visit.request.method != "POST":
        return _login_page(visit, provider, form)
    here = visit.at("link_login", slug=provider.slug)
    if not form.is_valid():
        return _told_again(visit, here, form)
    with waiting_place(visit.token.context.team_id) as may_wait:
        if not may_wait:
            return _told_again(visit, here, form, BUSY_WORDS)
        found = _login_tried(visit, provider, form)
    return _answered(
        visit, provider, found, lambda: _told_again(visit, here, form, _told(visit, provider, form, found))
    )


@session_page("GET", "POST")
@living
@_by_form(LoginKind.PASSWORD)
def code(visit: Visit, provider: Provider) -> HttpResponse:
    """The second factor."""
    wanted = _wanted(visit, provider)
    if wanted is None:
        return go(visit.at("link_login", slug=provider.slug), visit.brand)
    form = CodeForm(visit.request.POST if visit.request.method == "POST" else None)
    if visit.request.method != "POST":
        return _code_page(visit, provider, form, wanted)
    if not form.is_valid():
        return _told_again(visit, visit.at("link_code", slug=provider.slug), form)
    with waiting_place(visit.token.context.team_id) as may_wait:
        if not may_wait:
            return _told_again(visit, visit.at("link_code", slug=provider.slug), form, BUSY_WORDS)
        found = password_mfa_complete(
            team=visit.token.context,
            user_id=visit.token.user_id,
            provider=provider,
            code=form.cleaned_data["code"],
            link_token=visit.token,
        )
    return _answered(visit, provider, found, lambda: _code_refused(visit, provider, form, found))


def _answered(
    visit: Visit, provider: Provider, found: LinkOutcome, refused: Callable[[], HttpResponse]
) -> HttpResponse:
    """What a step came to: the code's page, the end, or what a refusal is told by."""
    if found.state is OutcomeState.PENDING_PROVIDER_MFA:
        return go(visit.at("link_code", slug=provider.slug), visit.brand)
    visit_end(session=visit.session, provider=provider.slug, error_type=found.error_type)
    if found.state is OutcomeState.SUCCESS:
        return finished_by_form(visit)
    if visit.token.redirects_on_error and visit.token.redirect_url:
        return finished_by_form(visit)
    return go(visit.at("link_result"), visit.brand) if found.error_type in _TOKEN_ENDS else refused()


def _login_tried(visit: Visit, provider: Provider, form: PasswordForm | EmailForm) -> LinkOutcome:
    given, token = form.cleaned_data, visit.token
    if isinstance(form, EmailForm):
        return email_login(
            team=token.context,
            user_id=token.user_id,
            provider=provider,
            email=given["email"],
            region=form.region,
            link_token=token,
        )
    return password_login(
        team=token.context,
        user_id=token.user_id,
        provider=provider,
        username=given["username"],
        password=given["password"],
        region=form.region,
        link_token=token,
    )


def _login_form(visit: Visit, provider: Provider) -> PasswordForm | EmailForm:
    given = visit.request.POST if visit.request.method == "POST" else None
    regions = provider.password.regions if provider.password else ()
    if provider.login is LoginKind.EMAIL:
        return EmailForm(given, regions=regions)
    label = provider.password.username if provider.password else "E-mail address"
    return PasswordForm(given, username_label=label, regions=regions)


def _code_refused(visit: Visit, provider: Provider, form: CodeForm, found: LinkOutcome) -> HttpResponse:
    problem = _told(visit, provider, form, found)
    if _wanted(visit, provider) is None:
        # The login has ended: too many codes, or too late. It begins again, with the words above it.
        words = f"{provider.name} takes no more codes for that login. Log in again to get a new one."
        return told_go(visit, visit.at("link_login", slug=provider.slug), Told(words))
    return _told_again(visit, visit.at("link_code", slug=provider.slug), form, problem)


def _told_again(visit: Visit, address: str, form: LinkForm, problem: str = "") -> HttpResponse:
    """Back to the form, with what was wrong and what was typed."""
    return told_go(visit, address, Told(problem, form.problems, form.typed))


def _told(visit: Visit, provider: Provider, form: LinkForm, found: LinkOutcome) -> str:
    """Write a refusal beside the field it is about, and give '' back; or the words for above the form."""
    error_type = found.error_type or LinkErrorType.PROVIDER_API_ERROR
    if found.retry_after_seconds:
        minutes = -(-found.retry_after_seconds // _SECONDS_A_MINUTE)
        return f"That was tried too often. Wait {minutes} minute{'' if minutes == 1 else 's'} and try again."
    words = failure_words(provider, error_type, visit.brand.name, login=provider.login)
    for field in _FIELDS.get(error_type, ()):
        if field in form.fields:
            form.add_error(field, words)
            return ""
    return words


def _login_page(visit: Visit, provider: Provider, form: LinkForm) -> HttpResponse:
    here = visit.at("link_login", slug=provider.slug)
    context = {
        **_form_context(visit, provider, form, here),
        "resources": shared_resources(provider),
        "backfill_days": provider.backfill_days,
        "asks_code": bool(provider.password and provider.password.mfa_methods),
        "by_email": provider.login is LoginKind.EMAIL,
    }
    return told_forget(visit, page(visit.request, "links/login.html", context, brand=visit.brand, has_form=True))


def _code_page(visit: Visit, provider: Provider, form: CodeForm, wanted: MfaWanted) -> HttpResponse:
    here = visit.at("link_code", slug=provider.slug)
    context = {
        **_form_context(visit, provider, form, here),
        "method": "text message" if wanted.method == "sms" else "e-mail",
        "hint": wanted.hint,
        "again_url": visit.at("link_login", slug=provider.slug),
        "back_url": visit.at("link_login", slug=provider.slug),
        "back_words": "Log in again",
    }
    return told_forget(visit, page(visit.request, "links/code.html", context, brand=visit.brand, has_form=True))


def _form_context(visit: Visit, provider: Provider, form: LinkForm, here: str) -> dict[str, object]:
    told = told_find(visit, here) or Told()
    form.recall(typed=told.values, problems=told.errors)
    form.mark()
    return {
        **visit.context(),
        "provider": provider_shown(visit, provider),
        "form": form,
        "action_url": here,
        "problem": told.problem,
        "failed": bool(told.problem or form.errors),
    }


def _wanted(visit: Visit, provider: Provider) -> MfaWanted | None:
    return mfa_waiting(team=visit.token.context, user_id=visit.token.user_id, provider=provider, link_token=visit.token)
