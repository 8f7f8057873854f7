"""The events the links app emits."""

from typing import Final

from healthsvc.kernel.typing import JSONObject
from links.serializers import ConnectionCreatedEvent, ConnectionErrorEvent
from webhooks.registry import EXAMPLE_USER_ID, PROVIDER_CHANNEL, EventGroup, EventType

CONNECTION_CREATED: Final = "provider.connection.created"
CONNECTION_ERROR: Final = "provider.connection.error"

_USER_ID: Final = str(EXAMPLE_USER_ID)
_PROVIDER: Final[JSONObject] = {
    "name": "Oura",
    "slug": "oura",
    "logo": "https://health.example/static/links/logos/oura.svg",
}

EVENT_TYPES: Final = (
    EventType(
        CONNECTION_CREATED,
        "A person connected a provider, for the first time or again. Data follow when the backfill ends.",
        {
            "user_id": _USER_ID,
            "provider": _PROVIDER,
            "source": _PROVIDER,
            "external_user_id": "8f9a5221-639e-4a85-81cb-4065ef23f979",
            "resource_availability": {
                "sleep": {
                    "status": "available",
                    "scope_requirements": {
                        "user_granted": {"required": ["daily"], "optional": []},
                        "user_denied": {"required": [], "optional": []},
                    },
                }
            },
        },
        ConnectionCreatedEvent,
        (PROVIDER_CHANNEL,),
        EventGroup.CONNECTIONS,
    ),
    EventType(
        CONNECTION_ERROR,
        "A connection broke and gives no more data until the person connects again. Sent once each time it does.",
        {
            "user_id": _USER_ID,
            "provider": "oura",
            "error_type": "token_refresh_failed",
            "message": "The provider no longer accepts this connection. The person needs to connect again.",
            "error_details": {
                "error_type": "token_refresh_failed",
                "error_message": "The provider no longer accepts this connection. The person needs to connect again.",
                "errored_at": "2026-11-21T08:00:00+00:00",
            },
        },
        ConnectionErrorEvent,
        (PROVIDER_CHANNEL,),
        EventGroup.CONNECTIONS,
    ),
)
