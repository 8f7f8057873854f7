"""The stored form of a block of samples: each column as narrow as it can be without loss, then compressed.

Version 2, little-endian. Header, 16 bytes: version, compressor, number of columns, zero, number of samples,
length of the body inflated, CRC-32 of the body as stored. The inflated body is one column after another: an id,
and what the id's kind needs. A column that is not there is None. Extra columns carry their name in front.

Integers: `base + unit * code`, codes of 0 (all equal), 1, 2, 4 or 8 bytes. Times in one of two forms, whichever is
narrower: the first, then the distances between neighbours as integers; or the first and a step, then how far each is
from where even steps would put it. Both in whole seconds or milliseconds where they are. Floats: value x 10^k as
integers where that is exact to the bit (so never with -0.0), else as they are. Texts: a dictionary,
its length in 32 bits (16 in version 1), each text of at most 65,535 bytes; and codes.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

VERSION: Final = 2
_READABLE_VERSIONS: Final = (1, VERSION)
HEADER: Final = struct.Struct("<BBBBIII")
_SAMPLES: Final = struct.Struct("<I")
_SAMPLES_AT: Final = 4
INTEGERS: Final = struct.Struct("<BqQ")
FIRST: Final = struct.Struct("<q")
DTYPES: Final = {width: np.dtype(f"<u{width}") for width in (1, 2, 4, 8)}
RAW_FLOATS: Final = 255
#: How many texts a dictionary has, and how many bytes a text.
NAMES: Final = struct.Struct("<I")
NAMES_FIRST_VERSION: Final = struct.Struct("<H")
TEXT: Final = struct.Struct("<H")

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


class Compressor(IntEnum):
    """How the body is packed. zstd is the smallest, lz4 inflates in a quarter of its time, NONE in none."""

    NONE = 0
    ZSTD = 1
    LZ4 = 2


class Column(IntEnum):
    """The ids of columns."""

    START = 1
    END = 2
    VALUE = 3
    OFFSET = 4
    TYPE = 5
    UNIT = 6
    EXTRA_FLOATS = 7
    EXTRA_LABELS = 8
    #: Times by even steps; since version 2.
    START_BY_STEPS = 9


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


@lru_cache(maxsize=4)
def packer(compressor: Compressor) -> pa.Codec:
    """What packs and inflates bodies."""
    return pa.Codec("zstd", compression_level=1) if compressor is Compressor.ZSTD else pa.Codec("lz4_raw")


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """What the first bytes of a block say."""

    version: int
    compressor: Compressor
    columns: int
    samples: int
    body_bytes: int
    checksum: int


def block_samples(data: bytes) -> int:
    """How many samples a block says it holds; nothing else is looked at."""
    return _SAMPLES.unpack_from(data, _SAMPLES_AT)[0] if len(data) >= HEADER.size else 0


def block_header(data: bytes) -> BlockHeader:
    """The header of a block; BlockDamagedError where there is none that this code reads."""
    try:
        version, compressor, columns, _zero, samples, body_bytes, checksum = HEADER.unpack_from(data)
        header = BlockHeader(version, Compressor(compressor), columns, samples, body_bytes, checksum)
    except (struct.error, ValueError) as error:
        raise BlockDamagedError("A block has no readable header.") from error
    if version not in _READABLE_VERSIONS:
        raise BlockDamagedError("A block is of a version that is not known here.")
    return header
