"""Encoding: samples to the bytes of a block."""

import math
import zlib
from typing import Final

import numpy as np

from aggregation.codec.form import (
    DTYPES,
    FIRST,
    HEADER,
    INTEGERS,
    NAMES,
    RAW_FLOATS,
    TEXT,
    VERSION,
    BlockColumns,
    Column,
    Compressor,
    Floats,
    Ints,
    LabelColumn,
    packer,
)

#: Coarser units a time may be told in, in microseconds.
_TIME_UNITS_US: Final = (1_000_000, 1_000)
#: Decimal places tried for values, and the size from which products with 10^k may no longer be exact.
_DECIMALS: Final = (0, 1, 2, 3, 4)
_EXACT_BELOW: Final = 2.0**38
#: Shorter bodies gain nothing by compression.
_PACKED_FROM_BYTES: Final = 100
#: A body that compression leaves larger than this share of itself stays as it is: inflating it would be most of what a
#: read costs, and a block takes the whole page all the same.
_PACKED_SHARE_MAXIMUM: Final = 0.8
#: Fewer times are not worth a step.
_STEPS_FROM_SAMPLES: Final = 16


def block_encode(block: BlockColumns, compressor: Compressor = Compressor.ZSTD) -> bytes:
    """The block's bytes. ValueError for values that are not finite."""
    columns = [_times_piece(block.start_us)]
    if block.end_us is not None:
        columns.append(_piece(Column.END, _ints_packed(block.end_us - block.start_us, _TIME_UNITS_US)))
    if block.value is not None:
        if not np.isfinite(block.value).all():
            raise ValueError("A sample's value is not a finite number.")
        columns.append(_piece(Column.VALUE, _floats_packed(block.value)))
    columns.append(_piece(Column.OFFSET, _ints_packed(block.offset_seconds.astype(np.int64))))
    for column, labels in ((Column.TYPE, block.type), (Column.UNIT, block.unit)):
        if labels is not None:
            columns.append(_piece(column, _labels_packed(labels)))
    for name, extra in block.extra.items():
        if isinstance(extra, LabelColumn):
            columns.append(_piece(Column.EXTRA_LABELS, _text_packed(name) + _labels_packed(extra)))
        else:
            columns.append(_piece(Column.EXTRA_FLOATS, _text_packed(name) + _floats_packed(extra)))
    return _wrapped(b"".join(columns), len(columns), len(block), compressor)


def _wrapped(body: bytes, columns: int, samples: int, compressor: Compressor) -> bytes:
    stored = body
    if compressor is not Compressor.NONE and len(body) >= _PACKED_FROM_BYTES:
        stored = packer(compressor).compress(body, asbytes=True)
    if len(stored) >= len(body) * _PACKED_SHARE_MAXIMUM:
        stored, compressor = body, Compressor.NONE
    return HEADER.pack(VERSION, compressor, columns, 0, samples, len(body), zlib.crc32(stored)) + stored


def _piece(column: Column, packed: bytes) -> bytes:
    return bytes((column,)) + packed


def _ints_packed(values: Ints, units: tuple[int, ...] = ()) -> bytes:
    """Differences wrap around at 64 bits, here and on the way back, so no range is too wide."""
    if not len(values):
        return INTEGERS.pack(0, 0, 1)
    if len(values) == 1:
        return INTEGERS.pack(0, int(values[0]), 1)
    base = int(values.min())
    codes = (values - np.int64(base)).view(np.uint64)
    unit = next((unit for unit in units if not (codes % np.uint64(unit)).any()), 1)
    highest = int(codes.max()) // unit
    if highest == 0:
        return INTEGERS.pack(0, base, 1)
    if unit > 1:
        codes = codes // np.uint64(unit)
    width = next(width for width in DTYPES if highest < 1 << (8 * width))
    return INTEGERS.pack(width, base, unit) + codes.astype(DTYPES[width]).tobytes()


def _times_piece(times_us: Ints) -> bytes:
    """Jittered times are far apart by ever different distances, and close to even steps."""
    count = len(times_us)
    first = int(times_us[0]) if count else 0
    distances = np.diff(times_us)
    if count >= _STEPS_FROM_SAMPLES:
        spread = int(distances.max()) - int(distances.min())
        # In whole seconds, so that what is left is whole wherever the times are.
        step = round((int(times_us[-1]) - first) / (count - 1) / _TIME_UNITS_US[0]) * _TIME_UNITS_US[0]
        strayed = times_us - _even_steps(first, step, count)
        if int(strayed.max()) - int(strayed.min()) < spread:
            steps = FIRST.pack(first) + FIRST.pack(step)
            return _piece(Column.START_BY_STEPS, steps + _ints_packed(strayed, _TIME_UNITS_US))
    return _piece(Column.START, FIRST.pack(first) + _ints_packed(distances, _TIME_UNITS_US))


def _even_steps(first: int, step: int, count: int) -> Ints:
    return np.arange(count, dtype=np.int64) * np.int64(step) + np.int64(first)


def _floats_packed(values: Floats) -> bytes:
    decimals = _decimals(values)
    if decimals is None:
        return bytes((RAW_FLOATS,)) + values.astype("<f8").tobytes()
    return bytes((decimals,)) + _ints_packed(np.rint(values * 10.0**decimals).astype(np.int64))


def _decimals(values: Floats) -> int | None:
    """The least k for which value x 10^k is a whole number from which the value comes back to the bit."""
    if not len(values):
        return 0
    if len(values) == 1:
        return _decimals_of_one(float(values[0]))
    # False too where a value is NaN, as an extra column may hold.
    if not np.abs(values).max() < _EXACT_BELOW or (np.signbit(values) & (values == 0.0)).any():
        return None
    for decimals in _DECIMALS:
        factor = 10.0**decimals
        if values[0] == np.rint(values[0] * factor) / factor and (values == np.rint(values * factor) / factor).all():
            return decimals
    return None


def _decimals_of_one(value: float) -> int | None:
    """As `_decimals`, without arrays: live posts hold one sample."""
    if not abs(value) < _EXACT_BELOW or (value == 0.0 and math.copysign(1.0, value) < 0.0):
        return None
    return next((places for places in _DECIMALS if value == round(value * 10.0**places) / 10.0**places), None)


def _labels_packed(labels: LabelColumn) -> bytes:
    names = b"".join(_text_packed(name) for name in labels.names)
    return NAMES.pack(len(labels.names)) + names + _ints_packed(labels.codes.astype(np.int64))


def _text_packed(text: str) -> bytes:
    raw = text.encode()
    return TEXT.pack(len(raw)) + raw
