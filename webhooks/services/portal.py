"""The portal's links and sessions: a link opens once, in one browser, which from then on has a session of its own."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from django.conf import settings

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import keyed_hash, same_hash
from healthsvc.kernel.ids import SECRET_CHARACTERS, secret_text
from healthsvc.kernel.principal import PrincipalKind, TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.closed import of_living_team
from webhooks.constants import (
    PORTAL_IDLE_SECONDS,
    PORTAL_LINK_SECONDS,
    PORTAL_SEEN_SECONDS,
    PORTAL_SESSION_SECONDS,
)
from webhooks.models import PortalSession

_SECRET: Final = re.compile(rf"[0-9A-Za-z]{{{SECRET_CHARACTERS}}}")


@dataclass(frozen=True, slots=True)
class PortalLink:
    """A link's address, shown this once, and until when it opens."""

    url: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class PortalOpened:
    """A browser's session, and its cookie's text, kept nowhere else."""

    session: PortalSession
    cookie: str


def portal_link_make(*, team: TeamContext, made_by_kind: PrincipalKind, made_by_id: str) -> PortalLink:
    """A link for one of the team's people. In the team's scope."""
    text = secret_text()
    now = clock.now()
    made = PortalSession.objects.create(
        **team_values(team),
        link_hash=keyed_hash("portal-link", text),
        link_expires_at=now + timedelta(seconds=PORTAL_LINK_SECONDS),
        made_by_kind=str(made_by_kind),
        made_by_id=made_by_id,
        created_at=now,
    )
    return PortalLink(f"{settings.BASE_URL}/portal/open?{urlencode({'token': text})}", made.link_expires_at)


def portal_link_find(token: str) -> PortalSession | None:
    """What a link that can still be opened leads to, with its team; None for every other text."""
    if not _SECRET.fullmatch(token):
        return None
    with system_scope(SystemScope.KEY_LOOKUP):
        waiting = PortalSession.objects.filter(opened_at=None, ended_at=None, link_expires_at__gt=clock.now())
        return (
            waiting.select_related("team").filter(of_living_team(), link_hash=keyed_hash("portal-link", token)).first()
        )


def portal_open(*, token: str, cookie_before: str = "") -> PortalOpened | None:
    """Begin the session of a link; None where it leads nowhere any more, or another browser was first.

    One browser shows one team: the session that `cookie_before` is of ends.
    """
    link = portal_link_find(token)
    if link is None:
        return None
    cookie = secret_text()
    now = clock.now()
    with team_scope(link.context):
        opened = PortalSession.objects.filter(
            pk=link.pk, opened_at=None, ended_at=None, link_expires_at__gt=now
        ).update(
            opened_at=now,
            last_seen_at=now,
            expires_at=now + timedelta(seconds=PORTAL_SESSION_SECONDS),
            cookie_hash=keyed_hash("portal-cookie", cookie),
        )
    if not opened:
        return None
    before = portal_session_find(cookie_before)
    if before is not None:
        portal_end(session=before)
    return PortalOpened(link, cookie)


def portal_session_find(cookie: str) -> PortalSession | None:
    """The living session whose cookie a browser shows, with its team; None where it has ended, or there was none."""
    if not _SECRET.fullmatch(cookie):
        return None
    now = clock.now()
    with system_scope(SystemScope.KEY_LOOKUP):
        living = PortalSession.objects.filter(
            ended_at=None, expires_at__gt=now, last_seen_at__gt=now - timedelta(seconds=PORTAL_IDLE_SECONDS)
        )
        rows = living.select_related("team").filter(of_living_team(), cookie_hash=keyed_hash("portal-cookie", cookie))
        found = rows.first()
    if found is None or found.last_seen_at is None:
        return None
    if found.last_seen_at <= now - timedelta(seconds=PORTAL_SEEN_SECONDS):
        with team_scope(found.context):
            PortalSession.objects.filter(pk=found.pk, ended_at=None).update(last_seen_at=now)
    return found


def portal_is_opened_by(session: PortalSession, token: str) -> bool:
    """Whether it was this link that began the session."""
    return same_hash(bytes(session.link_hash), keyed_hash("portal-link", token))


def portal_end(*, session: PortalSession) -> None:
    """End a session; ending it again changes nothing."""
    with team_scope(session.context):
        PortalSession.objects.filter(pk=session.pk, ended_at=None).update(ended_at=clock.now())
