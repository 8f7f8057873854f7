"""FIT files as devices write them: a header, messages each defined before its first, and checksums.

Written by hand, for the library that reads them here can't write; what one hand writes and another reads is also the
better test. Only what activity files hold is known. Source: Garmin's FIT protocol and its public profile.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

#: Epoch seconds at which FIT's own clock begins: 1989-12-31T00:00Z.
FIT_EPOCH_SECONDS: Final = 631_065_600
_PROTOCOL, _PROFILE = 0x20, 21_158
_DEFINITION: Final = 0x40

#: Base type → its number, the format of `struct`, and what stands for "not measured".
_ENUM, _S8, _U8, _U16, _S32, _U32, _U32Z = (
    (0x00, "B", 0xFF),
    (0x01, "b", 0x7F),
    (0x02, "B", 0xFF),
    (0x84, "H", 0xFFFF),
    (0x85, "i", 0x7FFFFFFF),
    (0x86, "I", 0xFFFFFFFF),
    (0x8C, "I", 0),
)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message: written as `(value + offset) * scale`."""

    number: int
    base: tuple[int, str, int]
    scale: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Message:
    """A kind of message and the fields of it that are written here."""

    number: int
    fields: Mapping[str, Field]


_TIMESTAMP: Final = Field(253, _U32)
FILE_ID: Final = Message(
    0,
    {
        "type": Field(0, _ENUM),
        "manufacturer": Field(1, _U16),
        "product": Field(2, _U16),
        "serial_number": Field(3, _U32Z),
        "time_created": Field(4, _U32),
    },
)
RECORD: Final = Message(
    20,
    {
        "timestamp": _TIMESTAMP,
        "position_lat": Field(0, _S32),
        "position_long": Field(1, _S32),
        "altitude": Field(2, _U16, 5.0, 500.0),
        "heart_rate": Field(3, _U8),
        "cadence": Field(4, _U8),
        "distance": Field(5, _U32, 100.0),
        "speed": Field(6, _U16, 1000.0),
        "power": Field(7, _U16),
        "temperature": Field(13, _S8),
    },
)
SESSION: Final = Message(
    18,
    {
        "timestamp": _TIMESTAMP,
        "event": Field(0, _ENUM),
        "event_type": Field(1, _ENUM),
        "start_time": Field(2, _U32),
        "sport": Field(5, _ENUM),
        "sub_sport": Field(6, _ENUM),
        "total_elapsed_time": Field(7, _U32, 1000.0),
        "total_timer_time": Field(8, _U32, 1000.0),
        "total_distance": Field(9, _U32, 100.0),
        "total_calories": Field(11, _U16),
        "avg_speed": Field(14, _U16, 1000.0),
        "max_speed": Field(15, _U16, 1000.0),
        "avg_heart_rate": Field(16, _U8),
        "max_heart_rate": Field(17, _U8),
        "avg_power": Field(20, _U16),
        "max_power": Field(21, _U16),
        "total_ascent": Field(22, _U16),
        "normalized_power": Field(34, _U16),
        "max_altitude": Field(50, _U16, 5.0, 500.0),
        "min_altitude": Field(71, _U16, 5.0, 500.0),
    },
)
ACTIVITY: Final = Message(
    34,
    {
        "timestamp": _TIMESTAMP,
        "total_timer_time": Field(0, _U32, 1000.0),
        "num_sessions": Field(1, _U16),
        "type": Field(2, _ENUM),
        "event": Field(3, _ENUM),
        "event_type": Field(4, _ENUM),
        "local_timestamp": Field(5, _U32),
    },
)


class FitWriter:
    """Messages in the order they are written. A value that is left out is written as not measured."""

    def __init__(self) -> None:
        self._body = bytearray()
        self._defined: dict[int, tuple[int, tuple[str, ...]]] = {}

    def write(self, message: Message, values: Mapping[str, float | None]) -> None:
        """One message; its definition goes before the first of its kind, and where the fields are others."""
        names = tuple(name for name in message.fields if name in values)
        local, defined = self._defined.get(message.number, (len(self._defined), ()))
        if defined != names:
            self._defined[message.number] = (local, names)
            self._body += _definition(local, message, names)
        self._body += bytes((local,))
        for name in names:
            field = message.fields[name]
            self._body += struct.pack("<" + field.base[1], _stored(field, values[name]))

    def file(self) -> bytes:
        """The whole file."""
        head = struct.pack("<BBHI4s", 14, _PROTOCOL, _PROFILE, len(self._body), b".FIT")
        content = head + struct.pack("<H", checksum(head)) + bytes(self._body)
        return content + struct.pack("<H", checksum(content))


def fit_time(instant: float) -> int:
    """Epoch seconds by FIT's clock."""
    return int(instant) - FIT_EPOCH_SECONDS


def semicircles(degrees: float) -> int:
    """Degrees as FIT writes places: 2^31 are half a circle."""
    return round(degrees * 2**31 / 180)


def checksum(content: bytes | Sequence[int]) -> int:
    """FIT's CRC of 16 bits, by half bytes."""
    crc = 0
    for byte in content:
        for nibble in (byte & 0xF, byte >> 4):
            crc = (crc >> 4) ^ _CRC[crc & 0xF] ^ _CRC[nibble]
    return crc


_CRC: Final = (
    *(0x0000, 0xCC01, 0xD801, 0x1400, 0xF001, 0x3C00, 0x2800, 0xE401),
    *(0xA001, 0x6C00, 0x7800, 0xB401, 0x5000, 0x9C01, 0x8801, 0x4400),
)


def _definition(local: int, message: Message, names: Sequence[str]) -> bytes:
    written = struct.pack("<BBBHB", _DEFINITION | local, 0, 0, message.number, len(names))
    for name in names:
        field = message.fields[name]
        written += bytes((field.number, struct.calcsize("<" + field.base[1]), field.base[0]))
    return written


def _stored(field: Field, value: float | None) -> int:
    return field.base[2] if value is None else round((value + field.offset) * field.scale)
