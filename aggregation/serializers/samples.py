"""Samples as OpenAPI describes them, made of the resource's record alone."""

from functools import cache
from typing import Any

from rest_framework import serializers

from aggregation.catalogue import SampleField, SampleFieldKind, SeriesSpec
from aggregation.serializers.sources import ClientFacingSource, Field, Serializer, shape_made, text_field


@cache
def sample_shape(spec: SeriesSpec) -> type[Serializer]:
    """One sample of a timeseries."""
    fields: dict[str, Any] = {"timestamp": serializers.DateTimeField(help_text="When it was measured, or began.")}
    if spec.is_interval:
        fields["start"] = serializers.DateTimeField(help_text="When it began.")
        fields["end"] = serializers.DateTimeField(help_text="When it ended.")
    fields["timezone_offset"] = serializers.IntegerField(allow_null=True, help_text="Offset from UTC, seconds.")
    fields["type"] = text_field(spec.types, allow_null=not spec.type_required, meaning="")
    fields["unit"] = serializers.CharField(help_text=_unit_help(spec))
    if spec.has_value:
        fields["value"] = serializers.FloatField(help_text=spec.meaning)
    for field in spec.fields:
        fields["value" if field.is_text_value else field.name] = _field_shape(field)
    return shape_made(f"ClientFacing{spec.model}Timeseries", spec.meaning, fields)


def _unit_help(spec: SeriesSpec) -> str:
    others = "".join(f" Of type `{kind}` it is `{unit}`." for kind, unit in spec.units_by_type.items())
    return f"`{spec.unit}`.{others}" if others else f"Always `{spec.unit}`."


def _field_shape(field: SampleField) -> Field:
    if field.kind is SampleFieldKind.NUMBER:
        return serializers.FloatField(allow_null=not field.required, help_text=field.meaning)
    if field.kind is SampleFieldKind.TEXTS:
        child = text_field(field.choices, allow_null=False, meaning="")
        return serializers.ListField(child=child, allow_null=not field.required, help_text=field.meaning)
    return text_field(field.choices, allow_null=not field.required, meaning=field.meaning)


@cache
def grouped_shape(spec: SeriesSpec) -> type[Serializer]:
    """A page of a timeseries, by provider and source."""
    group = shape_made(
        f"{spec.model}Group",
        "Samples of one source, in order of time.",
        {"source": ClientFacingSource(), "data": sample_shape(spec)(many=True)},
    )
    cursor = serializers.CharField(allow_null=True, help_text="Where the next page begins; null on the last.")
    return shape_made(
        f"Grouped{spec.model}Response",
        f"{spec.meaning} Samples by provider.",
        {
            "groups": serializers.DictField(child=group(many=True)),
            "next_cursor": cursor,
            "next": serializers.CharField(allow_null=True, help_text="Deprecated: the same as `next_cursor`."),
        },
    )
