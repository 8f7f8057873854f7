"""The menstrual cycle."""

from collections.abc import Mapping
from typing import Final

from aggregation.catalogue.kinds import FieldKind, FieldSpec, SummarySpec
from aggregation.catalogue.summaries import examples
from aggregation.catalogue.summaries.fields import date, number, text
from healthsvc.kernel.typing import JSONValue

#: More than one a day in the longest cycle.
_ENTRIES_MAXIMUM: Final = 400
_TEST_RESULTS: Final = ("negative", "positive", "indeterminate")


def _entries(name: str, meaning: str, *members: FieldSpec) -> FieldSpec:
    return FieldSpec(
        name,
        FieldKind.OBJECTS,
        meaning,
        members=(date("date", "The day.", required=True), *members),
        maximum_items=_ENTRIES_MAXIMUM,
    )


def _days_fit(fields: Mapping[str, JSONValue]) -> bool:
    """A period ends no sooner than it began, and a cycle no sooner than its period."""
    days = [day for name in ("period_start", "period_end", "cycle_end") if isinstance(day := fields.get(name), str)]
    return days == sorted(days)


MENSTRUAL_CYCLE = SummarySpec(
    slug="menstrual_cycle",
    path="menstrual_cycle",
    model="ClientFacingMenstrualCycle",
    meaning="A menstrual cycle from the first day of a period.",
    definition="The API's ClientFacingMenstrualCycle.",
    example=examples.CYCLE,
    dated=False,
    sources_flat=True,
    has_calendar_date=False,
    day_field="period_start",
    rule=_days_fit,
    fields=(
        date("period_start", "First day of the period.", required=True),
        date("period_end", "Last day of the period."),
        date("cycle_end", "Last day of the cycle."),
        FieldSpec(
            "is_predicted", FieldKind.FLAG, "Whether it is predicted, not observed.", required=True, default=False
        ),
        _entries(
            "menstrual_flow",
            "Flow by day.",
            text("flow", "How much.", "unspecified", "none", "light", "medium", "heavy", required=True),
        ),
        _entries(
            "cervical_mucus",
            "Cervical mucus by day.",
            text("quality", "Its quality.", "dry", "sticky", "creamy", "watery", "egg_white", required=True),
        ),
        _entries("intermenstrual_bleeding", "Days of bleeding between periods."),
        _entries(
            "contraceptive",
            "Contraceptives by day.",
            text(
                "type",
                "What kind.",
                "unspecified",
                "implant",
                "injection",
                "iud",
                "intravaginal_ring",
                "oral",
                "patch",
                required=True,
            ),
        ),
        _entries(
            "detected_deviations",
            "Deviations a device noticed, by day.",
            text(
                "deviation",
                "Which one.",
                "persistent_intermenstrual_bleeding",
                "prolonged_menstrual_periods",
                "irregular_menstrual_cycles",
                "infrequent_menstrual_cycles",
                required=True,
            ),
        ),
        _entries(
            "ovulation_test",
            "Ovulation tests by day.",
            text(
                "test_result",
                "The result.",
                "negative",
                "positive",
                "luteinizing_hormone_surge",
                "estrogen_surge",
                "indeterminate",
                required=True,
            ),
        ),
        _entries(
            "home_pregnancy_test",
            "Pregnancy tests by day.",
            text("test_result", "The result.", *_TEST_RESULTS, required=True),
        ),
        _entries(
            "home_progesterone_test",
            "Progesterone tests by day.",
            text("test_result", "The result.", *_TEST_RESULTS, required=True),
        ),
        _entries(
            "sexual_activity",
            "Sexual activity by day.",
            FieldSpec("protection_used", FieldKind.FLAG, "Whether protection was used."),
        ),
        _entries(
            "basal_body_temperature",
            "Temperature on waking by day.",
            number("value", "Temperature, °C.", 25.0, 45.0, required=True),
        ),
    ),
)
