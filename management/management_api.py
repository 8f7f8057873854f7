"""The management address: the organisation and its teams."""

from typing import ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.errors import not_found
from healthsvc.kernel.principal import Environment, TeamContext
from management import organisation_selectors, selectors, services
from management.models import Team
from management.organisation_base import OrganisationPathViewSet
from management.serializers import TeamItem, TeamListAnswer, TeamListQuery
from management.services import IntegrationTeamTakenError
from management.team_serializers import (
    AccessTokenAnswer,
    AccessTokenBody,
    IntegrationTeamConflict,
    OrganisationAnswer,
    OrganisationPatchBody,
    ScopeRequirementBody,
    ScopeRequirementQuery,
    ScopeRequirementsAnswer,
    TeamAnswer,
    TeamCreateBody,
    TeamPatchBody,
    TeamQuery,
    TeamResolveBody,
    organisation_json,
    scope_requirement_json,
    team_json,
)

_TEAM_FIELDS = {"id": "team_id", "name": "name", "region": "region", "integration_team_id": "integration_team_id"}


class OrganisationViewSet(OrganisationPathViewSet):
    """The key's own organisation."""

    admin_actions: ClassVar[frozenset[str]] = frozenset({"partial_update"})

    @extend_schema(operation_id="get_org", summary="Get org", responses=OrganisationAnswer, tags=["Organization"])
    def retrieve(self, request: Request) -> Response:
        """The organisation."""
        return Response(organisation_json(selectors.organisation_get(self.organisation_id)))

    @extend_schema(
        operation_id="update_org",
        summary="Update org",
        request=OrganisationPatchBody,
        responses=OrganisationAnswer,
        tags=["Organization"],
    )
    def partial_update(self, request: Request) -> Response:
        """Another name."""
        services.organisation_rename(
            organisation_id=self.organisation_id, name=self.body(OrganisationPatchBody)["name"]
        )
        return Response(organisation_json(selectors.organisation_get(self.organisation_id)))


