"""Shapes of users' insurances in and out."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.fields import FlagField
from healthsvc.kernel.typing import JSONObject
from users.constants import (
    INSURANCE_NUMBER_MAXIMUM_CHARACTERS,
    PAYOR_CODE_MAXIMUM_CHARACTERS,
    Gender,
    ResponsibleRelationship,
)
from users.contact_serializers import (
    AddressBody,
    BirthDateField,
    EmailAddressField,
    GuarantorAnswer,
    GuarantorBody,
    LineField,
    PatientNameField,
    PhoneField,
    address_given,
    guarantor_given,
)
from users.guarantors import Guarantor
from users.models import Insurance, InsuranceDetails, InsuredPerson
from users.payor_serializers import InsuranceAddress, address_json
from users.services.insurance import InsuranceGiven


class GenderField(serializers.ChoiceField):
    """A gender in any case; lower case out."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=Gender.choices, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        """The gender."""
        return str(super().to_internal_value(data.lower() if isinstance(data, str) else data))


class InsuredBody(serializers.Serializer[Any]):
    """Whose insurance it is."""

    first_name = PatientNameField(help_text="Letters without accents, digits, - . , ' and single spaces; at most 50.")
    last_name = PatientNameField(help_text="As first_name.")
    gender = GenderField(help_text="In any case; answered in lower case.")
    dob = BirthDateField(help_text="YYYY-MM-DD.")
    email = EmailAddressField()
    phone_number = PhoneField(help_text="10 to 15 digits.")
    address = AddressBody()


@extend_schema_serializer(component_name="CreateInsurance")
class InsuranceBody(serializers.Serializer[Any]):
    """An insurance of the user."""

    payor_code = LineField(max_length=PAYOR_CODE_MAXIMUM_CHARACTERS, help_text="From a search for payors.")
    member_id = LineField(max_length=INSURANCE_NUMBER_MAXIMUM_CHARACTERS)
    group_id = LineField(
        required=False, allow_null=True, allow_blank=True, max_length=INSURANCE_NUMBER_MAXIMUM_CHARACTERS
    )
    relationship = serializers.ChoiceField(
        choices=ResponsibleRelationship.choices, help_text="Who the user is to the insured."
    )
    insured = InsuredBody()
    guarantor = GuarantorBody(required=False, allow_null=True, help_text="Needed unless relationship is Self.")
    is_primary = FlagField(default=True)


class InsuredAnswer(serializers.Serializer[Any]):
    """Whose insurance it is."""

    first_name = serializers.CharField()
    last_name = serializers.CharField()
    gender = serializers.ChoiceField(choices=Gender.choices)
    dob = serializers.DateField()
    email = serializers.CharField()
    phone_number = serializers.CharField()
    address = InsuranceAddress()


class InsuranceGuarantor(GuarantorAnswer):
    """A grown-up who answers for the patient."""

    address = InsuranceAddress()


class CompanyDetails(serializers.Serializer[Any]):
    """The payor, as it was when the insurance was told."""

    name = serializers.CharField()
    address = InsuranceAddress()


@extend_schema_serializer(component_name="ClientFacingInsurance")
class InsuranceAnswer(serializers.Serializer[Any]):
    """An insurance of the user. Written by `insurance_json`."""

    payor_code = serializers.CharField()
    member_id = serializers.CharField()
    group_id = serializers.CharField(allow_null=True)
    relationship = serializers.CharField(help_text="Self, Spouse or Other; more may come.")
    insured = InsuredAnswer()
    company = CompanyDetails()
    guarantor = InsuranceGuarantor(allow_null=True)
    is_primary = serializers.BooleanField()


class InsuranceQuery(serializers.Serializer[Any]):
    """Which of the user's insurances."""

    is_primary = serializers.BooleanField(default=True, help_text="The newest primary one, or the newest other one.")


def insurance_given(body: Mapping[str, Any]) -> InsuranceGiven:
    """The insurance of a validated `InsuranceBody`."""
    insured, guarantor = body["insured"], body.get("guarantor")
    return InsuranceGiven(
        payor_code=body["payor_code"],
        member_id=body["member_id"],
        group_id=body.get("group_id"),
        relationship=ResponsibleRelationship(body["relationship"]),
        insured=InsuredPerson(
            first_name=insured["first_name"],
            last_name=insured["last_name"],
            gender=Gender(insured["gender"]),
            dob=insured["dob"],
            email=insured["email"],
            phone_number=insured["phone_number"],
            address=address_given(insured["address"]),
        ),
        guarantor=guarantor_given(guarantor) if guarantor else None,
        is_primary=body["is_primary"],
    )


def insurance_json(insurance: Insurance) -> JSONObject:
    """What `InsuranceAnswer` describes."""
    details = InsuranceDetails.from_json(insurance.details)
    insured = {**details.insured.as_json(), "address": address_json(details.insured.address)}
    company: JSONObject = {"name": details.company.name, "address": address_json(details.company.address)}
    return {
        **details.as_json(),
        "insured": insured,
        "company": company,
        "guarantor": _guarantor_json(details.guarantor) if details.guarantor else None,
        "is_primary": insurance.is_primary,
    }


def _guarantor_json(guarantor: Guarantor) -> JSONObject:
    return {**guarantor.as_json(), "address": address_json(guarantor.address)}
