"""Link codes: short enough to be typed, good for one sign-in."""

import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import keyed_hash
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.constants import LINK_CODE_SECONDS, LINK_CODE_SECONDS_MAXIMUM
from links.models import LinkCode
from links.services.guesses import guess_guarded
from links.services.sessions import sign_in_token_create, user_hold
from management.closed import of_living_team
from management.constants import TEAM_KEY_PREFIXES
from management.models import Team
from users import selectors as user_selectors

#: Environment and region, then 32 random bits.
_CODE: Final = re.compile(r"(?P<beginning>(?:sk|pk)(?:eu|us))[0-9a-f]{8}")
_RANDOM_BYTES: Final = 4
#: Draws before giving up; with a million codes there, one in 4,000 draws hits one of them.
_DRAWS: Final = 5


@dataclass(frozen=True, slots=True)
class LinkCodeMade:
    """A code's text, shown this once, and the address that opens the customer's app with it."""

    code: str
    exchange_url: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class LinkCodeExchanged:
    """What a code was traded for."""

    code_id: UUID
    team: TeamContext
    user_id: UUID
    sign_in_token: str


def link_code_create(*, team: TeamContext, user_id: UUID, expires_at: datetime | None = None) -> LinkCodeMade:
    """A new code for one user. 404 for an unknown user, 422 for an end that has passed or is too far away."""
    user = user_selectors.user_get(team, user_id)
    now = clock.now()
    ends_at = expires_at or now + timedelta(seconds=LINK_CODE_SECONDS)
    _check_end(ends_at, now)
    beginning = f"{TEAM_KEY_PREFIXES[team.environment]}{Team.objects.get(pk=team.team_id).region}"
    for _ in range(_DRAWS):
        code = f"{beginning}{secrets.token_hex(_RANDOM_BYTES)}"
        row = LinkCode(**team_values(team), user=user, code_hash=_code_hash(code), created_at=now, expires_at=ends_at)
        LinkCode.objects.bulk_create([row], ignore_conflicts=True)
        if LinkCode.objects.for_team(team).filter(pk=row.pk).exists():
            return LinkCodeMade(code, _exchange_url(code), ends_at)
    raise ServiceError(ErrorCode.UNAVAILABLE)


def link_code_exchange(*, code: str, address: str) -> LinkCodeExchanged:
    """Trade a code for a sign-in token. Of two at once one wins.

    404 for one that is unknown, used or out of time, all alike; 429 for who guesses. A code that can't be one costs
    no guess, and one that was made costs none either, however often it is shown.
    """
    match = _CODE.fullmatch(code)
    if match is None:
        raise _refused()
    row = guess_guarded(beginning=match["beginning"], address=address, find=lambda: _code_find(code))
    if row is None:
        raise _refused()
    now = clock.now()
    with team_scope(row.context), transaction.atomic():
        fresh = LinkCode.objects.filter(pk=row.pk, used_at=None, expires_at__gt=now)
        if not user_hold(row.context, row.user_id) or not fresh.update(used_at=now):
            raise _refused()
        token = sign_in_token_create(team=row.context, user_id=row.user_id)
    return LinkCodeExchanged(row.pk, row.context, row.user_id, token)


def _refused() -> ServiceError:
    """The same for every code that opens nothing, so that a guess learns nothing."""
    return ServiceError(ErrorCode.NOT_FOUND, "The link code is unknown, used or out of time. Make a new one.")


def _code_find(code: str) -> LinkCode | None:
    with system_scope(SystemScope.KEY_LOOKUP):
        return LinkCode.objects.filter(of_living_team(), code_hash=_code_hash(code)).first()


def _code_hash(code: str) -> bytes:
    return keyed_hash("link-code", code)


def _exchange_url(code: str) -> str:
    scheme = settings.LINK_CODE_SCHEME
    return f"{scheme}://{scheme}?{urlencode({'code': code})}"


def _check_end(ends_at: datetime, now: datetime) -> None:
    loc = ("query", "expires_at")
    if ends_at <= now:
        raise invalid([Problem(loc, "Has passed already.", "datetime_future")])
    if ends_at > now + timedelta(seconds=LINK_CODE_SECONDS_MAXIMUM):
        days = LINK_CODE_SECONDS_MAXIMUM // 86_400
        raise invalid([Problem(loc, f"May be at most {days} days away.", "less_than_equal")])
