"""Shapes of payors in and out."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.fields import TextField
from healthsvc.kernel.typing import JSONObject
from users.addresses import PostalAddress
from users.constants import PAYOR_NAME_MAXIMUM_CHARACTERS, PayorProvider, PayorSource
from users.contact_serializers import AddressAnswer, AddressBody, LineField
from users.payor_catalogue import PayorInfo
from users.words import words_of


class InsuranceAddress(AddressAnswer):
    """A postal address; `zip_code` repeats `zip`."""

    zip_code = serializers.CharField()


class PayorQuery(serializers.Serializer[Any]):
    """What is known of the payor; everything given has to fit."""

    insurance_name = TextField(
        required=False,
        allow_blank=True,
        max_length=PAYOR_NAME_MAXIMUM_CHARACTERS,
        help_text="Beginnings of words of its name.",
    )
    provider = serializers.ChoiceField(
        choices=PayorProvider.choices, required=False, help_text="A clearing house that knows it."
    )
    provider_payor_id = TextField(
        required=False,
        allow_blank=True,
        trim_whitespace=True,
        max_length=PAYOR_NAME_MAXIMUM_CHARACTERS,
        help_text="What the clearing house calls it.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Something to look for."""
        if not any(attrs.values()):
            raise serializers.ValidationError("Name insurance_name, provider or provider_payor_id.")
        return attrs

    def validate_insurance_name(self, value: str) -> str:
        """A word to look for, where it is given."""
        return _with_words(value) if value.strip() else ""


@extend_schema_serializer(component_name="PayorSearch")
class PayorSearchBody(serializers.Serializer[Any]):
    """What is known of the payor, as older clients write it."""

    insurance_name = TextField(
        required=False, allow_null=True, allow_blank=True, max_length=PAYOR_NAME_MAXIMUM_CHARACTERS
    )
    provider = serializers.ChoiceField(choices=PayorProvider.choices, required=False, allow_null=True)
    provider_id = TextField(
        required=False,
        allow_null=True,
        allow_blank=True,
        trim_whitespace=True,
        max_length=PAYOR_NAME_MAXIMUM_CHARACTERS,
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Something to look for."""
        if not any(attrs.values()):
            raise serializers.ValidationError("Name insurance_name, provider or provider_id.")
        return attrs

    def validate_insurance_name(self, value: str | None) -> str:
        """A word to look for, where it is given."""
        return _with_words(value) if value and value.strip() else ""


@extend_schema_serializer(component_name="CreatePayorBody")
class PayorBody(serializers.Serializer[Any]):
    """A payor that a search does not find."""

    name = LineField(max_length=PAYOR_NAME_MAXIMUM_CHARACTERS)
    address = AddressBody()
    provider = serializers.ChoiceField(
        choices=PayorProvider.choices, required=False, allow_null=True, help_text="A clearing house that knows it."
    )
    provider_payor_id = LineField(
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=PAYOR_NAME_MAXIMUM_CHARACTERS,
        help_text="What the clearing house calls it; needed with provider, and only then.",
    )

    def validate_name(self, value: str) -> str:
        """A name that can be found again."""
        return _with_words(value)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Provider and its id together."""
        if bool(attrs.get("provider")) != bool(attrs.get("provider_payor_id")):
            missing = "provider_payor_id" if attrs.get("provider") else "provider"
            message = "provider and provider_payor_id come together."
            raise serializers.ValidationError({missing: serializers.ErrorDetail(message, "required")})
        return attrs


@extend_schema_serializer(component_name="ClientFacingPayor")
class PayorAnswer(serializers.Serializer[Any]):
    """A payor."""

    payor_code = serializers.CharField()
    name = serializers.CharField()
    aliases = serializers.ListField(child=serializers.CharField())
    org_address = InsuranceAddress()
    source = serializers.ChoiceField(  # type: ignore[assignment]  # the API names a field so
        choices=PayorSource.choices, help_text="Whether every team finds it, or the team added it."
    )


@extend_schema_serializer(component_name="ClientFacingPayorSearchResponseDeprecated")
class PayorOldAnswer(serializers.Serializer[Any]):
    """A payor, as older clients read it."""

    code = serializers.CharField()
    name = serializers.CharField()
    aliases = serializers.ListField(child=serializers.CharField())
    org_address = InsuranceAddress()
    source = serializers.ChoiceField(choices=PayorSource.choices)  # type: ignore[assignment]  # as above


def address_json(address: PostalAddress) -> JSONObject:
    """What `InsuranceAddress` describes."""
    return {**address.as_json(), "zip_code": address.zip}


def payor_json(payor: PayorInfo) -> JSONObject:
    """What `PayorAnswer` describes."""
    return {"payor_code": payor.code, **_payor_parts(payor)}


def payor_old_json(payor: PayorInfo) -> JSONObject:
    """What `PayorOldAnswer` describes."""
    return {"code": payor.code, **_payor_parts(payor)}


def _payor_parts(payor: PayorInfo) -> JSONObject:
    return {
        "name": payor.name,
        "aliases": list(payor.aliases),
        "org_address": address_json(payor.address),
        "source": payor.source.value,
    }


def _with_words(text: str) -> str:
    if not words_of(text):
        raise serializers.ValidationError("A letter or a digit is needed.", code="value_error")
    return text
