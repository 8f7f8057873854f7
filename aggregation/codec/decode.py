"""Decoding: the bytes of blocks to samples, many blocks at once."""

import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from aggregation.codec.form import (
    DTYPES,
    FIRST,
    HEADER,
    INTEGERS,
    NAMES,
    NAMES_FIRST_VERSION,
    RAW_FLOATS,
    TEXT,
    BlockColumns,
    BlockDamagedError,
    BlockHeader,
    Column,
    Compressor,
    Floats,
    Ints,
    LabelColumn,
    block_header,
    packer,
)
from aggregation.codec.sheet import Sheet

_FLOAT: Final = np.dtype("<f8")
#: What comes before the codes of times by steps, and before those of values: see `form`.
_STEPS_HEAD: Final = struct.Struct("<BqqBqQ")
_VALUES_HEAD: Final = struct.Struct("<BBBqQ")
_OFFSETS_HEAD: Final = struct.Struct("<BBqQ")
_NARROW: Final = (1, 2, 4)
#: Plain numbers, for the loop that every block goes through.
_START, _VALUE, _OFFSET = int(Column.START), int(Column.VALUE), int(Column.OFFSET)
_START_BY_STEPS: Final = int(Column.START_BY_STEPS)
_USUAL_COLUMNS: Final = 3
#: Blocks that are inflated together: a call of zstd makes a context, which costs more than to inflate a day of minutes.
_INFLATED_AT_ONCE: Final = 64


def _pages_keep() -> None:
    """Have the memory of large arrays stay with the process from one query to the next.

    glibc hands it back at every free until it has freed one larger piece, and fresh pages cost more than all of
    decoding (a year of minutes: 8 ms against 0.3). This piece is never touched, so it costs nothing itself; a process
    keeps 64 MB more at most.
    """
    np.empty(31 << 20, np.uint8)


_pages_keep()


def block_decode(data: bytes) -> BlockColumns:
    """The samples as they were encoded. BlockDamagedError where the bytes were cut or changed."""
    return blocks_decode([data])


def blocks_decode(parts: Sequence[bytes | BlockColumns]) -> BlockColumns:
    """The samples of blocks, some of which may be decoded already, one below the other.

    A column that only some have is empty for the others; an end that is not there is the start. BlockDamagedError as
    in `block_decode`. About 20 microseconds a block of a day of minutes.
    """
    headers = [None if isinstance(part, BlockColumns) else block_header(part) for part in parts]
    sizes = [len(part) if header is None else header.samples for part, header in zip(parts, headers, strict=True)]
    sheet = Sheet(sum(sizes))
    waiting: list[tuple[slice, bytes, BlockHeader]] = []
    begin = 0
    for part, header, size in zip(parts, headers, sizes, strict=True):
        rows = slice(begin, begin + size)
        begin += size
        if isinstance(part, BlockColumns):
            sheet.put(rows, part)
        elif header is not None:
            waiting.append((rows, part, header))
            if len(waiting) == _INFLATED_AT_ONCE:
                _fill(sheet, waiting)
                waiting.clear()
    _fill(sheet, waiting)
    return sheet.block()


def _fill(sheet: Sheet, blocks: Sequence[tuple[slice, bytes, BlockHeader]]) -> None:
    """Inflate some blocks together, and write each to its rows."""
    bodies = _inflated([(data, header) for _, data, header in blocks])
    for (rows, _, header), (body, begin) in zip(blocks, bodies, strict=True):
        try:
            end = _usual(body, begin, sheet, rows) if header.columns == _USUAL_COLUMNS else None
            if end is None:
                end = _Body(body, begin, sheet, rows, header.version).decode(header.columns)
        except (ValueError, LookupError, struct.error) as error:
            raise BlockDamagedError("A block's columns do not add up.") from error
        if end != begin + header.body_bytes:
            raise BlockDamagedError("A block's columns do not add up.")


