"""A team's source priorities over HTTP."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction, PolymorphicProxySerializer, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregation import registry
from aggregation.constants import SOURCE_ID_UNLISTED, SOURCE_IDS, PriorityResource
from aggregation.models import SourcePriority
from aggregation.priorities import (
    PRIORITY_MAXIMUM,
    PRIORITY_MINIMUM,
    PriorityChange,
    source_priorities,
    source_priorities_update,
)
from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.errors import invalid
from healthsvc.kernel.fields import WholeNumberField
from healthsvc.kernel.problems import from_serializer_errors
from healthsvc.kernel.typing import JSONObject


class SourcePriorityQuery(serializers.Serializer[Any]):
    """Which priorities are wanted."""

    data_type = serializers.ChoiceField(
        choices=PriorityResource.choices, required=False, help_text="One kind of data; all where left out."
    )


class SourcePriorityBody(serializers.Serializer[Any]):
    """New priorities of one kind of data."""

    data_type = serializers.ChoiceField(choices=PriorityResource.choices)
    priorities = serializers.DictField(
        child=WholeNumberField(min_value=PRIORITY_MINIMUM, max_value=PRIORITY_MAXIMUM, allow_null=True),
        help_text="Priority by provider slug, the larger one wins; null takes a provider off the list.",
    )


class NoPriorities(serializers.Serializer[Any]):
    """Nothing to change."""


class NoPrioritiesSchema(OpenApiSerializerExtension):
    """An object with nothing in it; without this it would be documented as any object."""

    target_class = NoPriorities

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        """The schema."""
        return {"type": "object", "maxProperties": 0}


class SourcePriorityProvider(serializers.Serializer[Any]):
    """The provider."""

    name = serializers.CharField()
    slug = serializers.CharField()
    logo = serializers.CharField(allow_blank=True)


class SourcePriorityAnswer(serializers.Serializer[Any]):
    """How much the team trusts a provider for one kind of data."""

    id = serializers.UUIDField()
    team_id = serializers.UUIDField()
    data_type = serializers.ChoiceField(choices=PriorityResource.choices)
    source_id = serializers.IntegerField()
    source = SourcePriorityProvider()  # type: ignore[assignment]  # the API names it so
    provider = serializers.CharField()
    priority = serializers.IntegerField(help_text="The larger number wins.")


class SourcePriorityViewSet(ServiceViewSet):
    """Which provider counts where several measured the same."""

    access = Access.TEAM

    @extend_schema(
        operation_id="get_source_priorities",
        summary="List source priorities",
        parameters=[SourcePriorityQuery],
        responses=SourcePriorityAnswer(many=True),
        tags=["Team"],
    )
    def list(self, request: Request) -> Response:
        """The team's own list, the most trusted provider of each kind of data first; empty until it is set."""
        query = self.query(SourcePriorityQuery)
        return Response([priority_json(row) for row in source_priorities(self.team, query.get("data_type"))])

    @extend_schema(
        operation_id="update_source_priorities",
        summary="Change source priorities",
        request=PolymorphicProxySerializer(
            "SourcePriorityChanges",
            [SourcePriorityBody, SourcePriorityBody(many=True), NoPriorities],
            resource_type_field_name=None,
            many=False,
        ),
        responses=SourcePriorityAnswer(many=True),
        tags=["Team"],
    )
    def update(self, request: Request) -> Response:
        """Sets what the body names and leaves the rest; answers the whole list. No body changes nothing."""
        source_priorities_update(team=self.team, changes=self._changes())
        return Response([priority_json(row) for row in source_priorities(self.team)])

    def _changes(self) -> Sequence[PriorityChange]:
        """The body: one object or a list of them; existing clients send none at all."""
        if self.request.META.get("CONTENT_LENGTH") in (None, "", "0"):
            return ()
        data: object = self.request.data
        if data == {}:
            return ()
        many = isinstance(data, list)
        given = SourcePriorityBody(data=data, many=many)
        if not given.is_valid():
            raise invalid(from_serializer_errors(given.errors, ("body",), given))
        listed = given.validated_data if many else [given.validated_data]
        return [PriorityChange(str(one["data_type"]), one["priorities"]) for one in listed]


def priority_json(row: SourcePriority) -> JSONObject:
    """A priority as the API shows it."""
    named = registry.provider_name(row.provider)
    return {
        "id": str(row.id),
        "team_id": str(row.team_id),
        "data_type": row.data_type,
        "source_id": SOURCE_IDS.get(row.provider, SOURCE_ID_UNLISTED),
        "source": {"name": named.name, "slug": row.provider, "logo": named.logo},
        "provider": row.provider,
        "priority": row.priority,
    }
