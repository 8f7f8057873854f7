"""People, what is known of them, and how they leave."""

from users.models.demographics import Demographics, PatientDetails
from users.models.diagnoses import Diagnosis, DiagnosisExclusion, DiagnosisRelease
from users.models.erasure import Erasure
from users.models.exports import Export
from users.models.insurance import Insurance, InsuranceCompany, InsuranceDetails, InsuredPerson
from users.models.payors import Payor, PayorWord
from users.models.people import User, UserQuerySet

__all__ = [
    "Demographics",
    "Diagnosis",
    "DiagnosisExclusion",
    "DiagnosisRelease",
    "Erasure",
    "Export",
    "Insurance",
    "InsuranceCompany",
    "InsuranceDetails",
    "InsuredPerson",
    "PatientDetails",
    "Payor",
    "PayorWord",
    "User",
    "UserQuerySet",
]
