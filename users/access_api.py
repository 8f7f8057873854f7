"""Who read or changed a person's data, for the team that answers for it."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, ServiceViewSet
from management.trail_selectors import AccessFilters, access_page
from management.trail_serializers import AccessListAnswer, PersonAccessQuery, access_list_json
from users import selectors


class UserAccessViewSet(ServiceViewSet):
    """A person's part of the audit trail."""

    access = Access.TEAM

    @extend_schema(
        operation_id="list_user_access_records",
        summary="List who read or changed a user's data",
        parameters=[PersonAccessQuery],
        responses=AccessListAnswer,
        tags=["Users"],
    )
    def list(self, request: Request, user_id: UUID) -> Response:
        """What names this user, newest first: each request, also one that showed others too, and each piece of work."""
        selectors.user_get(self.team, user_id)
        query = self.query(PersonAccessQuery)
        cursor, limit = query.pop("next_cursor", None), query.pop("limit")
        filters = AccessFilters(user_id=user_id, **query)
        page = access_page(self.team, filters=filters, cursor=cursor, limit=limit)
        return Response(access_list_json(page.records, page.next_cursor))
