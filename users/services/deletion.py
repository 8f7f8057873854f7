"""Deleting a user, and bringing one back while their data are still here."""

from datetime import timedelta
from uuid import UUID

from django.db import IntegrityError, transaction

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from users import registry
from users.constants import ERASURE_GRACE_SECONDS
from users.models import Erasure, User
from users.services.erasure import erasure_walk
from users.states import OPEN, ErasureCommand

_UNKNOWN = "The user does not or no longer exists in this team"
_SCHEDULED = "The user has been scheduled for deletion as per your previous request"
_NOT_SCHEDULED = "The user is not scheduled for deletion."
_TOO_LATE = "The time in which the deletion could be undone is over."
_LIVES_AGAIN = "Another user was created with this client_user_id; the deletion can't be undone."


class UndoRefusedError(ServiceError):
    """A 409 that tells of a person: that they live, or were deleted."""

    def __init__(self, user_id: UUID, detail: str, code: ErrorCode = ErrorCode.CONFLICT) -> None:
        super().__init__(code, detail)
        self.user_id = user_id


def user_delete(*, team: TeamContext, user_id: UUID) -> Erasure:
    """Take a user out of every list and read, end what goes on for them, and owe the erasure of their data.

    404 for a user who is unknown, or deleted already.
    """
    now = clock.now()
    with transaction.atomic():
        if User.objects.for_team(team).living().select_for_update().filter(pk=user_id).first() is None:
            raise _gone(team, user_id)
        User.objects.for_team(team).filter(pk=user_id).update(deleted_at=now)
        for disconnect in registry.disconnectors:
            disconnect(team, user_id)
        due_at = now + timedelta(seconds=ERASURE_GRACE_SECONDS)
        return Erasure.objects.create(
            **team_values(team), user_id=user_id, requested_at=now, due_at=due_at, not_before=due_at
        )


def user_delete_undo(*, team: TeamContext, user_id: UUID | None = None, client_user_id: str | None = None) -> User:
    """Bring a deleted user back, without connections. Named in one of two ways; 422 otherwise.

    404 for one who is unknown or erased; 409 where the user is not deleted, the time for it is over, or another user
    has the client_user_id by now. Of several deleted users with one client_user_id it is the one deleted last.
    """
    if (user_id is None) == (client_user_id is None):
        raise invalid([Problem(("query",), "Name the user by either user_id or client_user_id.", "value_error")])
    with transaction.atomic():
        user = _deleted_find(team, user_id, client_user_id)
        open_ones = Erasure.objects.for_team(team).filter(user_id=user.pk, status__in=[*OPEN])
        now = clock.now()
        if not erasure_walk(open_ones.filter(due_at__gt=now), ErasureCommand.UNDO, undone_at=now):
            raise UndoRefusedError(user.pk, _TOO_LATE)
        _bring_back(user)
    return user


def _bring_back(user: User) -> None:
    user.deleted_at = None
    try:
        with transaction.atomic():
            user.save(update_fields=["deleted_at"])
    except IntegrityError:
        raise UndoRefusedError(user.pk, _LIVES_AGAIN, ErrorCode.CLIENT_USER_ID_CONFLICT) from None


def _gone(team: TeamContext, user_id: UUID) -> ServiceError:
    deleted = User.objects.for_team(team).filter(pk=user_id).exists()
    return ServiceError(ErrorCode.NOT_FOUND, _SCHEDULED if deleted else _UNKNOWN)


def _deleted_find(team: TeamContext, user_id: UUID | None, client_user_id: str | None) -> User:
    """The deleted user who is meant, held until the transaction ends."""
    users = User.objects.for_team(team)
    named = users.filter(client_user_id=client_user_id) if user_id is None else users.filter(pk=user_id)
    found = named.exclude(deleted_at=None).order_by("-deleted_at", "-id").select_for_update().first()
    if found is None:
        living = named.living().values_list("pk", flat=True).first()
        if living is not None:
            raise UndoRefusedError(living, _NOT_SCHEDULED)
        raise ServiceError(ErrorCode.NOT_FOUND, _UNKNOWN)
    return found
