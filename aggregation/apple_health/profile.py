"""The Me element and the person's height as their profile.

Birth date, biological sex and wheelchair use have fields; blood type, skin type and medications have none.
"""

from collections.abc import Iterator
from datetime import date

from aggregation.apple_health.activity import ACTIVITY_SOURCE
from aggregation.apple_health.elements import Attributes
from aggregation.apple_health.instants import Instant, parse_day
from aggregation.apple_health.record import Record
from aggregation.apple_health.tally import ExportTally, LeftOutReason, RefusalReason
from aggregation.records import SummaryRecord
from healthsvc.kernel import clock
from healthsvc.kernel.typing import JSONValue

PREFIX = "HKCharacteristicTypeIdentifier"
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
                self._take_birth(kind, value)
            elif characteristic == "BiologicalSex":
                self._take(kind, "sex", _SEXES.get(value))
            elif characteristic == "WheelchairUse":
                # The API's field is true or not there.
                if self._take(kind, "wheelchair_use", _WHEELCHAIR.get(value)) is False:
                    del self._fields["wheelchair_use"]
            else:
                self._tally.leave_out(kind, LeftOutReason.NO_FIELD)

    def _take_birth(self, kind: str, value: str) -> None:
        birth_on = parse_day(value)
        latest = self._exported.local_on() if self._exported else clock.now().date()
        if birth_on is None:
            self._tally.refuse(kind, RefusalReason.BAD_DATE)
        elif not _FIRST_BIRTH_ON <= birth_on <= latest:
            self._tally.refuse(kind, RefusalReason.OUT_OF_RANGE)
        else:
            self._fields["birth_date"] = birth_on.isoformat()

    def _take(self, kind: str, field_name: str, value: str | bool | None) -> str | bool | None:
        if value is None:
            self._tally.refuse(kind, RefusalReason.BAD_VALUE)
        else:
            self._fields[field_name] = value
        return value

    def add_height(self, record: Record, centimetres: float) -> RefusalReason | None:
        """Keep the latest height."""
        if self._height is None or self._height[0] <= record.start.utc_us:
            self._height = (record.start.utc_us, centimetres)
        return None

    def items(self) -> Iterator[SummaryRecord]:
        """The profile, where anything is known. Empties the buffer."""
        fields, self._fields = self._fields, {}
        if self._height is not None:
            fields["height"] = round(self._height[1])
        if fields:
            yield SummaryRecord(
                resource="profile",
                source=ACTIVITY_SOURCE,
                external_id="profile",
                calendar_date=self._exported.local_on() if self._exported else clock.now().date(),
                starts_at=None,
                ends_at=None,
                timezone_offset_seconds=None,
                fields=fields,
            )