def _inflated(blocks: Sequence[tuple[bytes, BlockHeader]]) -> list[tuple[bytes, int]]:
    """Each block's body: bytes that hold it, and where in them it begins."""
    bodies: list[tuple[bytes, int]] = []
    frames: list[memoryview] = []
    framed: list[int] = []
    for place, (data, header) in enumerate(blocks):
        stored = memoryview(data)[HEADER.size :]
        if zlib.crc32(stored) != header.checksum:
            raise BlockDamagedError("A block's bytes are not those that were written.")
        bodies.append((data, HEADER.size))
        if header.compressor is Compressor.ZSTD:
            frames.append(stored)
            framed.append(place)
        elif header.compressor is Compressor.LZ4:
            bodies[-1] = (_unpacked(stored, header.compressor, header.body_bytes), 0)
    if frames:
        # Frames of zstd one after the other inflate as one.
        sizes = [blocks[place][1].body_bytes for place in framed]
        whole = _unpacked(b"".join(frames), Compressor.ZSTD, sum(sizes))
        begin = 0
        for place, size in zip(framed, sizes, strict=True):
            bodies[place] = (whole, begin)
            begin += size
    return bodies


def _unpacked(stored: bytes | memoryview, compressor: Compressor, size: int) -> bytes:
    try:
        return packer(compressor).decompress(stored, size, asbytes=True)
    except OSError as error:
        raise BlockDamagedError("A block does not inflate to what its header says.") from error


@lru_cache(maxsize=64)
def _even_steps(count: int, step: int) -> Ints:
    """How far each of some times is from the first where they are evenly apart. Not to be written to."""
    return np.arange(count, dtype=np.int64) * np.int64(step)


def _usual(body: bytes, at: int, sheet: Sheet, rows: slice) -> int | None:
    """Fill the rows of a block of times by steps, narrow values and one offset, as `_Body` would; where it ends.

    None, and only rows that will be filled again, where the block is another. A year has hundreds of these blocks, and
    walking over them column by column costs twice as much.
    """
    size = rows.stop - rows.start
    column, first, step, width, base, unit = _STEPS_HEAD.unpack_from(body, at)
    values_at = at + _STEPS_HEAD.size + width * size
    if column != _START_BY_STEPS or width not in _NARROW or len(body) < values_at + _VALUES_HEAD.size:
        return None
    value_column, decimals, value_width, value_base, _ = _VALUES_HEAD.unpack_from(body, values_at)
    offset_at = values_at + _VALUES_HEAD.size + value_width * size
    if value_column != _VALUE or decimals == RAW_FLOATS or value_width not in _NARROW:
        return None
    offset_column, offset_width, offset, _ = _OFFSETS_HEAD.unpack_from(body, offset_at)
    if offset_column != _OFFSET or offset_width != 0:
        return None
    times = sheet.start_us[rows]
    np.multiply(np.frombuffer(body, DTYPES[width], size, at + _STEPS_HEAD.size), np.int64(unit), out=times)
    times += _even_steps(size, step)
    times += first + base
    values = sheet.values(rows)
    codes = np.frombuffer(body, DTYPES[value_width], size, values_at + _VALUES_HEAD.size)
    np.add(codes, float(value_base), out=values)
    if decimals:
        values /= 10.0**decimals
    sheet.offset(rows, offset)
    return int(offset_at + _OFFSETS_HEAD.size)


