"""What a login comes to, whatever its kind."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from links.catalogue.shapes import LoginKind
from links.connectors.oauth import Tokens


@dataclass(frozen=True, slots=True)
class Grant:
    """What a provider gave after a login; `tokens` None where a telephone sends the data itself.

    `credentials` is what a password provider's adapter logs in again with. `expires_at` is set for a demo only.
    `is_urgent` False: nobody waits for the data, as where many are imported.
    `obtained_at` is a moment before the provider gave it, where that is known.
    """

    provider: str
    tokens: Tokens | None
    scopes_granted: tuple[str, ...] = ()
    scopes_denied: tuple[str, ...] = ()
    external_user_id: str = ""
    login: LoginKind = LoginKind.OAUTH
    region: str = ""
    application_id: UUID | None = None
    credentials: str | None = None
    expires_at: datetime | None = None
    obtained_at: datetime | None = None
    is_urgent: bool = True

    @property
    def is_demo(self) -> bool:
        """Whether nobody's real account is behind it."""
        return self.expires_at is not None
