"""Access tokens: made with a management key, they open one team in one environment for some minutes."""

from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import keyed_hash
from healthsvc.kernel.ids import secret_text
from healthsvc.kernel.principal import Principal, PrincipalKind, TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.constants import ACCESS_TOKEN_PREFIX, ACCESS_TOKEN_SECONDS, KeyRole
from management.models import ManagementKey, TeamAccessToken


@dataclass(frozen=True, slots=True)
class AccessTokenMade:
    """A token just made. Its text is shown once and kept nowhere."""

    token_id: UUID
    text: str = field(repr=False)
    expires_in_seconds: int


def access_token_create(*, team: TeamContext, management_key_id: UUID) -> AccessTokenMade:
    """A new token for the team and environment. The caller has seen that the key may."""
    text = f"{ACCESS_TOKEN_PREFIX}{secret_text()}"
    now = clock.now()
    with team_scope(team):
        row = TeamAccessToken.objects.create(
            **team_values(team),
            token_hash=_hash(text),
            management_key_id=management_key_id,
            created_at=now,
            expires_at=now + timedelta(seconds=ACCESS_TOKEN_SECONDS),
        )
    return AccessTokenMade(row.pk, text, ACCESS_TOKEN_SECONDS)


def access_token_use(text: str) -> Principal | None:
    """Whom a token opens; None where it is unknown or over, or its team or the right of its maker has ended."""
    with system_scope(SystemScope.KEY_LOOKUP):
        rows = TeamAccessToken.objects.select_related("team", "management_key")
        row = rows.filter(token_hash=_hash(text)).first()
    now = clock.now()
    if row is None or row.expires_at <= now or row.team.deleted_at is not None:
        return None
    if not row.management_key.is_alive(now) or not _may_open(row.management_key, row.team_id):
        return None
    return Principal(kind=PrincipalKind.ACCESS_TOKEN, key_id=row.management_key_id, team=row.context)


def access_tokens_purge() -> int:
    """Remove tokens that are over; how many."""
    with system_scope(SystemScope.PURGE):
        return TeamAccessToken.objects.filter(expires_at__lt=clock.now()).delete()[0]


def _may_open(key: ManagementKey, team_id: UUID) -> bool:
    return key.role == KeyRole.ORG_ADMIN or team_id in key.team_ids


def _hash(text: str) -> bytes:
    return keyed_hash("team-access-token", text)
