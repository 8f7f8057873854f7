"""Shapes of bulk operations in and out."""

from datetime import UTC, datetime
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.fields import FlagField, TextField, UUIDTextField, WholeNumberField
from links.catalogue import catalogue
from links.constants import BULK_ITEMS_MAXIMUM
from links.services.bulk import Recipe

Serializer = serializers.Serializer[Any]

_TOKEN_MAXIMUM_CHARACTERS = 6_000
_EPOCH_MAXIMUM_SECONDS = 4_102_444_800  # 2100-01-01


class OAuthProviderField(TextField):
    """The slug of a provider whose login is OAuth."""

    default_error_messages = {"enum": "Not the slug of a provider with an OAuth login."}

    def to_internal_value(self, data: Any) -> str:
        """The slug."""
        slug = super().to_internal_value(data)
        provider = catalogue().get(slug)
        if provider is None or provider.oauth is None:
            self.fail("enum")
        return slug


class PrintedField(TextField):
    """A text that goes into requests to a provider as it is: something, without line breaks and control characters."""

    default_error_messages = {"printable": "May hold printable characters only, and not blanks alone."}

    def to_internal_value(self, data: Any) -> str:
        """The text."""
        text = super().to_internal_value(data)
        if not text.isprintable() or not text.strip():
            self.fail("printable")
        return text


class TokenField(PrintedField):
    """A token, which is sent in a header."""

    default_error_messages = {"token": "May hold visible ASCII characters only."}

    def to_internal_value(self, data: Any) -> str:
        """The token."""
        text = super().to_internal_value(data)
        if not text.isascii() or " " in text:
            self.fail("token")
        return text


def _user_ids(**options: Any) -> serializers.ListField:
    return serializers.ListField(child=UUIDTextField(), max_length=BULK_ITEMS_MAXIMUM, **options)


@extend_schema_serializer(component_name="ConnectionRecipe")
class RecipeShape(Serializer):
    """A connection as another system had it, or may take it over."""

    user_id = UUIDTextField(help_text="The user must exist.")
    access_token = TokenField(max_length=_TOKEN_MAXIMUM_CHARACTERS)
    refresh_token = TokenField(max_length=_TOKEN_MAXIMUM_CHARACTERS)
    provider_id = PrintedField(max_length=200, help_text="The account's own id at the provider.")
    expires_at = WholeNumberField(
        min_value=0, max_value=_EPOCH_MAXIMUM_SECONDS, help_text="When the access token expires, Unix seconds."
    )
    oauth_scopes = serializers.ListField(
        child=TokenField(max_length=200),
        required=False,
        allow_null=True,
        max_length=100,
        help_text="What the person granted; left out: everything that the provider is asked for.",
    )


class BulkImportBody(Serializer):
    """Connections to import."""

    default_error_messages = {"user_twice": "A user is named twice."}

    provider = OAuthProviderField()
    connections = serializers.ListField(child=RecipeShape(), allow_empty=False, max_length=BULK_ITEMS_MAXIMUM)
    wait_for_completion = FlagField(default=False, help_text="Answer once it has ended, 20 s at most.")

    def validate_connections(self, value: list[dict[str, Any]]) -> list[Recipe]:
        """Recipes; refused where a user comes twice."""
        if len({one["user_id"] for one in value}) < len(value):
            self.fail("user_twice")
        return [_recipe(one) for one in value]


def _recipe(one: dict[str, Any]) -> Recipe:
    scopes = one.get("oauth_scopes")
    return Recipe(
        user_id=one["user_id"],
        access_token=one["access_token"],
        refresh_token=one["refresh_token"],
        external_user_id=one["provider_id"],
        access_expires_at=datetime.fromtimestamp(one["expires_at"], UTC),
        scopes=None if scopes is None else tuple(dict.fromkeys(scopes)),
    )


class BulkTriggerBody(Serializer):
    """Users whose history is to be pulled again."""

    user_ids = _user_ids(allow_empty=False)
    provider = OAuthProviderField()
    wait_for_completion = FlagField(default=False, help_text="Answer once it has ended, 20 s at most.")


class BulkPauseBody(Serializer):
    """Users whose connections are to rest."""

    user_ids = _user_ids(allow_empty=False)
    provider = OAuthProviderField()


class BulkExportBody(Serializer):
    """Connections to hand over."""

    user_ids = _user_ids(required=False, allow_null=True, help_text="These users only.")
    provider = OAuthProviderField()
    next_token = TextField(required=False, allow_null=True, help_text="Of the page before.")


class BulkOpsQuery(Serializer):
    """Which operations."""

    next_cursor = TextField(required=False, allow_null=True, help_text="Of the page before.")
    page_size = serializers.IntegerField(default=10, min_value=0, max_value=50)


@extend_schema_serializer(component_name="BulkImportConnectionsResponse")
class BulkImportAnswer(Serializer):
    """What came of an import."""

    user_ids_imported = serializers.ListField(child=serializers.UUIDField())
    user_ids_failed = serializers.ListField(child=serializers.UUIDField())


class BulkTriggerAnswer(Serializer):
    """Whose history is owed now."""

    user_ids_triggered = serializers.ListField(child=serializers.UUIDField())
    user_ids_failed = serializers.ListField(child=serializers.UUIDField(), help_text="Unknown, or not connected.")


class BulkPauseAnswer(Serializer):
    """How many connections rest now."""

    success = serializers.BooleanField()
    paused = serializers.IntegerField()


@extend_schema_serializer(component_name="BulkExportConnectionsResponse")
class BulkExportAnswer(Serializer):
    """Connections of one page."""

    data = RecipeShape(many=True)  # type: ignore[assignment]  # the API names it so
    next_token = serializers.CharField(allow_null=True, help_text="Where the next page begins; null on the last.")


@extend_schema_serializer(component_name="BulkOp")
class BulkOpAnswer(Serializer):
    """One operation and how far it is."""

    id = serializers.UUIDField()
    type = serializers.ChoiceField(choices=["link_bulk_import", "link_bulk_historical_trigger"])
    status = serializers.ChoiceField(choices=["in_progress", "success", "failure", "aborted"])
    provider = serializers.CharField()
    pending = serializers.IntegerField(help_text="Users still to come.")
    processed = serializers.IntegerField(help_text="Users that are done, those that failed among them.")
    failed = serializers.IntegerField()
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


@extend_schema_serializer(component_name="BulkOpsResponse")
class BulkOpsAnswer(Serializer):
    """Operations, newest first."""

    data = BulkOpAnswer(many=True)  # type: ignore[assignment]  # the API names it so
    next_cursor = serializers.CharField(allow_null=True, help_text="Where the next page begins; null on the last.")
