"""Link tokens and sessions, connections to providers, pulls that are owed, and the service's standing with vendors."""

from links.models.bulk import BulkOp, BulkOpItem
from links.models.connections import Connection, DeviceSync, ProviderApplication, Revocation
from links.models.passwords import PasswordLogin
from links.models.pulls import Pull
from links.models.sessions import DeviceSession, GuessCount, LinkCode, SessionToken, SignInToken
from links.models.tokens import LinkSession, LinkToken, OAuthState
from links.models.vendors import ProviderBudget, ProviderHook

__all__ = [
    "BulkOp",
    "BulkOpItem",
    "Connection",
    "DeviceSession",
    "DeviceSync",
    "GuessCount",
    "LinkCode",
    "LinkSession",
    "LinkToken",
    "OAuthState",
    "PasswordLogin",
    "ProviderApplication",
    "ProviderBudget",
    "ProviderHook",
    "Pull",
    "Revocation",
    "SessionToken",
    "SignInToken",
]
