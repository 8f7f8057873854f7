"""Turns the elements of an export into samples and summaries: what each kind becomes, and what becomes of the rest.

Samples and workouts are handed on as they come. What only makes sense together (nights, meals, cycles, days, pairs of
pressures) is gathered in buffers of bounded size and handed on at the end.
"""

from collections.abc import Callable, Collection, Iterator
from datetime import date
from functools import partial
from typing import Final, TypeAlias

from aggregation.apple_health import (
    activity,
    body,
    cycles,
    devices,
    electrocardiograms,
    meals,
    pressure,
    profile,
    sleep,
    workouts,
)
from aggregation.apple_health.activity import ActivityBuffer
from aggregation.apple_health.attachments import ROUTES, Attachments, DamagedAttachmentError
from aggregation.apple_health.body import BODY_FIELDS, BodyBuffer
from aggregation.apple_health.categories import CATEGORIES
from aggregation.apple_health.cycles import CYCLE_RULES, TEMPERATURE_TYPE, CycleBuffer
from aggregation.apple_health.devices import DeviceBuffer
from aggregation.apple_health.electrocardiograms import read_electrocardiogram
from aggregation.apple_health.elements import Attributes, Child
from aggregation.apple_health.instants import MICROSECONDS, parse_instant
from aggregation.apple_health.left_out import reason_of
from aggregation.apple_health.limits import ExportLimits
from aggregation.apple_health.meals import MealBuffer
from aggregation.apple_health.nutrients import NUTRIENTS
from aggregation.apple_health.pressure import PressureBuffer
from aggregation.apple_health.profile import ProfileBuffer
from aggregation.apple_health.quantities import PREFIX, QUANTITIES, SUMMARY_MEASURES
from aggregation.apple_health.record import Record, Taker, quantity_of, record_of
from aggregation.apple_health.routes import Route, merged, read_route
from aggregation.apple_health.series import SeriesBuffer
from aggregation.apple_health.sleep import SLEEP_TYPE, SleepBuffer
from aggregation.apple_health.takers import Beside, Keep, category_taker, measure_taker, quantity_taker
from aggregation.apple_health.tally import DOCUMENT_KIND, ExportTally, LeftOutReason, RefusalReason
from aggregation.apple_health.workouts import (
    MAX_WORKOUT_SECONDS,
    STATISTICS_KIND,
    route_paths,
    route_stream,
    with_route,
    workout_summary,
)
from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.records import SeriesBatch, StreamRecord, SummaryRecord
from healthsvc.kernel import clock

ExportItem: TypeAlias = SeriesBatch | SummaryRecord | StreamRecord

#: Every resource that can be made of an export.
READABLE: Final = frozenset(
    {
        *(rule.resource for rule in QUANTITIES.values()),
        *(rule.resource for rule in CATEGORIES.values()),
        activity.RESOURCE,
        body.RESOURCE,
        cycles.RESOURCE,
        devices.RESOURCE,
        electrocardiograms.RESOURCE,
        electrocardiograms.VOLTAGE_RESOURCE,
        meals.RESOURCE,
        pressure.RESOURCE,
        profile.RESOURCE,
        sleep.RESOURCE,
        sleep.STAGES_RESOURCE,
        workouts.RESOURCE,
        workouts.STREAM_RESOURCE,
    }
)
_BEATS = "HeartRateVariabilityMetadataList"
_ELECTROCARDIOGRAMS = "electrocardiograms"
#: Files of one workout's route.
_MAX_ROUTE_FILES = 10


