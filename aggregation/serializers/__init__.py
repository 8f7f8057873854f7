"""Shapes of health data in and out. Those of single resources are made from the records of the catalogue."""

from aggregation.serializers.devices import RawDevicesResponse, device_shape
from aggregation.serializers.events import HistoricalDataEvent, daily_shape
from aggregation.serializers.imports import ImportAccepted, ImportAnswer, import_json
from aggregation.serializers.introspection import IntrospectionQuery, UserResourcesResponse
from aggregation.serializers.queries import (
    DataQuery,
    DateOrInstantField,
    ProviderQuery,
    TimeseriesQuery,
    day_of,
    window_of,
)
from aggregation.serializers.samples import grouped_shape, sample_shape
from aggregation.serializers.sources import ClientFacingProvider, ClientFacingSource, ClientFacingSport
from aggregation.serializers.streams import sleep_stream_shape, workout_stream_shape
from aggregation.serializers.summaries import RawProfile, raws_shape, summaries_shape, summary_shape

__all__ = [
    "ClientFacingProvider",
    "ClientFacingSource",
    "ClientFacingSport",
    "DataQuery",
    "DateOrInstantField",
    "HistoricalDataEvent",
    "ImportAccepted",
    "ImportAnswer",
    "IntrospectionQuery",
    "ProviderQuery",
    "RawDevicesResponse",
    "RawProfile",
    "TimeseriesQuery",
    "UserResourcesResponse",
    "daily_shape",
    "day_of",
    "device_shape",
    "grouped_shape",
    "import_json",
    "raws_shape",
    "sample_shape",
    "sleep_stream_shape",
    "summaries_shape",
    "summary_shape",
    "window_of",
    "workout_stream_shape",
]
