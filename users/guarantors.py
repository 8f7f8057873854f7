"""Who answers for a patient: the guarantor of an insurance, the medical proxy of a minor."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from healthsvc.kernel.typing import JSONObject
from users.addresses import PostalAddress

HOUSEHOLD_INCOME_MAXIMUM_USD: Final = 1_000_000_000
HOUSEHOLD_SIZE_MAXIMUM: Final = 100


@dataclass(frozen=True, slots=True)
class Guarantor:
    """A grown-up who stands in for a patient."""

    first_name: str
    last_name: str
    address: PostalAddress
    phone_number: str
    email: str | None = None
    household_income: int | None = None
    household_size: int | None = None

    def as_json(self) -> JSONObject:
        """The shape that responses show and that is sealed at rest."""
        return {
            "first_name": self.first_name,
            "last_name": self.last_name,
            "address": self.address.as_json(),
            "phone_number": self.phone_number,
            "email": self.email,
            "household_income": self.household_income,
            "household_size": self.household_size,
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """The guarantor that `as_json` gave."""
        return cls(**{**kept, "address": PostalAddress.from_json(kept["address"])})
