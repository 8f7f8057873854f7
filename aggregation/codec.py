"""The stored form of a block of samples: each column as narrow as it can be without loss, then compressed.

Version 1, little-endian. Header, 16 bytes: version, compressor, number of columns, zero, number of samples,
length of the body inflated, CRC-32 of the body as stored. The inflated body is one column after another: an id,
and what the id's kind needs. A column that is not there is None. Extra columns carry their name in front.

Integers: `base + unit * code`, codes of 0 (all equal), 1, 2, 4 or 8 bytes. Times: the first, then the distances
between neighbours as integers, in whole seconds or milliseconds where they are. Floats: value x 10^k as integers
where that is exact to the bit (so never with -0.0), else as they are. Texts: a dictionary and codes.
"""

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

VERSION: Final = 1
_HEADER: Final = struct.Struct("<BBBBIII")
_INTEGERS: Final = struct.Struct("<BqQ")
_DTYPES: Final = {1: "<u1", 2: "<u2", 4: "<u4", 8: "<u8"}
#: Coarser units a time may be told in, in microseconds.
_TIME_UNITS_US: Final = (1_000_000, 1_000)
#: Decimal places tried for values, and the size from which products with 10^k may no longer be exact.
_DECIMALS: Final = (0, 1, 2, 3, 4)
_EXACT_BELOW: Final = 2.0**38
_RAW_FLOATS: Final = 255

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


class Compressor(IntEnum):
    """How the body is packed; zstd is half the size of lz4, lz4 inflates in half the time."""

    NONE = 0
    ZSTD = 1
    LZ4 = 2


class _Column(IntEnum):
    START = 1
    END = 2
    VALUE = 3
    OFFSET = 4
    TYPE = 5
    UNIT = 6
    EXTRA_FLOATS = 7
    EXTRA_LABELS = 8


class BlockDamagedError(Exception):
    """The bytes are no block of a version known here, or not as they were written."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelColumn:
    """Texts of many samples: `codes` are positions in `names`, -1 where a sample has none."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]


ExtraColumn: TypeAlias = Floats | LabelColumn


@dataclass(frozen=True, slots=True, eq=False)
class BlockColumns:
    """Samples as parallel arrays, in any order. Units and sentinels as in `aggregation.records.SampleColumns`.

    `value` is None for resources without one. `unit` names each sample's own unit where it is not the resource's.
    `extra` holds a resource's own fields; there, and only there, NaN means that a sample has none.
    """

    start_us: Ints
    offset_seconds: NDArray[np.int32]
    value: Floats | None = None
    end_us: Ints | None = None
    type: LabelColumn | None = None
    unit: LabelColumn | None = None
    extra: Mapping[str, ExtraColumn] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.start_us)


def block_encode(block: BlockColumns, compressor: Compressor = Compressor.ZSTD) -> bytes:
    """The block's bytes. ValueError for values that are not finite."""
    columns = [_piece(_Column.START, _times_packed(block.start_us))]
    if block.end_us is not None:
        columns.append(_piece(_Column.END, _ints_packed(block.end_us - block.start_us, _TIME_UNITS_US)))
    if block.value is not None:
        if not np.isfinite(block.value).all():
            raise ValueError("A sample's value is not a finite number.")
        columns.append(_piece(_Column.VALUE, _floats_packed(block.value)))
    columns.append(_piece(_Column.OFFSET, _ints_packed(block.offset_seconds.astype(np.int64))))
    for column, labels in ((_Column.TYPE, block.type), (_Column.UNIT, block.unit)):
        if labels is not None:
            columns.append(_piece(column, _labels_packed(labels)))
    for name, extra in block.extra.items():
        if isinstance(extra, LabelColumn):
            columns.append(_piece(_Column.EXTRA_LABELS, _text_packed(name) + _labels_packed(extra)))
        else:
            columns.append(_piece(_Column.EXTRA_FLOATS, _text_packed(name) + _floats_packed(extra)))
    return _wrapped(b"".join(columns), len(columns), len(block), compressor)


def _wrapped(body: bytes, columns: int, samples: int, compressor: Compressor) -> bytes:
    stored = body if compressor is Compressor.NONE else _packer(compressor).compress(body, asbytes=True)
    if len(stored) >= len(body):
        stored, compressor = body, Compressor.NONE
    return _HEADER.pack(VERSION, compressor, columns, 0, samples, len(body), zlib.crc32(stored)) + stored


@lru_cache(maxsize=4)
def _packer(compressor: Compressor) -> pa.Codec:
    return pa.Codec("zstd", compression_level=1) if compressor is Compressor.ZSTD else pa.Codec("lz4_raw")


def _piece(column: _Column, packed: bytes) -> bytes:
    return bytes((column,)) + packed


def _ints_packed(values: Ints, units: tuple[int, ...] = ()) -> bytes:
    """Differences wrap around at 64 bits, here and on the way back, so no range is too wide."""
    if not len(values):
        return _INTEGERS.pack(0, 0, 1)
    base = int(values.min())
    codes = (values - np.int64(base)).view(np.uint64)
    unit = next((unit for unit in units if not (codes % np.uint64(unit)).any()), 1)
    highest = int(codes.max()) // unit
    if highest == 0:
        return _INTEGERS.pack(0, base, 1)
    if unit > 1:
        codes = codes // np.uint64(unit)
    width = next(width for width in _DTYPES if highest < 1 << (8 * width))
    return _INTEGERS.pack(width, base, unit) + codes.astype(_DTYPES[width]).tobytes()


