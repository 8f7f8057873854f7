"""Shapes of users in and out."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.fields import CalendarDateField, TextField, TimeZoneField, WholeNumberField
from healthsvc.kernel.typing import JSONObject
from users.constants import (
    CLIENT_USER_ID_MAXIMUM_CHARACTERS,
    LIST_LIMIT_DEFAULT,
    LIST_LIMIT_MAXIMUM,
    LIST_OFFSET_MAXIMUM,
)
from users.models import User
from users.registry import ConnectedSource


class UserListQuery(serializers.Serializer[Any]):
    """The page wanted."""

    offset = WholeNumberField(default=0, min_value=0, max_value=LIST_OFFSET_MAXIMUM, help_text="Users to skip.")
    limit = WholeNumberField(
        default=LIST_LIMIT_DEFAULT, min_value=1, max_value=LIST_LIMIT_MAXIMUM, help_text="Users a page."
    )


class UserCreateBody(serializers.Serializer[Any]):
    """A new user."""

    client_user_id = TextField(
        max_length=CLIENT_USER_ID_MAXIMUM_CHARACTERS, help_text="Your own reference; unique among living users."
    )
    fallback_time_zone = TimeZoneField(required=False, allow_null=True, help_text="IANA name, e.g. Europe/London.")
    fallback_birth_date = CalendarDateField(required=False, allow_null=True, help_text="YYYY-MM-DD.")
    ingestion_start = CalendarDateField(required=False, allow_null=True, help_text="Ignore data before this day.")
    ingestion_end = CalendarDateField(required=False, allow_null=True, help_text="Ignore data after this day.")


class UserPatchBody(UserCreateBody):
    """Fields to change; null clears all but client_user_id."""

    client_user_id = TextField(
        required=False,
        max_length=CLIENT_USER_ID_MAXIMUM_CHARACTERS,
        error_messages={"null": "client_user_id is not a field that can be reset to null."},
    )


class ProviderName(serializers.Serializer[Any]):
    """A provider as others show it."""

    name = serializers.CharField()
    slug = serializers.CharField()
    logo = serializers.CharField()


class ConnectedSourceAnswer(serializers.Serializer[Any]):
    """A provider a user is connected to. `source` repeats `provider` for older clients."""

    provider = ProviderName()
    source = ProviderName()  # type: ignore[assignment]  # the API names a field so
    created_on = serializers.DateTimeField()


class FallbackTimeZone(serializers.Serializer[Any]):
    """The time zone used where data name none."""

    id = serializers.CharField()
    source_slug = serializers.CharField()
    updated_at = serializers.DateTimeField()


class FallbackBirthDate(serializers.Serializer[Any]):
    """The date of birth used where data name none."""

    value = serializers.DateField()
    source_slug = serializers.CharField()
    updated_at = serializers.DateTimeField()


@extend_schema_serializer(component_name="ClientFacingUser")
class UserAnswer(serializers.Serializer[Any]):
    """A user. Written by `user_json`, which hot lists can afford; this class describes it."""

    user_id = serializers.UUIDField()
    team_id = serializers.UUIDField()
    client_user_id = serializers.CharField()
    created_on = serializers.DateTimeField()
    connected_sources = ConnectedSourceAnswer(many=True)
    fallback_time_zone = FallbackTimeZone(allow_null=True)
    fallback_birth_date = FallbackBirthDate(allow_null=True)
    ingestion_start = serializers.DateField(allow_null=True)
    ingestion_end = serializers.DateField(allow_null=True)


@extend_schema_serializer(component_name="PaginatedUsersResponse")
class UserListAnswer(serializers.Serializer[Any]):
    """A page of users."""

    users = UserAnswer(many=True)
    total = serializers.IntegerField()
    offset = serializers.IntegerField()
    limit = serializers.IntegerField()


def user_json(user: User, sources: list[ConnectedSource]) -> JSONObject:
    """What `UserAnswer` describes."""
    return {
        "user_id": str(user.id),
        "team_id": str(user.team_id),
        "client_user_id": user.client_user_id,
        "created_on": utc_text(user.created_at),
        "connected_sources": [_source_json(source) for source in sources],
        "fallback_time_zone": _fallback(
            "id", user.fallback_time_zone, user.fallback_time_zone_source, user.fallback_time_zone_updated_at
        ),
        "fallback_birth_date": _fallback(
            "value", user.fallback_birth_date, user.fallback_birth_date_source, user.fallback_birth_date_updated_at
        ),
        "ingestion_start": user.ingestion_start_on.isoformat() if user.ingestion_start_on else None,
        "ingestion_end": user.ingestion_end_on.isoformat() if user.ingestion_end_on else None,
    }


def _fallback(name: str, value: str | None, source_slug: str, updated_at: Any) -> JSONObject | None:
    if value is None:
        return None
    return {name: value, "source_slug": source_slug, "updated_at": utc_text(updated_at)}


def _source_json(source: ConnectedSource) -> JSONObject:
    provider = {"name": source.name, "slug": source.slug, "logo": source.logo}
    return {"provider": provider, "source": provider, "created_on": utc_text(source.created_on)}
