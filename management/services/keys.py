"""Making, using and ending keys: what every door needs, without asking who may."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import same_hash
from healthsvc.kernel.errors import ErrorCode, ServiceError, not_found
from healthsvc.kernel.principal import Environment, Principal, PrincipalKind, Role, TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.constants import LAST_USED_INTERVAL_SECONDS, MANAGEMENT_KEY_PREFIX, KeyRole
from management.keys import ShownKey, key_make, team_key_prefix
from management.models import ManagementKey, Team, TeamKey


@dataclass(frozen=True, slots=True)
class KeyMade:
    """A key's row id and its text, which is shown this once."""

    key_id: UUID
    text: str


def team_key_create(
    *, team: Team, environment: Environment, label: str, created_by: str, expires_at: datetime | None = None
) -> KeyMade:
    """A new key for a team in one environment; 404 for a team that was deleted.

    Any number may live side by side, so that keys can be rotated.
    """
    made = key_make(team_key_prefix(environment, team.region))
    with team_scope(TeamContext(team.id, environment)), transaction.atomic():
        # Of a creation and a deletion at the same moment the second waits here for the first.
        if Team.objects.living().select_for_update(no_key=True).filter(pk=team.id).first() is None:
            raise not_found()
        row = TeamKey.objects.create(
            team=team,
            environment=environment,
            public_id=made.public_id,
            secret_hash=made.secret_hash,
            last_characters=made.last_characters,
            label=label,
            created_at=clock.now(),
            created_by=created_by,
            expires_at=expires_at,
        )
    return KeyMade(row.id, made.text)


def management_key_create(
    *,
    organisation_id: UUID,
    label: str,
    created_by: str,
    role: str = KeyRole.ORG_ADMIN,
    team_ids: Sequence[UUID] = (),
    expires_at: datetime | None = None,
) -> KeyMade:
    """A new management key for an organisation."""
    made = key_make(MANAGEMENT_KEY_PREFIX)
    row = ManagementKey.objects.create(
        organisation_id=organisation_id,
        public_id=made.public_id,
        secret_hash=made.secret_hash,
        last_characters=made.last_characters,
        label=label,
        created_at=clock.now(),
        created_by=created_by,
        role=role,
        team_ids=list(team_ids),
        expires_at=expires_at,
    )
    return KeyMade(row.id, made.text)


def key_revoke(*, key_id: UUID) -> None:
    """End a team or management key at once. 404 for an unknown key, 409 for one that is revoked already."""
    now = clock.now()
    with system_scope(SystemScope.STAFF):
        for rows in (TeamKey.objects.all(), ManagementKey.objects.all()):
            found = rows.filter(pk=key_id)
            if found.filter(revoked_at=None).update(revoked_at=now):
                return
            if found.exists():
                raise ServiceError(ErrorCode.CONFLICT, "This key is revoked already.")
    raise not_found()


def team_key_use(*, shown: ShownKey) -> Principal | None:
    """The principal of a living key of a living team, its use noted; None where the key is not to be trusted."""
    with system_scope(SystemScope.KEY_LOOKUP):
        row = TeamKey.objects.select_related("team").filter(public_id=shown.public_id).first()
        if row is None or not _trusted(row, shown) or row.team.deleted_at is not None:
            return None
        _note_use(TeamKey.objects.all(), row)
    return Principal(kind=PrincipalKind.TEAM_KEY, key_id=row.id, team=row.context)


def management_key_use(*, shown: ShownKey) -> Principal | None:
    """The principal of a living management key, its use noted; None where it is not to be trusted."""
    row = ManagementKey.objects.filter(public_id=shown.public_id).first()
    # A role of a newer release, after going back to this one, opens nothing.
    if row is None or not _trusted(row, shown) or row.role not in list(Role):
        return None
    _note_use(ManagementKey.objects.all(), row)
    return Principal(
        kind=PrincipalKind.MANAGEMENT_KEY,
        key_id=row.id,
        organisation_id=row.organisation_id,
        role=Role(row.role),
        team_ids=tuple(row.team_ids),
    )


def key_succeed(row: TeamKey | ManagementKey, *, overlap_seconds: int) -> datetime | None:
    """Let a key live on for so long, or for as long as it would have; the end that its successor has: the key's own.

    409 for a key that has a successor. The caller holds the row.
    """
    if row.rotated_at is not None:
        raise ServiceError(ErrorCode.CONFLICT, "This key has a successor already. Rotate that one.")
    now, own_end = clock.now(), row.expires_at
    end = now + timedelta(seconds=overlap_seconds)
    row.expires_at = end if own_end is None else min(own_end, end)
    row.rotated_at = now
    row.save(update_fields=["expires_at", "rotated_at"])
    return own_end


def _trusted(row: TeamKey | ManagementKey, shown: ShownKey) -> bool:
    return same_hash(bytes(row.secret_hash), shown.secret_hash) and row.is_alive(clock.now())


def _note_use(rows: QuerySet[TeamKey] | QuerySet[ManagementKey], row: TeamKey | ManagementKey) -> None:
    now = clock.now()
    before = now - timedelta(seconds=LAST_USED_INTERVAL_SECONDS)
    if row.last_used_at is None or row.last_used_at < before:
        # Guarded, so that of many requests in one moment one writes.
        rows.filter(Q(last_used_at=None) | Q(last_used_at__lt=before), pk=row.pk).update(last_used_at=now)
