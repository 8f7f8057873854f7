"""Connections as the API and events show them."""

from collections.abc import Mapping
from typing import Final

from healthsvc.kernel import clock
from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.typing import JSONObject, JSONValue
from links import selectors
from links.catalogue import ResourceScopes, provider_find
from links.connection_selectors import ingestion_over
from links.constants import ConnectionErrorType
from links.models import Connection
from links.states import ConnectionStatus
from users.models import User

#: What is wrong with a broken connection and what to do, by its error type. Written for developers and people alike.
ERROR_MESSAGES: Final[Mapping[str, str]] = {
    ConnectionErrorType.TOKEN_REFRESH_FAILED: (
        "The provider no longer accepts this connection. The person needs to connect again."
    ),
    ConnectionErrorType.WEBHOOK_REGISTRATION_FAILED: (
        "The provider refuses to notify us of this account's data. The person needs to connect again."
    ),
    ConnectionErrorType.USER_NOT_FOUND: (
        "The account does not exist at the provider any more. The person needs to connect another one."
    ),
    ConnectionErrorType.DEREGISTERED_PER_PROVIDER: (
        "The person ended this connection at the provider. They need to connect again if they still want it."
    ),
    ConnectionErrorType.REQUIRED_SCOPES_NOT_GRANTED: (
        "The person took back what every resource needs. They need to connect again and allow at least one."
    ),
    ConnectionErrorType.PROVIDER_CREDENTIAL_ERROR: (
        "The provider no longer accepts the stored login. The person needs to log in again."
    ),
    ConnectionErrorType.PROVIDER_PASSWORD_EXPIRED: (
        "The password has expired at the provider. The person needs to set a new one there, then log in again."
    ),
    ConnectionErrorType.UNKNOWN: "The connection stopped working. The person needs to connect again.",
}


def provider_json(slug: str) -> JSONObject:
    """A provider as others show it."""
    return {"name": provider_find(slug).name, "slug": slug, "logo": selectors.logo_url(slug)}


def connection_json(connection: Connection, user: User) -> JSONObject:
    """A connected provider of `user`, as `GET /v2/user/providers/{user_id}` lists it."""
    return {
        **provider_json(connection.provider),
        "created_on": utc_text(connection.created_at),
        "status": _status(connection, user),
        "external_user_id": connection.external_user_id or None,
        "error_details": error_details_json(connection),
        "resource_availability": availability_json(connection),
    }


def _status(connection: Connection, user: User) -> str:
    """Nothing is pulled any more once the user's ingestion bounds are over, which is a pause to whoever looks."""
    over = ingestion_over(user, clock.now().date())
    return ConnectionStatus.PAUSED if over and selectors.is_connected(connection) else connection.status


def error_details_json(connection: Connection) -> JSONObject | None:
    """Why a connection is broken; None for one that works."""
    if connection.errored_at is None:
        return None
    return {
        "error_type": connection.error_type,
        "error_message": ERROR_MESSAGES.get(connection.error_type, ERROR_MESSAGES[ConnectionErrorType.UNKNOWN]),
        "errored_at": utc_text(connection.errored_at),
    }


def availability_json(connection: Connection) -> JSONObject:
    """Each resource of the provider, with the scopes the person gave and refused."""
    found = selectors.availability_of(connection.provider, connection.scopes_granted)
    return {
        name: {
            "status": "available" if one.available else "unavailable",
            "scope_requirements": {"user_granted": _scopes(one.granted), "user_denied": _scopes(one.denied)},
        }
        for name, one in found.items()
    }


def _scopes(scopes: ResourceScopes) -> JSONValue:
    return {"required": list(scopes.required), "optional": list(scopes.optional)}
