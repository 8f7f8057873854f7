"""Device sessions: begun with a sign-in token, kept alive by a rotating refresh token, ended in one place.

The tokens of a session come in pairs, counted by `generation`. A refresh token is traded for the next pair and counts
once. Shown again it ends the session, for then somebody else has it too; except within a minute and as long as nothing
of the later pairs was used, for then the answer never reached the device.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog
from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import keyed_hash
from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.constants import (
    ACCESS_TOKEN_SECONDS,
    REFRESH_AGAIN_SECONDS,
    REFRESH_TOKEN_SECONDS,
    REFRESH_USED_KEPT_SECONDS,
    SIGN_IN_TOKEN_SECONDS,
    SessionEnd,
    SessionTokenKind,
)
from links.models import DeviceSession, LinkCode, SessionToken, SignInToken
from links.services.tokens import secret_good, secret_make
from management.closed import of_living_team
from users import selectors as user_selectors
from users.models import User

log = structlog.get_logger(__name__)

SIGN_IN_PREFIX: Final = "si"
_PREFIXES: Final = {SessionTokenKind.ACCESS: "sa", SessionTokenKind.REFRESH: "sr"}


@dataclass(frozen=True, slots=True)
class SessionPair:
    """A session with a new pair of tokens, whose texts are shown this once."""

    session: DeviceSession
    access_token: str
    refresh_token: str


def sign_in_token_create(*, team: TeamContext, user_id: UUID) -> str:
    """A token with which one device of this user begins a session, once, within the hour. 404 for an unknown user."""
    user = user_selectors.user_get(team, user_id)
    text = secret_make(SIGN_IN_PREFIX)
    now = clock.now()
    SignInToken.objects.create(
        **team_values(team),
        user=user,
        token_hash=keyed_hash("sign-in-token", text),
        created_at=now,
        expires_at=now + timedelta(seconds=SIGN_IN_TOKEN_SECONDS),
    )
    return text


def session_begin(*, sign_in_token: str) -> SessionPair:
    """Trade a sign-in token for a session, once; 401 for one that is unknown, used or out of time."""
    row = _sign_in_token_find(sign_in_token)
    if row is None:
        raise _refused("sign-in token")
    now = clock.now()
    with team_scope(row.context), transaction.atomic():
        fresh = SignInToken.objects.filter(pk=row.pk, used_at=None, expires_at__gt=now)
        if not user_hold(row.context, row.user_id) or not fresh.update(used_at=now):
            raise _refused("sign-in token")
        session = DeviceSession.objects.create(
            **team_values(row.context), user_id=row.user_id, created_at=now, last_used_at=now
        )
        return _pair_make(session, now)


def session_refresh(*, refresh_token: str) -> SessionPair:
    """Trade a refresh token for the next pair; 401 for one that is no good. One shown twice ends the session."""
    row = _session_token_find(SessionTokenKind.REFRESH, refresh_token)
    if row is None:
        raise _refused("refresh token")
    with team_scope(row.context):
        with transaction.atomic():
            pair = _rotate(row)
        if pair is None:
            raise _refused("refresh token")
        return pair


def session_use(access_token: str) -> DeviceSession | None:
    """The living session of an access token, its first use noted; None where the token is not to be trusted."""
    row = _session_token_find(SessionTokenKind.ACCESS, access_token)
    now = clock.now()
    if row is None or row.expires_at <= now or row.session.ended_at is not None:
        return None
    with team_scope(row.context):
        if not _living(row.context, row.session.user_id):
            return None
        if row.used_at is None:
            # Once a token, which is once an hour: the pair has arrived, and the device is seen.
            SessionToken.objects.filter(pk=row.pk, used_at=None).update(used_at=now)
            DeviceSession.objects.filter(pk=row.session_id).update(last_used_at=now)
    return row.session


def session_sign_out(*, refresh_token: str) -> DeviceSession | None:
    """End the session of a refresh token, whatever its age, and tell which. One that is unknown ends nothing: None."""
    # Whoever signs out of a deleted team is signed out also where that comes back.
    row = _session_token_find(SessionTokenKind.REFRESH, refresh_token, of_deleted_too=True)
    if row is None:
        return None
    with team_scope(row.context):
        _end(row.context, SessionEnd.SIGNED_OUT, pk=row.session_id)
    return row.session


def session_revoke(*, team: TeamContext, user_id: UUID, session_id: UUID) -> bool:
    """End one session of a user; False where there is none or it has ended."""
    return _end(team, SessionEnd.REVOKED, user_id=user_id, pk=session_id) > 0


def sessions_revoke(*, team: TeamContext, user_id: UUID, reason: SessionEnd = SessionEnd.REVOKED) -> int:
    """End every session of a user, and whatever could begin a new one; how many sessions ended."""
    now = clock.now()
    with transaction.atomic():
        for waiting in (LinkCode.objects.for_team(team), SignInToken.objects.for_team(team)):
            waiting.filter(user_id=user_id, used_at=None).update(used_at=now)
        return _end(team, reason, user_id=user_id)


def _sign_in_token_find(text: str) -> SignInToken | None:
    if not secret_good(SIGN_IN_PREFIX, text):
        return None
    with system_scope(SystemScope.KEY_LOOKUP):
        return SignInToken.objects.filter(of_living_team(), token_hash=keyed_hash("sign-in-token", text)).first()


def _session_token_find(kind: SessionTokenKind, text: str, *, of_deleted_too: bool = False) -> SessionToken | None:
    if not secret_good(_PREFIXES[kind], text):
        return None
    token_hash = keyed_hash("session-token", text)
    with system_scope(SystemScope.KEY_LOOKUP):
        rows = SessionToken.objects.select_related("session").filter(kind=kind, token_hash=token_hash)
        return (rows if of_deleted_too else rows.filter(of_living_team())).first()


def user_hold(team: TeamContext, user_id: UUID) -> bool:
    """Whether the user lives, who then can't be disconnected before the transaction ends. Before anything of theirs is
    locked, for so does whoever disconnects them.
    """
    living = User.objects.for_team(team).living().filter(pk=user_id)
    return living.select_for_update(no_key=True).first() is not None


def _living(team: TeamContext, user_id: UUID) -> bool:
    return User.objects.for_team(team).living().filter(pk=user_id).exists()


def _rotate(shown: SessionToken) -> SessionPair | None:
    """The next pair, or None. Holds the session, so that of two at once the second sees what the first did."""
    session = DeviceSession.objects.select_for_update().filter(pk=shown.session_id, ended_at=None).first()
    token = SessionToken.objects.filter(pk=shown.pk).first()
    if session is None or token is None or not _living(session.context, session.user_id):
        return None
    now = clock.now()
    later = SessionToken.objects.filter(session=session, generation__gt=token.generation)
    if token.generation == session.generation:
        if token.expires_at <= now:
            return None
        kept_until = min(token.expires_at, now + timedelta(seconds=REFRESH_USED_KEPT_SECONDS))
        SessionToken.objects.filter(pk=token.pk).update(used_at=now, expires_at=kept_until)
    elif _answer_was_lost(token, now) and not later.exclude(used_at=None).exists():
        later.filter(kind=SessionTokenKind.ACCESS).delete()
    else:
        log.warning("session_token_reused", session_id=str(session.pk))
        _end(session.context, SessionEnd.TOKEN_REUSED, pk=session.pk)
        return None
    session.generation += 1
    session.last_used_at = now
    session.save(update_fields=["generation", "last_used_at"])
    return _pair_make(session, now)


def _answer_was_lost(token: SessionToken, now: datetime) -> bool:
    return token.used_at is not None and now - token.used_at <= timedelta(seconds=REFRESH_AGAIN_SECONDS)


def _pair_make(session: DeviceSession, now: datetime) -> SessionPair:
    texts = {kind: secret_make(prefix) for kind, prefix in _PREFIXES.items()}
    seconds = {SessionTokenKind.ACCESS: ACCESS_TOKEN_SECONDS, SessionTokenKind.REFRESH: REFRESH_TOKEN_SECONDS}
    SessionToken.objects.bulk_create(
        SessionToken(
            **team_values(session.context),
            session=session,
            kind=kind,
            generation=session.generation,
            token_hash=keyed_hash("session-token", text),
            created_at=now,
            expires_at=now + timedelta(seconds=seconds[kind]),
        )
        for kind, text in texts.items()
    )
    return SessionPair(session, texts[SessionTokenKind.ACCESS], texts[SessionTokenKind.REFRESH])


def _end(team: TeamContext, reason: SessionEnd, **which: UUID) -> int:
    living = DeviceSession.objects.for_team(team).filter(ended_at=None, **which)
    return living.update(ended_at=clock.now(), end_reason=reason)


def _refused(what: str) -> ServiceError:
    message = f"The {what} is unknown, used, revoked or out of time. The person needs to sign in again."
    return ServiceError(ErrorCode.NOT_AUTHENTICATED, message)
