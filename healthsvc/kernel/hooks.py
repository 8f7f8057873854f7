"""What the kernel asks of the apps above it, named in settings as dotted paths and looked up once."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Protocol, cast
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.utils.module_loading import import_string
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.principal import Principal


class ReplyKeeper(Protocol):
    """Keeps the answer to a POST that came with an idempotency key."""

    def replay(self, request: Request, principal: Principal, route: str) -> Response | None:
        """The kept answer, or None after the key was claimed for this request."""

    def running(self, request: Request) -> AbstractContextManager[None]:
        """A transaction in which the request's changes and its kept answer become true together."""

    def keep(self, request: Request, response: Response) -> None:
        """Keep `response` for the claimed key, or let the key go where the answer must not be repeated."""


class AuditWriter(Protocol):
    """Writes who read or changed what."""

    def __call__(
        self,
        *,
        request: Request,
        principal: Principal,
        action: str,
        ids: dict[str, str],
        status_code: int = 200,
        user_ids: Sequence[UUID] = (),
    ) -> None:
        """One row for one answered request; `user_ids` are those of a page of people."""


@lru_cache(maxsize=1)
def reply_keeper() -> ReplyKeeper:
    """The class named by REPLY_KEEPER."""
    return cast("ReplyKeeper", import_string(settings.REPLY_KEEPER)())


@lru_cache(maxsize=1)
def audit_writer() -> AuditWriter:
    """The function named by AUDIT_WRITER."""
    return cast("AuditWriter", import_string(settings.AUDIT_WRITER))


@lru_cache(maxsize=16)
def authenticators(access: str) -> tuple[type[BaseAuthentication], ...]:
    """The authenticators that AUTHENTICATORS names for one kind of access."""
    return tuple(import_string(path) for path in settings.AUTHENTICATORS[access])


def client_address(request: HttpRequest) -> str:
    """The caller's address: the socket's, or what the trusted number of proxies in front report."""
    forwarded = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",") if part.strip()]
    hops: int = settings.TRUSTED_PROXY_COUNT
    if hops and len(forwarded) >= hops:
        return forwarded[-hops]
    return str(request.META.get("REMOTE_ADDR", ""))
