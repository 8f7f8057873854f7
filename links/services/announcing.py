"""Telling customers what became of connections, in the transaction in which it does."""

from healthsvc.kernel.typing import JSONObject
from links.events import CONNECTION_CREATED, CONNECTION_ERROR
from links.models import Connection
from links.shapes import availability_json, error_details_json, provider_json
from webhooks import services as webhook_services
from webhooks.registry import provider_channel


def connection_created_emit(connection: Connection, client_user_id: str) -> None:
    """A person connected a provider, for the first time or again."""
    provider = provider_json(connection.provider)
    data: JSONObject = {
        "user_id": str(connection.user_id),
        "provider": provider,
        "source": provider,
        "external_user_id": connection.external_user_id or None,
        "resource_availability": availability_json(connection),
    }
    _emit(connection, CONNECTION_CREATED, data, client_user_id)


def connection_error_emit(connection: Connection, client_user_id: str, message: str | None = None) -> None:
    """A connection broke; once for each time it does. `message` where its error type alone does not say what to do."""
    details = error_details_json(connection) or {}
    if message:
        details["error_message"] = message
    data: JSONObject = {
        "user_id": str(connection.user_id),
        "provider": connection.provider,
        "error_type": connection.error_type,
        "message": details.get("error_message"),
        "error_details": details,
    }
    _emit(connection, CONNECTION_ERROR, data, client_user_id)


def _emit(connection: Connection, event_type: str, data: JSONObject, client_user_id: str) -> None:
    webhook_services.event_emit(
        team=connection.context,
        event_type=event_type,
        data=data,
        user_id=connection.user_id,
        client_user_id=client_user_id,
        channels=(provider_channel(connection.provider),),
    )
