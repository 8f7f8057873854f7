"""What views of the management address share that act for the organisation in their path."""

from typing import Any, ClassVar, Final
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from healthsvc.kernel.api import Access, ServiceViewSet
from healthsvc.kernel.errors import ErrorCode, Problem, ServiceError, invalid, not_found
from healthsvc.kernel.principal import Environment, Role
from management import selectors
from management.constants import CREATED_BY_KEY, Region
from management.models import Team, TeamInOrganisation

ENV_PARAMETER: Final = OpenApiParameter(
    "env", OpenApiTypes.STR, OpenApiParameter.PATH, enum=[str(item) for item in Environment]
)
REGION_PARAMETER: Final = OpenApiParameter("region", OpenApiTypes.STR, OpenApiParameter.PATH, enum=Region.values)


class OrganisationPathViewSet(ServiceViewSet):
    """For management keys of the organisation in the path. `admin_actions` are open to org_admin keys only.

    Another organisation, and a team that the key may not see, answer as missing ones before anything else is read.
    """

    access = Access.MANAGEMENT
    admin_actions: ClassVar[frozenset[str]] = frozenset()

    teams: TeamInOrganisation

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """See that the key may come here."""
        super().initial(request, *args, **kwargs)
        self.teams = selectors.teams_visible(self.principal, self.kwargs.pop("org_id"))
        if self.principal.role is not Role.ORG_ADMIN and self.action in self.admin_actions:
            self.team_in_path()
            raise ServiceError(ErrorCode.NOT_ALLOWED, "Only an org_admin key may do this.")

    @property
    def organisation_id(self) -> UUID:
        """The organisation, which is the key's own."""
        if self.principal.organisation_id is None:
            raise ServiceError(ErrorCode.NOT_ALLOWED)
        return self.principal.organisation_id

    @property
    def created_by(self) -> str:
        """What is written down as the maker of what this request makes."""
        return f"{CREATED_BY_KEY} {self.principal.key_id}"

    def team_in_path(self) -> Team | None:
        """The team that the path names, where it names one; 404 where the key may not see it."""
        return self.team_seen(self.kwargs["team_id"]) if "team_id" in self.kwargs else None

    def team_seen(self, team_id: UUID) -> Team:
        """A team that the key may see, or 404."""
        team = self.teams.filter(pk=team_id).first()
        if team is None:
            raise not_found()
        return team

    def told(self, **ids: UUID) -> None:
        """Ids for the trail that the path does not name: of what was made."""
        self.kwargs.update(ids)


class EnvironmentPathViewSet(OrganisationPathViewSet):
    """For addresses that name an environment and a region behind the organisation."""

    environment: Environment
    region: str
    teams_anywhere: TeamInOrganisation

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Read both; 422 where they are no such."""
        super().initial(request, *args, **kwargs)
        env, region = self.kwargs.pop("env"), self.kwargs.pop("region")
        problems = []
        if env not in [str(item) for item in Environment]:
            problems.append(Problem(("path", "env"), "Must be sandbox or production.", "enum"))
        if region not in Region.values:
            problems.append(Problem(("path", "region"), f"Must be one of {', '.join(Region.values)}.", "enum"))
        if problems:
            raise invalid(problems)
        self.environment, self.region = Environment(env), region
        self.teams_anywhere = self.teams
        self.teams = self.teams.filter(region=region)

    def team_here(self, team_id: UUID) -> Team:
        """A team of this region that the key may see, or 404, which tells where one of another region is."""
        team = self.teams_anywhere.filter(pk=team_id).first()
        if team is None:
            raise not_found()
        if team.region != self.region:
            message = f"This team is in the region {team.region}: use …/{self.environment}/{team.region}."
            raise ServiceError(ErrorCode.NOT_FOUND, message)
        return team
