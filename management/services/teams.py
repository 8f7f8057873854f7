"""Organisations and teams: made, named, deleted and brought back."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid, not_found
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.principal import Environment, Role, TeamContext
from management.constants import TEAM_GRACE_SECONDS, Region
from management.models import Organisation, Team
from management.models.tenants import INTEGRATION_TEAM_ID_ONCE
from management.services.keys import KeyMade, management_key_create
from management.services.names import name_check
from management.services.preferences import team_settings_change


class IntegrationTeamTakenError(ServiceError):
    """Another living team of the organisation has this integration_team_id."""

    def __init__(self, team_id: UUID | None) -> None:
        super().__init__(ErrorCode.CONFLICT, "Another team of this organisation has this integration_team_id.")
        self.team_id = team_id


def organisation_create(*, name: str, created_by: str) -> tuple[Organisation, KeyMade]:
    """A new organisation with its first management key."""
    name_check(name)
    with transaction.atomic():
        organisation = Organisation.objects.create(name=name, created_at=clock.now())
        made = management_key_create(organisation_id=organisation.id, label="first key", created_by=created_by)
    return organisation, made


def organisation_rename(*, organisation_id: UUID, name: str) -> None:
    """A new name for an organisation. 404 for an unknown one, 422 for a bad name."""
    name_check(name)
    if not Organisation.objects.filter(pk=organisation_id).update(name=name):
        raise not_found()


def team_create(
    *,
    organisation_id: UUID,
    name: str,
    region: str,
    team_id: UUID | None = None,
    integration_team_id: str | None = None,
    switches: Mapping[str, Any] | None = None,
) -> Team:
    """A new team; `switches` hold in both environments (see `team_settings_change`).

    ServiceError 404 for an unknown organisation, 422 for a bad name or region, 409 for a team_id that can't be used,
    IntegrationTeamTakenError (409) for an integration_team_id that a living team of the organisation has.
    """
    name_check(name)
    if region not in Region.values:
        raise invalid([Problem(("body", "region"), f"Must be one of {', '.join(Region.values)}.", "enum")])
    if not Organisation.objects.filter(pk=organisation_id).exists():
        raise not_found()
    team = Team(
        pk=team_id or uuid_ordered(),
        organisation_id=organisation_id,
        name=name,
        region=region,
        integration_team_id=integration_team_id,
        created_at=clock.now(),
    )
    with transaction.atomic():
        _write(team, new=True)
        for environment in Environment if switches else ():
            team_settings_change(team=TeamContext(team.pk, environment), changes=switches or {}, needs_logo=False)
    return team


def team_rename(*, team_id: UUID, name: str) -> None:
    """A new name for a team. 404 for an unknown one, 422 for a bad name."""
    name_check(name)
    if not Team.objects.filter(pk=team_id).update(name=name):
        raise not_found()


def team_patch(*, team_id: UUID, changes: Mapping[str, Any], role: Role | None) -> Team:
    """Change what is named: `name`, `integration_team_id` (None clears it), and the switches of each environment.

    403 for the `integration_team_id` where the caller is no org_admin; 404 for a team that was deleted; 422 and 409 as
    `team_create`. All or nothing.
    """
    if "integration_team_id" in changes and role is not Role.ORG_ADMIN:
        raise ServiceError(ErrorCode.NOT_ALLOWED, "Only an org_admin key may change the integration_team_id.")
    with transaction.atomic():
        team = Team.objects.living().select_for_update(no_key=True).filter(pk=team_id).first()
        if team is None:
            raise not_found()
        if changes.get("name") is not None:
            name_check(changes["name"])
            team.name = changes["name"]
        if "integration_team_id" in changes:
            team.integration_team_id = changes["integration_team_id"]
        _write(team, new=False)
        for environment in Environment:
            switches = changes.get(str(environment))
            if switches:
                team_settings_change(team=TeamContext(team_id, environment), changes=switches)
    return team


def team_delete(*, team_id: UUID) -> None:
    """From now on nothing opens the team, and after the grace period it is erased. 404 for one that was deleted."""
    now = clock.now()
    due = now + timedelta(seconds=TEAM_GRACE_SECONDS)
    if not Team.objects.living().filter(pk=team_id).update(deleted_at=now, erase_due_at=due):
        raise not_found()


def team_undelete(*, organisation_id: UUID, team_id: UUID) -> None:
    """Bring a deleted team back with its keys, within the grace period.

    404 for a team that is living, erased or due, IntegrationTeamTakenError where its integration_team_id lives again.
    """
    deleted = Team.objects.for_organisation(organisation_id).filter(pk=team_id, erase_due_at__gt=clock.now())
    try:
        with transaction.atomic():
            if not deleted.update(deleted_at=None, erase_due_at=None):
                raise not_found()
    except IntegrityError as error:
        # By now it may be living, erased or due.
        team = deleted.first()
        raise (not_found() if team is None else _refusal(error, team)) from None


def _write(team: Team, *, new: bool) -> None:
    try:
        with transaction.atomic():
            team.save(force_insert=new, force_update=not new)
    except IntegrityError as error:
        raise _refusal(error, team) from None


def _refusal(error: IntegrityError, team: Team) -> Exception:
    """What a unique key says to the caller; the error itself where it is something else."""
    constraint = getattr(getattr(error.__cause__, "diag", None), "constraint_name", None)
    if constraint == INTEGRATION_TEAM_ID_ONCE:
        living = Team.objects.for_organisation(team.organisation_id).living()
        holder = living.filter(integration_team_id=team.integration_team_id).values_list("pk", flat=True).first()
        return IntegrationTeamTakenError(holder)
    if constraint == "management_team_pkey":
        return ServiceError(ErrorCode.CONFLICT, "A new team can't have this id. Leave it out, or send another.")
    return error
