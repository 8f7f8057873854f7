"""Shapes of the management address."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.fields import RepeatedField, TextField, WholeNumberField
from management.constants import NAME_PATTERN, Region


class TeamListQuery(serializers.Serializer[Any]):
    """Filters of the team list; they combine."""

    team_id = serializers.UUIDField(required=False, help_text="Only this team.")
    region = RepeatedField(
        child=serializers.ChoiceField(choices=Region.choices), required=False, help_text="Only teams in these regions."
    )
    search_query = TextField(
        required=False,
        allow_blank=True,
        max_length=80,
        help_text="Text in the team's name: letters, digits, ( ) , / : ' | & _ - and white space; at most 80.",
    )
    next_cursor = TextField(required=False, max_length=200, help_text="The cursor of the page before.")

    def validate_search_query(self, value: str) -> str:
        """Only the characters that names may have."""
        if not NAME_PATTERN.fullmatch(value):
            message = "Letters, digits, spaces and ( ) , / : ' | & _ - are allowed, at most 80."
            raise serializers.ValidationError(message, code="string_pattern_mismatch")
        return value


@extend_schema_serializer(component_name="ClientFacingOrgTeamListItem")
class TeamItem(serializers.Serializer[Any]):
    """A team in a list."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    created_on = serializers.DateTimeField(source="created_at", format=None)
    region = serializers.ChoiceField(choices=Region.choices)
    integration_team_id = serializers.CharField(allow_null=True)


@extend_schema_serializer(component_name="ClientFacingOrgTeamListResponse")
class TeamListAnswer(serializers.Serializer[Any]):
    """A page of teams."""

    teams = TeamItem(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class HealthAnswer(serializers.Serializer[Any]):
    """The process answers."""

    status = serializers.ChoiceField(choices=["ok"])


class ReadyAnswer(serializers.Serializer[Any]):
    """Which parts of the service answer: `ok` or `failed` each."""

    status = serializers.ChoiceField(choices=["ready", "not_ready"])
    database = serializers.CharField()
    broker = serializers.CharField()
    worker = serializers.CharField()
    worker_seen_seconds_ago = WholeNumberField(allow_null=True)
