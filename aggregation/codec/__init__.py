"""The stored form of a block of samples: each column as narrow as it can be without loss, then compressed."""

from aggregation.codec.decode import block_decode, blocks_decode
from aggregation.codec.encode import block_encode
from aggregation.codec.form import (
    VERSION,
    BlockColumns,
    BlockDamagedError,
    BlockHeader,
    Compressor,
    ExtraColumn,
    Floats,
    Ints,
    LabelColumn,
    block_header,
    block_samples,
)

__all__ = [
    "VERSION",
    "BlockColumns",
    "BlockDamagedError",
    "BlockHeader",
    "Compressor",
    "ExtraColumn",
    "Floats",
    "Ints",
    "LabelColumn",
    "block_decode",
    "block_encode",
    "block_header",
    "block_samples",
    "blocks_decode",
]
