"""What can be queried: every table, every timeseries of the resource catalogue, and the value macros."""

from dataclasses import replace
from typing import Final

from aggregation.catalogue import SERIES, AddsUp
from aggregation.derived.versions import MACRO_VERSIONS
from aggregation.query import DeclaredSchema, SeriesKind
from aggregation.query.tables import TABLES, VALUE_MACROS, series_schema

SCHEMA: Final = DeclaredSchema(
    tables=TABLES,
    series=tuple(
        series_schema(spec.slug, SeriesKind(spec.kind.value), adds_up=spec.adds_up is AddsUp.SUM) for spec in SERIES
    ),
    macros=tuple(replace(macro, versions=MACRO_VERSIONS[macro.name]) for macro in VALUE_MACROS),
)
#: Tables that are kept as summaries, and the resource of each.
RESOURCE_OF_TABLE: Final = {
    "sleep": "sleep",
    "activity": "activity",
    "workout": "workouts",
    "body": "body",
    "meal": "meal",
    "profile": "profile",
    "menstrual_cycle": "menstrual_cycle",
}
