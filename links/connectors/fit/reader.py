"""A FIT file's bytes as numbers, in the units of FIT's profile; what is broken or beyond the bounds is refused.

The checksum is looked at first, so that what was cut off or garbled on its way never reaches the library. What a
vendor wrote wrong does, and the library then raises whatever it meets: all of that is one refusal.
"""

import io
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import fitdecode
import numpy as np
from numpy.typing import NDArray

from links.connectors.payload import MalformedError

#: A day at one record a second is 3 MB.
FILE_MAXIMUM_BYTES: Final = 20_000_000
#: Three days at one record a second; reading them takes half a minute, within a pull's lease.
MESSAGES_MAXIMUM: Final = 300_000
FIELDS_MAXIMUM: Final = 5_000_000

#: Epoch seconds at which FIT's own clock begins: 1989-12-31T00:00Z.
FIT_EPOCH_SECONDS: Final = 631_065_600
#: Times below count from when the device was switched on, and so tell no instant.
_FIT_TIME_SMALLEST: Final = 0x1000_0000

_HEADER_BYTES: Final = (12, 14)
_CHECKSUM_BYTES: Final = 2
_FILE_TYPE_ACTIVITY: Final = "activity"
#: What the library has been seen to raise where the bytes mean nothing.
_BROKEN: Final = (
    fitdecode.FitError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    struct.error,
)

Value: TypeAlias = float | str
Message: TypeAlias = Mapping[str, Value]

#: Fields of `record` messages that are read.
RECORD_FIELDS: Final = frozenset(
    (
        "timestamp",
        "position_lat",
        "position_long",
        "altitude",
        "enhanced_altitude",
        "heart_rate",
        "cadence",
        "fractional_cadence",
        "distance",
        "speed",
        "enhanced_speed",
        "power",
        "resistance",
        "temperature",
    )
)


@dataclass(frozen=True, slots=True)
class FitActivity:
    """One recorded workout. `seconds` are instants by FIT's clock, ascending; the columns are as long, NaN for none."""

    sessions: tuple[Message, ...]
    activity: Message
    seconds: NDArray[np.int64]
    columns: Mapping[str, NDArray[np.float64]]


@dataclass(slots=True)
class _Gathered:
    sessions: list[Message] = field(default_factory=list)
    activity: Message = field(default_factory=dict)
    seconds: list[int] = field(default_factory=list)
    columns: dict[str, list[float]] = field(default_factory=dict)


def activity_read(content: bytes) -> FitActivity:
    """The activity in a file. MalformedError, whose reason begins with `fit_`, where there is none that can be read."""
    sound = _sound(content)
    gathered = _Gathered()
    try:
        for frame in _frames(sound):
            _take(gathered, frame)
    except _BROKEN as error:
        raise MalformedError("fit_malformed") from error
    if not gathered.sessions and not gathered.seconds:
        raise MalformedError("fit_empty")
    return _arranged(gathered)


def _sound(content: bytes) -> bytes:
    """The file's own bytes, whole and as they were written."""
    if len(content) > FILE_MAXIMUM_BYTES:
        raise MalformedError("fit_too_large")
    if len(content) < min(_HEADER_BYTES) or content[0] not in _HEADER_BYTES or content[8:12] != b".FIT":
        raise MalformedError("fit_not_a_file")
    size = content[0] + int.from_bytes(content[4:8], "little")
    if len(content) < size + _CHECKSUM_BYTES:
        raise MalformedError("fit_truncated")
    if _checksum(content[:size]) != int.from_bytes(content[size : size + _CHECKSUM_BYTES], "little"):
        raise MalformedError("fit_bad_checksum")
    return content[: size + _CHECKSUM_BYTES]


def _frames(content: bytes) -> Iterator[fitdecode.FitDataMessage]:
    messages = fields = 0
    with fitdecode.FitReader(
        io.BytesIO(content),
        # Values as numbers, without the library's dates, which have no offset.
        processor=fitdecode.DataProcessorBase(),
        check_crc=fitdecode.CrcCheck.DISABLED,
        error_handling=fitdecode.ErrorHandling.IGNORE,
    ) as reader:
        for frame in reader:
            if frame.frame_type not in (fitdecode.FIT_FRAME_DATA, fitdecode.FIT_FRAME_DEFINITION):
                continue
            messages += 1
            fields += 1 if frame.frame_type == fitdecode.FIT_FRAME_DEFINITION else len(frame.fields)
            if messages > MESSAGES_MAXIMUM or fields > FIELDS_MAXIMUM:
                raise MalformedError("fit_too_many_messages")
            if frame.frame_type == fitdecode.FIT_FRAME_DATA:
                yield frame


def _take(gathered: _Gathered, frame: fitdecode.FitDataMessage) -> None:
    if frame.name == "record":
        _take_record(gathered, frame)
    elif frame.name == "session":
        gathered.sessions.append(_values(frame))
    elif frame.name == "activity":
        gathered.activity = _values(frame)
    elif frame.name == "file_id":
        kind = _values(frame).get("type", _FILE_TYPE_ACTIVITY)
        if kind != _FILE_TYPE_ACTIVITY:
            raise MalformedError("fit_no_activity")


def _values(frame: fitdecode.FitDataMessage) -> Message:
    """A message's numbers and words; lists and what an app of its own added are left out."""
    return {
        one.name: one.value
        for one in frame.fields
        if isinstance(one.value, int | float | str) and not _is_foreign(one) and _finite(one.value)
    }


def _take_record(gathered: _Gathered, frame: fitdecode.FitDataMessage) -> None:
    """One moment. What several messages tell of one second is told together."""
    values = {name: value for name, value in _values(frame).items() if name in RECORD_FIELDS}
    at = values.pop("timestamp", None)
    if at is None or isinstance(at, str) or at < _FIT_TIME_SMALLEST:
        return
    if not gathered.seconds or gathered.seconds[-1] != int(at):
        for column in gathered.columns.values():
            column.append(np.nan)
        gathered.seconds.append(int(at))
    for name, value in values.items():
        if isinstance(value, str):
            continue
        if name not in gathered.columns:
            gathered.columns[name] = [np.nan] * len(gathered.seconds)
        gathered.columns[name][-1] = float(value)


def _arranged(gathered: _Gathered) -> FitActivity:
    """In the order of time; of two moments of one second that lie apart, the later written."""
    seconds = np.array(gathered.seconds, dtype=np.int64)
    _, from_end = np.unique(seconds[::-1], return_index=True)
    rows = len(seconds) - 1 - from_end
    return FitActivity(
        sessions=tuple(gathered.sessions),
        activity=gathered.activity,
        seconds=seconds[rows],
        columns={name: np.array(column, dtype=np.float64)[rows] for name, column in gathered.columns.items()},
    )


def _is_foreign(one: fitdecode.types.FieldData) -> bool:
    """Whether a field is of a developer's own, whatever it calls it."""
    return one.field_def is not None and bool(one.field_def.is_dev)


def _finite(value: Value) -> bool:
    return isinstance(value, str) or bool(np.isfinite(value))


def _table() -> tuple[int, ...]:
    found = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0xA001 if crc & 1 else 0)
        found.append(crc)
    return tuple(found)


_CRC: Final = _table()


def _checksum(content: bytes) -> int:
    """FIT's CRC of 16 bits (the polynomial 0x8005, reflected)."""
    crc = 0
    for byte in content:
        crc = (crc >> 8) ^ _CRC[(crc ^ byte) & 0xFF]
    return crc
