"""Shapes of members and invitations at the management address."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.fields import TextField
from management.constants import InviteStatus, MemberRole
from management.key_serializers import BindingsField, CreatorAnswer, TeamRoleBinding, bindings_json, creator_json
from management.models import Invite, Member

_EMAIL_MAXIMUM: Final = 254
_SEARCH_MAXIMUM: Final = 80


class PeopleListQuery(serializers.Serializer[Any]):
    """Whom, and the page."""

    search_query = TextField(
        required=False,
        allow_blank=True,
        trim_whitespace=True,
        max_length=_SEARCH_MAXIMUM,
        help_text="Text in the name or the address.",
    )
    next_cursor = serializers.UUIDField(required=False, help_text="The cursor of the page before.")


@extend_schema_serializer(component_name="UpdateOrgMemberBody")
class MemberPatchBody(serializers.Serializer[Any]):
    """Changes of a member; null leaves as it is."""

    role = serializers.ChoiceField(choices=MemberRole.choices, allow_null=True)
    team_role_bindings = BindingsField(allow_null=True)


@extend_schema_serializer(component_name="OrgInviteAPICreate")
class InviteBody(serializers.Serializer[Any]):
    """Whom to invite, as what."""

    email = serializers.EmailField(max_length=_EMAIL_MAXIMUM)
    role = serializers.ChoiceField(choices=MemberRole.choices, default=MemberRole.ORG_ADMIN)
    team_role_bindings = BindingsField(required=False, allow_null=True)


@extend_schema_serializer(component_name="OrgInviteAPICreateResponse")
class InviteStatusAnswer(serializers.Serializer[Any]):
    """What came of it."""

    status = serializers.ChoiceField(choices=InviteStatus.choices)


@extend_schema_serializer(component_name="ClientFacingOrgMember")
class MemberAnswer(serializers.Serializer[Any]):
    """A person of the organisation."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    email = serializers.CharField()
    created_on = serializers.DateTimeField()
    role = serializers.ChoiceField(choices=MemberRole.choices)
    team_role_bindings = TeamRoleBinding(many=True, allow_null=True)


@extend_schema_serializer(component_name="ClientFacingOrgMemberListResponse")
class MemberListAnswer(serializers.Serializer[Any]):
    """A page of members, newest first."""

    members = MemberAnswer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


@extend_schema_serializer(component_name="ClientFacingOrgInvite")
class InviteAnswer(serializers.Serializer[Any]):
    """A person who was invited and has not come yet."""

    id = serializers.UUIDField()
    email = serializers.CharField()
    invited_at = serializers.DateTimeField()
    resent_at = serializers.DateTimeField(allow_null=True)
    creator = CreatorAnswer()
    role = serializers.ChoiceField(choices=MemberRole.choices)
    team_role_bindings = TeamRoleBinding(many=True, allow_null=True)


@extend_schema_serializer(component_name="ClientFacingOrgInviteListResponse")
class InviteListAnswer(serializers.Serializer[Any]):
    """A page of invitations, newest first."""

    invites = InviteAnswer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


def member_json(row: Member) -> dict[str, Any]:
    """A member as they are shown."""
    return {
        "id": str(row.pk),
        "name": row.name,
        "email": row.email,
        "created_on": row.created_at,
        "role": row.role,
        "team_role_bindings": bindings_json(row.role, row.team_ids),
    }


def invite_json(row: Invite) -> dict[str, Any]:
    """An invitation as it is shown."""
    return {
        "id": str(row.pk),
        "email": row.email,
        "invited_at": row.invited_at,
        "resent_at": row.resent_at,
        "creator": creator_json(row.created_by),
        "role": row.role,
        "team_role_bindings": bindings_json(row.role, row.team_ids),
    }
