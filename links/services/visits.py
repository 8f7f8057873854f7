"""What a browser's session on a link token keeps: what was asked for, what was left out, what a try came to."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.core import signing

from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.constants import LINK_TOKEN_SECONDS, OAUTH_STATE_SECONDS, LinkErrorType, link_error_type_read
from links.models import LinkSession, LinkToken
from links.services.tokens import Opened, is_of_living_user, link_open
from management.closed import of_living_team

_TICKET_SALT: Final = "link-window"
_END_SALT: Final = "link-ended"


def visit_ask(*, session: LinkSession, provider: str) -> None:
    """The customer's own widget asked for this provider: the pages go straight there, past their filter."""
    session.asked_provider = provider
    LinkSession.objects.filter(pk=session.pk).update(asked_provider=provider)


def visit_leave_out(*, session: LinkSession, scopes: Sequence[str]) -> None:
    """The person leaves these scopes out; they are not asked for."""
    session.scopes_left_out = list(scopes)
    LinkSession.objects.filter(pk=session.pk).update(scopes_left_out=session.scopes_left_out)


def visit_end(*, session: LinkSession, provider: str, error_type: LinkErrorType | None) -> None:
    """How the last try ended. Afterwards the session tells it, however often its pages are opened."""
    session.provider, session.error_type = provider, str(error_type) if error_type else ""
    LinkSession.objects.filter(pk=session.pk).update(provider=session.provider, error_type=session.error_type)


def window_ticket(*, session: LinkSession, provider: str) -> str:
    """Lets a new tab of the same browser go on where a frame can't: frames have cookies of their own."""
    return signing.dumps([str(session.pk), provider], salt=_TICKET_SALT)


def window_open(*, ticket: str) -> tuple[Opened, str] | LinkErrorType:
    """A session of the new tab on the same link token, with what was left out in the frame; and the provider."""
    try:
        session_id, provider = signing.loads(ticket, salt=_TICKET_SALT, max_age=OAUTH_STATE_SECONDS)
    except signing.BadSignature:
        return LinkErrorType.INVALID_TOKEN
    with system_scope(SystemScope.KEY_LOOKUP):
        session = LinkSession.objects.select_related("link_token").filter(of_living_team(), pk=UUID(session_id)).first()
    if session is None or not is_of_living_user(session.link_token):
        return LinkErrorType.INVALID_TOKEN
    opened = link_open(token=session.link_token)
    if not isinstance(opened, Opened):
        return opened
    with team_scope(session.context):
        visit_ask(session=opened.session, provider=session.asked_provider)
        visit_leave_out(session=opened.session, scopes=session.scopes_left_out)
    return opened, provider


def end_ticket(*, token: LinkToken, error_type: LinkErrorType) -> str:
    """Lets a page tell how a link ended without the token in its address."""
    return signing.dumps([str(token.pk), str(error_type)], salt=_END_SALT)


def end_open(*, ticket: str) -> tuple[LinkErrorType, LinkToken] | None:
    """How which link ended; None for what is no ticket of ours, or an old one."""
    try:
        token_id, error_type = signing.loads(ticket, salt=_END_SALT, max_age=LINK_TOKEN_SECONDS)
    except signing.BadSignature:
        return None
    with system_scope(SystemScope.KEY_LOOKUP):
        token = LinkToken.objects.filter(of_living_team(), pk=UUID(token_id)).first()
    if token is None or not is_of_living_user(token):
        return None
    return link_error_type_read(error_type), token
