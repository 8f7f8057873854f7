"""The regions that providers keep accounts apart by, with their names (source: the interface's Region enumeration)."""

from collections.abc import Mapping
from typing import Final

#: In the interface's order.
REGIONS: Final[Mapping[str, str]] = {
    "us": "United States",
    "eu": "Europe",
    "de": "Germany",
    "fr": "France",
    "ca": "Canada",
    "br": "Brazil",
    "ar": "Argentina",
    "cl": "Chile",
    "co": "Colombia",
    "mx": "Mexico",
    "gb": "United Kingdom",
    "ie": "Ireland",
    "au": "Australia",
    "nz": "New Zealand",
    "nl": "Netherlands",
    "at": "Austria",
    "be": "Belgium",
    "bh": "Bahrain",
    "ch": "Switzerland",
    "cz": "Czechia",
    "dk": "Denmark",
    "eg": "Egypt",
    "es": "Spain",
    "fi": "Finland",
    "gr": "Greece",
    "hr": "Croatia",
    "il": "Israel",
    "it": "Italy",
    "jo": "Jordan",
    "kw": "Kuwait",
    "lb": "Lebanon",
    "lu": "Luxembourg",
    "no": "Norway",
    "om": "Oman",
    "pl": "Poland",
    "pt": "Portugal",
    "qa": "Qatar",
    "sa": "Saudi Arabia",
    "se": "Sweden",
    "si": "Slovenia",
    "sk": "Slovakia",
    "tr": "Türkiye",
    "za": "South Africa",
    "in": "India",
    "sg": "Singapore",
    "hk": "Hong Kong",
    "kr": "South Korea",
    "ph": "Philippines",
    "tw": "Taiwan",
}


def region_name(slug: str) -> str:
    """A region as people call it; its code in capitals where it is none of ours."""
    return REGIONS.get(slug, slug.upper())
