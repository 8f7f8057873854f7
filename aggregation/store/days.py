"""The person's clock: floating local times of samples, with the fallback time zone where no offset came with them."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from aggregation.constants import LATEST_US, OFFSET_MAXIMUM_SECONDS
from aggregation.records import OFFSET_UNKNOWN

SECOND_US: Final = 1_000_000
DAY_US: Final = 86_400 * SECOND_US
#: Zones change their offset at whole quarters of an hour.
_QUARTER_US: Final = 900 * SECOND_US
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1)


def offsets_known(
    start_us: NDArray[np.int64], offset_seconds: NDArray[np.int32], fallback_time_zone: str | None
) -> NDArray[np.int64]:
    """Each sample's offset from UTC, seconds: its own, else that of the fallback zone at its time, else 0."""
    offsets = offset_seconds.astype(np.int64)
    unknown = offset_seconds == OFFSET_UNKNOWN
    if unknown.any():
        offsets[unknown] = _zone_offsets(start_us[unknown], fallback_time_zone) if fallback_time_zone else 0
    return offsets


def local_us(
    start_us: NDArray[np.int64], offset_seconds: NDArray[np.int32], fallback_time_zone: str | None
) -> NDArray[np.int64]:
    """The floating local time of each sample, microseconds since 1970-01-01T00:00 on the person's clock."""
    if len(offset_seconds) and offset_seconds[0] != OFFSET_UNKNOWN and (offset_seconds == offset_seconds[0]).all():
        return start_us + np.int64(int(offset_seconds[0]) * SECOND_US)
    return start_us + offsets_known(start_us, offset_seconds, fallback_time_zone) * SECOND_US


def _zone_offsets(start_us: NDArray[np.int64], time_zone: str) -> NDArray[np.int64]:
    zone = ZoneInfo(time_zone)
    quarters, place = np.unique(start_us // _QUARTER_US, return_inverse=True)
    found = [
        round((datetime.fromtimestamp(quarter * 900, UTC).astimezone(zone).utcoffset() or _NONE).total_seconds())
        for quarter in quarters.tolist()
    ]
    return np.array(found, np.int64)[place]


_NONE: Final = _EPOCH - _EPOCH


def us_of_instant(moment: datetime) -> int:
    """Microseconds since 1970 of an aware instant, exact."""
    return (moment - _EPOCH) // (datetime.resolution)


def instant_of_us(at_us: int) -> datetime:
    """The UTC instant of microseconds since 1970."""
    return _EPOCH + at_us * datetime.resolution


def us_of_day(day: date) -> int:
    """Floating local microseconds at which a day begins."""
    return (day - _EPOCH_DAY).days * DAY_US


@dataclass(frozen=True, slots=True)
class Moment:
    """A time in microseconds since 1970: on the person's own clock where `local`, else in UTC."""

    us: int
    local: bool


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time, both ends included; without an end it goes on for ever."""

    start: Moment
    end: Moment

    def utc_bounds_us(self) -> tuple[int, int]:
        """UTC times between which everything in the window lies, whatever its offset."""
        slack_us = OFFSET_MAXIMUM_SECONDS * SECOND_US
        first_us = self.start.us - (slack_us if self.start.local else 0)
        last_us = self.end.us + (slack_us if self.end.local else 0)
        return first_us, last_us

    def holds(
        self, start_us: NDArray[np.int64], offset_seconds: NDArray[np.int32], fallback_time_zone: str | None
    ) -> NDArray[np.bool_]:
        """Which samples begin in the window."""
        local = start_us
        if self.start.local or self.end.local:
            local = local_us(start_us, offset_seconds, fallback_time_zone)
        begun: NDArray[np.bool_] = (local if self.start.local else start_us) >= self.start.us
        return begun & ((local if self.end.local else start_us) <= self.end.us)


FOREVER: Final = Moment(LATEST_US, local=False)
