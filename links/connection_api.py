"""Ending a user's connection over HTTP."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.errors import Problem, invalid, not_found
from links.catalogue import catalogue
from links.connection_selectors import was_ever_connected
from links.services.connections import connection_disconnect
from users import selectors as user_selectors


@extend_schema_serializer(component_name="UserSuccessResponse")
class UserSuccessAnswer(serializers.Serializer[Any]):
    """It is done."""

    success = serializers.BooleanField()


class ConnectionViewSet(ServiceViewSet):
    """One of a user's connections."""

    access = Access.TEAM

    @extend_schema(
        operation_id="deregister_provider",
        summary="End a user's connection",
        responses={200: UserSuccessAnswer},
        tags=["Link"],
    )
    def destroy(self, request: Request, user_id: UUID, provider: str) -> Response:
        """Nothing more is pulled, and the grant is taken back at the provider. What was stored stays.

        Doing it again changes nothing and succeeds; 404 for a provider that the user was never connected to.
        """
        user_selectors.user_get(self.team, user_id)
        ended = connection_disconnect(team=self.team, user_id=user_id, provider=provider)
        if not ended and not was_ever_connected(self.team, user_id, provider):
            raise not_found() if provider in catalogue() else _no_provider()
        return Response({"success": True})


def _no_provider() -> Exception:
    return invalid([Problem(("path", "provider"), "Not a provider slug.", "enum")])
