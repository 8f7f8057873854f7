"""Reproductive records gathered into menstrual cycles.

A cycle begins with the flow record that its app marked as a start (`HKMenstrualCycleStart`, which HealthKit demands).
A flow record without the mark begins one where no flow was noted in the ten days before. The period lasts from there
to the last day with flow; the cycle to the day before the next one's start. Each source's flow makes its own cycles.
What else was noted belongs to the cycle its day lies in, of the same source, or, where that source notes no flow, of
the source with the most. What lies before every cycle is left out as `no_cycle`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from types import MappingProxyType
from typing import Final

from aggregation.apple_health.categories import PREFIX
from aggregation.apple_health.identity import external_id
from aggregation.apple_health.record import Record, Taker
from aggregation.apple_health.tally import ExportTally, LeftOutReason, RefusalReason
from aggregation.records import DataSource, SummaryRecord
from healthsvc.kernel.typing import JSONValue

RESOURCE: Final = "menstrual_cycle"
FLOW_TYPE: Final = PREFIX + "MenstrualFlow"
TEMPERATURE_TYPE: Final = "HKQuantityTypeIdentifierBasalBodyTemperature"
_CYCLE_START: Final = "HKMenstrualCycleStart"
_PROTECTION: Final = "HKSexualActivityProtectionUsed"
_NEW_CYCLE_DAYS: Final = 10
#: What a cycle lists of one sort; the last cycle of somebody who stopped noting flow has no end.
_LISTED_MAXIMUM: Final = 400
_TRUE: Final = frozenset({"1", "true", "YES"})
_FALSE: Final = frozenset({"0", "false", "NO"})


@dataclass(frozen=True, slots=True)
class CycleRule:
    """A category that a cycle lists: its list, the name of the entry's own field, and the words HealthKit has."""

    list_name: str
    field_name: str = ""
    words: Mapping[str, str] = field(default_factory=dict)


def _tests(prefix: str, **more: str) -> dict[str, str]:
    words = {"Negative": "negative", "Positive": "positive", "Indeterminate": "indeterminate", **more}
    return {f"HKCategoryValue{prefix}{name}": word for name, word in words.items()}


_FLOWS: Final = {"Unspecified": "unspecified", "None": "none", "Light": "light", "Medium": "medium", "Heavy": "heavy"}
_MUCUS: Final = {"Dry": "dry", "Sticky": "sticky", "Creamy": "creamy", "Watery": "watery", "EggWhite": "egg_white"}
_CONTRACEPTIVES: Final = {
    "Unspecified": "unspecified",
    "Implant": "implant",
    "Injection": "injection",
    "IntrauterineDevice": "iud",
    "IntravaginalRing": "intravaginal_ring",
    "Oral": "oral",
    "Patch": "patch",
}


def _deviation(name: str) -> CycleRule:
    return CycleRule("detected_deviations", "deviation", {"": name})


CYCLE_RULES: Final[Mapping[str, CycleRule]] = MappingProxyType(
    {
        # iOS 18 calls the same five words vaginal bleeding.
        FLOW_TYPE: CycleRule(
            "menstrual_flow",
            "flow",
            {
                f"HKCategoryValue{kind}{name}": word
                for kind in ("MenstrualFlow", "VaginalBleeding")
                for name, word in _FLOWS.items()
            },
        ),
        PREFIX + "CervicalMucusQuality": CycleRule(
            "cervical_mucus",
            "quality",
            {f"HKCategoryValueCervicalMucusQuality{name}": word for name, word in _MUCUS.items()},
        ),
        PREFIX + "IntermenstrualBleeding": CycleRule("intermenstrual_bleeding"),
        PREFIX + "Contraceptive": CycleRule(
            "contraceptive",
            "type",
            {f"HKCategoryValueContraceptive{name}": word for name, word in _CONTRACEPTIVES.items()},
        ),
        PREFIX + "PersistentIntermenstrualBleeding": _deviation("persistent_intermenstrual_bleeding"),
        PREFIX + "ProlongedMenstrualPeriods": _deviation("prolonged_menstrual_periods"),
        PREFIX + "IrregularMenstrualCycles": _deviation("irregular_menstrual_cycles"),
        PREFIX + "InfrequentMenstrualCycles": _deviation("infrequent_menstrual_cycles"),
        PREFIX + "OvulationTestResult": CycleRule(
            "ovulation_test",
            "test_result",
            _tests(
                "OvulationTestResult",
                LuteinizingHormoneSurge="luteinizing_hormone_surge",
                EstrogenSurge="estrogen_surge",
            ),
        ),
        PREFIX + "PregnancyTestResult": CycleRule("home_pregnancy_test", "test_result", _tests("PregnancyTestResult")),
        PREFIX + "ProgesteroneTestResult": CycleRule(
            "home_progesterone_test", "test_result", _tests("ProgesteroneTestResult")
        ),
        PREFIX + "SexualActivity": CycleRule("sexual_activity"),
    }
)


@dataclass(frozen=True, slots=True)
class _Entry:
    """What was noted on a day; `begins` says of a flow whether its app marked it as a start, None where unsaid."""

    on: date
    kind: str
    content: str | float | bool | None
    begins: bool | None = None


