"""Team keys as an organisation's management keys handle them."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.errors import not_found
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.scope import SystemScope, system_scope
from management.models import TeamInOrganisation, TeamKey
from management.services.keys import KeyMade, key_succeed, team_key_create


@dataclass(frozen=True, slots=True)
class KeysDeleted:
    """What came of each key that was to be deleted."""

    deleted: list[UUID]
    not_found: list[UUID]


def team_keys_delete(*, teams: TeamInOrganisation, environment: Environment, key_ids: Sequence[UUID]) -> KeysDeleted:
    """End keys of these teams in one environment, at once. Others' keys and ended ones are not found.

    `teams` may hold deleted ones: a key of theirs opens nothing, but would again where the team is brought back.
    """
    with system_scope(SystemScope.KEY_LOOKUP), transaction.atomic():
        living = TeamKey.objects.filter(pk__in=key_ids, team__in=teams, environment=environment, revoked_at=None)
        ours = set(living.select_for_update(of=["self"]).order_by("pk").values_list("pk", flat=True))
        TeamKey.objects.filter(pk__in=ours).update(revoked_at=clock.now())
    once = list(dict.fromkeys(key_ids))
    return KeysDeleted([key for key in once if key in ours], [key for key in once if key not in ours])


def team_key_rotate(
    *, teams: TeamInOrganisation, environment: Environment, key_id: UUID, overlap_seconds: int, created_by: str
) -> tuple[TeamKey, KeyMade]:
    """A new key like this one, which lives on for `overlap_seconds`; the new key's row.

    404 for one that has ended, 409 for one that has a successor.
    """
    with transaction.atomic():
        with system_scope(SystemScope.KEY_LOOKUP):
            rows = TeamKey.objects.select_for_update(of=["self"]).select_related("team")
            row = rows.filter(pk=key_id, team__in=teams, environment=environment).first()
            if row is None or not row.is_alive(clock.now()):
                raise not_found()
            expires_at = key_succeed(row, overlap_seconds=overlap_seconds)
        made = team_key_create(
            team=row.team, environment=environment, label=row.label, created_by=created_by, expires_at=expires_at
        )
        with system_scope(SystemScope.KEY_LOOKUP):
            return TeamKey.objects.select_related("team").get(pk=made.key_id), made
