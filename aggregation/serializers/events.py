"""What events of health data carry, as OpenAPI describes it: mostly the shapes that the API answers."""

from functools import cache
from typing import Any

from rest_framework import serializers

from aggregation.catalogue import DEVICE, ResourceSpec, SeriesSpec, StreamSpec
from aggregation.serializers.devices import device_shape
from aggregation.serializers.samples import sample_shape
from aggregation.serializers.sources import ClientFacingSource, ClientFacingSport, Serializer, shape_made
from aggregation.serializers.summaries import summary_shape


class WorkoutStreamEvent(Serializer):
    """A notice that the stream of a workout can be read; it carries no samples."""

    user_id = serializers.UUIDField()
    workout_id = serializers.UUIDField()
    provider_id = serializers.CharField(help_text="What the provider calls the workout.")
    message = serializers.CharField(help_text="For people.")
    sport = ClientFacingSport()
    source = ClientFacingSource()  # type: ignore[assignment]  # the API names it so


class HistoricalDataEvent(Serializer):
    """A notice that what was backfilled of a resource can be read; it carries no data."""

    user_id = serializers.UUIDField()
    start_date = serializers.DateTimeField(help_text="Where the backfill begins.")
    end_date = serializers.DateTimeField(help_text="Where it ends.")
    provider = serializers.CharField(help_text="The provider's slug.")
    is_final = serializers.BooleanField(help_text="Always true: one notice a resource and backfill.")


def daily_shape(spec: ResourceSpec) -> type[Serializer]:
    """What the daily events of a resource carry; of a device, what its own events carry."""
    if isinstance(spec, SeriesSpec):
        return _samples_shape(spec)
    if isinstance(spec, StreamSpec):
        return WorkoutStreamEvent
    return device_shape(spec) if spec is DEVICE else summary_shape(spec)


@cache
def _samples_shape(spec: SeriesSpec) -> type[Serializer]:
    fields: dict[str, Any] = {
        "user_id": serializers.UUIDField(),
        "source_id": serializers.IntegerField(help_text="Deprecated: a number of the provider; 0 where it has none."),
        "source": ClientFacingSource(),
        "data": sample_shape(spec)(many=True, help_text="Samples of one source, in order of time."),
    }
    return shape_made(f"{spec.model}Event", f"{spec.meaning} New or revised samples of one source.", fields)
