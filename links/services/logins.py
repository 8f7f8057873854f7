"""A person's way to a provider's login and back: departures, and what a return comes to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import keyed_hash, same_hash
from healthsvc.kernel.ids import secret_text
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links import selectors
from links.applications import application_find, application_kept
from links.catalogue import Provider, provider_find
from links.connectors import oauth
from links.connectors.failures import GrantRefused, ProviderFailure
from links.connectors.oauth import Application, Tokens, authorize_address, code_exchange
from links.connectors.registry import connector_of
from links.constants import OAUTH_STATE_SECONDS, LinkErrorType
from links.models import LinkSession, LinkToken, OAuthState
from links.scope_requirements import requirement_of
from links.services.budgets import access_held
from links.services.connections import connection_link
from links.services.grants import Grant
from links.services.refusals import LinkRefused
from links.services.revocations import revocation_owe_grant
from links.services.tokens import is_of_living_user, link_token_problem
from management.closed import of_living_team

log = structlog.get_logger(__name__)

#: What a person did, rather than what went wrong (RFC 6749, 4.1.2.1).
_DENIED: Final = "access_denied"

#: Longer than anything a provider sends back.
_PARAMETER_MAXIMUM_CHARACTERS: Final = 4000

#: Texts for `error`, which developers read.
ERROR_TEXTS: Final = {
    LinkErrorType.TOKEN_EXPIRED: "The link token or the login took too long.",
    LinkErrorType.TOKEN_CONSUMED: "The link token has been used already.",
    LinkErrorType.INVALID_TOKEN: "The link token's user does not exist any more.",
    LinkErrorType.USER_CANCELLED: "The person closed or cancelled.",
    LinkErrorType.PROVIDER_CREDENTIAL_ERROR: "The provider did not accept its own authorisation code.",
    LinkErrorType.PROVIDER_API_ERROR: "The provider failed to answer as it should.",
    LinkErrorType.REQUIRED_SCOPES_NOT_GRANTED: (
        "The person did not allow every scope that the team requires, or none that a resource could be read with."
    ),
}
#: Where nobody was asked, for nobody could be.
NOT_SET_UP_TEXT: Final = (
    "This provider can't be connected here: it is not set up. Connecting takes a connector, and a registration with"
    " the provider or an adapter for its login."
)


@dataclass(frozen=True, slots=True)
class Returned:
    """What a provider's redirect carried back. `repeated`: one of them came more than once (RFC 6749, 3.1)."""

    provider: str
    state: str
    code: str
    error: str
    scope: str
    repeated: bool = False


def returned_read(*, provider: str, given: Mapping[str, Sequence[str]]) -> Returned:
    """A redirect's parameters, each with all its values. A state that came twice is no state."""
    read = {name: given.get(name, ()) for name in ("state", "code", "error", "scope")}
    text = {name: values[0][:_PARAMETER_MAXIMUM_CHARACTERS] if values else "" for name, values in read.items()}
    return Returned(
        provider=provider,
        state=text["state"] if len(read["state"]) == 1 else "",
        code=text["code"],
        error=text["error"],
        scope=text["scope"],
        repeated=any(len(values) > 1 for values in read.values()),
    )


def returned_team(returned: Returned) -> TeamContext | None:
    """Whose login a return belongs to, whoever brings it; None for none that began."""
    departure = _departure_find(returned)
    return departure.context if departure else None


def link_session_find(*, session_id: UUID, cookie: str) -> LinkSession | None:
    """A browser's session with its token; None where the cookie is not the one it was given, or the user is deleted."""
    with system_scope(SystemScope.KEY_LOOKUP):
        rows = LinkSession.objects.select_related("link_token").filter(of_living_team(), pk=session_id)
        session = rows.first()
    if session is None or not _is_browser_of(session, cookie):
        return None
    return session if is_of_living_user(session.link_token) else None


def login_begin(*, session: LinkSession, provider: Provider) -> str:
    """The address of the provider's login for this browser. LinkRefused where it can't begin."""
    team = session.context
    with team_scope(team):
        application = application_find(team, provider)
        if application is None or not selectors.provider_connectable(team, provider):
            raise LinkRefused(LinkErrorType.PROVIDER_API_ERROR)
        asked = _scopes_asked(application, session)
        problem = link_token_problem(session.link_token)
        if problem:
            raise LinkRefused(problem)
        state, verifier, now = secret_text(), oauth.verifier_make(application), clock.now()
        OAuthState.objects.create(
            **team_values(team),
            link_session=session,
            provider=provider.slug,
            application_id=application.application_id,
            scopes_asked=list(asked),
            state_hash=keyed_hash("oauth-state", state),
            code_verifier=verifier,
            created_at=now,
            expires_at=now + timedelta(seconds=OAUTH_STATE_SECONDS),
        )
    return authorize_address(application, state=state, verifier=verifier, scopes=asked)


