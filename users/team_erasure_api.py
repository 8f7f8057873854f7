"""Erasures of a team's people at the management address: also of a deleted or erased team, which no key opens."""

from typing import ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from management.organisation_base import OrganisationPathViewSet
from users import erasure_selectors
from users.erasure_serializers import ErasureListAnswer, ErasureListQuery, erasures_json


class TeamErasureViewSet(OrganisationPathViewSet):
    """Receipts of a team, which outlive it; for org_admin keys."""

    admin_actions: ClassVar[frozenset[str]] = frozenset({"list"})

    @extend_schema(
        operation_id="list_team_user_erasures",
        summary="List erasures of a team's users",
        parameters=[ErasureListQuery],
        responses=ErasureListAnswer,
        tags=["Teams"],
    )
    def list(self, request: Request, team_id: UUID) -> Response:
        """Erasures of deleted users with their receipts, newest first; of a deleted or erased team too."""
        query = self.query(ErasureListQuery)
        page = erasure_selectors.team_erasures_page(
            self.organisation_id, team_id, environment=query.get("environment"), cursor=query.get("next_cursor")
        )
        return Response(erasures_json(page))
