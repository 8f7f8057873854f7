"""What views of the management address share that act for the team and environment in their path."""

from dataclasses import replace
from typing import Any, Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.errors import Problem, invalid, not_found
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.scope import team_scope
from management.selectors import teams_visible

ENVIRONMENT_PARAMETER: Final = OpenApiParameter(
    "environment", OpenApiTypes.STR, OpenApiParameter.PATH, enum=[str(item) for item in Environment]
)


class TeamPathViewSet(ServiceViewSet):
    """For management keys that may see the team in the path."""

    access = Access.MANAGEMENT

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Let the management key act for the team in the path: its rows, its kept replies, its audit trail."""
        super().initial(request, *args, **kwargs)
        org_id, team_id = self.kwargs.pop("org_id"), self.kwargs.pop("team_id")
        environment = self.kwargs.pop("environment")
        if environment not in [str(item) for item in Environment]:
            raise invalid([Problem(("path", "environment"), "Must be sandbox or production.", "enum")])
        if not teams_visible(self.principal, org_id).filter(pk=team_id).exists():
            raise not_found()
        team = TeamContext(team_id, Environment(environment))
        request.user = replace(self.principal, team=team)  # type: ignore[assignment]  # ours are principals
        self._scopes.enter_context(team_scope(team))
