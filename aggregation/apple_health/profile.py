"""The Me element and the person's height as their profile.

Birth date, biological sex and wheelchair use have fields; blood type, skin type and medications have none.
"""

from collections.abc import Iterator
from datetime import date

from aggregation.apple_health.activity import ACTIVITY_SOURCE
from aggregation.apple_health.elements import Attributes
from aggregation.apple_health.instants import Instant, parse_day
from aggregation.apple_health.raw import element_raw
from aggregation.apple_health.record import Record
from aggregation.apple_health.tally import ExportTally, LeftOutReason, RefusalReason
from aggregation.catalogue import PROFILE
from aggregation.records import SummaryRecord
from healthsvc.kernel import clock
from healthsvc.kernel.typing import JSONObject, JSONValue

RESOURCE = PROFILE.slug
PREFIX = "HKCharacteristicTypeIdentifier"
_HEIGHT_TYPE = "HKQuantityTypeIdentifierHeight"
_SEXES = {"HKBiologicalSexFemale": "female", "HKBiologicalSexMale": "male", "HKBiologicalSexOther": "other"}
_WHEELCHAIR = {"HKWheelchairUseYes": True, "Yes": True, "HKWheelchairUseNo": False, "No": False}
_FIRST_BIRTH_ON = date(1880, 1, 1)


class ProfileBuffer:
    """What the export says of the person, until it ends."""

    def __init__(self, tally: ExportTally) -> None:
        self._tally = tally
        self._exported: Instant | None = None
        self._height: tuple[int, float] | None = None
        self._fields: dict[str, JSONValue] = {}
        #: The characteristics that have a field, as the export has them, and the record of the height.
        self._characteristics: dict[str, JSONValue] = {}
        self._height_raw: JSONObject | None = None

    def set_exported(self, at: Instant | None) -> None:
        """Keep when the export was made: a profile has no day of its own."""
        self._exported = at or self._exported

    def add_characteristics(self, attributes: Attributes) -> None:
        """Keep what has a field; the rest of what is set is left out, by name."""
        for name, value in attributes.items():
            kind = self._tally.kind(name)
            if not value or value.endswith("NotSet"):
                continue
            self._tally.read[kind] += 1
            characteristic = name.removeprefix(PREFIX)
            if characteristic == "DateOfBirth":
                problem = self._take_birth(value)
            elif characteristic == "BiologicalSex":
                problem = self._take("sex", _SEXES.get(value))
            elif characteristic == "WheelchairUse":
                problem = self._take("wheelchair_use", _WHEELCHAIR.get(value))
            else:
                self._tally.leave_out(kind, LeftOutReason.NO_FIELD)
                continue
            if problem is None:
                self._characteristics[name] = value
            else:
                self._tally.refuse(kind, problem)

    def _take_birth(self, value: str) -> RefusalReason | None:
        birth_on = parse_day(value)
        latest = self._exported.local_on() if self._exported else clock.now().date()
        if birth_on is None:
            return RefusalReason.BAD_DATE
        if not _FIRST_BIRTH_ON <= birth_on <= latest:
            return RefusalReason.OUT_OF_RANGE
        self._fields["birth_date"] = birth_on.isoformat()
        return None

    def _take(self, field_name: str, value: str | bool | None) -> RefusalReason | None:
        """Keep what is true; the API's wheelchair use is true or not there."""
        if value is None:
            return RefusalReason.BAD_VALUE
        if value:
            self._fields[field_name] = value
        else:
            self._fields.pop(field_name, None)
        return None

    def add_height(self, record: Record, centimetres: float) -> bool:
        """Keep the latest height."""
        if self._height is None or self._height[0] <= record.start.utc_us:
            self._height = (record.start.utc_us, centimetres)
            self._height_raw = element_raw(record.attributes, record.children)
        return True

    def items(self) -> Iterator[SummaryRecord]:
        """The profile, where anything is known. Empties the buffer."""
        fields, self._fields = self._fields, {}
        if self._height is not None:
            fields["height"] = round(self._height[1])
        raw: dict[str, JSONValue] = {"Me": self._characteristics} if self._characteristics else {}
        if self._height_raw is not None:
            raw[_HEIGHT_TYPE] = self._height_raw
        if fields:
            yield SummaryRecord(
                resource=RESOURCE,
                source=ACTIVITY_SOURCE,
                external_id="profile",
                calendar_date=self._exported.local_on() if self._exported else clock.now().date(),
                starts_at=None,
                ends_at=None,
                timezone_offset_seconds=None,
                fields=fields,
                raw=raw or None,
            )
