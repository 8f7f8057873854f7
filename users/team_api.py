"""What a team is told about itself over HTTP: figures, settings, a search among its users."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.errors import not_found
from management import selectors as management_selectors
from management.models import Team
from users import registry, selectors
from users.metrics import team_metrics
from users.serializers import UserAnswer, user_json
from users.team_serializers import MetricsAnswer, TeamAnswer, UserSearchQuery, metrics_json, team_json


class TeamViewSet(ServiceViewSet):
    """The caller's own team."""

    access = Access.TEAM

    @extend_schema(operation_id="get_team", summary="Get your team", responses=TeamAnswer, tags=["Teams"])
    def retrieve(self, request: Request, team_id: UUID) -> Response:
        """The team of the key, with its switches in the key's environment."""
        if team_id != self.team.team_id:
            raise not_found()
        team = Team.objects.get(pk=team_id)
        logo_url = next((found for address in registry.team_logo_urls if (found := address(self.team))), None)
        return Response(team_json(team, management_selectors.team_settings(self.team), logo_url))

    @extend_schema(operation_id="get_teams_metrics", summary="Figures", responses=MetricsAnswer, tags=["Users"])
    def metrics(self, request: Request) -> Response:
        """Users, connections by week for the last twelve weeks, ordered tests."""
        return Response(metrics_json(self.team, team_metrics(self.team)))

    @extend_schema(
        operation_id="search_team_users",
        summary="Search users",
        parameters=[UserSearchQuery],
        responses=UserAnswer(many=True),
        tags=["Teams"],
    )
    def users_search(self, request: Request) -> Response:
        """Users whose id or client_user_id begins so."""
        users = selectors.users_search(self.team, self.query(UserSearchQuery)["query_id"])
        self.users_named(user.id for user in users)
        sources = selectors.sources_of(self.team, users)
        return Response([user_json(user, sources[user.id]) for user in users])