def _times_packed(times_us: Ints) -> bytes:
    first = int(times_us[0]) if len(times_us) else 0
    return struct.pack("<q", first) + _ints_packed(np.diff(times_us), _TIME_UNITS_US)


def _floats_packed(values: Floats) -> bytes:
    decimals = _decimals(values)
    if decimals is None:
        return bytes((_RAW_FLOATS,)) + values.astype("<f8").tobytes()
    return bytes((decimals,)) + _ints_packed(np.rint(values * 10.0**decimals).astype(np.int64))


def _decimals(values: Floats) -> int | None:
    """The least k for which value x 10^k is a whole number from which the value comes back to the bit."""
    if not len(values):
        return 0
    # False too where a value is NaN, as an extra column may hold.
    if not np.abs(values).max() < _EXACT_BELOW or (np.signbit(values) & (values == 0.0)).any():
        return None
    for decimals in _DECIMALS:
        factor = 10.0**decimals
        if values[0] == np.rint(values[0] * factor) / factor and (values == np.rint(values * factor) / factor).all():
            return decimals
    return None


def _labels_packed(labels: LabelColumn) -> bytes:
    names = b"".join(_text_packed(name) for name in labels.names)
    return struct.pack("<H", len(labels.names)) + names + _ints_packed(labels.codes.astype(np.int64))


def _text_packed(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<H", len(raw)) + raw


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """What the first bytes of a block say."""

    version: int
    compressor: Compressor
    columns: int
    samples: int
    body_bytes: int
    checksum: int


def block_header(data: bytes) -> BlockHeader:
    """The header of a block; BlockDamagedError where there is none that this code reads."""
    try:
        version, compressor, columns, _zero, samples, body_bytes, checksum = _HEADER.unpack_from(data)
        header = BlockHeader(version, Compressor(compressor), columns, samples, body_bytes, checksum)
    except (struct.error, ValueError) as error:
        raise BlockDamagedError("A block has no readable header.") from error
    if version != VERSION:
        raise BlockDamagedError("A block is of a version that is not known here.")
    return header


def block_decode(data: bytes) -> BlockColumns:
    """The samples as they were encoded. BlockDamagedError where the bytes were cut or changed."""
    header = block_header(data)
    stored = memoryview(data)[_HEADER.size :]
    if zlib.crc32(stored) != header.checksum:
        raise BlockDamagedError("A block's bytes are not those that were written.")
    if header.compressor is Compressor.NONE:
        body = bytes(stored)
    else:
        body = _packer(header.compressor).decompress(stored, header.body_bytes, asbytes=True)
    return _Body(body, header.samples).columns(header.columns)


class _Body:
    """Walks over an inflated body."""

    def __init__(self, body: bytes, samples: int) -> None:
        self._body = body
        self._samples = samples
        self._at = 0

    def columns(self, count: int) -> BlockColumns:
        start_us = value = end_us = None
        offsets = np.zeros(0, np.int64)
        labels: dict[_Column, LabelColumn] = {}
        extra: dict[str, ExtraColumn] = {}
        for _ in range(count):
            column = _Column(self._byte())
            if column is _Column.START:
                start_us = self._times()
            elif column is _Column.END:
                end_us = self._ints(self._samples)
            elif column is _Column.VALUE:
                value = self._floats()
            elif column is _Column.OFFSET:
                offsets = self._ints(self._samples)
            elif column in (_Column.EXTRA_FLOATS, _Column.EXTRA_LABELS):
                name = self._text()
                extra[name] = self._floats() if column is _Column.EXTRA_FLOATS else self._labels()
            else:
                labels[column] = self._labels()
        if start_us is None or self._at != len(self._body):
            raise BlockDamagedError("A block's columns do not add up.")
        return BlockColumns(
            start_us=start_us,
            offset_seconds=offsets.astype(np.int32),
            value=value,
            end_us=None if end_us is None else start_us + end_us,
            type=labels.get(_Column.TYPE),
            unit=labels.get(_Column.UNIT),
            extra=extra,
        )

    def _byte(self) -> int:
        self._at += 1
        return self._body[self._at - 1]

    def _ints(self, count: int) -> Ints:
        width, base, unit = _INTEGERS.unpack_from(self._body, self._at)
        self._at += _INTEGERS.size
        if width == 0:
            return np.full(count, base, np.int64)
        codes = np.frombuffer(self._body, _DTYPES[width], count, self._at).astype(np.uint64)
        self._at += width * count
        if unit > 1:
            codes *= np.uint64(unit)
        return codes.view(np.int64) + np.int64(base)

    def _times(self) -> Ints:
        (first,) = struct.unpack_from("<q", self._body, self._at)
        self._at += 8
        steps = self._ints(max(0, self._samples - 1))
        times = np.empty(self._samples, np.int64)
        if self._samples:
            times[0] = first
            times[1:] = steps
            np.cumsum(times, out=times)
        return times

    def _floats(self) -> Floats:
        decimals = self._byte()
        if decimals == _RAW_FLOATS:
            values = np.frombuffer(self._body, "<f8", self._samples, self._at).astype(np.float64)
            self._at += 8 * self._samples
            return values
        return self._ints(self._samples) / 10.0**decimals

    def _text(self) -> str:
        (length,) = struct.unpack_from("<H", self._body, self._at)
        self._at += 2 + length
        return self._body[self._at - length : self._at].decode()

    def _labels(self) -> LabelColumn:
        (count,) = struct.unpack_from("<H", self._body, self._at)
        self._at += 2
        names = tuple(self._text() for _ in range(count))
        return LabelColumn(self._ints(self._samples).astype(np.int32), names)
