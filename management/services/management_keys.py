"""Management keys as an organisation's administrators handle them."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, ServiceError, not_found
from management.constants import KeyRole
from management.models import ManagementKey, Organisation
from management.services.bindings import bindings_check
from management.services.keys import KeyMade, key_succeed, management_key_create


def management_key_issue(
    *,
    organisation_id: UUID,
    label: str,
    role: str,
    team_ids: Sequence[UUID],
    created_by: str,
    expires_at: datetime | None = None,
) -> tuple[ManagementKey, KeyMade]:
    """A new key with its row. 422 for bindings that the role can't have."""
    bound = bindings_check(organisation_id=organisation_id, role=role, team_ids=team_ids)
    made = management_key_create(
        organisation_id=organisation_id,
        label=label,
        created_by=created_by,
        role=role,
        team_ids=bound,
        expires_at=expires_at,
    )
    return ManagementKey.objects.get(pk=made.key_id), made


def management_key_patch(
    *, organisation_id: UUID, key_id: UUID, label: str | None, team_ids: Sequence[UUID] | None
) -> ManagementKey:
    """Another label or other teams; None leaves as it is. The role is for life. 404 for a key that has ended."""
    with transaction.atomic():
        row = _held(organisation_id, key_id)
        if label is not None:
            row.label = label
        if team_ids is not None:
            row.team_ids = bindings_check(organisation_id=organisation_id, role=row.role, team_ids=team_ids)
        row.save(update_fields=["label", "team_ids"])
    return row


def management_key_rotate(
    *, organisation_id: UUID, key_id: UUID, overlap_seconds: int, created_by: str
) -> tuple[ManagementKey, KeyMade]:
    """A new key like this one, which lives on for `overlap_seconds`.

    404 for a key that has ended, 409 for one that has a successor.
    """
    with transaction.atomic():
        row = _held(organisation_id, key_id)
        expires_at = key_succeed(row, overlap_seconds=overlap_seconds)
        made = management_key_create(
            organisation_id=organisation_id,
            label=row.label,
            created_by=created_by,
            role=row.role,
            team_ids=row.team_ids,
            expires_at=expires_at,
        )
    return ManagementKey.objects.get(pk=made.key_id), made


def management_key_delete(*, organisation_id: UUID, key_id: UUID) -> ManagementKey:
    """End a key at once. 404 for one that has ended, 409 for the organisation's last org_admin key."""
    with transaction.atomic():
        row = _held(organisation_id, key_id)
        if row.role == KeyRole.ORG_ADMIN and not _siblings(row).exists():
            message = "This is the organisation's last org_admin key. Create another before deleting it."
            raise ServiceError(ErrorCode.CONFLICT, message)
        row.revoked_at = clock.now()
        row.save(update_fields=["revoked_at"])
    return row


def _held(organisation_id: UUID, key_id: UUID) -> ManagementKey:
    """The living key. Changes to an organisation's keys wait for each other: two must not be each other's sibling."""
    if Organisation.objects.select_for_update(no_key=True).filter(pk=organisation_id).first() is None:
        raise not_found()
    row = ManagementKey.objects.select_for_update().filter(pk=key_id, organisation_id=organisation_id).first()
    if row is None or not row.is_alive(clock.now()):
        raise not_found()
    return row


def _siblings(row: ManagementKey) -> QuerySet[ManagementKey]:
    """Other org_admin keys of the organisation that live at least as long as this one."""
    rows = ManagementKey.objects.filter(organisation_id=row.organisation_id, role=KeyRole.ORG_ADMIN, revoked_at=None)
    as_long = Q(expires_at=None)
    if row.expires_at is not None:
        as_long |= Q(expires_at__gte=row.expires_at)
    return rows.filter(as_long).exclude(pk=row.pk)
