"""Reads of users' insurances."""

from typing import Final
from uuid import UUID

from healthsvc.kernel.errors import ErrorCode, ServiceError
from healthsvc.kernel.principal import TeamContext
from users import selectors
from users.models import Insurance

INSURANCE_MISSING: Final = "User insurance not found"


def insurance_latest(team: TeamContext, user_id: UUID, *, is_primary: bool = True) -> Insurance:
    """The newest primary or other insurance of a living user; 404 without user or insurance. Two queries."""
    selectors.user_get(team, user_id, missing=selectors.USER_MISSING)
    found = insurance_find(team, user_id, is_primary=is_primary)
    if found is None:
        raise ServiceError(ErrorCode.NOT_FOUND, INSURANCE_MISSING)
    return found


def insurance_find(team: TeamContext, user_id: UUID, *, is_primary: bool = True) -> Insurance | None:
    """The newest primary or other insurance of a user; None where none was told. One query."""
    told = Insurance.objects.for_team(team).filter(user_id=user_id, is_primary=is_primary)
    return told.order_by("-created_at", "-id").first()
