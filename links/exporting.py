"""What is kept here of a person, for the archive of everything about them: no token, no password, no hash of one."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from healthsvc.kernel.exporting import internal, own_rows, table_part
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
        table_part(
            "links.connections",
            Connection,
            own_rows(Connection),
            left_out={**_TOKENS, "credentials": _GRANT, **internal("token_version", "token_lease_until")},
            about="Your accounts at providers: since when, what you allowed, and how each stands.",
        ),
        table_part(
            "links.revocations",
            Revocation,
            own_rows(Revocation),
            left_out={**_TOKENS, **internal("lease_until", "not_before", "give_up_at")},
            about="What you allowed at a provider and was taken back there.",
        ),
        table_part(
            "links.pulls",
            Pull,
            own_rows(Pull),
            left_out=internal("claim", "lease_until", "woken_at", "not_before", "given_up_before", "asked_again"),
            about="Which days of which data were fetched from a provider, and how that went.",
        ),
        table_part(
            "links.device_syncs",
            DeviceSync,
            own_rows(DeviceSync),
            about="Until when your telephone has sent each kind of data.",
        ),
        table_part(
            "links.device_sessions",
            DeviceSession,
            own_rows(DeviceSession),
            left_out=internal("generation"),
            about="Telephones that were signed in for you, and how each session ended.",
        ),
        table_part(
            "links.link_tokens",
            LinkToken,
            own_rows(LinkToken),
            left_out=_TOKEN_HASH,
            about="Invitations to connect an account, and what was asked for with each.",
        ),
        table_part(
            "links.link_sessions",
            LinkSession,
            _link_sessions,
            left_out={"cookie_hash": _HASH},
            about="Visits to the page where accounts are connected.",
        ),
        table_part(
            "links.link_codes",
            LinkCode,
            own_rows(LinkCode),
            left_out={"code_hash": _HASH},
            about="Codes with which a telephone is signed in: when each was made, used, or ran out.",
        ),
        table_part(
            "links.sign_in_tokens",
            SignInToken,
            own_rows(SignInToken),
            left_out=_TOKEN_HASH,
            about="Tokens with which a telephone is signed in: when each was made, used, or ran out.",
        ),
        table_part(
            "links.password_logins",
            PasswordLogin,
            own_rows(PasswordLogin),
            left_out={"challenge": "lets a login at the provider go on; may hold the password"},
            about="Logins at providers that take a password: when each began and ended.",
        ),
        table_part(
            "links.bulk_op_items",
            BulkOpItem,
            own_rows(BulkOpItem),
            left_out=_TOKENS,
            about="Your part in operations of the customer on many users at once.",
        ),
    ),
    left_out={
        SessionToken._meta.db_table: "nothing but hashes of tokens; the sessions they belong to are exported",
        OAuthState._meta.db_table: "a login that may last ten minutes: its secrets; link sessions tell what came of it",
        ProviderHook._meta.db_table: "the service's own subscription at a provider, which tells nothing of the person",
    },
)
