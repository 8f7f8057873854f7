"""The management address: an organisation's teams."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, ServiceViewSet
from management import selectors
from management.serializers import TeamItem, TeamListAnswer, TeamListQuery


class TeamViewSet(ServiceViewSet):
    """Teams of an organisation."""

    access = Access.MANAGEMENT

    @extend_schema(
        operation_id="list_teams_in_org",
        summary="List teams in org",
        parameters=[TeamListQuery],
        responses=TeamListAnswer,
        tags=["Teams"],
    )
    def list(self, request: Request, org_id: UUID) -> Response:
        """Teams, newest first, by region and by text in the name."""
        query = self.query(TeamListQuery)
        teams = selectors.teams_visible(self.principal, org_id)
        if "team_id" in query:
            teams = teams.filter(pk=query["team_id"])
        page = selectors.team_page(
            teams,
            regions=query.get("region", []),
            search_query=query.get("search_query", ""),
            cursor=query.get("next_cursor"),
        )
        return Response({"teams": TeamItem(page.teams, many=True).data, "next_cursor": page.next_cursor})
