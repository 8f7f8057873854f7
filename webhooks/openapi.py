"""The `webhooks` section of the team API's OpenAPI document, from the catalogue of events."""

from typing import Any, Final

from django.conf import settings
from drf_spectacular.plumbing import ComponentRegistry, build_mocked_view
from drf_spectacular.utils import extend_schema

from webhooks.registry import EXAMPLE_CLIENT_USER_ID, EventSchema, EventType, event_types

_ENVELOPE_NAME: Final = "WebhookEvent"
_ENVELOPE: Final = {
    "type": "object",
    "description": "The body of every event.",
    "required": ["event_type", "data", "team_id", "user_id", "client_user_id"],
    "additionalProperties": False,
    "properties": {
        "event_type": {"type": "string", "description": "What has happened; it decides what `data` looks like."},
        "data": {"description": "What the event is about; each event has a schema and an example."},
        "team_id": {"type": "string", "format": "uuid"},
        "user_id": {
            "type": ["string", "null"],
            "format": "uuid",
            "description": "The user that the event is about; null where it is about none.",
        },
        "client_user_id": {
            "type": ["string", "null"],
            "description": "Your own reference of that user, as you gave it: any text, not necessarily a UUID.",
        },
    },
}
_HEADERS: Final = {
    "id": "Id of the message, the same on every attempt.",
    "timestamp": "When this attempt was made, in Unix seconds.",
    "signature": "Space-separated `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`; two during a rotation.",
}
_RESPONSES: Final = {
    "EventReceived": {
        "description": "Received. Anything else, and no answer within 15 seconds, is tried again.",
    },
    "EventsUnwanted": {"description": "The endpoint is disabled."},
}
_SOME_TEAM: Final = "01934c7d-52f3-7a0e-9e39-6cf0f0b7a7d1"


def add_events(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Post-processing of drf-spectacular. The management address emits nothing, so its document has no events.

    Headers, answers and shapes are components, and shapes that answers of the API have too are the same components:
    there are nearly two hundred events.
    """
    generator = kwargs["generator"]
    if getattr(generator, "urlconf", None) == settings.MANAGEMENT_URLCONF:
        return result
    shapes = _Shapes(generator.registry)
    result["webhooks"] = {name: {"post": _operation(one, shapes)} for name, one in event_types().items()}
    components = result.setdefault("components", {})
    components.setdefault("parameters", {}).update({_header_key(name): _header(name) for name in _HEADERS})
    components.setdefault("responses", {}).update(_RESPONSES)
    # What is there already has been through the other hooks.
    schemas = shapes.components() | components.get("schemas", {}) | {_ENVELOPE_NAME: _ENVELOPE}
    components["schemas"] = dict(sorted(schemas.items()))
    return result


class _Shapes:
    """The schemas of what events carry; those of serializers become components of the document."""

    def __init__(self, registry: ComponentRegistry) -> None:
        self._registry = registry
        view = build_mocked_view("get", "/", extend_schema(), registry)
        self._view = view  # which the schema refers to weakly
        self._describe = view.schema

    def of(self, schema: EventSchema) -> dict[str, Any]:
        """The schema of `data`."""
        if isinstance(schema, dict):
            return schema
        reference: dict[str, Any] = self._describe.resolve_serializer(schema, "response").ref
        return reference

    def components(self) -> dict[str, Any]:
        """Every component that is known by now."""
        built: dict[str, Any] = self._registry.build({}).get("schemas", {})
        return built


def envelope_sample(event_type: EventType) -> dict[str, Any]:
    """A whole body with the sample of an event."""
    data = event_type.sample
    user_id = data.get("user_id") if isinstance(data, dict) else None
    return {
        "event_type": event_type.name,
        "data": data,
        "team_id": _SOME_TEAM,
        "user_id": user_id,
        "client_user_id": EXAMPLE_CLIENT_USER_ID if user_id else None,
    }


def _operation(event_type: EventType, shapes: _Shapes) -> dict[str, Any]:
    schema = {
        "allOf": [{"$ref": f"#/components/schemas/{_ENVELOPE_NAME}"}],
        "properties": {"event_type": {"const": event_type.name}, "data": shapes.of(event_type.schema)},
    }
    return {
        "summary": event_type.meaning,
        "tags": ["Events"],
        "parameters": [{"$ref": f"#/components/parameters/{_header_key(name)}"} for name in _HEADERS],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema, "example": envelope_sample(event_type)}},
        },
        "responses": {
            "2XX": {"$ref": "#/components/responses/EventReceived"},
            "410": {"$ref": "#/components/responses/EventsUnwanted"},
        },
    }


def _header_key(name: str) -> str:
    return f"Webhook{name.title()}"


def _header(name: str) -> dict[str, Any]:
    return {
        "in": "header",
        "name": f"webhook-{name}",
        "required": True,
        "description": _HEADERS[name],
        "schema": {"type": "string"},
    }
