"""Writes of users' insurances."""

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from users import payor_selectors, selectors
from users.constants import ResponsibleRelationship
from users.guarantors import Guarantor
from users.models import Insurance, InsuranceCompany, InsuranceDetails, InsuredPerson


@dataclass(frozen=True, slots=True)
class InsuranceGiven:
    """An insurance as a caller tells it."""

    payor_code: str
    member_id: str
    group_id: str | None
    relationship: ResponsibleRelationship
    insured: InsuredPerson
    guarantor: Guarantor | None
    is_primary: bool


def insurance_create(*, team: TeamContext, user_id: UUID, given: InsuranceGiven) -> Insurance:
    """Keep an insurance of a living user beside those told before.

    422 for an unknown payor, or no guarantor where the patient is not the insured; 400 before the user's demographics.
    The company is kept as it is now. The user is held until the transaction ends, so that nobody leaves in between.
    """
    with transaction.atomic():
        selectors.user_get(team, user_id, lock=True, missing=selectors.USER_MISSING)
        if selectors.demographics_find(team, user_id) is None:
            raise ServiceError(
                ErrorCode.BAD_REQUEST,
                "The user's demographics with an address are needed first: PATCH /v2/user/{user_id}/info.",
            )
        details = _details(team, given)
        return Insurance.objects.create(
            **team_values(team),
            user_id=user_id,
            is_primary=given.is_primary,
            details=details.as_json(),
            created_at=clock.now(),
        )


def _details(team: TeamContext, given: InsuranceGiven) -> InsuranceDetails:
    payor = payor_selectors.payor_find(team, given.payor_code)
    problems = []
    if payor is None:
        message = (
            "No payor has this code: find one with GET /v3/insurance/search/payor, or add one with POST /v3/payor."
        )
        problems.append(Problem(("body", "payor_code"), message))
    if given.guarantor is None and given.relationship != ResponsibleRelationship.SELF:
        problems.append(Problem(("body", "guarantor"), "Needed unless relationship is Self.", "missing"))
    if payor is None or problems:
        raise invalid(problems)
    return InsuranceDetails(
        payor_code=payor.code,
        member_id=given.member_id,
        group_id=given.group_id,
        relationship=given.relationship.value,
        insured=given.insured,
        guarantor=given.guarantor,
        company=InsuranceCompany(payor.name, payor.address),
    )
