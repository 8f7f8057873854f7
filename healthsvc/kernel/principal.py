"""Who is calling: the type that authenticators fill and views, scopes, limits and the audit trail read."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class Environment(StrEnum):
    """The two worlds of a team; every key lives in one of them."""

    SANDBOX = "sandbox"
    PRODUCTION = "production"


class PrincipalKind(StrEnum):
    """What kind of credential was shown."""

    TEAM_KEY = "team_key"
    MANAGEMENT_KEY = "management_key"
    ACCESS_TOKEN = "access_token"  # noqa: S105 - the kind, not a token
    LINK_TOKEN = "link_token"  # noqa: S105 - the kind, not a token
    DEVICE_SESSION = "device_session"
    PORTAL_SESSION = "portal_session"
    STAFF = "staff"
    SYSTEM = "system"
    #: Background work: a pull, an import, an erasure.
    WORKER = "worker"


class Role(StrEnum):
    """What a management key may do."""

    ORG_ADMIN = "org_admin"
    TEAM_ADMIN = "team_admin"


@dataclass(frozen=True, slots=True)
class TeamContext:
    """A team in one of its environments: the tenant that every team-owned row belongs to."""

    team_id: UUID
    environment: Environment


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller. `team` is set for team keys and link tokens, `organisation_id` for management keys.

    Of an access token `key_id` is the management key that made it: it answers for what is done, and is what is limited.
    `team_ids` holds the teams a team-admin management key is bound to; empty for every other principal.
    `user_id` is set where the credential is for one user only.
    """

    kind: PrincipalKind
    key_id: UUID
    organisation_id: UUID | None = None
    team: TeamContext | None = None
    role: Role | None = None
    team_ids: tuple[UUID, ...] = ()
    user_id: UUID | None = None

    @property
    def is_authenticated(self) -> bool:
        """Django REST framework asks this of `request.user`."""
        return True

    @property
    def pk(self) -> UUID:
        """What rate limits are counted by."""
        return self.key_id
