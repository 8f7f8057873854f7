"""Writes of a user's demographics."""

from uuid import UUID

from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from users import selectors
from users.models import Demographics, PatientDetails


def demographics_put(*, team: TeamContext, user_id: UUID, details: PatientDetails) -> Demographics:
    """Keep these details in the place of what was known before. 404 where there is no such living user.

    The user is held until the transaction ends: nobody leaves in between, and of two at once the later counts whole.
    """
    with transaction.atomic():
        selectors.user_get(team, user_id, lock=True, missing=selectors.USER_MISSING)
        now = clock.now()
        row = Demographics.objects.for_team(team).filter(user_id=user_id).first()
        if row is None:
            row = Demographics(**team_values(team), user_id=user_id, created_at=now)
        row.details = details.as_json()
        row.updated_at = now
        row.save()
    return row
