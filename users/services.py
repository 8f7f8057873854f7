"""Writes of the users app."""

from collections.abc import Mapping
from datetime import date
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from users import selectors
from users.constants import MANUAL_SOURCE_SLUG
from users.models import User

_CLIENT_USER_ID_ONCE = "users_user_client_user_id_once"


def user_create(
    *,
    team: TeamContext,
    client_user_id: str,
    fallback_time_zone: str | None = None,
    fallback_birth_date: date | None = None,
    ingestion_start: date | None = None,
    ingestion_end: date | None = None,
) -> User:
    """A new user. 400 with the living user's id where the client_user_id is taken."""
    _check_bounds(ingestion_start, ingestion_end)
    user = User(
        **team_values(team),
        client_user_id=client_user_id,
        created_at=clock.now(),
        ingestion_start_on=ingestion_start,
        ingestion_end_on=ingestion_end,
    )
    _set_fallbacks(user, {"fallback_time_zone": fallback_time_zone, "fallback_birth_date": fallback_birth_date})
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError as error:
        _raise_unless_taken(error)
        raise _taken(team, client_user_id) from None
    return user


def user_patch(*, team: TeamContext, user_id: UUID, changes: Mapping[str, Any]) -> User:
    """Change the named fields; None clears one. 404 unknown, 400 nothing named, 409 client_user_id taken."""
    if not changes:
        raise ServiceError(ErrorCode.NOTHING_TO_CHANGE, "Nothing to patch")
    with transaction.atomic():
        user = selectors.user_get(team, user_id, lock=True)
        if "client_user_id" in changes:
            user.client_user_id = changes["client_user_id"]
        _set_fallbacks(user, changes)
        user.ingestion_start_on = changes.get("ingestion_start", user.ingestion_start_on)
        user.ingestion_end_on = changes.get("ingestion_end", user.ingestion_end_on)
        _check_bounds(user.ingestion_start_on, user.ingestion_end_on)
        try:
            with transaction.atomic():
                user.save(force_update=True)
        except IntegrityError as error:
            _raise_unless_taken(error)
            raise ServiceError(ErrorCode.CLIENT_USER_ID_CONFLICT, "Client user id already exists") from None
    return user


def fallback_time_zone_learn(*, team: TeamContext, user_id: UUID, time_zone: str, source_slug: str) -> None:
    """Keep a time zone that came with data, unless the customer named one."""
    rows = User.objects.for_team(team).filter(pk=user_id)
    rows.exclude(fallback_time_zone_source=MANUAL_SOURCE_SLUG).update(
        fallback_time_zone=time_zone,
        fallback_time_zone_source=source_slug,
        fallback_time_zone_updated_at=clock.now(),
    )


def _set_fallbacks(user: User, changes: Mapping[str, Any]) -> None:
    now = clock.now()
    if "fallback_time_zone" in changes:
        user.fallback_time_zone = changes["fallback_time_zone"]
        given = user.fallback_time_zone is not None
        user.fallback_time_zone_source = MANUAL_SOURCE_SLUG if given else ""
        user.fallback_time_zone_updated_at = now if given else None
    if "fallback_birth_date" in changes:
        birth_date: date | None = changes["fallback_birth_date"]
        user.fallback_birth_date = birth_date.isoformat() if birth_date else None
        user.fallback_birth_date_source = MANUAL_SOURCE_SLUG if birth_date else ""
        user.fallback_birth_date_updated_at = now if birth_date else None


def _check_bounds(start: date | None, end: date | None) -> None:
    if start and end and end < start:
        problem = Problem(("body", "ingestion_end"), "Must not be before ingestion_start.", "value_error")
        raise invalid([problem])


def _raise_unless_taken(error: IntegrityError) -> None:
    cause = error.__cause__
    diagnosis = getattr(cause, "diag", None)
    if getattr(diagnosis, "constraint_name", None) != _CLIENT_USER_ID_ONCE:
        raise error


def _taken(team: TeamContext, client_user_id: str) -> ServiceError:
    """The answer existing clients parse: who has the client_user_id, and since when."""
    living = User.objects.for_team(team).living().filter(client_user_id=client_user_id).first()
    if living is None:
        return ServiceError(ErrorCode.CLIENT_USER_ID_TAKEN)
    return ServiceError(
        ErrorCode.CLIENT_USER_ID_TAKEN,
        {
            "error_type": "INVALID_REQUEST",
            "error_message": "Client user id already exists.",
            "user_id": str(living.id),
            "created_on": clock.utc_text(living.created_at),
        },
    )
