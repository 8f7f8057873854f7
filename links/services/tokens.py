"""Link tokens: made for one user, shown once, opened by browsers, consumed by the first connection."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import UUID

from django.conf import settings
from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import keyed_hash
from healthsvc.kernel.errors import Problem, invalid
from healthsvc.kernel.ids import CHECKSUM_CHARACTERS, SECRET_CHARACTERS, checksum_text, secret_text
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.constants import LINK_TOKEN_KEPT_SECONDS, LINK_TOKEN_SECONDS, LinkErrorType
from links.models import LinkSession, LinkToken, OAuthState, PasswordLogin
from links.redirects import redirect_allowed, redirect_problem
from links.services.purging import rows_purge
from links.services.walk import walk
from links.states import TOKEN_TRANSITIONS, TokenCommand, TokenStatus
from management import selectors as management_selectors
from management.closed import of_living_team
from users import selectors as user_selectors
from users.models import User

#: What a link token begins with.
LINK_TOKEN_PREFIX: Final = "lk"  # noqa: S105 - how every one of them begins
#: What the outcome is written with on a redirect address.
_ADDED_PARAMETERS: Final = frozenset(("state", "error", "error_type"))
_SECRET: Final = re.compile(rf"[0-9A-Za-z]{{{SECRET_CHARACTERS + CHECKSUM_CHARACTERS}}}")


@dataclass(frozen=True, slots=True)
class LinkTokenMade:
    """A link token's text, shown this once, and the page it opens."""

    token: str
    web_url: str


@dataclass(frozen=True, slots=True)
class Opened:
    """A browser's session on a link token, and the cookie's text, kept nowhere else."""

    session: LinkSession
    cookie: str


def secret_make(prefix: str) -> str:
    """A new opaque token: its kind, 256 random bits and a checksum."""
    body = f"{prefix}_{secret_text()}"
    return body + checksum_text(body)


def secret_good(prefix: str, text: str) -> bool:
    """Whether `text` is of the form that `secret_make` gives; says nothing of whether it was ever made."""
    kind, _, rest = text.partition("_")
    if kind != prefix or not _SECRET.fullmatch(rest):
        return False
    return checksum_text(text[:-CHECKSUM_CHARACTERS]) == text[-CHECKSUM_CHARACTERS:]


def link_token_create(
    *,
    team: TeamContext,
    user_id: UUID,
    provider: str | None = None,
    redirect_url: str | None = None,
    filter_on_providers: Sequence[str] | None = None,
    on_error: str | None = None,
    on_close: str | None = None,
) -> LinkTokenMade:
    """A new token for one user. 404 for an unknown user, 422 for an address a person must not be sent to."""
    text = secret_make(LINK_TOKEN_PREFIX)
    with transaction.atomic():
        # Held, so that a deletion at this moment ends this token with the others.
        user = user_selectors.user_get(team, user_id, lock=True)
        if redirect_url is not None:
            _check_redirect(team, redirect_url)
        now = clock.now()
        LinkToken.objects.create(
            **team_values(team),
            user=user,
            token_hash=keyed_hash("link-token", text),
            provider=provider or "",
            redirect_url=redirect_url or "",
            filter_on_providers=list(dict.fromkeys(filter_on_providers or ())),
            redirects_on_error=on_error is not None,
            redirects_on_close=on_close is not None,
            created_at=now,
            expires_at=now + timedelta(seconds=LINK_TOKEN_SECONDS),
        )
    return LinkTokenMade(text, f"{settings.BASE_URL}/link/open?{urlencode({'token': text})}")


def link_token_find(text: str) -> LinkToken | None:
    """The row of a token that a caller shows, whatever its status; None for one we never made, or of a team or a user
    who is deleted.
    """
    if not secret_good(LINK_TOKEN_PREFIX, text):
        return None
    with system_scope(SystemScope.KEY_LOOKUP):
        token = LinkToken.objects.filter(of_living_team(), token_hash=keyed_hash("link-token", text)).first()
    return token if token is not None and is_of_living_user(token) else None


def is_of_living_user(token: LinkToken) -> bool:
    """Whether the token's user was not deleted: no door that shows or uses a token opens otherwise. One query."""
    with team_scope(token.context):
        return User.objects.for_team(token.context).living().filter(pk=token.user_id).exists()


