"""What can be queried: every table, every timeseries that the resource catalogue keeps, and the value macros."""

from typing import Final

from aggregation.catalogue import SERIES, AddsUp, SampleFieldKind, SeriesSpec
from aggregation.derived.versions import MACRO_VERSIONS
from aggregation.query import ColumnType, DeclaredSchema, SeriesSchema
from aggregation.query.schema import ELEMENT, MacroSchema, columns_from
from aggregation.query_reader.tables import TABLES

#: What every sample has.
_SAMPLE: Final = columns_from("""
    source_provider:string source_type:string source_app_id:string source_workout_id:string
    source_sport:string timezone_offset:int64 type:string
""")
_FIELD_TYPES: Final = {
    SampleFieldKind.NUMBER: ColumnType.FLOAT64,
    SampleFieldKind.TEXT: ColumnType.STRING,
    SampleFieldKind.TEXTS: ColumnType.STRING_LIST,
}
#: What is computed from a night.
_MACRO_TYPES: Final = {
    "sleep_score": ColumnType.FLOAT64,
    "chronotype": ColumnType.STRING,
    "asleep_at": ColumnType.LOCAL_DATETIME,
    "awake_at": ColumnType.LOCAL_DATETIME,
    "awakenings": ColumnType.INT64,
}


def _series_schema(spec: SeriesSpec) -> SeriesSchema:
    """A duration is told of values only: a note's start and end are no measurement."""
    own = {field.name: _FIELD_TYPES[field.kind] for field in spec.fields}
    measured = {"value": ColumnType.FLOAT64} if spec.has_value else {}
    if spec.has_value and spec.is_interval:
        measured = {"duration": ColumnType.FLOAT64, **measured}
    lists = {name: {ELEMENT: ColumnType.STRING} for name, kind in own.items() if kind is ColumnType.STRING_LIST}
    return SeriesSchema(spec.slug, {**_SAMPLE, **measured, **own}, lists, spec.adds_up is AddsUp.SUM)


SCHEMA: Final = DeclaredSchema(
    tables=TABLES,
    series=tuple(_series_schema(spec) for spec in SERIES if not spec.is_older),
    macros=tuple(MacroSchema(name, "sleep", kind, MACRO_VERSIONS[name]) for name, kind in _MACRO_TYPES.items()),
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
