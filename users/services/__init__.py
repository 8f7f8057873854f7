"""Writes of the users app: what other apps and doors call."""

from users.services.people import (
    fallback_birth_date_learn,
    fallback_time_zone_learn,
    user_create,
    user_patch,
)

__all__ = ["fallback_birth_date_learn", "fallback_time_zone_learn", "user_create", "user_patch"]
