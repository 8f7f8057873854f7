"""The aggregation app."""

from django.apps import AppConfig


class AggregationConfig(AppConfig):
    """The aggregation app."""

    name = "aggregation"
