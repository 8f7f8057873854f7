"""Shapes of team keys and management keys at the management address."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel import clock
from healthsvc.kernel.fields import InstantField, RepeatedField, TextField, UUIDTextField, WholeNumberField
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.strict import StrictSerializer
from management.constants import (
    CREATED_BY_KEY,
    KEY_LABEL_MAXIMUM_CHARACTERS,
    KEY_OVERLAP_MAXIMUM_SECONDS,
    KEY_OVERLAP_SECONDS,
    NAMED_AT_ONCE_MAXIMUM,
    KeyRole,
)
from management.keys import team_key_prefix
from management.models import ManagementKey, TeamKey


class KeyEndField(InstantField):
    """When a key ends; nothing, or null, for one that lives until it is deleted."""

    default_error_messages = {"key_end_past": "Must be in the future; leave it out for a key without an end."}

    def __init__(self) -> None:
        super().__init__(required=False, allow_null=True, help_text="Absent or null: until it is deleted.")

    def to_internal_value(self, data: Any) -> Any:
        """The instant."""
        ends_at = super().to_internal_value(data)
        if ends_at <= clock.now():
            self.fail("key_end_past")
        return ends_at


@extend_schema_serializer(component_name="TeamRoleBinding")
class TeamRoleBinding(serializers.Serializer[Any]):
    """A team that a team_admin is bound to."""

    team_id = UUIDTextField()


class BindingsField(serializers.ListField):
    """Bindings in; the teams' ids come out."""

    child = TeamRoleBinding()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=NAMED_AT_ONCE_MAXIMUM, **kwargs)

    def to_internal_value(self, data: Any) -> list[UUID]:
        """The ids, in the order they came in."""
        return [binding["team_id"] for binding in super().to_internal_value(data)]


class TeamKeyListQuery(serializers.Serializer[Any]):
    """Which team's keys, and the page."""

    team_id = serializers.UUIDField(required=False, help_text="Only keys of this team.")
    next_cursor = serializers.UUIDField(required=False, help_text="The cursor of the page before.")


@extend_schema_serializer(component_name="CreateTeamAPIKeyBody")
class TeamKeyBody(StrictSerializer):
    """A new key."""

    label = TextField(max_length=KEY_LABEL_MAXIMUM_CHARACTERS, trim_whitespace=True)  # type: ignore[assignment]
    team_id = UUIDTextField()
    expires_at = KeyEndField()


class TeamKeyDeleteQuery(serializers.Serializer[Any]):
    """Keys to end."""

    api_key_id = RepeatedField(
        child=serializers.UUIDField(), min_length=1, max_length=NAMED_AT_ONCE_MAXIMUM, help_text="May be repeated."
    )


@extend_schema_serializer(component_name="RotateKeyBody")
class KeyRotateBody(StrictSerializer):
    """How long the key before lives on."""

    overlap_seconds = WholeNumberField(
        default=KEY_OVERLAP_SECONDS,
        min_value=0,
        max_value=KEY_OVERLAP_MAXIMUM_SECONDS,
        help_text="0: the key before ends at once.",
    )


@extend_schema_serializer(component_name="ClientFacingTeamAPIKey")
class TeamKeyAnswer(serializers.Serializer[Any]):
    """A team's key."""

    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]
    value = serializers.CharField(help_text="Whole in the answer that made it, and only there; masked elsewhere.")
    team_id = serializers.UUIDField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


@extend_schema_serializer(component_name="ClientFacingTeamAPIKeyResponse")
class TeamKeyListAnswer(serializers.Serializer[Any]):
    """A page of team keys, newest first."""

    api_keys = TeamKeyAnswer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


@extend_schema_serializer(component_name="DeleteTeamApiKeysResponse")
class TeamKeysDeletedAnswer(serializers.Serializer[Any]):
    """What came of each key."""

    success = serializers.ListField(child=serializers.UUIDField())
    failure = serializers.ListField(child=serializers.UUIDField())
    not_found = serializers.ListField(child=serializers.UUIDField())


