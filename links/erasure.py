"""Erasing a user: connections and whatever a person or their telephone held goes, once their grants are taken back.

A revocation that is still owed keeps its tokens and its connection, and with them the user's row: without the tokens
the vendor would go on sending. It was tried since the deletion; the erasure has it tried once more, and waits for that.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from healthsvc.kernel.principal import TeamContext
from links.models import (
    BulkOpItem,
    Connection,
    DeviceSession,
    DeviceSync,
    LinkCode,
    LinkSession,
    LinkToken,
    OAuthState,
    PasswordLogin,
    ProviderHook,
    Pull,
    Revocation,
    SessionToken,
    SignInToken,
)
from links.services.revocations import NOT_REVOKED, revocations_last_call
from links.states import RevocationStatus
from users.registry import GRANTS_NOT_REVOKED, ErasureWaits

TABLES: Final = frozenset(
    model._meta.db_table
    for model in (
        BulkOpItem,
        Connection,
        DeviceSession,
        DeviceSync,
        LinkCode,
        LinkSession,
        LinkToken,
        OAuthState,
        PasswordLogin,
        ProviderHook,
        Pull,
        Revocation,
        SessionToken,
        SignInToken,
    )
)
_ROWS: Final = 500


def user_portion_erase(team: TeamContext, user_id: UUID) -> Mapping[str, int]:
    """Erase some of what this app keeps of a user; how many rows, by table. In the caller's transaction.

    ErasureWaits where nothing is left but what a revocation needs.
    """
    for rows in _rows(team, user_id):
        ids = list(rows.values_list("pk", flat=True)[:_ROWS])
        if ids:
            # Nothing is opened: what is sealed under a key that was lost goes too.
            found = rows.model._default_manager.filter(pk__in=ids).only("pk")
            standing = found.filter(NOT_REVOKED).count() if rows.model is Revocation else 0
            return {rows.model._meta.db_table: found.delete()[0], GRANTS_NOT_REVOKED: standing}
    owed = Revocation.objects.for_team(team).filter(user_id=user_id)
    if owed.exists():
        revocations_last_call(owed)
        raise ErasureWaits
    return {}


def _rows(team: TeamContext, user_id: UUID) -> Iterator[QuerySet[Any]]:
    """Everything, what refers to others before them."""
    own = {"user_id": user_id}
    yield OAuthState.objects.for_team(team).filter(link_session__link_token__user_id=user_id)
    yield LinkSession.objects.for_team(team).filter(link_token__user_id=user_id)
    yield PasswordLogin.objects.for_team(team).filter(**own)
    yield LinkToken.objects.for_team(team).filter(**own)
    yield SessionToken.objects.for_team(team).filter(session__user_id=user_id)
    yield DeviceSession.objects.for_team(team).filter(**own)
    yield SignInToken.objects.for_team(team).filter(**own)
    yield LinkCode.objects.for_team(team).filter(**own)
    yield DeviceSync.objects.for_team(team).filter(**own)
    yield Pull.objects.for_team(team).filter(**own)
    yield BulkOpItem.objects.for_team(team).filter(**own)
    connections = Connection.objects.for_team(team).filter(**own)
    # Its vendor's notices lead nowhere once the connection has ended, which the grant's end makes them do.
    yield ProviderHook.objects.filter(connection_id__in=connections.values("pk"))
    owed = Revocation.objects.filter(status=RevocationStatus.OWED)
    yield Revocation.objects.for_team(team).filter(**own).exclude(status=RevocationStatus.OWED)
    yield connections.exclude(Exists(owed.filter(connection_id=OuterRef("pk"))))
