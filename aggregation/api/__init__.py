"""Health data over HTTP: timeseries, summaries, streams, devices, introspection and imports."""

from aggregation.api.devices import DeviceViewSet
from aggregation.api.imports import ImportViewSet
from aggregation.api.introspection import IntrospectionViewSet
from aggregation.api.streams import SleepStreamViewSet, WorkoutStreamViewSet
from aggregation.api.summaries import RAW, SUMMARY, ProfileViewSet, SummaryViewSet
from aggregation.api.timeseries import GROUPED, UNGROUPED, HypnogramViewSet, TimeseriesViewSet

__all__ = [
    "GROUPED",
    "RAW",
    "SUMMARY",
    "UNGROUPED",
    "DeviceViewSet",
    "HypnogramViewSet",
    "ImportViewSet",
    "IntrospectionViewSet",
    "ProfileViewSet",
    "SleepStreamViewSet",
    "SummaryViewSet",
    "TimeseriesViewSet",
    "WorkoutStreamViewSet",
]
