"""What staff leave behind: a row in the team's audit trail, and refusals shown at the field they are about."""

from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest

from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.hooks import client_address
from healthsvc.kernel.principal import Environment, PrincipalKind, TeamContext
from healthsvc.kernel.scope import team_scope
from management.audit import access_record
from management.operator import refusal_sentence
from webhooks.models import Delivery, Endpoint, Event, PortalSession
from webhooks.services import repairs


def context_of(row: Endpoint | Event | Delivery | PortalSession) -> TeamContext:
    """The tenant that a row is of."""
    return TeamContext(row.team_id, Environment(row.environment))


def staff_record(request: HttpRequest, row: Endpoint | Event | Delivery | PortalSession, what: str) -> None:
    """Write who of the staff did what; names the user whose data it was."""
    event = row.event if isinstance(row, Delivery) else row
    user_id = event.user_id if isinstance(event, Event) else None
    access_record(
        team=context_of(row),
        actor_kind=PrincipalKind.STAFF,
        actor_id=str(request.user.pk),
        action=f"{request.method} admin {row._meta.label_lower} {what}",
        ids={**({"user_id": str(user_id)} if user_id else {}), "object_id": str(row.pk)},
        request_id=getattr(request, "request_id", ""),
        address=client_address(request),
    )


def message_resend(request: HttpRequest, row: Event | Delivery, *, message_id: UUID, endpoint_id: UUID) -> str:
    """Send a message again by the rule that holds for the team too, with a trace; why not, or nothing."""
    team = context_of(row)
    try:
        with team_scope(team):
            repairs.delivery_resend(team=team, endpoint_id=endpoint_id, message_id=message_id)
    except ServiceError as error:
        return "The endpoint was deleted." if error.code is ErrorCode.NOT_FOUND else refusal_sentence(error)
    staff_record(request, row, "resend")
    return ""


def refusal_show(form: forms.BaseForm, error: ServiceError) -> None:
    """A service's refusal as errors of the form, each at the field that it names."""
    problems: list[Any] = error.detail if isinstance(error.detail, list) else []
    for problem in problems:
        field = next((part for part in problem["loc"] if part in form.fields), None)
        form.add_error(field, problem["msg"])
    if not problems:
        form.add_error(None, refusal_sentence(error))
