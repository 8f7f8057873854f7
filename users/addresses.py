"""Postal addresses and telephone numbers of people and payors: their shape, and what labs and couriers can use."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from healthsvc.kernel.typing import JSONObject

COUNTRY_US: Final = "US"
#: How callers write the one country that labs and couriers serve.
COUNTRY_SPELLINGS: Final = frozenset({"US", "USA", "UNITED STATES", "UNITED STATES OF AMERICA"})
ADDRESS_LINE_MAXIMUM_CHARACTERS: Final = 200
CITY_MAXIMUM_CHARACTERS: Final = 100
ACCESS_NOTES_MAXIMUM_CHARACTERS: Final = 1_000
PHONE_MINIMUM_DIGITS: Final = 10
PHONE_MAXIMUM_DIGITS: Final = 15
#: Digits and the punctuation that people put between them.
PHONE_MAXIMUM_CHARACTERS: Final = 30

#: The states, as the reference's enumeration has them.
# fmt: off
US_STATES: Final = frozenset((
    "AL", "AK", "AZ", "AR", "CA", "CO", "CT", "DE", "FL", "GA", "HI", "ID", "IL", "IN", "IA", "KS", "KY", "LA", "ME",
    "MD", "MA", "MI", "MN", "MS", "MO", "MT", "NE", "NV", "NH", "NJ", "NM", "NY", "NC", "ND", "OH", "OK", "OR", "PA",
    "RI", "SC", "SD", "TN", "TX", "UT", "VT", "VA", "WA", "WV", "WI", "WY",
))
# fmt: on
#: What else mail of the United States goes to: the capital, the territories and the forces (source: USPS Publication
#: 28, appendix B). People live there, and a lab that does not serve them says so itself.
US_MAIL_AREAS: Final = frozenset(("DC", "AS", "GU", "MP", "PR", "VI", "AA", "AE", "AP"))

_ZIP = re.compile(r"[0-9]{5}(?:-[0-9]{4})?")
_PHONE = re.compile(r"\+?[0-9() .\-]+")


@dataclass(frozen=True, slots=True)
class PostalAddress:
    """An address in the United States, as people and payors have one."""

    first_line: str
    second_line: str
    city: str
    state: str
    zip: str
    country: str = COUNTRY_US
    access_notes: str | None = None

    def as_json(self) -> JSONObject:
        """The shape that responses show and that is sealed at rest."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """The address that `as_json` gave."""
        return cls(**kept)


def us_state_problem(text: str) -> str | None:
    """What is wrong with a state's code in capitals."""
    if text in US_STATES or text in US_MAIL_AREAS:
        return None
    return "Invalid state: the two-letter code of a state of the United States is needed, such as CA."


def zip_problem(text: str) -> str | None:
    """What is wrong with a ZIP code."""
    return None if _ZIP.fullmatch(text) else "Invalid zip: five digits are needed, or five, a hyphen and four."


def phone_problem(text: str) -> str | None:
    """What is wrong with a telephone number."""
    digits = sum(character.isdigit() for character in text)
    if _PHONE.fullmatch(text) and PHONE_MINIMUM_DIGITS <= digits <= PHONE_MAXIMUM_DIGITS:
        return None
    return f"Invalid phone number: {PHONE_MINIMUM_DIGITS} to {PHONE_MAXIMUM_DIGITS} digits are needed."
