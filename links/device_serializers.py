"""Shapes of what a person's telephone says of its providers, in and out."""

from datetime import UTC
from typing import Any, Final

from rest_framework import serializers

from healthsvc.kernel.fields import TextField, UUIDTextField
from links.device_selectors import RESOURCE_NAMES, STAGES
from links.serializers import ProviderField

_PROVIDER_ID_MAXIMUM_CHARACTERS: Final = 200


class ManualConnectBody(serializers.Serializer[Any]):
    """Whom to connect."""

    user_id = UUIDTextField(
        required=False, help_text="Needed with a team key. A link token and a session know their user."
    )
    provider_id = TextField(
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=_PROVIDER_ID_MAXIMUM_CHARACTERS,
        help_text="Your id of the account or meter, if it has one.",
    )


class ResourceField(TextField):
    """A resource, by its slug or its name in addresses."""

    default_error_messages = {"enum": "Not a resource."}

    def to_internal_value(self, data: Any) -> str:
        """The slug."""
        slug = RESOURCE_NAMES.get(super().to_internal_value(data))
        if slug is None:
            self.fail("enum")
        return slug


class SyncCompleteBody(serializers.Serializer[Any]):
    """What a device has sent completely."""

    provider = ProviderField()
    resources = serializers.ListField(child=ResourceField(), allow_empty=False, max_length=len(RESOURCE_NAMES))
    stage = serializers.ChoiceField(
        STAGES, help_text="`historical` ends the first backfill of these resources, `daily` a later sync."
    )
    start = serializers.DateTimeField(default_timezone=UTC, help_text="From when the device has sent everything.")
    end = serializers.DateTimeField(default_timezone=UTC)

    default_error_messages = {"end_before_start": "Must not be before start."}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """A stretch of time runs forward."""
        if attrs["end"] < attrs["start"]:
            raise serializers.ValidationError({"end": self.error_messages["end_before_start"]})
        return attrs


class SyncCompleteAnswer(serializers.Serializer[Any]):
    """It is noted."""

    success = serializers.BooleanField()
    announced = serializers.ListField(
        child=serializers.CharField(),
        help_text="Resources whose `historical.data.<resource>.created` was sent now; empty where they were before.",
    )
