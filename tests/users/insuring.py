"""An insurance as a customer tells of one, and somebody to tell it of."""

from typing import Any

from tests.factories import Tenant
from tests.users.patients import address_body, patient_body
from users.demographics_serializers import DemographicsBody, details_given
from users.models import User
from users.services import demographics_put


def insurance_body(**values: Any) -> dict[str, Any]:
    """What has to be sent of the patient's own insurance."""
    return {
        "payor_code": "UHC",
        "member_id": "U1234567801",
        "relationship": "Self",
        "insured": insured_body(),
        **values,
    }


def insured_body(**values: Any) -> dict[str, Any]:
    """Whose insurance it is, as the interface's sample has it: a capital in the gender, `zip_code`, no country."""
    return {
        "first_name": "John",
        "last_name": "Doe",
        "gender": "Male",
        "dob": "1980-05-17",
        "email": "john@example.com",
        "phone_number": "+15550123456",
        "address": {
            "first_line": "123 Main St.",
            "second_line": None,
            "city": "San Francisco",
            "state": "CA",
            "zip_code": "94105",
        },
        **values,
    }


def patient_known(tenant: Tenant, user: User) -> None:
    """Tell the user's demographics; the caller is in the tenant's scope."""
    checked = DemographicsBody(data=patient_body())
    assert checked.is_valid(), checked.errors
    demographics_put(team=tenant.context, user_id=user.pk, details=details_given(checked.validated_data))


def payor_body(**values: Any) -> dict[str, Any]:
    """A payor that a team adds."""
    return {"name": "Élan Mutual Health-Plan", "address": address_body(), **values}
