"""The course of a workout or a night as OpenAPI describes it."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from rest_framework import serializers

from aggregation.catalogue import SeriesSpec, StreamSpec
from aggregation.serializers.samples import sample_shape
from aggregation.serializers.sources import Serializer, shape_made
from aggregation.shapes.streams import WHOLE_CHANNELS


@cache
def workout_stream_shape(spec: StreamSpec) -> type[Serializer]:
    """Parallel arrays, one a channel."""
    times = serializers.ListField(child=serializers.IntegerField(), help_text="Unix time of each entry, seconds.")
    fields: dict[str, Any] = {"time": times}
    for channel in spec.channels:
        number = serializers.IntegerField if channel.name in WHOLE_CHANNELS else serializers.FloatField
        fields[channel.name] = serializers.ListField(child=number(allow_null=True), help_text=channel.meaning)
    return shape_made(spec.model, spec.meaning, fields)


@cache
def sleep_stream_shape(specs: Sequence[SeriesSpec]) -> type[Serializer]:
    """The samples of a night by resource."""
    fields = {spec.slug: sample_shape(spec)(many=True, help_text=spec.meaning) for spec in specs}
    return shape_made("ClientFacingSleepStream", "The course of a night.", fields)
