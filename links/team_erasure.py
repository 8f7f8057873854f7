"""Erasing a team: connections and whatever its people held go, once every grant is taken back at its vendor.

Until then a deleted team keeps its grants, so that it comes back with its connections where somebody undoes that.
"""

from collections.abc import Iterator
from typing import Any, Final

from django.db import transaction
from django.db.models import Exists, Model, OuterRef, QuerySet

from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.scope import team_scope
from links.models import (
    BulkOp,
    BulkOpItem,
    Connection,
    DeviceSession,
    DeviceSync,
    LinkCode,
    LinkSession,
    LinkToken,
    OAuthState,
    PasswordLogin,
    ProviderApplication,
    ProviderHook,
    Pull,
    Revocation,
    SessionToken,
    SignInToken,
)
from links.services.connections import user_disconnect
from links.services.hooks import application_hooks_drop
from links.services.revocations import revocations_last_call
from links.states import RevocationStatus
from management.registry import TeamErasureWaits
from management.team_erasure import rows_erased

#: What no revocation needs.
_FREELY: Final[tuple[type[Model], ...]] = (
    OAuthState,
    LinkSession,
    PasswordLogin,
    LinkToken,
    SessionToken,
    DeviceSession,
    SignInToken,
    LinkCode,
    DeviceSync,
    Pull,
    BulkOpItem,
    BulkOp,
)
_EVERYTHING: Final[tuple[type[Model], ...]] = (*_FREELY, Connection, ProviderApplication, ProviderHook, Revocation)
TABLES: Final = frozenset(model._meta.db_table for model in _EVERYTHING)
_USERS: Final = 100


def team_portions(team: TeamContext) -> Iterator[int]:
    """Erase everything of a team, a portion and a transaction a step.

    TeamErasureWaits where nothing is left but what a revocation or the end of a subscription needs.
    """
    yield from _disconnected(team)
    applications = ProviderApplication.objects.for_team(team)
    with transaction.atomic():
        application_hooks_drop(applications.values("pk"))
    for rows in _rows(team):
        yield from rows_erased(rows)
    subscribed = ProviderHook.objects.filter(application_id__in=applications.values("pk"))
    owed = Revocation.objects.for_team(team)
    if owed.exists() or subscribed.exists():
        with transaction.atomic():
            revocations_last_call(owed)
        raise TeamErasureWaits
    yield from rows_erased(applications)


def _disconnected(team: TeamContext) -> Iterator[int]:
    """End every connection, user by user, as for one who is deleted: each grant is owed back to its vendor."""
    while True:
        living = Connection.objects.for_team(team).filter(disconnected_at=None)
        user_ids = list(living.order_by("user_id").values_list("user_id", flat=True).distinct()[:_USERS])
        for user_id in user_ids:
            with team_scope(team):
                ended = user_disconnect(team, user_id)
            yield ended
        if not user_ids:
            return


def _rows(team: TeamContext) -> Iterator[QuerySet[Any]]:
    """Everything, what refers to others before them."""
    for model in _FREELY:
        yield model._base_manager.filter(team_id=team.team_id, environment=team.environment)
    owed = Revocation.objects.filter(connection_id=OuterRef("pk"), status=RevocationStatus.OWED)
    over = Connection.objects.for_team(team).exclude(Exists(owed))
    # A vendor's notices lead nowhere once the connection has ended, which the grant's end makes them do.
    yield ProviderHook.objects.filter(connection_id__in=over.values("pk"))
    yield Revocation.objects.for_team(team).exclude(status=RevocationStatus.OWED)
    yield over
