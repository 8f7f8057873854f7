"""Reads of device sessions."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.typing import JSONObject
from links import selectors
from links.brand import team_logo_url
from links.constants import SessionTokenKind
from links.models import DeviceSession, SessionToken
from management.models import Team


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Living sessions of one page, the newest first, and the cursor of the next page."""

    sessions: list[DeviceSession]
    next_cursor: UUID | None


def session_page(team: TeamContext, user_id: UUID, *, cursor: UUID | None, size: int) -> SessionPage:
    """One page of a user's living sessions. One query."""
    rows = DeviceSession.objects.for_team(team).filter(user_id=user_id, ended_at=None).order_by("-id")
    found = list((rows.filter(id__lt=cursor) if cursor else rows)[: size + 1])
    return SessionPage(found[:size], found[size - 1].pk if len(found) > size else None)


def session_get(team: TeamContext, session_id: UUID) -> DeviceSession:
    """A session of the team, living or not."""
    return DeviceSession.objects.for_team(team).get(pk=session_id)


def session_expires_at(session: DeviceSession) -> datetime:
    """When a session ends unless it is refreshed."""
    last = SessionToken.objects.filter(
        session=session, kind=SessionTokenKind.REFRESH, generation=session.generation
    ).get()
    return last.expires_at


def standing_json(team: TeamContext, user_id: UUID) -> JSONObject:
    """Whose user somebody is, as `StandingAnswer` shows it."""
    return {
        "user_id": str(user_id),
        "team": {"name": selectors.team_name(team), "logo_url": team_logo_url(team)},
        "environment": str(team.environment),
        "region": Team.objects.get(pk=team.team_id).region,
    }
