"""Writes of the users app."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from users import selectors
from users.constants import LEARNED_AGAIN_SECONDS, MANUAL_SOURCE_SLUG, PUSHED_SOURCE_SLUG
from users.models import User

_CLIENT_USER_ID_ONCE = "users_user_client_user_id_once"
_LEARNED_AGAIN: Final = timedelta(seconds=LEARNED_AGAIN_SECONDS)


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


def fallback_time_zone_learn(
    *, team: TeamContext, user_id: UUID, time_zone: str, source_slug: str, known_at: datetime
) -> None:
    """Keep a time zone that came with data, unless the customer named one or a newer one is known.

    known_at: when the person is known to have been there. Changes the user's row, so it comes before anything of the
    same transaction that holds the row against erasure; costs one statement, and writes only where something changes.
    """
    rows = User.objects.for_team(team).living().filter(pk=user_id)
    unset = Q(fallback_time_zone=None)
    learned = ~Q(fallback_time_zone_source=MANUAL_SOURCE_SLUG)
    other = Q(fallback_time_zone_updated_at__lte=known_at) & ~Q(fallback_time_zone=time_zone)
    stale = Q(fallback_time_zone_updated_at__lte=known_at - _LEARNED_AGAIN, fallback_time_zone=time_zone)
    rows.filter(unset | (learned & (other | stale))).update(
        fallback_time_zone=time_zone,
        fallback_time_zone_source=_learned_slug(source_slug),
        fallback_time_zone_updated_at=known_at,
    )


def fallback_birth_date_learn(
    *, team: TeamContext, user_id: UUID, birth_date: date, source_slug: str, known_at: datetime
) -> None:
    """Keep a date of birth that came with data, unless the customer named one or a newer statement is known.

    As `fallback_time_zone_learn`; costs one statement, and two more where something changes.
    """
    rows = User.objects.for_team(team).living().filter(pk=user_id)
    if not _birth_date_news(rows.first(), birth_date, known_at):
        return
    with transaction.atomic():
        user = rows.select_for_update().first()
        if user is None or not _birth_date_news(user, birth_date, known_at):
            return
        user.fallback_birth_date = birth_date.isoformat()
        user.fallback_birth_date_source = _learned_slug(source_slug)
        user.fallback_birth_date_updated_at = known_at
        user.save(update_fields=["fallback_birth_date", "fallback_birth_date_source", "fallback_birth_date_updated_at"])


def _birth_date_news(user: User | None, birth_date: date, known_at: datetime) -> bool:
    if user is None:
        return False
    if user.fallback_birth_date is None:
        return True
    if user.fallback_birth_date_source == MANUAL_SOURCE_SLUG:
        return False
    updated_at = user.fallback_birth_date_updated_at
    same = user.fallback_birth_date == birth_date.isoformat()
    return updated_at is None or known_at >= (updated_at + _LEARNED_AGAIN if same else updated_at)


def _learned_slug(source_slug: str) -> str:
    return PUSHED_SOURCE_SLUG if source_slug == MANUAL_SOURCE_SLUG else source_slug


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