def link_tokens_end(*, team: TeamContext, user_id: UUID) -> int:
    """End the tokens of a user who is deleted, with the logins that wait for a code; how many tokens that were. They
    stay ended where the deletion is undone.

    The caller holds the user. Whoever connects holds a token before its user, so one that is held is left alone:
    that login finds the user deleted.
    """
    living = LinkToken.objects.for_team(team).filter(
        user_id=user_id, status__in=[TokenStatus.NEW, TokenStatus.VALIDATED]
    )
    ids = list(living.order_by("pk").select_for_update(skip_locked=True).values_list("pk", flat=True))
    waiting = PasswordLogin.objects.for_team(team).filter(user_id=user_id, ended_at=None)
    waiting.update(ended_at=clock.now(), challenge="")
    return walk(LinkToken.objects.filter(pk__in=ids), TOKEN_TRANSITIONS, TokenCommand.EXPIRE)


def link_token_problem(token: LinkToken) -> LinkErrorType | None:
    """Why the token can't be used; None where it can. Runs in the token's team."""
    if token.status == TokenStatus.CONSUMED:
        return LinkErrorType.TOKEN_CONSUMED
    if token.status == TokenStatus.EXPIRED:
        return LinkErrorType.TOKEN_EXPIRED
    if token.expires_at <= clock.now():
        walk(LinkToken.objects.filter(pk=token.pk), TOKEN_TRANSITIONS, TokenCommand.EXPIRE)
        return LinkErrorType.TOKEN_EXPIRED
    if token.status == TokenStatus.NEW:
        return LinkErrorType.TOKEN_NOT_VALIDATED
    return None


def link_token_validate(token: LinkToken) -> LinkErrorType | None:
    """Note that the token was opened; why that is refused, or None."""
    problem = link_token_problem(token)
    if problem not in (None, LinkErrorType.TOKEN_NOT_VALIDATED):
        return problem
    if not walk(LinkToken.objects.filter(pk=token.pk), TOKEN_TRANSITIONS, TokenCommand.VALIDATE):
        # Consumed by another browser since the row was read.
        token.refresh_from_db()
        return link_token_problem(token)
    return None


def link_open(*, token: LinkToken) -> Opened | LinkErrorType:
    """Begin a browser's session on a living token."""
    with team_scope(token.context), transaction.atomic():
        problem = link_token_validate(token)
        if problem:
            return problem
        cookie = secret_text()
        session = LinkSession.objects.create(
            **team_values(token.context),
            link_token=token,
            cookie_hash=keyed_hash("link-cookie", cookie),
            created_at=clock.now(),
        )
    return Opened(session, cookie)


def link_tokens_purge() -> int:
    """Remove tokens that ended long ago, with the sessions and logins that hang on them; how many rows went."""
    before = clock.now() - timedelta(seconds=LINK_TOKEN_KEPT_SECONDS)
    with system_scope(SystemScope.PURGE):
        return rows_purge(
            OAuthState.objects.filter(link_session__link_token__expires_at__lt=before),
            LinkSession.objects.filter(link_token__expires_at__lt=before),
            PasswordLogin.objects.filter(link_token__expires_at__lt=before),
            LinkToken.objects.filter(expires_at__lt=before),
        )


def _check_redirect(team: TeamContext, redirect_url: str) -> None:
    loc = ("body", "redirect_url")
    found = redirect_problem(redirect_url)
    if found:
        raise invalid([Problem(loc, found, "url_scheme")])
    if _ADDED_PARAMETERS & {name for name, _ in parse_qsl(urlsplit(redirect_url).query, keep_blank_values=True)}:
        # Of a name that is there twice some readers take the first: a failure would look like a success.
        message = f"May not hold a parameter that is added to it: {', '.join(sorted(_ADDED_PARAMETERS))}."
        raise invalid([Problem(loc, message, "url_parameter")])
    prefixes = management_selectors.team_settings(team).redirect_url_prefixes
    if prefixes and not redirect_allowed(redirect_url, prefixes):
        raise invalid([Problem(loc, "This team allows other addresses only.", "url_not_allowed")])
    if not prefixes and not _is_apps_own(urlsplit(redirect_url).scheme):
        message = (
            "An app's own scheme is a domain name turned round, such as com.example.app (RFC 8252). Others are taken "
            "where the team's settings allow the address."
        )
        raise invalid([Problem(loc, message, "url_scheme")])


def _is_apps_own(scheme: str) -> bool:
    """Whether no other app has reason to claim the scheme: a short word is anybody's."""
    return scheme in ("http", "https") or "." in scheme
