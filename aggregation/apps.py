"""Health data: the resource catalogue, samples and summaries, imports and queries."""

from django.apps import AppConfig


class AggregationConfig(AppConfig):
    """The aggregation app."""

    name = "aggregation"

    def ready(self) -> None:
        """Name our events to the webhooks app."""
        from aggregation.event_types import event_types
        from webhooks.registry import event_types_register

        event_types_register(event_types())
