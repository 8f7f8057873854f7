"""The management address: team keys and management keys."""

from typing import ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from management import organisation_selectors, selectors, services
from management.key_serializers import (
    KeyRotateBody,
    ManagementKeyAnswer,
    ManagementKeyBody,
    ManagementKeyListAnswer,
    ManagementKeyListQuery,
    ManagementKeyMadeAnswer,
    ManagementKeyPatchBody,
    TeamKeyAnswer,
    TeamKeyBody,
    TeamKeyDeleteQuery,
    TeamKeyListAnswer,
    TeamKeyListQuery,
    TeamKeysDeletedAnswer,
    management_key_json,
    team_key_json,
)
from management.organisation_base import (
    ENV_PARAMETER,
    REGION_PARAMETER,
    EnvironmentPathViewSet,
    OrganisationPathViewSet,
)

_TAGS = ["Keys"]


def _secret(body: dict[str, object]) -> Response:
    """An answer that holds what is shown once."""
    response = Response(body)
    response["Cache-Control"] = "no-store"
    return response


@extend_schema(parameters=[ENV_PARAMETER, REGION_PARAMETER])
class TeamKeyViewSet(EnvironmentPathViewSet):
    """Keys of the organisation's teams in one environment and region."""

    keeps_replies = False

    @extend_schema(
        operation_id="list_team_api_keys",
        summary="List team API keys",
        parameters=[TeamKeyListQuery],
        responses=TeamKeyListAnswer,
        tags=_TAGS,
    )
    def list(self, request: Request) -> Response:
        """Living keys, newest first, masked."""
        query = self.query(TeamKeyListQuery)
        page = organisation_selectors.team_keys_page(
            self.teams, self.environment, team_id=query.get("team_id"), cursor=query.get("next_cursor")
        )
        return Response({"api_keys": [team_key_json(row) for row in page.rows], "next_cursor": page.next_cursor})

    @extend_schema(
        operation_id="create_team_api_key",
        summary="Create team API key",
        request=TeamKeyBody,
        responses={200: TeamKeyAnswer},
        tags=_TAGS,
    )
    def create(self, request: Request) -> Response:
        """A new key, shown only in this answer. Any number may live side by side."""
        body = self.body(TeamKeyBody)
        made = services.team_key_create(
            team=self.team_here(body["team_id"]),
            environment=self.environment,
            label=body["label"],
            created_by=self.created_by,
            expires_at=body.get("expires_at"),
        )
        self.told(team_id=body["team_id"], api_key_id=made.key_id)
        row = organisation_selectors.team_key_get(made.key_id)
        return _secret(team_key_json(row, made.text))

    @extend_schema(
        operation_id="delete_team_api_keys",
        summary="Delete team API keys",
        parameters=[TeamKeyDeleteQuery],
        responses={200: TeamKeysDeletedAnswer},
        tags=_TAGS,
    )
    def delete_many(self, request: Request) -> Response:
        """End keys at once; of a deleted team too, so that bringing it back revives none of them."""
        teams = selectors.teams_visible(self.principal, self.organisation_id, with_deleted=True)
        ended = services.team_keys_delete(
            teams=teams.filter(region=self.region),
            environment=self.environment,
            key_ids=self.query(TeamKeyDeleteQuery)["api_key_id"],
        )
        self.told(**{f"api_key_{place}": key_id for place, key_id in enumerate(ended.deleted)})
        return Response({"success": ended.deleted, "failure": [], "not_found": ended.not_found})

    @extend_schema(
        operation_id="rotate_team_api_key",
        summary="Rotate a team API key",
        request=KeyRotateBody,
        responses={200: TeamKeyAnswer},
        tags=_TAGS,
    )
    def rotate(self, request: Request, api_key_id: UUID) -> Response:
        """A new key with the same label; the key before lives on for a day, or as long as you say."""
        row, made = services.team_key_rotate(
            teams=self.teams,
            environment=self.environment,
            key_id=api_key_id,
            created_by=self.created_by,
            **self.body(KeyRotateBody),
        )
        self.told(new_api_key_id=made.key_id)
        return _secret(team_key_json(row, made.text))


class ManagementKeyViewSet(OrganisationPathViewSet):
    """Management keys of the organisation; for org_admin keys."""

    keeps_replies = False
    admin_actions: ClassVar[frozenset[str]] = frozenset({"list", "create", "partial_update", "destroy", "rotate"})

    @extend_schema(
        operation_id="list_management_key",
        summary="List management keys",
        parameters=[ManagementKeyListQuery],
        responses=ManagementKeyListAnswer,
        tags=_TAGS,
    )
    def list(self, request: Request) -> Response:
        """Living keys, newest first."""
        query = self.query(ManagementKeyListQuery)
        page = organisation_selectors.management_keys_page(
            self.organisation_id,
            team_id=query.get("team_id"),
            role=query.get("role"),
            cursor=query.get("next_cursor"),
        )
        return Response({"data": [management_key_json(row) for row in page.rows], "next_cursor": page.next_cursor})

    @extend_schema(
        operation_id="create_management_key",
        summary="Create management key",
        request=ManagementKeyBody,
        responses={200: ManagementKeyMadeAnswer},
        tags=_TAGS,
    )
    def create(self, request: Request) -> Response:
        """A new key, shown only in this answer."""
        body = self.body(ManagementKeyBody)
        row, made = services.management_key_issue(
            organisation_id=self.organisation_id,
            label=body["label"],
            role=body["role"],
            team_ids=body.get("team_role_bindings") or [],
            created_by=self.created_by,
            expires_at=body.get("expires_at"),
        )
        self.told(key_id=row.pk)
        return _secret({**management_key_json(row), "key": made.text})

    @extend_schema(
        operation_id="patch_management_key",
        summary="Change a management key",
        request=ManagementKeyPatchBody,
        responses=ManagementKeyAnswer,
        tags=_TAGS,
    )
    def partial_update(self, request: Request, key_id: UUID) -> Response:
        """Another label or other teams. The role is for life."""
        body = self.body(ManagementKeyPatchBody)
        row = services.management_key_patch(
            organisation_id=self.organisation_id,
            key_id=key_id,
            label=body.get("label"),
            team_ids=body.get("team_role_bindings"),
        )
        return Response(management_key_json(row))

    @extend_schema(
        operation_id="remove_management_key",
        summary="Delete a management key",
        responses={200: ManagementKeyAnswer},
        tags=_TAGS,
    )
    def destroy(self, request: Request, key_id: UUID) -> Response:
        """End a key at once. 409 for the last org_admin key."""
        row = services.management_key_delete(organisation_id=self.organisation_id, key_id=key_id)
        return Response(management_key_json(row))

    @extend_schema(
        operation_id="rotate_management_key",
        summary="Rotate a management key",
        request=KeyRotateBody,
        responses={200: ManagementKeyMadeAnswer},
        tags=_TAGS,
    )
    def rotate(self, request: Request, key_id: UUID) -> Response:
        """A new key of the same role; the key before lives on for a day, or as long as you say."""
        row, made = services.management_key_rotate(
            organisation_id=self.organisation_id,
            key_id=key_id,
            created_by=self.created_by,
            **self.body(KeyRotateBody),
        )
        self.told(new_key_id=row.pk)
        return _secret({**management_key_json(row), "key": made.text})
