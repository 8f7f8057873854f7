"""The schema of an event's `data` as one JSON Schema that refers to nothing outside of itself."""

from functools import lru_cache
from threading import Lock
from typing import Any, Final

from drf_spectacular.plumbing import ComponentRegistry, build_mocked_view
from drf_spectacular.utils import extend_schema

from healthsvc.kernel.typing import JSONObject
from webhooks.registry import EventType

_COMPONENTS: Final = "#/components/schemas/"
_DEFINITIONS: Final = "#/$defs/"
#: The generator marks what it looks at, so two threads must not run it at once.
_generating = Lock()


def event_schema(event_type: EventType) -> JSONObject:
    """The JSON Schema (2020-12) of `data`."""
    if isinstance(event_type.schema, dict):
        return event_type.schema
    with _generating:
        return _described(event_type.schema)


@lru_cache(maxsize=512)
def _described(schema: Any) -> JSONObject:
    """A serializer's schema, with what it refers to among its definitions."""
    registry = ComponentRegistry()
    view = build_mocked_view("get", "/", extend_schema(), registry)
    reference: JSONObject = view.schema.resolve_serializer(schema, "response").ref
    components: dict[str, Any] = registry.build({}).get("schemas", {})
    return {**_moved(reference), "$defs": {name: _moved(component) for name, component in components.items()}}


def _moved(value: Any) -> Any:
    """The same schema with references to definitions instead of the document's components."""
    if isinstance(value, list):
        return [_moved(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: one.replace(_COMPONENTS, _DEFINITIONS) if key == "$ref" and isinstance(one, str) else _moved(one)
        for key, one in value.items()
    }