class _Body:
    """Walks over the inflated body of one block and fills its rows of a sheet."""

    def __init__(self, body: bytes, begin: int, sheet: Sheet, rows: slice, version: int) -> None:
        self._body = body
        self._at = begin
        self._sheet = sheet
        self._rows = rows
        self._samples: int = rows.stop - rows.start
        self._names = NAMES_FIRST_VERSION if version == 1 else NAMES

    def decode(self, count: int) -> int:
        """Fill every column of the block; where the body ends."""
        sheet, rows = self._sheet, self._rows
        seen = 0
        for _ in range(count):
            column = self._body[self._at]
            self._at += 1
            seen |= 1 << column
            if column == _START_BY_STEPS:
                self._steps_into(sheet.start_us[rows])
            elif column == _START:
                self._times_into(sheet.start_us[rows])
            elif column == _VALUE:
                self._floats_into(sheet.values(rows))
            elif column == _OFFSET:
                self._offsets()
            else:
                self._rarer(column)
        if not seen & 1 << _OFFSET or not seen & (1 << _START | 1 << _START_BY_STEPS):
            raise BlockDamagedError("A block has no times.")
        return self._at

    def _rarer(self, column: int) -> None:
        sheet, rows = self._sheet, self._rows
        if column == Column.END:
            ends = sheet.ends(rows)
            self._ints_into(ends)
            ends += sheet.start_us[rows]
        elif column == Column.EXTRA_FLOATS:
            self._floats_into(sheet.floats(self._text(), rows))
        elif column == Column.EXTRA_LABELS:
            sheet.extra_labels(self._text(), rows, self._labels())
        else:
            sheet.labels(Column(column), rows, self._labels())

    def _codes(self, width: int, count: int) -> NDArray[np.unsignedinteger]:
        codes = np.frombuffer(self._body, DTYPES[width], count, self._at)
        self._at += width * count
        return codes

    def _ints_into(self, out: Ints) -> None:
        width, base, unit = INTEGERS.unpack_from(self._body, self._at)
        self._at += INTEGERS.size
        if width == 0:
            out[:] = base
            return
        codes = self._codes(width, len(out))
        if width == 8:
            # Differences of 64 bits wrap around, and back here.
            out[:] = (codes * np.uint64(unit)).view(np.int64)
        elif unit > 1:
            np.multiply(codes, np.int64(unit), out=out)
        else:
            out[:] = codes
        if base:
            out += base

    def _offsets(self) -> None:
        width, base, _unit = INTEGERS.unpack_from(self._body, self._at)
        self._at += INTEGERS.size
        if width == 0:
            self._sheet.offset(self._rows, base)
        else:
            self._sheet.offsets(self._rows, self._codes(width, self._samples).astype(np.int64) + base)

    def _times_into(self, out: Ints) -> None:
        (first,) = FIRST.unpack_from(self._body, self._at)
        self._at += FIRST.size
        self._ints_into(out[1:])
        if len(out):
            out[0] = first
            np.add.accumulate(out, out=out)

    def _steps_into(self, out: Ints) -> None:
        (first,) = FIRST.unpack_from(self._body, self._at)
        (step,) = FIRST.unpack_from(self._body, self._at + FIRST.size)
        self._at += 2 * FIRST.size
        self._ints_into(out)
        out += _even_steps(len(out), step)
        out += first

    def _floats_into(self, out: Floats) -> None:
        decimals = self._body[self._at]
        self._at += 1
        if decimals == RAW_FLOATS:
            out[:] = np.frombuffer(self._body, _FLOAT, len(out), self._at)
            self._at += 8 * len(out)
            return
        width, base, _unit = INTEGERS.unpack_from(self._body, self._at)
        self._at += INTEGERS.size
        # Whole numbers below 2^53, all of them: exact as floats too.
        if width == 0:
            out[:] = base
        else:
            np.add(self._codes(width, len(out)), float(base), out=out)
        if decimals:
            out /= 10.0**decimals

    def _text(self) -> str:
        (length,) = TEXT.unpack_from(self._body, self._at)
        self._at += TEXT.size + length
        return self._body[self._at - length : self._at].decode()

    def _labels(self) -> LabelColumn:
        (count,) = self._names.unpack_from(self._body, self._at)
        self._at += self._names.size
        names = tuple(self._text() for _ in range(count))
        codes = np.empty(self._samples, np.int64)
        self._ints_into(codes)
        if len(codes) and not -1 <= int(codes.min()) <= int(codes.max()) < count:
            raise BlockDamagedError("A block has labels without a text.")
        return LabelColumn(codes.astype(np.int32), names)
