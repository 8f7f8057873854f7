"""A person's devices over HTTP."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from aggregation import selectors
from aggregation.catalogue import DEVICE
from aggregation.serializers import ProviderQuery, RawDevicesResponse, device_shape
from aggregation.shapes import device_json, device_raw_json
from healthsvc.kernel.api import Access, ServiceViewSet
from users import selectors as user_selectors


class DeviceViewSet(ServiceViewSet):
    """The devices that a person's data came from."""

    access = Access.TEAM

    @extend_schema(
        operation_id="get_devices_raw",
        summary="List a user's devices, raw",
        parameters=[ProviderQuery],
        responses=RawDevicesResponse,
        tags=["Summaries"],
    )
    def raw(self, request: Request, user_id: UUID) -> Response:
        """Every device that samples or summaries name, with what they say of it."""
        query = self.query(ProviderQuery)
        user_selectors.user_get(self.team, user_id)
        devices = selectors.devices_of(self.team, user_id, query["provider"])
        return Response({"devices": [device_raw_json(user_id, device) for device in devices]})

    @extend_schema(
        operation_id="get_devices",
        summary="List a user's devices",
        responses=device_shape(DEVICE)(many=True),
        tags=["Users"],
    )
    def list(self, request: Request, user_id: UUID) -> Response:
        """Every device that samples or summaries name, under the id that their sources show."""
        user_selectors.user_get(self.team, user_id)
        return Response([device_json(user_id, device) for device in selectors.devices_of(self.team, user_id)])

    @extend_schema(
        operation_id="get_device",
        summary="Read one of a user's devices",
        responses=device_shape(DEVICE),
        tags=["Users"],
    )
    def retrieve(self, request: Request, user_id: UUID, device_id: UUID) -> Response:
        """The device by the id that sources show."""
        user_selectors.user_get(self.team, user_id)
        return Response(device_json(user_id, selectors.device_get(self.team, user_id, device_id)))
