"""What is kept of whom, over HTTP."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from aggregation.introspection import resources_of, users_page
from aggregation.serializers import IntrospectionQuery, UserResourcesResponse
from aggregation.shapes import user_resources_json
from healthsvc.kernel.api import Access, ServiceViewSet


class IntrospectionViewSet(ServiceViewSet):
    """What is kept of the team's users."""

    access = Access.TEAM

    @extend_schema(
        operation_id="introspect_resources",
        summary="See what is kept of each user",
        parameters=[IntrospectionQuery],
        responses=UserResourcesResponse,
        tags=["Introspection"],
    )
    def resources(self, request: Request) -> Response:
        """How far each resource of each provider reaches, and its last pull; users without data are left out."""
        query = self.query(IntrospectionQuery)
        page = users_page(
            self.team,
            user_id=query.get("user_id"),
            cursor=query.get("next_cursor") or query.get("cursor"),
            limit=query["user_limit"],
            filters=("resources", query["provider"]),
        )
        self.users_named(page.user_ids)
        found = resources_of(self.team, page.user_ids, query["provider"])
        return Response(
            {
                "data": [user_resources_json(one) for one in found],
                "next_cursor": page.next_cursor,
                "next": page.next_cursor,
            }
        )
