"""The audit trail's writer: a row for each answered request that reads or changes something of a team's people, and
for each that changes something of an organisation; and a row for each piece of background work on a person's data."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from healthsvc.kernel import clock
from healthsvc.kernel.hooks import client_address
from healthsvc.kernel.ids import uuid_parse
from healthsvc.kernel.principal import Principal, PrincipalKind, TeamContext
from healthsvc.kernel.rows import team_values
from management.models import AccessRecord, OrganisationRecord

#: People that one record names. No page shows more; a request that changes more leaves several records.
_USERS_NAMED_MAXIMUM: Final = 500


def request_record(
    *,
    request: Request,
    principal: Principal,
    action: str,
    ids: dict[str, str],
    status_code: int = 200,
    user_ids: Sequence[UUID] = (),
) -> None:
    """Write who called what. Management calls that act for a team in one environment are in the team's trail.

    Others are in the organisation's where they changed something; what was read there or refused is in the log alone.
    """
    if principal.team is None:
        changed = request.method not in SAFE_METHODS and status_code < 400
        if principal.organisation_id is not None and changed:
            organisation_record(
                request=request._request,
                organisation_id=principal.organisation_id,
                actor_kind=principal.kind,
                actor_id=str(principal.key_id),
                action=action,
                ids=ids,
            )
        return
    access_record(
        team=principal.team,
        actor_kind=principal.kind,
        actor_id=str(principal.key_id),
        action=action,
        ids=ids,
        request_id=getattr(request._request, "request_id", ""),
        address=client_address(request._request),
        status_code=status_code,
        user_ids=user_ids,
    )


def organisation_record(
    *,
    request: HttpRequest,
    organisation_id: UUID,
    actor_kind: PrincipalKind,
    actor_id: str,
    action: str,
    ids: dict[str, str],
) -> None:
    """One row of an organisation's trail: who changed what."""
    OrganisationRecord.objects.create(
        organisation_id=organisation_id,
        actor_kind=actor_kind,
        actor_id=actor_id,
        action=action,
        object_ids=ids,
        request_id=getattr(request, "request_id", ""),
        address=client_address(request),
        occurred_at=clock.now(),
    )


def worker_record(*, team: TeamContext, user_id: UUID, action: str, work_id: UUID) -> None:
    """One row for a piece of background work that read or changed a person's data, in its transaction.

    `work_id` names the work (a job, a pull, an erasure) and is the actor; `action` is a verb and what it was done to.
    """
    access_record(
        team=team,
        actor_kind=PrincipalKind.WORKER,
        actor_id=str(work_id),
        action=action,
        ids={"user_id": str(user_id)},
    )


def staff_records(request: HttpRequest, *, action: str, shown: Mapping[TeamContext, Sequence[UUID]]) -> None:
    """A row for each team of whose people a page of the admin showed something, in one statement."""
    AccessRecord.objects.bulk_create(
        AccessRecord(
            **team_values(team),
            actor_kind=PrincipalKind.STAFF,
            actor_id=str(request.user.pk),
            action=action,
            object_ids=_named({}, list(dict.fromkeys(user_ids))),
            request_id=getattr(request, "request_id", ""),
            address=client_address(request),
            occurred_at=clock.now(),
            status_code=200,
        )
        for team, user_ids in shown.items()
    )


def access_record(
    *,
    team: TeamContext,
    actor_kind: PrincipalKind,
    actor_id: str,
    action: str,
    ids: dict[str, str],
    request_id: str = "",
    address: str = "",
    status_code: int | None = None,
    user_ids: Sequence[UUID] = (),
) -> None:
    """One row of the trail, in one statement. `ids` are identifiers only: a `user_id` says whose data it was.

    `user_ids` are those of a page of people, or of a change to many: more than 500 are in more rows.
    """
    users = list(dict.fromkeys(user_ids))
    records = [
        AccessRecord(
            **team_values(team),
            user_id=uuid_parse(ids.get("user_id", "")),
            actor_kind=actor_kind,
            actor_id=actor_id,
            action=action,
            object_ids=_named(ids, users[start : start + _USERS_NAMED_MAXIMUM]),
            request_id=request_id,
            address=address,
            occurred_at=clock.now(),
            status_code=status_code,
        )
        for start in range(0, max(len(users), 1), _USERS_NAMED_MAXIMUM)
    ]
    if len(records) == 1:
        # Without a transaction around it, which would be two more ways to the database.
        records[0].save(force_insert=True)
    else:
        AccessRecord.objects.bulk_create(records)


def _named(ids: Mapping[str, str], user_ids: Sequence[UUID]) -> dict[str, Any]:
    if not user_ids:
        return dict(ids)
    return {**ids, "user_ids": [str(user_id) for user_id in user_ids[:_USERS_NAMED_MAXIMUM]]}
