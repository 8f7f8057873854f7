"""Summaries and their raw forms as OpenAPI describes them, made of the resource's record."""

from collections.abc import Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from rest_framework import serializers

from aggregation.catalogue import FieldKind, FieldSpec, SummarySpec
from aggregation.serializers.sources import (
    ClientFacingProvider,
    ClientFacingSource,
    ClientFacingSport,
    Field,
    Serializer,
    shape_made,
    text_field,
)

_OWN_FORM: Final = "The record as its source gave it; in this API's fields where there is no such form."
_NO_MEANING: Final = "Deprecated: has no meaning."


@cache
def summary_shape(spec: SummarySpec) -> type[Serializer]:
    """One summary of a resource."""
    fields: dict[str, Any] = {"id": serializers.UUIDField(), "user_id": serializers.UUIDField()}
    if spec.has_calendar_date:
        fields["calendar_date"] = serializers.DateField(help_text="The person's own day.")
    if spec.dated:
        fields["date"] = serializers.DateTimeField(help_text="Deprecated: midnight UTC of `calendar_date`.")
    fields |= field_shapes(spec.model, spec.fields)
    fields |= _older_shapes(spec)
    fields["source"] = ClientFacingSource()
    if spec.sources_flat:
        fields["source_provider"] = serializers.CharField()
        fields["source_type"] = serializers.CharField()
        fields["source_app_id"] = serializers.CharField(allow_null=True)
        fields["source_device_id"] = serializers.UUIDField(allow_null=True)
    fields["created_at"] = serializers.DateTimeField()
    fields["updated_at"] = serializers.DateTimeField()
    return shape_made(spec.model, spec.meaning, fields)


@cache
def summaries_shape(spec: SummarySpec) -> type[Serializer]:
    """Summaries of a resource."""
    words = spec.model.removeprefix("ClientFacing")
    key = spec.answer_key or spec.slug
    return shape_made(f"Client{words}Response", f"{spec.meaning} In order.", {key: summary_shape(spec)(many=True)})


def _older_shapes(spec: SummarySpec) -> dict[str, Field]:
    if spec.slug == "sleep":
        help_text = "Deprecated: always null; read the sleep's stream instead."
        return {"sleep_stream": serializers.DictField(allow_null=True, help_text=help_text)}
    if spec.slug == "meal":
        return {
            "priority_id": serializers.IntegerField(help_text=_NO_MEANING),
            "source_id": serializers.IntegerField(help_text=_NO_MEANING),
            "provider_id": serializers.CharField(help_text="Deprecated: the same as `id`."),
            "source_app_id": serializers.CharField(allow_null=True),
            "source_device_id": serializers.UUIDField(allow_null=True),
        }
    return {}


_FIELD_SHAPES: Final = MappingProxyType[FieldKind, type[Field]](
    {
        FieldKind.NUMBER: serializers.FloatField,
        FieldKind.WHOLE: serializers.IntegerField,
        FieldKind.INSTANT: serializers.DateTimeField,
        FieldKind.DATE: serializers.DateField,
        FieldKind.FLAG: serializers.BooleanField,
    }
)


def field_shapes(owner: str, fields: Sequence[FieldSpec]) -> dict[str, Field]:
    """Fields of a record of the catalogue; objects among them are named after their owner."""
    return {field.name: _field_shape(owner, field) for field in fields}


def _field_shape(owner: str, field: FieldSpec) -> Field:
    values: dict[str, Any] = {"allow_null": not field.required, "help_text": field.meaning}
    match field.kind:
        case FieldKind.SPORT:
            return ClientFacingSport(**values)
        case FieldKind.TEXT:
            return text_field(field.choices, allow_null=not field.required, meaning=field.meaning)
        case FieldKind.WHOLES:
            return serializers.ListField(child=serializers.IntegerField(), **values)
        case FieldKind.NUMBERS_BY_NAME:
            return serializers.DictField(child=serializers.FloatField(), **values)
        case FieldKind.OBJECT:
            return _members_shape(owner, field)(**values)
        # Empty where there are none, never null.
        case FieldKind.OBJECTS:
            return _members_shape(owner, field)(many=True, help_text=field.meaning)
        case FieldKind.OBJECTS_BY_NAME:
            return serializers.DictField(child=_members_shape(owner, field)(), help_text=field.meaning)
        case _:
            return _FIELD_SHAPES[field.kind](**values)


def _members_shape(owner: str, field: FieldSpec) -> type[Serializer]:
    name = f"{owner}{field.name.title().replace('_', '')}"
    return shape_made(name, field.meaning, field_shapes(name, field.members))


def _raw_name(spec: SummarySpec) -> str:
    return f"Raw{spec.model.removeprefix('ClientFacing')}"


@cache
def raws_shape(spec: SummarySpec) -> type[Serializer]:
    """Summaries of a resource in their sources' own forms."""
    fields: dict[str, Any] = {
        "id": serializers.UUIDField(),
        "user_id": serializers.UUIDField(),
        "timestamp": serializers.DateTimeField(help_text="When it began; midnight UTC of a day."),
        "data": serializers.DictField(help_text=_OWN_FORM),
        "provider_id": serializers.CharField(help_text="Deprecated: what the source calls the record."),
        "source_id": serializers.IntegerField(help_text=_NO_MEANING),
        "priority_id": serializers.IntegerField(help_text=_NO_MEANING),
        "priority": serializers.IntegerField(allow_null=True, help_text=_NO_MEANING),
        "source_device_id": serializers.UUIDField(allow_null=True),
        "source": ClientFacingProvider(help_text="Deprecated."),
        "created_at": serializers.DateTimeField(),
        "updated_at": serializers.DateTimeField(),
    }
    if any(field.kind is FieldKind.SPORT for field in spec.fields):
        fields |= {"sport_id": serializers.IntegerField(), "sport": ClientFacingSport()}
    raw = shape_made(_raw_name(spec), f"{spec.meaning} In its source's own form.", fields)
    return shape_made(f"{_raw_name(spec)}Response", f"{spec.meaning} In order.", {spec.slug: raw(many=True)})


class ProfileInDb(Serializer):
    """A person's profile in its source's own form."""

    id = serializers.UUIDField()
    user_id = serializers.UUIDField()
    data = serializers.DictField(help_text=_OWN_FORM)  # type: ignore[assignment]  # the API names it so
    source_id = serializers.IntegerField(help_text=_NO_MEANING)
    priority_id = serializers.IntegerField(allow_null=True, help_text=_NO_MEANING)
    source = ClientFacingProvider()  # type: ignore[assignment]  # the API names it so
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class RawProfile(Serializer):
    """A person's profile in its source's own form."""

    profile = ProfileInDb()