class ManagementKeyListQuery(serializers.Serializer[Any]):
    """Which keys, and the page."""

    team_id = serializers.UUIDField(required=False, help_text="Only keys that are bound to this team.")
    role = serializers.ChoiceField(choices=KeyRole.choices, required=False, help_text="Only keys of this role.")
    next_cursor = serializers.UUIDField(required=False, help_text="The cursor of the page before.")


@extend_schema_serializer(component_name="CreateManagementKeyBody")
class ManagementKeyBody(StrictSerializer):
    """A new key. A team_admin needs bindings, an org_admin has none."""

    label = TextField(max_length=KEY_LABEL_MAXIMUM_CHARACTERS, trim_whitespace=True)  # type: ignore[assignment]
    role = serializers.ChoiceField(choices=KeyRole.choices)
    team_role_bindings = BindingsField(required=False, allow_null=True)
    expires_at = KeyEndField()


@extend_schema_serializer(component_name="PatchManagementKeyBody")
class ManagementKeyPatchBody(serializers.Serializer[Any]):
    """Changes of a key; null leaves as it is. The role is for life."""

    label = TextField(required=False, allow_null=True, max_length=KEY_LABEL_MAXIMUM_CHARACTERS, trim_whitespace=True)  # type: ignore[assignment]
    team_role_bindings = BindingsField(required=False, allow_null=True)


@extend_schema_serializer(component_name="Creator")
class CreatorAnswer(serializers.Serializer[Any]):
    """Who made it."""

    type = serializers.ChoiceField(choices=["management_key", "staff"])


@extend_schema_serializer(component_name="ClientFacingManagementKey")
class ManagementKeyAnswer(serializers.Serializer[Any]):
    """A management key."""

    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]
    created_at = serializers.DateTimeField()
    creator = CreatorAnswer()
    role = serializers.ChoiceField(choices=KeyRole.choices)
    team_role_bindings = TeamRoleBinding(many=True, allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


@extend_schema_serializer(component_name="ClientFacingManagementKeyUnhashed")
class ManagementKeyMadeAnswer(ManagementKeyAnswer):
    """A new management key, with what is shown only now."""

    key = serializers.CharField()


@extend_schema_serializer(component_name="ClientFacingManagementKeyResponse")
class ManagementKeyListAnswer(serializers.Serializer[Any]):
    """A page of management keys, newest first."""

    data = ManagementKeyAnswer(many=True)  # type: ignore[assignment]
    next_cursor = serializers.CharField(allow_null=True)


def team_key_json(row: TeamKey, text: str | None = None) -> dict[str, Any]:
    """A key as it is shown; `text` is the key itself, where it was just made."""
    prefix = team_key_prefix(Environment(row.environment), row.team.region)
    return {
        "id": str(row.pk),
        "label": row.label,
        "value": text or f"{prefix}_{row.public_id}_…{row.last_characters}",
        "team_id": str(row.team_id),
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "last_used_at": row.last_used_at,
    }


def management_key_json(row: ManagementKey) -> dict[str, Any]:
    """A management key as it is shown."""
    return {
        "id": str(row.pk),
        "label": row.label,
        "created_at": row.created_at,
        "creator": creator_json(row.created_by),
        "role": row.role,
        "team_role_bindings": bindings_json(row.role, row.team_ids),
        "expires_at": row.expires_at,
        "last_used_at": row.last_used_at,
    }


def creator_json(created_by: str) -> dict[str, str]:
    """Who made a row, as it is shown."""
    return {"type": "management_key" if created_by.startswith(CREATED_BY_KEY) else "staff"}


def bindings_json(role: str, team_ids: Sequence[UUID]) -> list[dict[str, str]] | None:
    """The teams a team_admin is bound to; None for other roles."""
    return [{"team_id": str(team_id)} for team_id in team_ids] if role == KeyRole.TEAM_ADMIN else None
