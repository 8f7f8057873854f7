"""What a password or e-mail provider's adapter is: logs a person in, step by step, with typed errors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from links.constants import LinkErrorType


class MfaMethod(StrEnum):
    """How a provider sends its second factor (source: the interface's enumeration)."""

    SMS = "sms"
    EMAIL = "email"


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """A login that came through. `credentials` is what a later renewal needs, '' where tokens suffice."""

    external_user_id: str
    access_token: str
    refresh_token: str = ""
    expires_at: datetime | None = None
    credentials: str = ""


@dataclass(frozen=True, slots=True)
class MfaAsked:
    """A login that waits for a code. `challenge` is the adapter's own, sealed until the code comes."""

    method: MfaMethod
    hint: str
    challenge: Mapping[str, str] = field(default_factory=dict)


class LoginFailed(Exception):  # noqa: N818 - reads as what happened
    """A login that did not come through, by the interface's link error types."""

    def __init__(self, error_type: LinkErrorType) -> None:
        super().__init__(str(error_type))
        self.error_type = error_type


class PasswordAdapter(Protocol):
    """A provider's login. Methods call the network at `api_url` and raise `LoginFailed`."""

    def login(self, api_url: str, *, username: str, password: str, region: str) -> LoggedIn | MfaAsked:
        """Log in with a name and a password."""

    def mfa_complete(self, api_url: str, *, challenge: Mapping[str, str], code: str, region: str) -> LoggedIn:
        """Give the code. LoginFailed(INCORRECT_MFA_CODE) where it is wrong and may be tried again."""

    def renew(self, api_url: str, *, refresh_token: str, credentials: str, region: str) -> LoggedIn:
        """A fresh access token. GrantRefused or LoginFailed where the person must log in again; ProviderFailure."""


class EmailAdapter(Protocol):
    """A provider that connects an account known by its e-mail address (a practice shares it with us)."""

    def connect(self, api_url: str, *, email: str, region: str) -> LoggedIn:
        """Ask for the account's data. LoginFailed where the address is unknown or has not shared."""
