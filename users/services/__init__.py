"""Writes of the users app: what other apps and doors call."""

from users.services.deletion import user_delete, user_delete_undo
from users.services.demographics import demographics_put
from users.services.insurance import InsuranceGiven, insurance_create
from users.services.payors import payor_create
from users.services.people import (
    fallback_birth_date_learn,
    fallback_time_zone_learn,
    user_create,
    user_patch,
)

__all__ = [
    "InsuranceGiven",
    "demographics_put",
    "fallback_birth_date_learn",
    "fallback_time_zone_learn",
    "insurance_create",
    "payor_create",
    "user_create",
    "user_delete",
    "user_delete_undo",
    "user_patch",
]
