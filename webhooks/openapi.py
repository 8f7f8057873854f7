"""The `webhooks` section of the OpenAPI document, from the catalogue of events."""

from typing import Any


def add_events(result: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
    """Post-processing: nothing is registered yet."""
    return result
