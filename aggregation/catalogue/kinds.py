"""What a record of the resource catalogue says: kinds, fields, units, ranges."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from aggregation.constants import BUCKET_SECONDS
from healthsvc.kernel.typing import JSONValue

Conversion: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class SeriesKind(StrEnum):
    """What a sample is made of. The query engine has the same kinds under the same names."""

    #: A value at an instant.
    DISCRETE = "discrete"
    #: A value over a stretch of time.
    INTERVAL = "interval"
    #: Systolic and diastolic at an instant, and no value.
    BLOOD_PRESSURE = "blood_pressure"
    #: A value over a stretch of time, and where on the body it was measured.
    TEMPERATURE = "temperature"
    WORKOUT_DURATION = "workout_duration"
    INSULIN_INJECTION = "insulin_injection"
    #: A text over a stretch of time, and no number.
    NOTE = "note"


#: Kinds whose samples are of an instant: they have no start and end of their own.
INSTANT_KINDS = frozenset({SeriesKind.DISCRETE, SeriesKind.BLOOD_PRESSURE})
#: Kinds whose samples have no number under `value`.
VALUELESS_KINDS = frozenset({SeriesKind.BLOOD_PRESSURE, SeriesKind.NOTE})


class AddsUp(StrEnum):
    """What makes one number of several samples: steps are summed, heart rates averaged, alerts counted."""

    SUM = "sum"
    MEAN = "mean"
    COUNT = "count"


class SampleFieldKind(StrEnum):
    """The JSON form of a sample's own field, and so how it is kept."""

    #: A number, kept as float64; NaN where a sample has none.
    NUMBER = "number"
    #: A text, kept as a label.
    TEXT = "text"
    #: A list of texts from `choices`, kept as one label: the texts joined by commas, in the order given.
    TEXTS = "texts"


@dataclass(frozen=True, slots=True)
class SampleField:
    """A field of a sample beside value, type, unit and times. `name` is its name in the API and in the store.

    `choices` closes a text; `lowest` and `highest` bound a number, inclusive. `is_text_value` marks a note's content,
    which the API shows under `value` and the query under `content`. `typical` is what examples show, a list of texts as
    it is kept; None where they show none.
    """

    name: str
    kind: SampleFieldKind
    meaning: str
    required: bool = False
    choices: tuple[str, ...] = ()
    lowest: float = 0.0
    highest: float = 1e9
    maximum_characters: int = 60
    is_text_value: bool = False
    typical: float | str | None = None


@dataclass(frozen=True, slots=True)
class Typical:
    """An ordinary sample, which examples show.

    Its number in the resource's unit, None where it has none; its type; how long it lasts where it has a start and an
    end; when on the day of the examples it ends, UTC.
    """

    value: float | None = None
    type: str | None = None
    span_seconds: int = 60
    ends_at: time = time(11, 30)


@dataclass(frozen=True, slots=True, eq=False)
class SeriesSpec:
    """A timeseries resource, equal only to itself.

    slug: its name in events and in the store. path: its name in addresses. model: its name in OpenAPI. unit: the one
    that is stored and answered, as the API writes it. accepted: other units to their exact conversion; a sample's unit
    is that of its value, or of its fields where they are the measurement (blood pressure). accepted_by_type: units that
    can be converted only where the sample's `type` says of what they are (mg/dL of cholesterol), type to unit to
    conversion. units_by_type: what samples of a type show in place of `unit`, where that names a way to measure (rmssd)
    and theirs is another one (sdnn); the numbers are in the same unit. lowest, highest: the plausible range in `unit`,
    inclusive; what lies outside is refused. definition: where the resource is defined. typical: what examples show.
    types: closes the samples' `type`; empty where any short label is taken. sub_paths: types that have an address of
    their own below the resource's, for older clients: `…/cholesterol/ldl` are the samples of type `ldl`. fields: what
    samples have beside the usual. bucket_seconds: the width of its blocks, narrower for dense and wider for sparse
    resources. is_older: served for older clients only, made of another resource and never stored, so without events and
    query columns (the hypnogram, of sleep cycles).
    """

    slug: str
    path: str
    model: str
    kind: SeriesKind
    unit: str
    adds_up: AddsUp
    lowest: float
    highest: float
    meaning: str
    definition: str
    typical: Typical
    accepted: Mapping[str, Conversion] = field(default_factory=dict)
    accepted_by_type: Mapping[str, Mapping[str, Conversion]] = field(default_factory=dict)
    units_by_type: Mapping[str, str] = field(default_factory=dict)
    bucket_seconds: int = BUCKET_SECONDS
    types: tuple[str, ...] = ()
    type_required: bool = False
    sub_paths: tuple[str, ...] = ()
    fields: tuple[SampleField, ...] = ()
    is_older: bool = False

    @property
    def is_interval(self) -> bool:
        """Whether a sample has a start and an end of its own."""
        return self.kind not in INSTANT_KINDS

    @property
    def has_value(self) -> bool:
        """Whether a sample has a number under `value`."""
        return self.kind not in VALUELESS_KINDS

    def unit_of(self, type_: str | None) -> str:
        """The unit that samples of a type show."""
        return self.unit if type_ is None else self.units_by_type.get(type_, self.unit)


