"""A user's demographics over HTTP."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, ServiceViewSet
from users import selectors, services
from users.demographics_serializers import DemographicsAnswer, DemographicsBody, details_given


class DemographicsViewSet(ServiceViewSet):
    """What is known of a user as a patient."""

    access = Access.TEAM

    @extend_schema(
        operation_id="upsert_user_info",
        summary="Set a user's demographics",
        request=DemographicsBody,
        responses=DemographicsAnswer,
        tags=["Users"],
    )
    def partial_update(self, request: Request, user_id: UUID) -> Response:
        """Keep these in the place of what was known before: all required fields are sent each time."""
        details = details_given(self.body(DemographicsBody))
        services.demographics_put(team=self.team, user_id=user_id, details=details)
        return Response(details.as_json())

    @extend_schema(
        operation_id="get_latest_user_info",
        summary="Get a user's demographics",
        responses=DemographicsAnswer,
        tags=["Users"],
    )
    def latest(self, request: Request, user_id: UUID) -> Response:
        """What was told last."""
        return Response(selectors.demographics_latest(self.team, user_id).as_json())
