"""Shapes of the provider catalogue, in and out."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.fields import TextField
from links.catalogue import SourceType

_AUTH_TYPES = "oauth, password, email, app, sdk (a meter that a telephone reads), or empty where nobody logs in."
_SOURCE_TYPES = f"One of {', '.join(SourceType)}."


class ProvidersQuery(serializers.Serializer[Any]):
    """Which providers to list."""

    source_type = TextField(required=False, help_text="Only providers of this kind: app, ble, device, lab or provider.")


class ResourceOfferAnswer(serializers.Serializer[Any]):
    """What one resource of a provider needs and is."""

    required = serializers.ListField(child=serializers.CharField())  # type: ignore[assignment]  # the API names it so
    optional = serializers.ListField(child=serializers.CharField())
    granularity = serializers.CharField(help_text="In words: each night, 5 minutes.")
    reach_back_days = serializers.IntegerField(
        allow_null=True, help_text="How far back the vendor lets data be read; null where it names no limit."
    )


@extend_schema_serializer(component_name="ClientFacingProviderDetailed")
class ProviderAnswer(serializers.Serializer[Any]):
    """A provider of the catalogue."""

    name = serializers.CharField()
    slug = serializers.CharField()
    description = serializers.CharField()
    logo = serializers.CharField()
    auth_type = serializers.CharField(help_text=_AUTH_TYPES)
    supported_resources = serializers.ListField(child=serializers.CharField())
    source_type = serializers.CharField(help_text=_SOURCE_TYPES)
    state = serializers.CharField(help_text="open, partner (only with an agreement) or closed (by its vendor).")
    closed_on = serializers.DateField(allow_null=True)
    regions = serializers.ListField(child=serializers.CharField(), help_text="Empty where the world is one.")
    resources = serializers.DictField(child=ResourceOfferAnswer())
    available = serializers.BooleanField(help_text="Whether people of this key's team can connect it now.")


@extend_schema_serializer(component_name="SourceLink")
class SourceLinkAnswer(serializers.Serializer[Any]):
    """A provider that a person can connect."""

    id = serializers.IntegerField(help_text="Fixed for good; 0 for a provider that the operator added.")
    name = serializers.CharField()
    slug = serializers.CharField()
    description = serializers.CharField()
    logo = serializers.CharField()
    oauth_url = serializers.CharField(
        allow_null=True, help_text="Where to send the person; only where a link token was shown, and for OAuth."
    )
    auth_type = serializers.CharField(help_text=_AUTH_TYPES)
    form_components = serializers.DictField(
        child=serializers.JSONField(), help_text="The fields of a password or e-mail form, by their names in the body."
    )


@extend_schema_serializer(component_name="Source")
class SourceAnswer(serializers.Serializer[Any]):
    """One provider, with the address that begins its login."""

    id = serializers.IntegerField(help_text="Fixed for good; 0 for a provider that the operator added.")
    name = serializers.CharField()
    slug = serializers.CharField()
    description = serializers.CharField()
    logo = serializers.CharField()
    group = serializers.CharField(allow_null=True)
    oauth_url = serializers.CharField(help_text="Where to send the person. It carries the link token.")
    auth_type = serializers.CharField(help_text=_AUTH_TYPES)
    source_type = serializers.CharField(help_text=_SOURCE_TYPES)
    is_active = serializers.BooleanField()
    backfill_num_days = serializers.IntegerField()


class LinkConfigAnswer(serializers.Serializer[Any]):
    """How the team's hosted page looks, and what it lists."""

    team_id = serializers.UUIDField()
    name = serializers.CharField()
    color = serializers.CharField(allow_null=True)
    logo_url = serializers.CharField(allow_null=True)
    providers = SourceLinkAnswer(many=True)
