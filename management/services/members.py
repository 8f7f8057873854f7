"""The people of an organisation, and those it invites. They have no login here, so no letter is sent yet."""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, ServiceError, not_found
from management.constants import InviteStatus, MemberRole
from management.models import Invite, Member, Organisation
from management.services.bindings import bindings_check


def invite_send(
    *, organisation_id: UUID, email: str, role: str, team_ids: Sequence[UUID], created_by: str
) -> tuple[InviteStatus, UUID | None]:
    """Invite a person, or once more with this role now; what came of it, and the invitation. 422 for bad bindings."""
    bound = bindings_check(organisation_id=organisation_id, role=role, team_ids=team_ids)
    address, now = email.lower(), clock.now()
    with transaction.atomic():
        _hold(organisation_id)
        if Member.objects.filter(organisation_id=organisation_id, email=address).exists():
            return InviteStatus.ALREADY_IN_ORG, None
        invite, is_new = Invite.objects.get_or_create(
            organisation_id=organisation_id,
            email=address,
            defaults={"role": role, "team_ids": bound, "invited_at": now, "created_by": created_by},
        )
        if is_new:
            return InviteStatus.CREATED, invite.pk
        invite.role, invite.team_ids, invite.resent_at = role, bound, now
        invite.save(update_fields=["role", "team_ids", "resent_at"])
        return InviteStatus.RESENT, invite.pk


def invite_revoke(*, organisation_id: UUID, invite_id: UUID) -> None:
    """Take an invitation back. 404 for one that is not there."""
    if not Invite.objects.filter(pk=invite_id, organisation_id=organisation_id).delete()[0]:
        raise not_found()


def member_create(*, organisation_id: UUID, name: str, email: str, role: str, team_ids: Sequence[UUID] = ()) -> Member:
    """A new person of the organisation, whose invitation is over. 409 where one has this address, 422 as above."""
    bound = bindings_check(organisation_id=organisation_id, role=role, team_ids=team_ids)
    address = email.lower()
    with transaction.atomic():
        _hold(organisation_id)
        member, is_new = Member.objects.get_or_create(
            organisation_id=organisation_id,
            email=address,
            defaults={"name": name, "role": role, "team_ids": bound, "created_at": clock.now()},
        )
        if not is_new:
            raise ServiceError(ErrorCode.CONFLICT, "A member has this address already.")
        Invite.objects.filter(organisation_id=organisation_id, email=address).delete()
    return member


def member_patch(*, organisation_id: UUID, member_id: UUID, role: str | None, team_ids: Sequence[UUID] | None) -> None:
    """Another role or other teams; None leaves as it is. 404 for an unknown member, 422 for bad bindings."""
    with transaction.atomic():
        rows = Member.objects.select_for_update().filter(pk=member_id, organisation_id=organisation_id)
        member = rows.first()
        if member is None:
            raise not_found()
        wanted = role or member.role
        if team_ids is None and wanted == member.role:
            # Of the teams that stay some may be deleted by now.
            return
        kept = member.team_ids if wanted == MemberRole.TEAM_ADMIN else []
        bound = bindings_check(
            organisation_id=organisation_id, role=wanted, team_ids=kept if team_ids is None else team_ids
        )
        member.role, member.team_ids = wanted, bound
        member.save(update_fields=["role", "team_ids"])


def member_remove(*, organisation_id: UUID, member_id: UUID) -> None:
    """Take a person out of the organisation. 404 for an unknown one."""
    if not Member.objects.filter(pk=member_id, organisation_id=organisation_id).delete()[0]:
        raise not_found()


def _hold(organisation_id: UUID) -> None:
    """Of an invitation and a new member at the same moment the second waits here for the first."""
    if Organisation.objects.select_for_update(no_key=True).filter(pk=organisation_id).first() is None:
        raise not_found()
