"""Password and e-mail logins, step by step: a try, the second factor where the provider asks for one, a connection.

What a person does wrong is an outcome, never an exception. Passwords and codes pass through and are kept nowhere; what
an adapter needs between the steps is sealed in a `PasswordLogin`, for ten minutes and five codes. A login that waits
and has become too old or was tried too often ends, and is told as `provider_credential_error`: the way on is to log in
again with the same link token, while `token_expired` asks for another token. The network is called outside every
transaction.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Final, TypeVar
from uuid import UUID

import orjson
import structlog
from django.db import transaction
from django.db.models import F, QuerySet

from healthsvc.kernel import clock, limits
from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.catalogue import LoginKind, Provider
from links.connectors.failures import GrantRefused, ProviderFailure
from links.connectors.oauth import Tokens
from links.connectors.password_adapters import adapter_of, api_url_of, email_adapter_of
from links.connectors.passwords import LoggedIn, LoginFailed, MfaAsked, MfaMethod, PasswordAdapter
from links.constants import LinkErrorType
from links.models import LinkToken, PasswordLogin
from links.services.connections import connection_store
from links.services.grants import Grant
from links.services.purging import rows_purge
from links.services.refusals import LinkRefused
from links.services.tokens import link_token_problem, link_token_validate
from links.token_selectors import token_leads_to
from users import selectors as user_selectors

log = structlog.get_logger(__name__)

T = TypeVar("T")

#: From a login that asks for a code to the code.
MFA_SECONDS: Final = 600
MFA_ATTEMPTS_MAXIMUM: Final = 5
#: One user's tries at one provider: with five codes each, nobody guesses a code of six digits.
LOGINS_MAXIMUM: Final = 10
LOGINS_WINDOW_SECONDS: Final = 600
#: Where a provider names no lifetime of its tokens.
_EXPIRES_DEFAULT_SECONDS: Final = 3600
#: Logins that ended are of no use to anybody a day later.
_KEPT_SECONDS: Final = 24 * 3600

#: Texts for `error`, which developers read and our own pages show.
ERROR_TEXTS: Final = {
    LinkErrorType.INVALID_TOKEN: "The user of this login does not exist any more, or the token is for others.",
    LinkErrorType.TOKEN_EXPIRED: "The link token is older than an hour.",
    LinkErrorType.TOKEN_CONSUMED: "The link token has been used already.",
    LinkErrorType.PROVIDER_CREDENTIAL_ERROR: "The provider did not accept the name, the address or the password.",
    LinkErrorType.PROVIDER_PASSWORD_EXPIRED: "The password has expired at the provider and must be renewed there.",
    LinkErrorType.PROVIDER_API_ERROR: "The provider failed to answer as it should.",
    LinkErrorType.UNSUPPORTED_REGION: "The provider does not serve this region.",
    LinkErrorType.DUPLICATE_CONNECTION: "The account is connected to another user of this team.",
    LinkErrorType.INCORRECT_MFA_CODE: "The code is wrong. It may be tried again.",
}
_ENDED_TEXT: Final = "No login is waiting for a code: it ended, or was tried too often. Log in again."
_UNAVAILABLE_TEXT: Final = "This provider has no such login here."
_OFTEN_TEXT: Final = "Too many tries at this provider. Wait some minutes."


class OutcomeState(StrEnum):
    """Where a login got to (source: the interface's link result states)."""

    SUCCESS = "success"
    ERROR = "error"
    PENDING_PROVIDER_MFA = "pending_provider_mfa"


@dataclass(frozen=True, slots=True)
class MfaWanted:
    """The code that the provider sent: by which way, and a hint of where to."""

    method: MfaMethod
    hint: str


@dataclass(frozen=True, slots=True)
class LinkOutcome:
    """What a step came to. `error_type` and `error` are there with state error, `mfa` with pending_provider_mfa.

    `retry_after_seconds` is above 0 where there were too many tries.
    """

    state: OutcomeState
    provider: str
    redirect_url: str | None = None
    error_type: LinkErrorType | None = None
    error: str | None = None
    mfa: MfaWanted | None = None
    external_user_id: str | None = None
    retry_after_seconds: int = 0


@dataclass(frozen=True, slots=True)
class _Try:
    """Who logs in, and where."""

    team: TeamContext
    user_id: UUID
    provider: Provider
    region: str
    link_token: LinkToken | None
    login: LoginKind = LoginKind.PASSWORD


class _Stopped(Exception):  # noqa: N818 - reads as what happened
    """The try came to nothing; told to the person."""

    def __init__(self, error_type: LinkErrorType, error: str = "", *, retry_after_seconds: int = 0) -> None:
        super().__init__(str(error_type))
        self.error_type = error_type
        self.error = error or ERROR_TEXTS.get(error_type, str(error_type))
        self.retry_after_seconds = retry_after_seconds


def password_login(
    *,
    team: TeamContext,
    user_id: UUID,
    provider: Provider,
    username: str,
    password: str,
    region: str | None,
    link_token: LinkToken | None,
) -> LinkOutcome:
    """Log in with a name and a password. Success consumes the link token. Calls the network."""
    attempt = _Try(team, user_id, provider, region or "", link_token)

    def work(ready: _Try) -> LinkOutcome:
        adapter = _adapter(ready)
        address = api_url_of(provider, team.environment)
        found = _asked(lambda: adapter.login(address, username=username, password=password, region=ready.region))
        if isinstance(found, MfaAsked):
            return _mfa_wait(ready, found)
        return _connected(ready, found)

    return _tried(attempt, work)


def password_mfa_complete(
    *, team: TeamContext, user_id: UUID, provider: Provider, code: str, link_token: LinkToken | None
) -> LinkOutcome:
    """Give the code to the login that waits for it. Calls the network.

    A link token finds only the login that began with it, a team's key any login of the user.
    """
    with team_scope(team):
        waiting = _waiting(team, user_id, provider, link_token)
        token = link_token or (waiting.link_token if waiting else None)
        attempt = _Try(team, user_id, provider, waiting.region if waiting else "", token)
        return _answered(attempt, lambda: _mfa_given(attempt, waiting, code))


def email_login(
    *,
    team: TeamContext,
    user_id: UUID,
    provider: Provider,
    email: str,
    region: str | None,
    link_token: LinkToken | None,
) -> LinkOutcome:
    """Connect an account known by its e-mail address. Success consumes the link token. Calls the network."""
    attempt = _Try(team, user_id, provider, region or "", link_token, LoginKind.EMAIL)

    def work(ready: _Try) -> LinkOutcome:
        adapter = email_adapter_of(provider.slug, team.environment)
        if adapter is None:
            raise _Stopped(LinkErrorType.PROVIDER_API_ERROR, _UNAVAILABLE_TEXT)
        address = api_url_of(provider, team.environment)
        found = _asked(lambda: adapter.connect(address, email=email, region=ready.region))
        return _connected(ready, found)

    return _tried(attempt, work)


def mfa_waiting(
    *, team: TeamContext, user_id: UUID, provider: Provider, link_token: LinkToken | None
) -> MfaWanted | None:
    """What the login that waits for a code told of it, for a form that is opened again; None where none waits."""
    with team_scope(team):
        waiting = _waiting(team, user_id, provider, link_token)
        if waiting is None:
            return None
        kept = orjson.loads(waiting.challenge)
        return MfaWanted(MfaMethod(kept["method"]), kept["hint"])


def password_logins_purge() -> int:
    """Remove logins that ended or ran out a day ago; how many went."""
    before = clock.now() - timedelta(seconds=_KEPT_SECONDS)
    with system_scope(SystemScope.PURGE):
        return rows_purge(PasswordLogin.objects.filter(expires_at__lt=before))


def _tried(attempt: _Try, work: Callable[[_Try], LinkOutcome]) -> LinkOutcome:
    """A first step: everything that can be said before the provider is asked, then the work."""
    with team_scope(attempt.team):
        return _answered(attempt, lambda: work(_ready(attempt)))


def _answered(attempt: _Try, work: Callable[[], LinkOutcome]) -> LinkOutcome:
    """The work's outcome with the token's redirect address; what stopped it as an error."""
    redirect_url = (attempt.link_token.redirect_url or None) if attempt.link_token else None
    try:
        return replace(work(), redirect_url=redirect_url)
    except LinkRefused as refused:
        stopped = _Stopped(refused.error_type)
    except _Stopped as found:
        stopped = found
    log.info("password_login_refused", provider=attempt.provider.slug, error_type=str(stopped.error_type))
    return LinkOutcome(
        state=OutcomeState.ERROR,
        provider=attempt.provider.slug,
        redirect_url=redirect_url,
        error_type=stopped.error_type,
        error=stopped.error,
        retry_after_seconds=stopped.retry_after_seconds,
    )


def _ready(attempt: _Try) -> _Try:
    """The try with its region settled; _Stopped by the token, the user, the provider, the region or the throttle."""
    _check_token(attempt)
    provider, served = attempt.provider, attempt.provider.password.regions if attempt.provider.password else ()
    if provider.login is not attempt.login:
        raise _Stopped(LinkErrorType.PROVIDER_API_ERROR, _UNAVAILABLE_TEXT)
    if served and attempt.region not in served:
        error = f"{provider.name} divides the world: the region must be one of {', '.join(served)}."
        raise _Stopped(LinkErrorType.UNSUPPORTED_REGION, error)
    _throttle(attempt)
    return attempt if served else replace(attempt, region="")


def _check_token(attempt: _Try) -> None:
    if attempt.link_token is not None:
        problem = link_token_validate(attempt.link_token)
        if problem is None and not token_leads_to(attempt.link_token, attempt.provider.slug):
            problem = LinkErrorType.INVALID_TOKEN
        if problem:
            raise _Stopped(problem)
    try:
        user_selectors.user_get(attempt.team, attempt.user_id)
    except ServiceError:
        raise _Stopped(LinkErrorType.INVALID_TOKEN) from None


def _throttle(attempt: _Try) -> None:
    """At most LOGINS_MAXIMUM tries of one user at one provider; those that wait for codes are counted in the database
    too, so that codes can't be guessed while Redis is away.
    """
    policy = limits.RatePolicy("password-login", LOGINS_MAXIMUM, LOGINS_WINDOW_SECONDS)
    try:
        limits.limit_take(policy, f"{attempt.user_id}:{attempt.provider.slug}")
    except ServiceError as error:
        wait_seconds = error.retry_after_seconds or LOGINS_WINDOW_SECONDS
        raise _Stopped(LinkErrorType.PROVIDER_CREDENTIAL_ERROR, _OFTEN_TEXT, retry_after_seconds=wait_seconds) from None
    since = clock.now() - timedelta(seconds=LOGINS_WINDOW_SECONDS)
    begun = PasswordLogin.objects.for_team(attempt.team).filter(user_id=attempt.user_id, created_at__gt=since)
    if begun.filter(provider=attempt.provider.slug).count() >= LOGINS_MAXIMUM:
        raise _Stopped(LinkErrorType.PROVIDER_CREDENTIAL_ERROR, _OFTEN_TEXT, retry_after_seconds=LOGINS_WINDOW_SECONDS)


def _adapter(attempt: _Try) -> PasswordAdapter:
    adapter = adapter_of(attempt.provider.slug, attempt.team.environment)
    if adapter is None:
        raise _Stopped(LinkErrorType.PROVIDER_API_ERROR, _UNAVAILABLE_TEXT)
    return adapter


def _asked(call: Callable[[], T]) -> T:
    """The provider's answer; _Stopped by what stood against it."""
    try:
        return call()
    except LoginFailed as failed:
        raise _Stopped(failed.error_type) from None
    except GrantRefused:
        raise _Stopped(LinkErrorType.PROVIDER_CREDENTIAL_ERROR) from None
    except ProviderFailure:
        raise _Stopped(LinkErrorType.PROVIDER_API_ERROR) from None


def _waiting(
    team: TeamContext, user_id: UUID, provider: Provider, link_token: LinkToken | None
) -> PasswordLogin | None:
    """The newest login that waits for a code; with a link token only one that began with it."""
    rows = PasswordLogin.objects.for_team(team).filter(user_id=user_id, provider=provider.slug, ended_at=None)
    if link_token is not None:
        rows = rows.filter(link_token_id=link_token.pk)
    return rows.filter(expires_at__gt=clock.now()).select_related("link_token").order_by("-id").first()


def _mfa_wait(attempt: _Try, asked: MfaAsked) -> LinkOutcome:
    """Keep what the provider gave until the code comes. An earlier login that waits is replaced."""
    kept = {"challenge": dict(asked.challenge), "method": str(asked.method), "hint": asked.hint}
    now = clock.now()
    with transaction.atomic():
        if attempt.link_token is not None:
            # In the order in which a connection is stored: the token, then its user.
            LinkToken.objects.select_for_update().get(pk=attempt.link_token.pk)
        try:
            user_selectors.user_get(attempt.team, attempt.user_id, lock=True)
        except ServiceError:
            raise _Stopped(LinkErrorType.INVALID_TOKEN) from None
        _end(_open(attempt))
        PasswordLogin.objects.create(
            **team_values(attempt.team),
            user_id=attempt.user_id,
            link_token=attempt.link_token,
            provider=attempt.provider.slug,
            region=attempt.region,
            challenge=orjson.dumps(kept).decode(),
            created_at=now,
            expires_at=now + timedelta(seconds=MFA_SECONDS),
        )
    mfa = MfaWanted(asked.method, asked.hint)
    return LinkOutcome(OutcomeState.PENDING_PROVIDER_MFA, attempt.provider.slug, mfa=mfa)


def _mfa_given(attempt: _Try, waiting: PasswordLogin | None, code: str) -> LinkOutcome:
    """Count the try before the provider is asked, so that codes given at the same moment are all counted."""
    _check_token(attempt)
    if waiting is None:
        raise _Stopped(LinkErrorType.PROVIDER_CREDENTIAL_ERROR, _ENDED_TEXT)
    adapter = _adapter(attempt)
    rows = PasswordLogin.objects.filter(pk=waiting.pk, ended_at=None)
    if not rows.filter(attempts__lt=MFA_ATTEMPTS_MAXIMUM).update(attempts=F("attempts") + 1):
        _end(rows)
        raise _Stopped(LinkErrorType.PROVIDER_CREDENTIAL_ERROR, _ENDED_TEXT)
    challenge = orjson.loads(waiting.challenge)["challenge"]
    address = api_url_of(attempt.provider, attempt.team.environment)
    try:
        found = _asked(lambda: adapter.mfa_complete(address, challenge=challenge, code=code, region=attempt.region))
    except _Stopped as stopped:
        if stopped.error_type not in (LinkErrorType.INCORRECT_MFA_CODE, LinkErrorType.PROVIDER_API_ERROR):
            _end(rows)
        raise
    return _connected(attempt, found, waiting)


def _connected(attempt: _Try, found: LoggedIn, waiting: PasswordLogin | None = None) -> LinkOutcome:
    """End what waited for a code, then store the connection: of two that finish one login, one connects.

    The provider has taken its code, so that a login is over even where the connection is refused.
    """
    if waiting is not None and not _end(_open(attempt).filter(pk=waiting.pk)):
        raise _ended_by_another(attempt)
    _end(_open(attempt))
    connection = connection_store(
        team=attempt.team, user_id=attempt.user_id, grant=_grant(attempt, found), link_token=attempt.link_token
    )
    return LinkOutcome(
        OutcomeState.SUCCESS, attempt.provider.slug, external_user_id=connection.external_user_id or None
    )


def _grant(attempt: _Try, found: LoggedIn) -> Grant:
    """Who logs in with a password gives everything, and there are no scopes to leave something out by."""
    lasting = clock.now() + timedelta(seconds=_EXPIRES_DEFAULT_SECONDS)
    return Grant(
        provider=attempt.provider.slug,
        tokens=Tokens(
            access_token=found.access_token,
            refresh_token=found.refresh_token,
            expires_at=found.expires_at or lasting,
            scopes=None,
            external_user_id=found.external_user_id,
        ),
        external_user_id=found.external_user_id,
        login=attempt.login,
        region=attempt.region,
        credentials=found.credentials or None,
    )


def _open(attempt: _Try) -> QuerySet[PasswordLogin]:
    rows = PasswordLogin.objects.for_team(attempt.team).filter(user_id=attempt.user_id, ended_at=None)
    return rows.filter(provider=attempt.provider.slug)


def _end(rows: QuerySet[PasswordLogin]) -> int:
    """What a login kept is forgotten at its end; how many ended."""
    return rows.update(ended_at=clock.now(), challenge="")


def _ended_by_another(attempt: _Try) -> _Stopped:
    if attempt.link_token is not None:
        attempt.link_token.refresh_from_db()
        problem = link_token_problem(attempt.link_token)
        if problem:
            return _Stopped(problem)
    return _Stopped(LinkErrorType.PROVIDER_CREDENTIAL_ERROR, _ENDED_TEXT)
