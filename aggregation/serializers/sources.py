"""Where data come from, and texts out of a closed list, as OpenAPI describes them."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from healthsvc.kernel.typing import JSONObject

Serializer = serializers.Serializer[Any]
Field: TypeAlias = serializers.Field[Any, Any, Any, Any]


class ClientFacingProvider(Serializer):
    """A provider."""

    name = serializers.CharField()
    slug = serializers.CharField()
    logo = serializers.CharField(allow_blank=True)


class ClientFacingSource(Serializer):
    """Where data come from. `name`, `slug` and `logo` are the older fields."""

    provider = serializers.CharField()
    type = serializers.CharField()
    app_id = serializers.CharField(allow_null=True)
    device_id = serializers.UUIDField(allow_null=True)
    workout_id = serializers.UUIDField(allow_null=True, help_text="The workout that the data are of.")
    sport = serializers.CharField(allow_null=True, help_text="The slug of that workout's sport.")
    name = serializers.CharField()
    slug = serializers.CharField()
    logo = serializers.CharField(allow_blank=True)


class ClientFacingSport(Serializer):
    """A sport."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    slug = serializers.CharField()


def shape_made(name: str, meaning: str, fields: dict[str, Any]) -> type[Serializer]:
    """A serializer class that is made from a record of the catalogue."""
    return type(name, (serializers.Serializer,), {"__doc__": meaning, "__module__": __name__, **fields})


def text_field(choices: Sequence[str], *, allow_null: bool, meaning: str) -> Field:
    """A text, one of `choices` where there are any; the list may grow with later releases."""
    if not choices:
        return serializers.CharField(allow_null=allow_null, help_text=meaning)
    listed: JSONObject = {"type": "string", "enum": list(choices)}
    # Nested, so that each list stays where it is used instead of becoming a component with a made-up name.
    schema: JSONObject = {"oneOf": [listed, {"type": "null"}]} if allow_null else {"allOf": [listed]}
    field = extend_schema_field(dict(schema))(type("ClosedTextField", (serializers.CharField,), {}))
    closed: Field = field(help_text=f"{meaning} One of these; the list may grow.".strip())
    return closed
