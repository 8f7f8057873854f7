"""What staff leave behind: a row in the team's audit trail, and refusals shown at the field they are about."""

from typing import Any

from django import forms
from django.http import HttpRequest

from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.hooks import client_address
from healthsvc.kernel.principal import Environment, PrincipalKind, TeamContext
from management.audit import access_record
from management.operator import refusal_sentence
from webhooks.models import Delivery, Endpoint, Event


def context_of(row: Endpoint | Event | Delivery) -> TeamContext:
    """The tenant that a row is of."""
    return TeamContext(row.team_id, Environment(row.environment))


def staff_record(request: HttpRequest, row: Endpoint | Event | Delivery, what: str) -> None:
    """Write who of the staff did what; names the user whose data it was."""
    user_id = row.user_id if isinstance(row, Event) else None
    access_record(
        team=context_of(row),
        actor_kind=PrincipalKind.STAFF,
        actor_id=str(request.user.pk),
        action=f"{request.method} admin {row._meta.label_lower} {what}",
        ids={**({"user_id": str(user_id)} if user_id else {}), "object_id": str(row.pk)},
        request_id=getattr(request, "request_id", ""),
        address=client_address(request),
    )


def refusal_show(form: forms.BaseForm, error: ServiceError) -> None:
    """A service's refusal as errors of the form, each at the field that it names."""
    problems: list[Any] = error.detail if isinstance(error.detail, list) else []
    for problem in problems:
        field = next((part for part in problem["loc"] if part in form.fields), None)
        form.add_error(field, problem["msg"])
    if not problems:
        form.add_error(None, refusal_sentence(error))
