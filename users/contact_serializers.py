"""Shapes that everything about a person shares: names, telephone, e-mail, addresses, guarantors."""

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Final

from django.core.exceptions import ValidationError as InvalidText
from django.core.validators import validate_email
from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction
from rest_framework import serializers

from healthsvc.kernel import clock
from healthsvc.kernel.fields import CalendarDateField, TextField, WholeNumberField
from users.addresses import (
    ACCESS_NOTES_MAXIMUM_CHARACTERS,
    ADDRESS_LINE_MAXIMUM_CHARACTERS,
    CITY_MAXIMUM_CHARACTERS,
    COUNTRY_SPELLINGS,
    COUNTRY_US,
    PHONE_MAXIMUM_CHARACTERS,
    PostalAddress,
    phone_problem,
    us_state_problem,
    zip_problem,
)
from users.guarantors import HOUSEHOLD_INCOME_MAXIMUM_USD, HOUSEHOLD_SIZE_MAXIMUM, Guarantor
from users.names import patient_name_problem

#: RFC 5321, 4.5.3.1.3, less the angle brackets.
EMAIL_MAXIMUM_CHARACTERS: Final = 254
#: Nobody alive was born before; a date before it is a slip of the finger.
BIRTH_YEAR_MINIMUM: Final = 1900

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class LineField(TextField):
    """One line of text, with white space around it taken off: what labels, forms and messages can hold."""

    default_error_messages = {"line": "One line is needed, without tabs, line breaks and other control characters."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"trim_whitespace": True, **kwargs})

    def to_internal_value(self, data: Any) -> str:
        """The line."""
        text = super().to_internal_value(data)
        if _CONTROL.search(text):
            self.fail("line")
        return text


class _RuledField(LineField):
    """A line that has to satisfy a rule; what the rule says is the message."""

    rule: Callable[[str], str | None]

    def to_internal_value(self, data: Any) -> str:
        """The line, where the rule finds nothing."""
        text = self.spelled(super().to_internal_value(data))
        problem = type(self).rule(text)
        if problem is not None:
            raise serializers.ValidationError(problem, code="value_error")
        return text

    def spelled(self, text: str) -> str:
        """The line as the rule wants it."""
        return text


class PatientNameField(TextField):
    """A first or last name that labs take."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"trim_whitespace": True, **kwargs})

    def to_internal_value(self, data: Any) -> str:
        """The name; a refusal says what to change."""
        name = super().to_internal_value(data)
        problem = patient_name_problem(name)
        if problem is not None:
            raise serializers.ValidationError(problem, code="value_error")
        return name


class PhoneField(_RuledField):
    """A telephone number, kept as it was written."""

    rule = staticmethod(phone_problem)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": PHONE_MAXIMUM_CHARACTERS, **kwargs})


class StateField(_RuledField):
    """The code of a state, in capitals out."""

    rule = staticmethod(us_state_problem)

    def spelled(self, text: str) -> str:
        """In capitals."""
        return text.upper()


class ZipField(_RuledField):
    """A ZIP code of five or nine digits."""

    rule = staticmethod(zip_problem)


def _email_problem(text: str) -> str | None:
    try:
        validate_email(text)
    except InvalidText:
        return "Not an e-mail address."
    return None


class EmailAddressField(_RuledField):
    """An e-mail address."""

    rule = staticmethod(_email_problem)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": EMAIL_MAXIMUM_CHARACTERS, **kwargs})


class CountryField(LineField):
    """The United States in any usual spelling; `US` out."""

    default_error_messages = {"country": "Only addresses in the United States are taken: US."}

    def to_internal_value(self, data: Any) -> str:
        """`US`."""
        if super().to_internal_value(data).upper() not in COUNTRY_SPELLINGS:
            self.fail("country")
        return COUNTRY_US


class BirthDateField(CalendarDateField):
    """The date of birth of somebody who may be alive."""

    default_error_messages = {
        "birth_date_ahead": "Must not lie in the future.",
        "birth_date_early": f"Must not lie before {BIRTH_YEAR_MINIMUM}.",
    }

    def to_internal_value(self, value: Any) -> date:
        """The date."""
        found = super().to_internal_value(value)
        if found > clock.now().date():
            self.fail("birth_date_ahead")
        if found.year < BIRTH_YEAR_MINIMUM:
            self.fail("birth_date_early")
        return found


class WordField(serializers.ChoiceField):
    """A word of an enumeration, or null."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"allow_null": True, **kwargs})


