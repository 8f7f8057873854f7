"""Shapes of a user's demographics in and out."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from users.constants import GENDER_MAXIMUM_CHARACTERS, Ethnicity, GenderIdentity, Race, SexualOrientation
from users.contact_serializers import (
    AddressAnswer,
    AddressBody,
    BirthDateField,
    EmailAddressField,
    GuarantorAnswer,
    GuarantorBody,
    LineField,
    PatientNameField,
    PhoneField,
    WordField,
    address_given,
    guarantor_given,
)
from users.models import PatientDetails


@extend_schema_serializer(component_name="UserInfoCreateRequest")
class DemographicsBody(serializers.Serializer[Any]):
    """Everything that is known of the user as a patient; what is left out is forgotten."""

    first_name = PatientNameField(help_text="Letters without accents, digits, - . , ' and single spaces; at most 50.")
    last_name = PatientNameField(help_text="As first_name.")
    email = EmailAddressField()
    phone_number = PhoneField(help_text="10 to 15 digits.")
    gender = LineField(max_length=GENDER_MAXIMUM_CHARACTERS, help_text="In your own words.")
    dob = BirthDateField(help_text="YYYY-MM-DD.")
    address = AddressBody()
    medical_proxy = GuarantorBody(required=False, allow_null=True, help_text="Who decides for a minor.")
    race = WordField(choices=Race.choices, required=False)
    ethnicity = WordField(choices=Ethnicity.choices, required=False)
    sexual_orientation = WordField(choices=SexualOrientation.choices, required=False)
    gender_identity = WordField(choices=GenderIdentity.choices, required=False)


@extend_schema_serializer(component_name="UserInfo")
class DemographicsAnswer(serializers.Serializer[Any]):
    """What is known of the user as a patient. Written by `PatientDetails.as_json`."""

    first_name = serializers.CharField()
    last_name = serializers.CharField()
    email = serializers.CharField()
    phone_number = serializers.CharField()
    gender = serializers.CharField()
    dob = serializers.DateField()
    address = AddressAnswer()
    medical_proxy = GuarantorAnswer(allow_null=True)
    race = WordField(choices=Race.choices)
    ethnicity = WordField(choices=Ethnicity.choices)
    sexual_orientation = WordField(choices=SexualOrientation.choices)
    gender_identity = WordField(choices=GenderIdentity.choices)


def details_given(body: Mapping[str, Any]) -> PatientDetails:
    """The details of a validated `DemographicsBody`."""
    proxy, race, ethnicity = body.get("medical_proxy"), body.get("race"), body.get("ethnicity")
    orientation, identity = body.get("sexual_orientation"), body.get("gender_identity")
    return PatientDetails(
        first_name=body["first_name"],
        last_name=body["last_name"],
        email=body["email"],
        phone_number=body["phone_number"],
        gender=body["gender"],
        dob=body["dob"],
        address=address_given(body["address"]),
        medical_proxy=guarantor_given(proxy) if proxy else None,
        race=Race(race) if race else None,
        ethnicity=Ethnicity(ethnicity) if ethnicity else None,
        sexual_orientation=SexualOrientation(orientation) if orientation else None,
        gender_identity=GenderIdentity(identity) if identity else None,
    )