@dataclass(slots=True)
class _Cycle:
    start_on: date
    end_on: date | None = None
    last_flow_on: date | None = None
    lists: dict[str, list[JSONValue]] = field(default_factory=dict)


class CycleBuffer:
    """Holds entries until the export ends, no more than `max_entries`."""

    def __init__(self, tally: ExportTally, max_entries: int) -> None:
        self._tally = tally
        self._max_entries = max_entries
        self._by_source: dict[DataSource, set[_Entry]] = defaultdict(set)
        self._count = 0

    def taker(self, kind: str) -> Taker:
        """Takes records of one category."""
        rule = CYCLE_RULES[kind]

        def take(record: Record) -> RefusalReason | None:
            content: str | bool | None = None
            if rule.words:
                content = rule.words.get(record.attributes.get("value", "")) or rule.words.get("")
                if content is None:
                    return RefusalReason.BAD_VALUE
            elif rule.list_name == "sexual_activity":
                content = _flag(record.metadata(_PROTECTION))
            begins = _flag(record.metadata(_CYCLE_START)) if kind == FLOW_TYPE else None
            kept = self._keep(record, _Entry(record.start.local_on(), kind, content, begins))
            return None if kept else RefusalReason.TOO_MANY

        return take

    def add_temperature(self, record: Record, celsius: float) -> bool:
        """Keep a basal body temperature; False where there is no room."""
        return self._keep(record, _Entry(record.start.local_on(), TEMPERATURE_TYPE, celsius))

    def _keep(self, record: Record, entry: _Entry) -> bool:
        if self._count >= self._max_entries:
            return False
        self._by_source[record.source].add(entry)
        self._count += 1
        return True

    def items(self) -> Iterator[SummaryRecord]:
        """Every cycle, by source and start. Empties the buffer."""
        by_source, self._by_source, self._count = self._by_source, defaultdict(set), 0
        cycles = {source: _cycles(entries) for source, entries in by_source.items()}
        main = max(cycles, key=lambda source: len(cycles[source]), default=None)
        for source, entries in by_source.items():
            into = cycles[source] or (cycles[main] if main is not None else [])
            for entry in sorted(entries, key=_order):
                if not _note(into, entry) and entry.kind != TEMPERATURE_TYPE:
                    # A temperature is a timeseries all the same.
                    self._tally.leave_out(entry.kind, LeftOutReason.NO_CYCLE)
        for source, own in cycles.items():
            yield from (_summary(source, cycle) for cycle in own)


def _flag(text: str | None) -> bool | None:
    return True if text in _TRUE else False if text in _FALSE else None


def _order(entry: _Entry) -> tuple[date, str, str]:
    return (entry.on, entry.kind, str(entry.content))


def _cycles(entries: set[_Entry]) -> list[_Cycle]:
    """The cycles that a source's flow makes, in order, without their entries."""
    cycles: list[_Cycle] = []
    flows = sorted((entry for entry in entries if entry.kind == FLOW_TYPE), key=_order)
    for entry in flows:
        is_flow = entry.content != "none"
        last_on = cycles[-1].last_flow_on if cycles else None
        unmarked = entry.begins is None and is_flow and (last_on is None or (entry.on - last_on).days > _NEW_CYCLE_DAYS)
        begins = entry.begins or unmarked or (not cycles and is_flow)
        if begins and (not cycles or cycles[-1].start_on != entry.on):
            if cycles:
                cycles[-1].end_on = entry.on - timedelta(days=1)
            cycles.append(_Cycle(entry.on))
        if cycles and is_flow:
            cycles[-1].last_flow_on = entry.on
    return cycles


def _note(cycles: list[_Cycle], entry: _Entry) -> bool:
    """List the entry in the cycle it lies in; False where there is none, or no room."""
    for cycle in reversed(cycles):
        if cycle.start_on <= entry.on:
            shown: dict[str, JSONValue] = {"date": entry.on.isoformat()}
            if entry.kind == TEMPERATURE_TYPE:
                list_name, field_name = "basal_body_temperature", "value"
            else:
                rule = CYCLE_RULES[entry.kind]
                list_name, field_name = rule.list_name, rule.field_name or "protection_used"
            if entry.content is not None:
                shown[field_name] = entry.content
            listed = cycle.lists.setdefault(list_name, [])
            if len(listed) >= _LISTED_MAXIMUM:
                return False
            listed.append(shown)
            return True
    return False


def _summary(source: DataSource, cycle: _Cycle) -> SummaryRecord:
    fields: dict[str, JSONValue] = {"period_start": cycle.start_on.isoformat(), "is_predicted": False}
    if cycle.last_flow_on is not None:
        fields["period_end"] = cycle.last_flow_on.isoformat()
    if cycle.end_on is not None:
        fields["cycle_end"] = cycle.end_on.isoformat()
    fields.update(cycle.lists)
    return SummaryRecord(
        resource=RESOURCE,
        source=source,
        external_id=external_id(RESOURCE, source, cycle.start_on.isoformat()),
        calendar_date=cycle.start_on,
        starts_at=None,
        ends_at=None,
        timezone_offset_seconds=None,
        fields=fields,
    )