class FieldKind(StrEnum):
    """The JSON form of a summary's field."""

    NUMBER = "number"
    WHOLE = "whole"
    TEXT = "text"
    INSTANT = "instant"
    #: YYYY-MM-DD.
    DATE = "date"
    FLAG = "flag"
    SPORT = "sport"
    #: A list of whole numbers, at most `maximum_items`.
    WHOLES = "wholes"
    #: One object of `members`.
    OBJECT = "object"
    #: A list of objects of `members`, at most `maximum_items`.
    OBJECTS = "objects"
    #: An object of numbers under names of the sender's, or of `choices` where there are some.
    NUMBERS_BY_NAME = "numbers_by_name"
    #: An object of objects of `members` under names of the sender's.
    OBJECTS_BY_NAME = "objects_by_name"


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field of a summary, or of an object in one.

    `choices` closes a text, and the names of a NUMBERS_BY_NAME; `members` are an object's own fields. `default` is kept
    where a record has none, so a required field with a default is never null and may be left out. `true_only`: the API
    knows no false, which is kept as nothing.
    """

    name: str
    kind: FieldKind
    meaning: str
    required: bool = False
    lowest: float = 0.0
    highest: float = 1e9
    choices: tuple[str, ...] = ()
    members: tuple["FieldSpec", ...] = ()
    maximum_items: int = 24
    maximum_characters: int = 1_000
    default: JSONValue = field(default=None, hash=False)
    true_only: bool = False


@dataclass(frozen=True, slots=True)
class ParentSpec:
    """The summary that a summary is part of: the sleep of a sleep cycle.

    The part answers its parent's id under `id_field`. A record may give that id, or instead, under `external_id_field`,
    what the same provider calls the parent, which is stored or among the summaries of the same write.
    """

    resource: str
    id_field: str
    external_id_field: str


@dataclass(frozen=True, slots=True, eq=False)
class SummaryExample:
    """An ordinary summary, which examples show: the day that it is of, and its fields as they are kept."""

    calendar_date: date
    fields: Mapping[str, JSONValue]


@dataclass(frozen=True, slots=True)
class SummarySpec:
    """A summary resource. `starts_field` and `ends_field` name the fields that tell when it was, "" for a whole day.

    `dated` summaries also answer the older field `date`, midnight UTC of the calendar date. `answer_key` names the
    list in an answer where it is not the slug. `has_raw`: the source's own form can be read at `/raw`; `raw_only`: and
    no other. `is_single`: one for each source, read as an object (the profile). `is_undated`: of no day (the profile,
    devices). `day_field`: the field whose date is its day, "" where `calendar_date` tells it. `sources_flat`: the
    answer repeats the source as source_provider, source_type, source_app_id and source_device_id.
    `has_calendar_date`: whether it is shown. `rule`: whether the fields, each good by itself, fit each other. `example`
    fits the other examples: they are one person's.
    """

    slug: str
    path: str
    model: str
    meaning: str
    definition: str
    example: SummaryExample
    fields: tuple[FieldSpec, ...]
    starts_field: str = ""
    ends_field: str = ""
    dated: bool = True
    answer_key: str = ""
    has_raw: bool = False
    raw_only: bool = False
    is_single: bool = False
    is_undated: bool = False
    day_field: str = ""
    sources_flat: bool = False
    has_calendar_date: bool = True
    parent: ParentSpec | None = None
    rule: Callable[[Mapping[str, JSONValue]], bool] | None = None


@dataclass(frozen=True, slots=True)
class StreamSpec:
    """Samples that belong to one summary, each with several channels: the course of a workout."""

    slug: str
    path: str
    model: str
    meaning: str
    definition: str
    channels: tuple[SampleField, ...]
    bucket_seconds: int


ResourceSpec: TypeAlias = SeriesSpec | SummarySpec | StreamSpec
