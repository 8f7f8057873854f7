"""Writes of the management app: organisations, teams and keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import same_hash
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid, not_found
from healthsvc.kernel.principal import Environment, Principal, PrincipalKind, Role, TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.branding import logo_media_type, logo_problem
from management.constants import (
    LAST_USED_INTERVAL_SECONDS,
    MANAGEMENT_KEY_PREFIX,
    NAME_PATTERN,
    KeyRole,
    Region,
)
from management.keys import ShownKey, key_make, team_key_prefix
from management.models import ManagementKey, Organisation, Team, TeamKey, TeamLogo


@dataclass(frozen=True, slots=True)
class KeyMade:
    """A key's row id and its text, which is shown this once."""

    key_id: UUID
    text: str


def organisation_create(*, name: str, created_by: str) -> tuple[Organisation, KeyMade]:
    """A new organisation with its first management key."""
    name_check(name)
    with transaction.atomic():
        organisation = Organisation.objects.create(name=name, created_at=clock.now())
        made = management_key_create(organisation_id=organisation.id, label="first key", created_by=created_by)
    return organisation, made


def team_create(*, organisation_id: UUID, name: str, region: str) -> Team:
    """A new team. ServiceError 404 for an unknown organisation, 422 for a bad name or region."""
    name_check(name)
    if region not in Region.values:
        raise invalid([Problem(("region",), f"Must be one of {', '.join(Region.values)}.", "enum")])
    if not Organisation.objects.filter(pk=organisation_id).exists():
        raise not_found()
    return Team.objects.create(organisation_id=organisation_id, name=name, region=region, created_at=clock.now())


def organisation_rename(*, organisation_id: UUID, name: str) -> None:
    """A new name for an organisation. 404 for an unknown one, 422 for a bad name."""
    name_check(name)
    if not Organisation.objects.filter(pk=organisation_id).update(name=name):
        raise not_found()


def team_rename(*, team_id: UUID, name: str) -> None:
    """A new name for a team. 404 for an unknown one, 422 for a bad name."""
    name_check(name)
    if not Team.objects.filter(pk=team_id).update(name=name):
        raise not_found()


def team_key_create(
    *, team: Team, environment: Environment, label: str, created_by: str, expires_at: datetime | None = None
) -> KeyMade:
    """A new key for a team in one environment. Any number may live side by side, so that keys can be rotated."""
    made = key_make(team_key_prefix(environment, team.region))
    with team_scope(TeamContext(team.id, environment)):
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
    """The principal of a living team key, its use noted; None where the key is not to be trusted."""
    with system_scope(SystemScope.KEY_LOOKUP):
        row = TeamKey.objects.filter(public_id=shown.public_id).first()
        if row is None or not _trusted(row, shown):
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


def team_logo_set(*, team: TeamContext, content: bytes) -> TeamLogo:
    """The team's logo from now on. 422 for what is no picture. A new one has a new id: the old address is cached."""
    problem, media_type = logo_problem(content), logo_media_type(content)
    if problem is not None or media_type is None:
        raise invalid([Problem(("content",), problem or "", "logo_invalid")])
    with team_scope(team), transaction.atomic():
        # Of two at the same moment the second waits here for the first.
        Team.objects.select_for_update(no_key=True).get(pk=team.team_id)
        team_logo_remove(team=team)
        return TeamLogo.objects.create(
            **team_values(team), media_type=media_type, content=content, created_at=clock.now()
        )


def team_logo_remove(*, team: TeamContext) -> bool:
    """Take the team's logo off its pages; whether there was one."""
    with team_scope(team):
        return TeamLogo.objects.for_team(team).delete()[0] > 0


def _trusted(row: TeamKey | ManagementKey, shown: ShownKey) -> bool:
    alive = row.revoked_at is None and (row.expires_at is None or row.expires_at > clock.now())
    return same_hash(bytes(row.secret_hash), shown.secret_hash) and alive


def _note_use(rows: QuerySet[TeamKey] | QuerySet[ManagementKey], row: TeamKey | ManagementKey) -> None:
    now = clock.now()
    before = now - timedelta(seconds=LAST_USED_INTERVAL_SECONDS)
    if row.last_used_at is None or row.last_used_at < before:
        # Guarded, so that of many requests in one moment one writes.
        rows.filter(Q(last_used_at=None) | Q(last_used_at__lt=before), pk=row.pk).update(last_used_at=now)


def name_check(name: str) -> None:
    """ServiceError 422 for a name that no organisation or team may have."""
    if not name.strip() or not NAME_PATTERN.fullmatch(name):
        msg = "1 to 80 letters, digits, spaces and ( ) , / : ' | & _ - are allowed."
        raise invalid([Problem(("name",), msg, "string_pattern_mismatch")])
