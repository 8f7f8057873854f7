"""What a customer told of a user as a patient: name, contact, address and the rest, sealed."""

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
from users.constants import Ethnicity, GenderIdentity, Race, SexualOrientation
from users.guarantors import Guarantor


@dataclass(frozen=True, slots=True)
class PatientDetails:
    """A user as a patient. `gender` is the customer's own wording."""

    first_name: str
    last_name: str
    email: str
    phone_number: str
    gender: str
    dob: date
    address: PostalAddress
    medical_proxy: Guarantor | None = None
    race: Race | None = None
    ethnicity: Ethnicity | None = None
    sexual_orientation: SexualOrientation | None = None
    gender_identity: GenderIdentity | None = None

    def as_json(self) -> JSONObject:
        """The shape that responses show and that is sealed at rest."""
        return {
            "first_name": self.first_name,
            "last_name": self.last_name,
            "email": self.email,
            "phone_number": self.phone_number,
            "gender": self.gender,
            "dob": self.dob.isoformat(),
            "address": self.address.as_json(),
            "medical_proxy": self.medical_proxy.as_json() if self.medical_proxy else None,
            "race": _word(self.race),
            "ethnicity": _word(self.ethnicity),
            "sexual_orientation": _word(self.sexual_orientation),
            "gender_identity": _word(self.gender_identity),
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """The details that `as_json` gave."""
        proxy = kept["medical_proxy"]
        return cls(
            first_name=kept["first_name"],
            last_name=kept["last_name"],
            email=kept["email"],
            phone_number=kept["phone_number"],
            gender=kept["gender"],
            dob=date.fromisoformat(kept["dob"]),
            address=PostalAddress.from_json(kept["address"]),
            medical_proxy=Guarantor.from_json(proxy) if proxy else None,
            race=Race(kept["race"]) if kept["race"] else None,
            ethnicity=Ethnicity(kept["ethnicity"]) if kept["ethnicity"] else None,
            sexual_orientation=SexualOrientation(kept["sexual_orientation"]) if kept["sexual_orientation"] else None,
            gender_identity=GenderIdentity(kept["gender_identity"]) if kept["gender_identity"] else None,
        )


class Demographics(models.Model):
    """The patient details of a user as they were last told; what they replaced is not kept."""

    id = models.UUIDField(primary_key=True, default=uuid_ordered, editable=False)
    team = models.ForeignKey("management.Team", models.PROTECT, related_name="+")
    environment = environment_field()
    user = models.ForeignKey("users.User", models.PROTECT, related_name="+")
    #: `PatientDetails.as_json`.
    details: "EncryptedJSONField" = EncryptedJSONField()
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = TeamQuerySet["Demographics"].as_manager()

    class Meta:
        db_table = "users_demographics"
        verbose_name_plural = "demographics"
        constraints = [
            models.UniqueConstraint(fields=["team", "environment", "user"], name="users_demographics_once"),
            environment_check("users_demographics"),
        ]

    def __str__(self) -> str:
        return str(self.id)


def _word(value: Race | Ethnicity | SexualOrientation | GenderIdentity | None) -> str | None:
    return None if value is None else str(value.value)
