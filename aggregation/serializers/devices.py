"""A person's devices as OpenAPI describes them."""

from functools import cache
from typing import Any

from rest_framework import serializers

from aggregation.catalogue import SummarySpec
from aggregation.constants import SOURCE_TYPES
from aggregation.serializers.sources import ClientFacingProvider, Serializer, shape_made, text_field
from aggregation.serializers.summaries import field_shapes


@cache
def device_shape(spec: SummarySpec) -> type[Serializer]:
    """A device with what its source tells of it."""
    fields: dict[str, Any] = {
        "id": serializers.UUIDField(),
        "user_id": serializers.UUIDField(),
        "provider": serializers.CharField(),
        "source_type": text_field(SOURCE_TYPES, allow_null=False, meaning="What it is."),
        "app_id": serializers.CharField(allow_null=True),
        "device_id": serializers.CharField(help_text="What its sender calls the device."),
        **field_shapes(spec.model, spec.fields),
    }
    return shape_made(spec.model, spec.meaning, fields)


class RawDevice(Serializer):
    """A device that data came from: what its data say of it."""

    id = serializers.UUIDField()
    user_id = serializers.UUIDField()
    provider_id = serializers.CharField(help_text="What its sender calls the device.")
    source_id = serializers.IntegerField(help_text="Deprecated: has no meaning.")
    data = serializers.DictField()  # type: ignore[assignment]  # the API names it so
    source = ClientFacingProvider()  # type: ignore[assignment]  # the API names it so


class RawDevicesResponse(Serializer):
    """The devices that a person's data came from."""

    devices = RawDevice(many=True)
