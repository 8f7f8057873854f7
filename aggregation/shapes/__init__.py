"""Health data as the API and its events show them."""

from aggregation.devices import device_uuid
from aggregation.shapes.devices import device_json, device_raw_json
from aggregation.shapes.introspection import user_resources_json
from aggregation.shapes.samples import groups_json, sample_groups, samples_json, samples_pieces
from aggregation.shapes.sources import provider_json, source_json
from aggregation.shapes.streams import sleep_stream_json, workout_stream_json
from aggregation.shapes.summaries import profile_raw_json, raw_json, summary_json

__all__ = [
    "device_json",
    "device_raw_json",
    "device_uuid",
    "groups_json",
    "profile_raw_json",
    "provider_json",
    "raw_json",
    "sample_groups",
    "samples_json",
    "samples_pieces",
    "sleep_stream_json",
    "source_json",
    "summary_json",
    "user_resources_json",
    "workout_stream_json",
]
