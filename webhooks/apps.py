"""Webhooks: endpoints, the outbox and delivery."""

from django.apps import AppConfig

from webhooks.events import EVENT_TYPES
from webhooks.registry import event_types_register, is_event_prefix


class WebhooksConfig(AppConfig):
    """The webhooks app."""

    name = "webhooks"

    def ready(self) -> None:
        """Name our own events, what there is to name, and what we keep of a person."""
        from management import registry as management_registry
        from users import registry as users_registry
        from webhooks import team_erasure
        from webhooks.erasure import TABLES, user_portion_erase
        from webhooks.exporting import EXPORTER

        event_types_register(EVENT_TYPES)
        management_registry.event_prefix_rules.append(is_event_prefix)
        users_registry.erasers.append(users_registry.Eraser(TABLES, user_portion_erase, emptied=TABLES))
        users_registry.exporters.append(EXPORTER)
        management_registry.team_erasers.append(
            management_registry.TeamEraser(team_erasure.TABLES, team_erasure.team_portions)
        )
