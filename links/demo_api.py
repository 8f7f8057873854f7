"""Demo connections over HTTP."""

from typing import Any, Final

from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.fields import UUIDTextField
from links.catalogue import provider_get
from links.services.demo import DEMO_DAYS, demo_connect

#: What can be shown without a person (source: the interface's enumeration).
DEMO_PROVIDERS: Final = ("apple_health_kit", "fitbit", "freestyle_libre", "oura")


@extend_schema_serializer(component_name="DemoConnectionCreationPayload")
class DemoBody(serializers.Serializer[Any]):
    """A demo connection to be made."""

    user_id = UUIDTextField(help_text="A user without a connected provider.")
    provider = serializers.ChoiceField(choices=DEMO_PROVIDERS)


@extend_schema_serializer(component_name="DemoConnectionStatus")
class DemoAnswer(serializers.Serializer[Any]):
    """What came of it."""

    success = serializers.BooleanField()
    detail = serializers.CharField()


class DemoViewSet(ServiceViewSet):
    """Demo connections."""

    access = Access.TEAM
    calls_network = True

    @extend_schema(
        operation_id="connect_demo_provider",
        summary="Connect a demo provider",
        request=DemoBody,
        responses={200: DemoAnswer, 400: OpenApiResponse(description="The user has a connected provider.")},
        tags=["Link"],
    )
    def create(self, request: Request) -> Response:
        """A simulated account with a month of data and the events of a real one. Sandbox only, for a week."""
        body = self.body(DemoBody)
        demo_connect(team=self.team, user_id=body["user_id"], provider=provider_get(body["provider"]))
        return Response({"success": True, "detail": f"Connected for {DEMO_DAYS} days; data are on their way."})