class TeamViewSet(OrganisationPathViewSet):
    """Teams of an organisation."""

    admin_actions: ClassVar[frozenset[str]] = frozenset({"create", "destroy", "undelete"})

    def handle_exception(self, exc: Exception) -> Response:
        """As always; a taken integration_team_id tells whose it is."""
        response = super().handle_exception(exc)
        if isinstance(exc, IntegrationTeamTakenError) and exc.team_id is not None:
            response.data = {"team_id": str(exc.team_id), **response.data}
        return response

    @extend_schema(
        operation_id="list_teams_in_org",
        summary="List teams in org",
        parameters=[TeamListQuery],
        responses=TeamListAnswer,
        tags=["Teams"],
    )
    def list(self, request: Request) -> Response:
        """Teams, newest first, by region and by text in the name."""
        query = self.query(TeamListQuery)
        teams = self.teams.filter(pk=query["team_id"]) if "team_id" in query else self.teams
        page = selectors.team_page(
            teams,
            regions=query.get("region", []),
            search_query=query.get("search_query", ""),
            cursor=query.get("next_cursor"),
        )
        return Response({"teams": TeamItem(page.teams, many=True).data, "next_cursor": page.next_cursor})

    @extend_schema(
        operation_id="create_team_in_org",
        summary="Create team in org",
        request=TeamCreateBody,
        responses={200: TeamAnswer, 409: IntegrationTeamConflict},
        tags=["Teams"],
    )
    def create(self, request: Request) -> Response:
        """A new team. Its switches and its brand hold in both environments."""
        body = self.body(TeamCreateBody)
        named = {_TEAM_FIELDS[name]: body.pop(name) for name in list(body) if name in _TEAM_FIELDS}
        team = services.team_create(organisation_id=self.organisation_id, switches=body, **named)
        self.told(team_id=team.pk)
        return Response(_whole(team))

    @extend_schema(
        operation_id="get_team_in_org",
        summary="Get team in org",
        parameters=[TeamQuery],
        responses=TeamAnswer,
        tags=["Teams"],
    )
    def retrieve(self, request: Request, team_id: UUID) -> Response:
        """One team; its switches of the environments that are asked for."""
        team = self.team_seen(team_id)
        wanted = {Environment(name) for name in self.query(TeamQuery).get("include_environment", [])}
        return Response(team_json(team, selectors.team_settings_of(team, wanted)))

    @extend_schema(
        operation_id="update_team_in_org",
        summary="Update team in org",
        request=TeamPatchBody,
        responses={200: TeamAnswer, 409: IntegrationTeamConflict},
        tags=["Teams"],
    )
    def partial_update(self, request: Request, team_id: UUID) -> Response:
        """Change what the body names, all of it or nothing. The integration_team_id is for org_admin keys."""
        self.team_seen(team_id)
        changes = self.body(TeamPatchBody)
        return Response(_whole(services.team_patch(team_id=team_id, changes=changes, role=self.principal.role)))

    @extend_schema(
        operation_id="delete_team_in_org", summary="Delete team in org", responses={200: None}, tags=["Teams"]
    )
    def destroy(self, request: Request, team_id: UUID) -> Response:
        """Delete a team: its keys open nothing at once. For seven days it can be brought back, then it is erased."""
        self.team_seen(team_id)
        services.team_delete(team_id=team_id)
        return Response(None)

    @extend_schema(
        operation_id="undo_delete_team_in_org",
        summary="Bring a deleted team back",
        request=None,
        responses={200: TeamAnswer, 409: IntegrationTeamConflict},
        tags=["Teams"],
    )
    def undelete(self, request: Request, team_id: UUID) -> Response:
        """Bring a team back that was deleted within the last seven days; its keys open it again."""
        services.team_undelete(organisation_id=self.organisation_id, team_id=team_id)
        return Response(_whole(self.team_seen(team_id)))

    @extend_schema(
        operation_id="resolve_team",
        summary="Find a team by your own name for it",
        request=TeamResolveBody,
        responses={200: TeamAnswer},
        tags=["Teams"],
    )
    def resolve(self, request: Request) -> Response:
        """The team that has this integration_team_id."""
        wanted = self.body(TeamResolveBody)["integration_team_id"]
        team = organisation_selectors.team_by_integration_id(self.teams, wanted)
        if team is None:
            raise not_found()
        return Response(_whole(team))

    @extend_schema(
        operation_id="get_team_scope_requirements",
        summary="Get team scope requirements",
        parameters=[ScopeRequirementQuery],
        responses=ScopeRequirementsAnswer,
        tags=["Teams"],
    )
    def scope_requirements(self, request: Request, team_id: UUID) -> Response:
        """What the team's people must and may grant, by provider."""
        team = self.team_seen(team_id)
        context = TeamContext(team.pk, Environment.PRODUCTION)
        rows = organisation_selectors.scope_requirements(context, self.query(ScopeRequirementQuery).get("provider"))
        return Response({"data": [scope_requirement_json(row) for row in rows]})

    @extend_schema(
        operation_id="upsert_team_scope_requirements",
        summary="Set team scope requirements",
        request=ScopeRequirementBody,
        responses={200: None},
        tags=["Teams"],
    )
    def scope_requirements_set(self, request: Request, team_id: UUID) -> Response:
        """What people must and may grant at one provider, in both environments."""
        team = self.team_seen(team_id)
        services.scope_requirement_set(team=team, **self.body(ScopeRequirementBody))
        return Response(None)


class AccessTokenViewSet(OrganisationPathViewSet):
    """Short-lived tokens for a team's API."""

    keeps_replies = False

    @extend_schema(
        operation_id="create_team_api_access_token",
        summary="Create team API access token",
        request=AccessTokenBody,
        responses={200: AccessTokenAnswer},
        tags=["Keys"],
    )
    def create(self, request: Request, team_id: UUID) -> Response:
        """A token that opens the team in one environment for ten minutes, as `Authorization: Bearer …`."""
        team = self.team_seen(team_id)
        context = TeamContext(team.pk, Environment(self.body(AccessTokenBody)["env"]))
        made = services.access_token_create(team=context, management_key_id=self.principal.key_id)
        self.told(access_token_id=made.token_id)
        response = Response({"access_token": made.text, "expires_in": made.expires_in_seconds})
        response["Cache-Control"] = "no-store"
        return response


def _whole(team: Team) -> dict[str, object]:
    return team_json(team, selectors.team_settings_of(team, set(Environment)))
