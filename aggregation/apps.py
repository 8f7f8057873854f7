"""Health data: the resource catalogue, samples and summaries, imports and queries."""

from django.apps import AppConfig


class AggregationConfig(AppConfig):
    """The aggregation app."""

    name = "aggregation"

    def ready(self) -> None:
        """Name our events, what ends with a user, and what we keep of one."""
        from aggregation import team_erasure
        from aggregation.erasure import TABLES, imports_end, user_portion_erase
        from aggregation.event_types import event_types
        from aggregation.exporting import EXPORTER
        from management import registry as management_registry
        from users import registry as users_registry
        from webhooks.registry import event_types_register

        event_types_register(event_types())
        users_registry.disconnectors.append(imports_end)
        users_registry.erasers.append(users_registry.Eraser(TABLES, user_portion_erase))
        users_registry.exporters.append(EXPORTER)
        management_registry.team_erasers.append(
            management_registry.TeamEraser(team_erasure.TABLES, team_erasure.team_portions)
        )
