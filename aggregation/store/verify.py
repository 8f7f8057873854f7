"""Looking whether everything in the store can be read and is what its row says."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np

from aggregation.codec import BlockColumns, BlockDamagedError, LabelColumn, block_decode
from aggregation.store import statements
from aggregation.store.columns import is_ascending
from aggregation.store.days import SECOND_US
from healthsvc.kernel.postgres.statements import rows_of

#: Series and blocks that are in memory at once.
_SERIES_AT_ONCE: Final = 500
_BLOCKS_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class Verified:
    """A block (seq 0) or a row of a tail that was looked at; `problem` is empty where it is good."""

    series_id: int
    bucket: int
    seq: int
    samples: int
    problem: str


def user_verify(user_id: UUID) -> Iterator[Verified]:
    """Everything that is stored of a user's series, in order. In the scope of the user's team; reads only."""
    after = -1
    while True:
        page = rows_of(statements.SERIES_PAGE, {"user_id": user_id, "after_series_id": after, "limit": _SERIES_AT_ONCE})
        for series_id, bucket_seconds in page:
            yield from _series_verify(user_id, series_id, bucket_seconds)
        if len(page) < _SERIES_AT_ONCE:
            return
        after = page[-1][0]


def _series_verify(user_id: UUID, series_id: int, bucket_seconds: int) -> Iterator[Verified]:
    bucket, seq = -(2**31), 0
    block: int | None = None
    while True:
        page = rows_of(
            statements.BLOCKS_PAGE,
            {
                "user_id": user_id,
                "series_id": series_id,
                "after_bucket": bucket,
                "after_seq": seq,
                "limit": _BLOCKS_AT_ONCE,
            },
        )
        for bucket, seq, size, data in page:
            if seq == 0:
                block = bucket
            problem = _problem(bucket * bucket_seconds, bucket_seconds, size, data)
            if not problem and bucket != block:
                problem = "tail_without_block"
            yield Verified(series_id, bucket, seq, size, problem)
        if len(page) < _BLOCKS_AT_ONCE:
            return


def _problem(first_seconds: int, bucket_seconds: int, size: int, data: bytes) -> str:
    """What is wrong with a block or a row of a tail, "" where nothing is."""
    try:
        block = block_decode(data)
    except BlockDamagedError:
        return "damaged"
    if len(block) != size:
        return "wrong_count"
    if not is_ascending(block):
        return "out_of_order"
    first_us = first_seconds * SECOND_US
    if block.start_us[0] < first_us or block.start_us[-1] >= first_us + bucket_seconds * SECOND_US:
        return "outside_its_time"
    return "" if _is_finite(block) else "not_finite"


def _is_finite(block: BlockColumns) -> bool:
    """No infinite number, and no value that is none. A sample of several fields may lack some."""
    numbers = [column for column in block.extra.values() if not isinstance(column, LabelColumn)]
    if any(np.isinf(column).any() for column in numbers):
        return False
    return block.value is None or bool(np.isfinite(block.value).all())
