"""Short ways to write the fields of summaries."""

from typing import Final

from aggregation.catalogue.kinds import FieldKind, FieldSpec

BPM_MAXIMUM: Final = 400.0
PERCENT_MAXIMUM: Final = 100.0
#: No night and no workout is longer.
WEEK_SECONDS: Final = 7 * 86_400.0

TIMEZONE_OFFSET: Final = FieldSpec(
    "timezone_offset", FieldKind.WHOLE, "Offset from UTC, seconds.", lowest=-64_800.0, highest=64_800.0
)
TIME_ZONE: Final = FieldSpec("time_zone", FieldKind.TEXT, "IANA time zone.", maximum_characters=60)
WHEELCHAIR_USE: Final = FieldSpec(
    "wheelchair_use", FieldKind.FLAG, "True where a wheelchair is used, else null.", true_only=True
)


def number(name: str, meaning: str, lowest: float = 0.0, highest: float = 1e9, *, required: bool = False) -> FieldSpec:
    """A number, bounds inclusive."""
    return FieldSpec(name, FieldKind.NUMBER, meaning, required=required, lowest=lowest, highest=highest)


def whole(name: str, meaning: str, lowest: float = 0.0, highest: float = 1e9, *, required: bool = False) -> FieldSpec:
    """A whole number, bounds inclusive."""
    return FieldSpec(name, FieldKind.WHOLE, meaning, required=required, lowest=lowest, highest=highest)


def seconds(name: str, meaning: str) -> FieldSpec:
    """A required span of at most a week."""
    return whole(name, f"{meaning}, seconds.", highest=WEEK_SECONDS, required=True)


def instant(name: str, meaning: str) -> FieldSpec:
    """A required instant."""
    return FieldSpec(name, FieldKind.INSTANT, meaning, required=True)


def text(name: str, meaning: str, *choices: str, required: bool = False, maximum_characters: int = 1_000) -> FieldSpec:
    """A text, of `choices` where there are some."""
    return FieldSpec(
        name, FieldKind.TEXT, meaning, required=required, choices=choices, maximum_characters=maximum_characters
    )


def date(name: str, meaning: str, *, required: bool = False) -> FieldSpec:
    """A calendar date."""
    return FieldSpec(name, FieldKind.DATE, meaning, required=required)
