"""What a connector may do beside pulling: take a provider's notifications, subscribe to them, and end a grant.

A connector that can do one of these has the methods of the protocol; `isinstance` tells. None of them touches the
database: services of this app call them outside every transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from links.connectors.wire import Access


class SubscriptionScope(StrEnum):
    """What one subscription at the provider serves."""

    APPLICATION = "application"
    CONNECTION = "connection"


@dataclass(frozen=True, slots=True)
class HookCall:
    """A request that a provider made to our address. Header names are lower-case."""

    method: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class HookSecrets:
    """What a call can be checked with: the token we chose for the subscription, and the application's secret.

    `external_id` is the provider's own name of the subscription, empty as long as it is not known.
    """

    verify_token: str
    client_secret: str
    external_id: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something changed for one account at the provider. Resources empty: everything may have.

    Days None: the last days, as a scheduled pull reads them. `deregistered`: the person took the grant back there.
    `occurred_at`, where the provider tells it: a deregistration older than the connection is not about it.
    """

    external_user_id: str
    resources: tuple[str, ...] = ()
    start_on: date | None = None
    end_on: date | None = None
    deregistered: bool = False
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What the provider is answered, and what it told us."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    notices: tuple[Notice, ...] = ()


class HookRefused(Exception):  # noqa: N818 - reads as what happened
    """The call's signature or token is not the provider's, or is too old."""


@dataclass(frozen=True, slots=True)
class ApplicationKeys:
    """The registration with a provider, and where its API is in this environment."""

    client_id: str
    client_secret: str
    api_url: str


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A subscription that stands at the provider."""

    external_id: str
    expires_at: datetime | None = None


@runtime_checkable
class TakesHooks(Protocol):
    """A provider that tells when data change."""

    subscription_scope: SubscriptionScope

    def hook_topics(self, scopes: frozenset[str]) -> Sequence[str]:
        """What to subscribe to, in the provider's words; one empty text where one subscription tells everything."""

    def hook_answer(self, call: HookCall, secrets: HookSecrets) -> HookAnswer:
        """Check a call and read it. HookRefused where it is not the provider's."""

    def hook_subscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, callback_url: str, verify_token: str
    ) -> Subscribed:
        """Make or renew the subscription. `access` is given where the scope is one connection. ProviderFailure."""

    def hook_unsubscribe(
        self, keys: ApplicationKeys, access: Access | None, *, topic: str, external_id: str, callback_url: str
    ) -> None:
        """End the subscription; nothing where it is gone already. ProviderFailure."""


@runtime_checkable
class Revokes(Protocol):
    """A provider where a grant can be taken back by us."""

    def revoke(self, keys: ApplicationKeys, access: Access, *, refresh_token: str, external_user_id: str) -> None:
        """End the grant; nothing where it has ended already. ProviderFailure where it should be tried again."""
