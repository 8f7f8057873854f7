"""The audit trail's writer: a row for each answered request that reads or changes something of a team's people, and
for each that changes something of an organisation."""

from uuid import UUID

from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from healthsvc.kernel import clock
from healthsvc.kernel.hooks import client_address
from healthsvc.kernel.ids import uuid_parse
from healthsvc.kernel.principal import Principal, PrincipalKind, TeamContext
from healthsvc.kernel.rows import team_values
from management.models import AccessRecord, OrganisationRecord


def request_record(*, request: Request, principal: Principal, action: str, ids: dict[str, str]) -> None:
    """Write who called what. Management calls that act for a team in one environment are in the team's trail."""
    if principal.team is None:
        if principal.organisation_id is not None and request.method not in SAFE_METHODS:
            _organisation_record(request, principal, principal.organisation_id, action, ids)
        return
    access_record(
        team=principal.team,
        actor_kind=principal.kind,
        actor_id=str(principal.key_id),
        action=action,
        ids=ids,
        request_id=getattr(request._request, "request_id", ""),
        address=client_address(request._request),
    )


def _organisation_record(
    request: Request, principal: Principal, organisation_id: UUID, action: str, ids: dict[str, str]
) -> None:
    OrganisationRecord.objects.create(
        organisation_id=organisation_id,
        actor_kind=principal.kind,
        actor_id=str(principal.key_id),
        action=action,
        object_ids=ids,
        request_id=getattr(request._request, "request_id", ""),
        address=client_address(request._request),
        occurred_at=clock.now(),
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
) -> None:
    """One row of the trail. `ids` are identifiers only; a `user_id` among them says whose data it was."""
    user_id = uuid_parse(ids.get("user_id", ""))
    AccessRecord.objects.create(
        **team_values(team),
        user_id=user_id,
        actor_kind=actor_kind,
        actor_id=actor_id,
        action=action,
        object_ids=ids,
        request_id=request_id,
        address=address,
        occurred_at=clock.now(),
    )