class Collector:
    """Takes elements; gives items. `resources`: what the caller can store; what becomes nothing else is left out."""

    def __init__(
        self, tally: ExportTally, limits: ExportLimits, resources: Collection[str], attachments: Attachments
    ) -> None:
        self._tally = tally
        self._limits = limits
        self._resources = frozenset(resources)
        self._attachments = attachments
        self._series = SeriesBuffer()
        self._workouts: list[Record] = []
        self._sleep = SleepBuffer(max_intervals=limits.max_sleep_intervals, max_sources=limits.max_sleep_sources)
        self._pressures = PressureBuffer(SERIES_BY_SLUG[pressure.RESOURCE], tally, limits.max_pairs)
        self._meals = MealBuffer(limits.max_meals)
        self._cycles = CycleBuffer(tally, limits.max_cycle_entries)
        self._body = BodyBuffer(limits.max_days, limits.max_raw_bytes)
        self._activity = ActivityBuffer(limits.max_days, limits.max_raw_bytes)
        self._devices = DeviceBuffer(limits.max_devices)
        self._profile = ProfileBuffer(tally)
        self._exported_on: date = clock.now().date()
        self._takers = self._record_takers()
        self._elements: dict[str, Callable[[Attributes, list[Child]], None]] = {
            "Record": self._take_record,
            "Correlation": self._take_correlation,
            workouts.ELEMENT: self._take_workout,
            activity.ELEMENT: self._take_rings,
            "ClinicalRecord": self._take_clinical,
            "Me": self._take_characteristics,
            "ExportDate": self._take_export_date,
        }

    def take(self, name: str, attributes: Attributes, children: list[Child]) -> None:
        """One element below the root. What has no taker is left out under its own type or name."""
        taker = self._elements.get(name)
        if taker is not None:
            taker(attributes, children)
            return
        type_name = attributes.get("type", name)
        reason = reason_of(type_name)
        if reason is LeftOutReason.UNKNOWN_TYPE:
            reason = reason_of(name)
        self._tally.leave_out_unread(self._tally.kind(type_name), reason)

    def malformed(self) -> None:
        """One broken place in the XML; which type it was is not known."""
        self._tally.refuse_unread(DOCUMENT_KIND, RefusalReason.MALFORMED)

    def ready(self, *, at_least: int) -> Iterator[ExportItem]:
        """The workouts so far, and the samples once there are `at_least` so many."""
        records, self._workouts = self._workouts, []
        for record in records:
            yield from self._workout_items(record)
        if len(self._series) >= at_least:
            yield from self._series.flush()

    def rest(self) -> Iterator[ExportItem]:
        """Everything left, once every element is taken."""
        yield from self.ready(at_least=1)
        yield from self._sleep.sessions(stages=sleep.STAGES_RESOURCE in self._resources)
        if self._sleep.unstaged_intervals:
            self._tally.refuse(SLEEP_TYPE, RefusalReason.NO_SLEEP_STAGE, self._sleep.unstaged_intervals)
        yield from self._pressures.items()
        yield from self._meals.items()
        yield from self._cycles.items()
        yield from self._body.items()
        yield from self._activity.items()
        if profile.RESOURCE in self._resources:
            yield from self._profile.items()
        if devices.RESOURCE in self._resources:
            yield from self._devices.items(self._exported_on)
        yield from self._electrocardiogram_items()
        self._attachments.name_the_rest()

    def _record_takers(self) -> dict[str, Taker]:
        """Who takes which type of record; a type without a place among `resources` has nobody."""
        kept = self._kept()
        takers: dict[str, Taker] = {}
        for kind, (_, keep) in kept.items():
            measure = NUTRIENTS[kind].measure if kind in NUTRIENTS else SUMMARY_MEASURES.get(kind)
            if measure is not None:
                takers[kind] = measure_taker(measure, keep)
        for kind, rule in QUANTITIES.items():
            if rule.resource in self._resources:
                beside = self._beside(kind, *kept[kind]) if kind in kept else None
                takers[kind] = quantity_taker(rule, SERIES_BY_SLUG[rule.resource], self._series, beside)
        for kind, category in CATEGORIES.items():
            if category.resource in self._resources:
                takers[kind] = category_taker(category, SERIES_BY_SLUG[category.resource], self._series)
        if cycles.RESOURCE in self._resources:
            takers.update((kind, self._cycles.taker(kind)) for kind in CYCLE_RULES)
        if sleep.RESOURCE in self._resources:
            takers[SLEEP_TYPE] = self._sleep.take
        return takers

    def _kept(self) -> dict[str, tuple[str, Keep]]:
        """What keeps a quantity, beside its samples or instead of them, and the resource it is kept for."""
        kept: dict[str, tuple[str, Keep]] = {
            PREFIX + "Height": (profile.RESOURCE, self._profile.add_height),
            PREFIX + "RestingHeartRate": (activity.RESOURCE, partial(self._activity.add_heart_rate, "resting_bpm")),
            PREFIX + "WalkingHeartRateAverage": (
                activity.RESOURCE,
                partial(self._activity.add_heart_rate, "avg_walking_bpm"),
            ),
            TEMPERATURE_TYPE: (cycles.RESOURCE, self._cycles.add_temperature),
            pressure.SYSTOLIC: (pressure.RESOURCE, self._pressures.add_systolic),
            pressure.DIASTOLIC: (pressure.RESOURCE, self._pressures.add_diastolic),
        }
        for kind, name in BODY_FIELDS.items():
            kept[kind] = (body.RESOURCE, partial(self._body.add, name))
        for kind, nutrient in NUTRIENTS.items():
            kept[kind] = (meals.RESOURCE, partial(self._meals.add, nutrient))
        return {kind: one for kind, one in kept.items() if one[0] in self._resources}

    def _beside(self, kind: str, resource: str, keep: Keep) -> Beside:
        """Keeps what is a sample already; where there is no room, that part of the record is left out by name."""

        def take(record: Record, value: float) -> None:
            if not keep(record, value):
                self._tally.leave_out_unread(f"{kind}.{resource}", LeftOutReason.TOO_MANY)

        return take

    def _take_record(self, attributes: Attributes, children: list[Child]) -> None:
        name = attributes.get("type", "")
        kind = self._tally.kind(name)
        self._tally.read[kind] += 1
        taker = self._takers.get(name)
        if taker is None:
            known = name in QUANTITIES or name in SUMMARY_MEASURES or name in CATEGORIES or name == SLEEP_TYPE
            self._tally.leave_out(kind, LeftOutReason.NO_RESOURCE if known else reason_of(name))
            return
        record = record_of(attributes, children)
        if isinstance(record, RefusalReason):
            self._tally.refuse(kind, record)
            return
        reason = taker(record)
        if reason is not None:
            self._tally.refuse(kind, reason)
            return
        self._devices.note(record)
        if children and any(child == _BEATS for child, _ in children):
            self._tally.leave_out_unread(_BEATS, LeftOutReason.NO_RESOURCE)

    def _take_correlation(self, attributes: Attributes, children: list[Child]) -> None:
        name = attributes.get("type", "")
        kind = self._tally.kind(name)
        self._tally.read[kind] += 1
        record = record_of(attributes, children)
        if isinstance(record, RefusalReason):
            self._tally.refuse(kind, record)
        elif name == meals.FOOD_CORRELATION and meals.RESOURCE in self._resources:
            if not self._meals.add_food(record):
                self._tally.refuse(kind, RefusalReason.TOO_MANY)
        elif name == pressure.CORRELATION and pressure.RESOURCE in self._resources:
            self._take_pressures(record)
        else:
            self._tally.leave_out(kind, LeftOutReason.UNKNOWN_TYPE)

    def _take_pressures(self, correlation: Record) -> None:
        """The halves inside a correlation; each stands at top level too, and that is where it is counted."""
        adders = {pressure.SYSTOLIC: self._pressures.add_systolic, pressure.DIASTOLIC: self._pressures.add_diastolic}
        for name, child in correlation.children:
            kind = child.get("type", "")
            if name != "Record" or kind not in adders:
                continue
            measure = SUMMARY_MEASURES[kind]
            value = quantity_of(child, measure.accepted, measure.lowest, measure.highest)
            half = record_of(child, [])
            if not isinstance(value, RefusalReason) and not isinstance(half, RefusalReason):
                adders[kind](half, value)

    def _take_workout(self, attributes: Attributes, children: list[Child]) -> None:
        self._tally.read[workouts.ELEMENT] += 1
        if workouts.RESOURCE not in self._resources:
            self._tally.leave_out(workouts.ELEMENT, LeftOutReason.NO_RESOURCE)
            return
        record = record_of(attributes, children)
        if isinstance(record, RefusalReason):
            self._tally.refuse(workouts.ELEMENT, record)
        elif record.end.utc_us - record.start.utc_us > MAX_WORKOUT_SECONDS * MICROSECONDS:
            self._tally.refuse(workouts.ELEMENT, RefusalReason.OUT_OF_RANGE)
        else:
            self._devices.note(record)
            self._workouts.append(record)

    def _workout_items(self, record: Record) -> Iterator[ExportItem]:
        problems: list[RefusalReason] = []
        workout = workout_summary(record, problems)
        for problem in problems:
            self._tally.refuse_unread(STATISTICS_KIND, problem)
        routes = [route for path in route_paths(record.children)[:_MAX_ROUTE_FILES] for route in self._routes(path)]
        if not routes:
            yield workout
            return
        route = merged(routes)
        yield with_route(workout, route)
        if workouts.STREAM_RESOURCE in self._resources:
            yield route_stream(workout, route)

    def _routes(self, path: str) -> Iterator[Route]:
        """The route of that path, where it is in the archive and holds a point; what it lacks is named."""
        try:
            with self._attachments.route(path) as read:
                if read is None:
                    self._tally.leave_out_unread(ROUTES, LeftOutReason.FILE_MISSING)
                    return
                self._tally.read[ROUTES] += 1
                route, problem = read_route(read, self._limits)
        except DamagedAttachmentError:
            self._tally.refuse_unread(ROUTES, RefusalReason.TRUNCATED)
            return
        if problem is None and not len(route):
            problem = RefusalReason.BAD_VALUE
        if problem is not None:
            self._tally.refuse(ROUTES, problem)
        if len(route):
            yield route

    def _take_rings(self, attributes: Attributes, _children: list[Child]) -> None:
        self._tally.read[activity.ELEMENT] += 1
        if activity.RESOURCE not in self._resources:
            self._tally.leave_out(activity.ELEMENT, LeftOutReason.NO_RESOURCE)
            return
        reason = self._activity.add_rings(attributes)
        if reason is not None:
            self._tally.refuse(activity.ELEMENT, reason)

    def _take_clinical(self, attributes: Attributes, _children: list[Child]) -> None:
        kind = self._tally.kind(attributes.get("type", "ClinicalRecord"))
        self._tally.leave_out_unread(kind, LeftOutReason.EXCLUDED_CLINICAL)

    def _take_characteristics(self, attributes: Attributes, _children: list[Child]) -> None:
        self._profile.add_characteristics(attributes)

    def _take_export_date(self, attributes: Attributes, _children: list[Child]) -> None:
        exported = parse_instant(attributes.get("value"))
        if exported is not None:
            self._exported_on = exported.local_on()
            self._profile.set_exported(exported)

    def _electrocardiogram_items(self) -> Iterator[ExportItem]:
        for content in self._attachments.electrocardiograms():
            self._tally.read[_ELECTROCARDIOGRAMS] += 1
            if electrocardiograms.RESOURCE not in self._resources:
                self._tally.leave_out(_ELECTROCARDIOGRAMS, LeftOutReason.NO_RESOURCE)
                continue
            found = content if isinstance(content, RefusalReason) else read_electrocardiogram(content, self._limits)
            if isinstance(found, RefusalReason):
                self._tally.refuse(_ELECTROCARDIOGRAMS, found)
                continue
            if not found.is_classified:
                self._tally.leave_out_unread("electrocardiograms.classification", LeftOutReason.UNKNOWN_TYPE)
            yield found.summary
            yield found.voltages
