"""A user's insurances: a row each time one is told, sealed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Self

from django.db import models

from healthsvc.kernel.crypto import EncryptedJSONField
from healthsvc.kernel.ids import uuid_ordered
from healthsvc.kernel.rows import TeamQuerySet, environment_check, environment_field
from healthsvc.kernel.typing import JSONObject
from users.addresses import PostalAddress
from users.constants import Gender
from users.guarantors import Guarantor


@dataclass(frozen=True, slots=True)
class InsuredPerson:
    """Whose insurance it is: the patient, or who the patient is insured with."""

    first_name: str
    last_name: str
    gender: Gender
    dob: date
    email: str
    phone_number: str
    address: PostalAddress

    def as_json(self) -> JSONObject:
        """The shape that is sealed at rest."""
        return {
            "first_name": self.first_name,
            "last_name": self.last_name,
            "gender": self.gender.value,
            "dob": self.dob.isoformat(),
            "email": self.email,
            "phone_number": self.phone_number,
            "address": self.address.as_json(),
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """The person that `as_json` gave."""
        address = PostalAddress.from_json(kept["address"])
        gender = Gender(kept["gender"])
        return cls(**{**kept, "gender": gender, "dob": date.fromisoformat(kept["dob"]), "address": address})


@dataclass(frozen=True, slots=True)
class InsuranceCompany:
    """The payor as it was when the insurance was told."""

    name: str
    address: PostalAddress


@dataclass(frozen=True, slots=True)
class InsuranceDetails:
    """An insurance. `relationship` of the patient to the insured is text: rows may hold a word of a later version."""

    payor_code: str
    member_id: str
    group_id: str | None
    relationship: str
    insured: InsuredPerson
    guarantor: Guarantor | None
    company: InsuranceCompany

    def as_json(self) -> JSONObject:
        """The shape that is sealed at rest."""
        return {
            "payor_code": self.payor_code,
            "member_id": self.member_id,
            "group_id": self.group_id,
            "relationship": self.relationship,
            "insured": self.insured.as_json(),
            "guarantor": self.guarantor.as_json() if self.guarantor else None,
            "company": {"name": self.company.name, "address": self.company.address.as_json()},
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """The insurance that `as_json` gave."""
        company = kept["company"]
        return cls(
            payor_code=kept["payor_code"],
            member_id=kept["member_id"],
            group_id=kept["group_id"],
            relationship=kept["relationship"],
            insured=InsuredPerson.from_json(kept["insured"]),
            guarantor=Guarantor.from_json(kept["guarantor"]) if kept["guarantor"] else None,
            company=InsuranceCompany(company["name"], PostalAddress.from_json(company["address"])),
        )


class Insurance(models.Model):
    """An insurance as it was told once. The newest primary and the newest other one count; the rest is history."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+")
    environment = environment_field()
    user = models.ForeignKey("users.User", models.PROTECT, related_name="+")
    is_primary = models.BooleanField()
    #: `InsuranceDetails.as_json`.
    details: "EncryptedJSONField" = EncryptedJSONField()
    created_at = models.DateTimeField()

    objects = TeamQuerySet["Insurance"].as_manager()

    class Meta:
        db_table = "users_insurance"
        constraints = [environment_check("users_insurance")]
        indexes = [
            models.Index(
                "team",
                "environment",
                "user",
                "is_primary",
                models.F("created_at").desc(),
                models.F("id").desc(),
                name="users_insurance_newest_first",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)