class WordFieldSchema(OpenApiSerializerFieldExtension):
    """Describes a `WordField` in place: an enumeration that is named once for all loses the null."""

    target_class = WordField

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        """The words."""
        return {"anyOf": [{"type": "string", "enum": list(self.target.choices)}]}


class AddressBody(serializers.Serializer[Any]):
    """A postal address in the United States. One of `zip` and `zip_code` is needed; `country` may be left out."""

    first_line = LineField(max_length=ADDRESS_LINE_MAXIMUM_CHARACTERS)
    second_line = LineField(
        required=False, allow_null=True, allow_blank=True, max_length=ADDRESS_LINE_MAXIMUM_CHARACTERS
    )
    city = LineField(max_length=CITY_MAXIMUM_CHARACTERS)
    state = StateField(help_text="Two-letter code, such as CA.")
    zip = ZipField(required=False, help_text="Five digits, or five, a hyphen and four.")
    zip_code = ZipField(required=False, help_text="Another name of `zip`.")
    country = CountryField(required=False, allow_null=True, help_text="US.")
    access_notes = TextField(
        required=False,
        allow_null=True,
        allow_blank=True,
        trim_whitespace=True,
        max_length=ACCESS_NOTES_MAXIMUM_CHARACTERS,
        help_text="How to get to the door.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """One ZIP code under whichever name."""
        given = {attrs[name] for name in ("zip", "zip_code") if name in attrs}
        if not given:
            message = "A ZIP code is needed, as zip (or zip_code)."
            raise serializers.ValidationError({"zip": serializers.ErrorDetail(message, "required")})
        if len(given) > 1:
            message = "Differs from zip: send one of the two."
            raise serializers.ValidationError({"zip_code": serializers.ErrorDetail(message, "value_error")})
        return attrs


class AddressAnswer(serializers.Serializer[Any]):
    """A postal address."""

    first_line = serializers.CharField()
    second_line = serializers.CharField(allow_blank=True)
    city = serializers.CharField()
    state = serializers.CharField()
    zip = serializers.CharField()
    country = serializers.CharField()
    access_notes = serializers.CharField(allow_null=True)


class GuarantorBody(serializers.Serializer[Any]):
    """A grown-up who answers for the patient."""

    first_name = PatientNameField()
    last_name = PatientNameField()
    address = AddressBody()
    phone_number = PhoneField(help_text="10 to 15 digits.")
    email = EmailAddressField(required=False, allow_null=True)
    household_income = WholeNumberField(
        required=False, allow_null=True, min_value=0, max_value=HOUSEHOLD_INCOME_MAXIMUM_USD, help_text="USD a year."
    )
    household_size = WholeNumberField(
        required=False, allow_null=True, min_value=1, max_value=HOUSEHOLD_SIZE_MAXIMUM, help_text="People."
    )


class GuarantorAnswer(serializers.Serializer[Any]):
    """A grown-up who answers for the patient."""

    first_name = serializers.CharField()
    last_name = serializers.CharField()
    address = AddressAnswer()
    phone_number = serializers.CharField()
    email = serializers.CharField(allow_null=True)
    household_income = serializers.IntegerField(allow_null=True)
    household_size = serializers.IntegerField(allow_null=True)


def address_given(body: Mapping[str, Any]) -> PostalAddress:
    """The address of a validated `AddressBody`."""
    return PostalAddress(
        first_line=body["first_line"],
        second_line=body.get("second_line") or "",
        city=body["city"],
        state=body["state"],
        zip=body.get("zip") or body["zip_code"],
        country=body.get("country") or COUNTRY_US,
        access_notes=body.get("access_notes") or None,
    )


def guarantor_given(body: Mapping[str, Any]) -> Guarantor:
    """The guarantor of a validated `GuarantorBody`."""
    return Guarantor(
        first_name=body["first_name"],
        last_name=body["last_name"],
        address=address_given(body["address"]),
        phone_number=body["phone_number"],
        email=body.get("email"),
        household_income=body.get("household_income"),
        household_size=body.get("household_size"),
    )
