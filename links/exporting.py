"""What is kept here of a person, for the archive of everything about them: no token, no password, no hash of one."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from healthsvc.kernel.exporting import own_rows, table_part
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
from users.registry import Exporter

_GRANT: Final = "opens the person's account at the provider"
_HASH: Final = "a keyed hash of a secret, which tells nothing and opens something"
_TOKENS: Final[Mapping[str, str]] = {"access_token": _GRANT, "refresh_token": _GRANT}
_TOKEN_HASH: Final[Mapping[str, str]] = {"token_hash": _HASH}


def _link_sessions(team: TeamContext, user_id: UUID) -> QuerySet[Any]:
    return LinkSession.objects.for_team(team).filter(link_token__user_id=user_id)


EXPORTER: Final = Exporter(
    parts=(
        table_part("links.connections", Connection, own_rows(Connection), left_out={**_TOKENS, "credentials": _GRANT}),
        table_part("links.revocations", Revocation, own_rows(Revocation), left_out=_TOKENS),
        table_part("links.pulls", Pull, own_rows(Pull)),
        table_part("links.device_syncs", DeviceSync, own_rows(DeviceSync)),
        table_part("links.device_sessions", DeviceSession, own_rows(DeviceSession)),
        table_part("links.link_tokens", LinkToken, own_rows(LinkToken), left_out=_TOKEN_HASH),
        table_part("links.link_sessions", LinkSession, _link_sessions, left_out={"cookie_hash": _HASH}),
        table_part("links.link_codes", LinkCode, own_rows(LinkCode), left_out={"code_hash": _HASH}),
        table_part("links.sign_in_tokens", SignInToken, own_rows(SignInToken), left_out=_TOKEN_HASH),
        table_part(
            "links.password_logins",
            PasswordLogin,
            own_rows(PasswordLogin),
            left_out={"challenge": "lets a login at the provider go on; may hold the password"},
        ),
        table_part("links.bulk_op_items", BulkOpItem, own_rows(BulkOpItem), left_out=_TOKENS),
    ),
    left_out={
        SessionToken._meta.db_table: "nothing but hashes of tokens; the sessions they belong to are exported",
        OAuthState._meta.db_table: "a login that may last ten minutes: its secrets; link sessions tell what came of it",
        ProviderHook._meta.db_table: "the service's own subscription at a provider, which tells nothing of the person",
    },
)