def login_finish(*, returned: Returned, cookie_of: Callable[[UUID], str]) -> LinkSession | None:
    """What a return from a provider came to, written on the browser's session, which is given back.

    None where the return belongs to no login that this browser began. A return that comes a second time changes
    nothing; while the first is under way the session names no provider. Calls the network, outside every transaction.
    """
    departure = _departure_find(returned)
    if departure is None or not _is_browser_of(departure.link_session, cookie_of(departure.link_session_id)):
        return None
    session = departure.link_session
    with team_scope(session.context):
        unused = OAuthState.objects.filter(pk=departure.pk, used_at=None)
        if unused.update(used_at=clock.now()):
            # What an earlier try came to is not this one's outcome; until there is one, the session tells none.
            LinkSession.objects.filter(pk=session.pk).exclude(error_type="").update(provider="", error_type="")
            try:
                _connect(departure, _grant(departure, returned))
            except LinkRefused as refused:
                log.info("link_refused", provider=departure.provider, error_type=str(refused.error_type))
                rows = LinkSession.objects.filter(pk=session.pk)
                rows.update(provider=departure.provider, error_type=refused.error_type)
        return LinkSession.objects.select_related("link_token").get(pk=session.pk)


def _departure_find(returned: Returned) -> OAuthState | None:
    with system_scope(SystemScope.KEY_LOOKUP):
        rows = OAuthState.objects.select_related("link_session__link_token")
        hashed = keyed_hash("oauth-state", returned.state)
        return rows.filter(of_living_team(), state_hash=hashed, provider=returned.provider).first()


def _is_browser_of(session: LinkSession, cookie: str) -> bool:
    return same_hash(bytes(session.cookie_hash), keyed_hash("link-cookie", cookie))


def _grant(departure: OAuthState, returned: Returned) -> Grant:
    """Trade what came back for tokens; LinkRefused by whatever stands against it."""
    token: LinkToken = departure.link_session.link_token
    if not is_of_living_user(token):
        raise LinkRefused(LinkErrorType.INVALID_TOKEN)
    problem = link_token_problem(token)
    if problem:
        raise LinkRefused(problem)
    if departure.expires_at <= clock.now():
        raise LinkRefused(LinkErrorType.TOKEN_EXPIRED)
    if returned.repeated:
        raise LinkRefused(LinkErrorType.PROVIDER_API_ERROR)
    if returned.error == _DENIED:
        raise LinkRefused(LinkErrorType.USER_CANCELLED)
    application = application_kept(departure.context, provider_find(departure.provider), departure.application_id)
    if returned.error or not returned.code or application is None:
        raise LinkRefused(LinkErrorType.PROVIDER_API_ERROR)
    obtained_at = clock.now()
    try:
        tokens = code_exchange(application, code=returned.code, verifier=departure.code_verifier)
    except GrantRefused:
        raise LinkRefused(LinkErrorType.PROVIDER_CREDENTIAL_ERROR) from None
    except ProviderFailure:
        raise LinkRefused(LinkErrorType.PROVIDER_API_ERROR) from None
    return replace(_granted(departure, application, tokens, returned), obtained_at=obtained_at)


def _granted(departure: OAuthState, application: Application, tokens: Tokens, returned: Returned) -> Grant:
    """The scopes the person gave: as the token endpoint says, else as the return says, else all that were asked.

    What they left out on our own page is denied like what they refused at the provider.
    """
    asked = tuple(departure.scopes_asked)
    granted = tokens.scopes or oauth.scopes_read(application, returned.scope) or asked
    wanted = requirement_of(departure.context, application.provider).asked(application.provider)
    wanted = tuple(dict.fromkeys((*asked, *wanted)))
    return Grant(
        provider=application.provider.slug,
        tokens=tokens,
        scopes_granted=granted,
        scopes_denied=tuple(scope for scope in wanted if scope not in granted),
        external_user_id=tokens.external_user_id or _account_id(departure, application, tokens, granted),
        application_id=application.application_id,
    )


def _connect(departure: OAuthState, grant: Grant) -> None:
    """Store the connection. A grant that is not kept is given back: LinkRefused says why it wasn't."""
    session = departure.link_session
    provider = provider_find(grant.provider)
    try:
        met = requirement_of(departure.context, provider).is_met(grant.scopes_granted)
        if not met or not selectors.scopes_useful(provider, grant.scopes_granted, departure.context.environment):
            raise LinkRefused(LinkErrorType.REQUIRED_SCOPES_NOT_GRANTED)
        connection_link(session=session, grant=grant)
    except LinkRefused:
        revocation_owe_grant(team=departure.context, user_id=session.link_token.user_id, grant=grant)
        raise


def _scopes_asked(application: Application, session: LinkSession) -> tuple[str, ...]:
    """Every scope but those the person left out on our page; what the login itself and the team need is always asked
    for."""
    requirement = requirement_of(session.context, application.provider)
    always = {*application.oauth.base_scopes, *requirement.required}
    wanted = requirement.asked(application.provider)
    asked = tuple(scope for scope in wanted if scope in always or scope not in session.scopes_left_out)
    # Leaving out nothing is fine even where there are no scopes at all; leaving out everything is not.
    if session.scopes_left_out and not selectors.scopes_useful(
        application.provider, asked, session.context.environment
    ):
        raise LinkRefused(LinkErrorType.REQUIRED_SCOPES_NOT_GRANTED)
    return asked


def _account_id(departure: OAuthState, application: Application, tokens: Tokens, scopes: tuple[str, ...]) -> str:
    provider, environment = application.provider, departure.context.environment
    access = access_held(
        application,
        provider,
        environment,
        api_url=application.api_url,
        access_token=tokens.access_token,
        scopes=scopes,
    )
    connector = connector_of(provider.slug, environment)
    try:
        return connector.account_id(access)[:200] if connector else ""
    except ProviderFailure as failure:
        # A connection without its account's id still gives data.
        log.warning("account_id_unknown", provider=application.provider.slug, kind=str(failure.kind))
        return ""
