"""The management address: the people of the organisation, and those it invites."""

from typing import ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from management import organisation_selectors, services
from management.member_serializers import (
    InviteBody,
    InviteListAnswer,
    InviteStatusAnswer,
    MemberListAnswer,
    MemberPatchBody,
    PeopleListQuery,
    invite_json,
    member_json,
)
from management.organisation_base import OrganisationPathViewSet

_TAGS = ["Members"]


class MemberViewSet(OrganisationPathViewSet):
    """People of the organisation; for org_admin keys."""

    admin_actions: ClassVar[frozenset[str]] = frozenset({"list", "partial_update", "destroy"})

    @extend_schema(
        operation_id="list_members_in_org",
        summary="List members in org",
        parameters=[PeopleListQuery],
        responses=MemberListAnswer,
        tags=_TAGS,
    )
    def list(self, request: Request) -> Response:
        """Members, newest first."""
        query = self.query(PeopleListQuery)
        page = organisation_selectors.members_page(
            self.organisation_id, search=query.get("search_query", ""), cursor=query.get("next_cursor")
        )
        return Response({"members": [member_json(row) for row in page.rows], "next_cursor": page.next_cursor})

    @extend_schema(
        operation_id="update_member",
        summary="Change a member's role",
        request=MemberPatchBody,
        responses={200: None},
        tags=_TAGS,
    )
    def partial_update(self, request: Request, member_id: UUID) -> Response:
        """Another role or other teams."""
        body = self.body(MemberPatchBody)
        services.member_patch(
            organisation_id=self.organisation_id,
            member_id=member_id,
            role=body["role"],
            team_ids=body["team_role_bindings"],
        )
        return Response(None)

    @extend_schema(
        operation_id="remove_member_from_org",
        summary="Remove a member from the org",
        responses={200: None},
        tags=_TAGS,
    )
    def destroy(self, request: Request, member_id: UUID) -> Response:
        """Take a person out of the organisation."""
        services.member_remove(organisation_id=self.organisation_id, member_id=member_id)
        return Response(None)


class InviteViewSet(OrganisationPathViewSet):
    """Invitations of the organisation; for org_admin keys."""

    admin_actions: ClassVar[frozenset[str]] = frozenset({"list", "create", "destroy"})

    @extend_schema(
        operation_id="list_invites_in_org",
        summary="List invites in org",
        parameters=[PeopleListQuery],
        responses=InviteListAnswer,
        tags=_TAGS,
    )
    def list(self, request: Request) -> Response:
        """Invitations that are open, newest first."""
        query = self.query(PeopleListQuery)
        page = organisation_selectors.invites_page(
            self.organisation_id, search=query.get("search_query", ""), cursor=query.get("next_cursor")
        )
        return Response({"invites": [invite_json(row) for row in page.rows], "next_cursor": page.next_cursor})

    @extend_schema(
        operation_id="create_or_resend_invite_in_org",
        summary="Invite a person, or once more",
        request=InviteBody,
        responses={200: InviteStatusAnswer},
        tags=_TAGS,
    )
    def create(self, request: Request) -> Response:
        """Invite a person; of one who was invited before, the role and teams are the new ones."""
        body = self.body(InviteBody)
        came, invite_id = services.invite_send(
            organisation_id=self.organisation_id,
            email=body["email"],
            role=body["role"],
            team_ids=body.get("team_role_bindings") or [],
            created_by=self.created_by,
        )
        if invite_id is not None:
            self.told(invite_id=invite_id)
        return Response({"status": came})

    @extend_schema(operation_id="revoke_invite_in_org", summary="Revoke an invite", responses={200: None}, tags=_TAGS)
    def destroy(self, request: Request, invite_id: UUID) -> Response:
        """Take an invitation back."""
        services.invite_revoke(organisation_id=self.organisation_id, invite_id=invite_id)
        return Response(None)
