"""Health data: the resource catalogue, samples and summaries, imports and queries."""

from django.apps import AppConfig


class AggregationConfig(AppConfig):
    """The aggregation app."""

    name = "aggregation"

    def ready(self) -> None:
        """Name our events, what ends with a user, and what we keep of one."""
        from aggregation.erasure import TABLES, imports_end, user_portion_erase
        from aggregation.event_types import event_types
        from users import registry as users_registry
        from webhooks.registry import event_types_register

        event_types_register(event_types())
        users_registry.disconnectors.append(imports_end)
        users_registry.erasers.append(users_registry.Eraser(TABLES, user_portion_erase))
