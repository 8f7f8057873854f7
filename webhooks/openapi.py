"""The `webhooks` section of the team API's OpenAPI document, from the catalogue of events."""

from typing import Any, Final

from django.conf import settings

from webhooks.registry import EventType, event_types

_ENVELOPE: Final = {
    "type": "object",
    "description": "The body of every event.",
    "required": ["event_type", "data", "team_id", "user_id", "client_user_id"],
    "additionalProperties": False,
    "properties": {
        "event_type": {"type": "string"},
        "data": {"description": "What the event is about; each event has an example."},
        "team_id": {"type": "string", "format": "uuid"},
        "user_id": {"type": ["string", "null"], "format": "uuid"},
        "client_user_id": {"type": ["string", "null"], "description": "Your own reference of the user."},
    },
}
_HEADERS: Final = {
    "id": "Id of the message, the same on every attempt.",
    "timestamp": "When this attempt was made, in Unix seconds.",
    "signature": "Space-separated `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`; two during a rotation.",
}
_SOME_TEAM: Final = "01934c7d-52f3-7a0e-9e39-6cf0f0b7a7d1"
_SOME_USER: Final = "5b0c1d6e-6a0f-4f0c-8f5e-1d1a2f3b4c5d"


def add_events(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Post-processing of drf-spectacular. The management address emits nothing, so its document has no events."""
    generator = kwargs.get("generator")
    if generator is not None and getattr(generator, "urlconf", None) == settings.MANAGEMENT_URLCONF:
        return result
    result.setdefault("components", {}).setdefault("schemas", {})["WebhookEvent"] = _ENVELOPE
    result["webhooks"] = {name: {"post": _operation(event_type)} for name, event_type in event_types().items()}
    return result


def envelope_sample(event_type: EventType) -> dict[str, Any]:
    """A whole body with the sample of an event."""
    return {
        "event_type": event_type.name,
        "data": event_type.sample,
        "team_id": _SOME_TEAM,
        "user_id": _SOME_USER,
        "client_user_id": "customer-1017",
    }


def _operation(event_type: EventType) -> dict[str, Any]:
    schema = {
        "allOf": [{"$ref": "#/components/schemas/WebhookEvent"}],
        "properties": {"event_type": {"const": event_type.name}},
    }
    return {
        "summary": event_type.meaning,
        "tags": ["Events"],
        "parameters": [
            {"in": "header", "name": f"webhook-{name}", "required": True, "description": meaning,
             "schema": {"type": "string"}}
            for name, meaning in _HEADERS.items()
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema, "example": envelope_sample(event_type)}},
        },
        "responses": {
            "2XX": {"description": "Received. Anything else, and no answer within 15 seconds, is tried again."},
            "410": {"description": "The endpoint is disabled."},
        },
    }  # fmt: skip
