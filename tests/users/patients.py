"""A patient as a customer tells of one."""

from typing import Any


def address_body(**values: Any) -> dict[str, Any]:
    """A postal address."""
    return {
        "first_line": "123 Main St.",
        "second_line": "Apt. 208",
        "city": "San Francisco",
        "state": "CA",
        "zip": "94105",
        "country": "US",
        "access_notes": "Ring twice",
        **values,
    }


def guarantor_body(**values: Any) -> dict[str, Any]:
    """Somebody who answers for a patient."""
    return {
        "first_name": "Mary",
        "last_name": "Doe",
        "address": address_body(second_line=None),
        "phone_number": "+1 (555) 012-3456",
        "email": "mary@example.com",
        "household_income": 60_000,
        "household_size": 3,
        **values,
    }


def patient_body(**values: Any) -> dict[str, Any]:
    """Demographics with everything in them."""
    return {
        "first_name": "Jane",
        "last_name": "Doe",
        "email": "jane@example.com",
        "phone_number": "+15550123456",
        "gender": "Female",
        "dob": "1999-01-01",
        "address": address_body(),
        "medical_proxy": guarantor_body(),
        "race": "asian",
        "ethnicity": "non_hispanic",
        "sexual_orientation": "dont_know",
        "gender_identity": "female",
        **values,
    }


#: What has to be sent each time.
REQUIRED = ("first_name", "last_name", "email", "phone_number", "gender", "dob", "address")
