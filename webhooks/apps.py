"""Webhooks: endpoints, the outbox and delivery."""

from django.apps import AppConfig

from webhooks.events import EVENT_TYPES
from webhooks.registry import event_types_register


class WebhooksConfig(AppConfig):
    """The webhooks app."""

    name = "webhooks"

    def ready(self) -> None:
        """Name our own events."""
        event_types_register(EVENT_TYPES)
