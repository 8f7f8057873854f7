"""The block codec gives back every bit it was given, whatever the samples."""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from aggregation.catalogue import SERIES
from aggregation.codec import (
    VERSION,
    BlockColumns,
    BlockDamagedError,
    Compressor,
    LabelColumn,
    block_decode,
    block_encode,
    block_header,
    blocks_decode,
)
from aggregation.records import OFFSET_UNKNOWN

#: 40 jittered minutes as the first version of the codec wrote them.
_FIRST_VERSION = (
    "01010300280000008e000000a576745028b52ffd208e250300c40401000198d57840420f3c003c003c030101580200010000000102030405"
    "060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223242526270400100e00010000000000000009009e4a4aca35aada"
    "0d0e043d7073576eb434e2022c"
)

#: Six minutes with types and a sensor, as it wrote them: with dictionaries of 16 bits of length.
_FIRST_VERSION_LABELS = (
    "01010400060000007f000000107989f928b52ffd207fad02002404010087930300000000010004000100050200070077616c6b696e670600"
    "6cc3a475667401ff010001020001020208060073656e736f72010004006c650001010101010700974a0c0c0ce40606060483710a8005"
)

Number = TypeVar("Number", np.int64, np.int32, np.float64)

INT64 = st.integers(-(2**63), 2**63 - 1)
TIMES = st.one_of(
    INT64,
    st.integers(0, 4_000_000_000).map(lambda second: second * 1_000_000),
    st.integers(0, 4_000_000_000_000).map(lambda millisecond: millisecond * 1_000),
)
DECIMALS = st.integers(-(10**9), 10**9).flatmap(lambda whole: st.integers(0, 5).map(lambda places: whole / 10**places))
VALUES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), DECIMALS, st.sampled_from([-0.0, 0.0, 5e-324, 1.7e308])
)
OFFSETS = st.one_of(st.sampled_from([OFFSET_UNKNOWN, 0, 3600, -18_000, 20_700]), st.integers(-64_800, 64_800))
NAMES = st.lists(st.text("ab_ é漢😀\x00", max_size=20), unique=True, min_size=1, max_size=5)


@st.composite
def labels(draw: st.DrawFn, size: int) -> LabelColumn:
    names = tuple(draw(NAMES))
    codes = draw(st.lists(st.integers(-1, len(names) - 1), min_size=size, max_size=size))
    return LabelColumn(np.array(codes, np.int32), names)


@st.composite
def blocks(draw: st.DrawFn) -> BlockColumns:
    """Blocks as a store could and could never hold them."""
    size = draw(st.integers(0, 60))

    def some(one: st.SearchStrategy[Any], kind: type[Number]) -> NDArray[Number]:
        constant = draw(st.booleans())
        listed = [draw(one)] * size if constant else draw(st.lists(one, min_size=size, max_size=size))
        return np.array(listed, kind)

    start = some(TIMES, np.int64)
    ends = draw(st.booleans())
    extra_floats = some(st.one_of(VALUES, st.just(float("nan"))), np.float64)
    return BlockColumns(
        start_us=np.sort(start) if draw(st.booleans()) else start,
        offset_seconds=some(OFFSETS, np.int32),
        value=some(VALUES, np.float64) if draw(st.booleans()) else None,
        end_us=some(TIMES, np.int64) if ends else None,
        type=draw(st.none() | labels(size)),
        unit=draw(st.none() | labels(size)),
        extra={"systolic": extra_floats, "sensor": draw(labels(size))} if draw(st.booleans()) else {},
    )


def assert_same_bits(left: NDArray[np.generic] | None, right: NDArray[np.generic] | None) -> None:
    assert (left is None) == (right is None)
    if left is not None and right is not None:
        assert left.dtype == right.dtype
        assert left.tobytes() == right.tobytes()


def assert_same_labels(left: LabelColumn | None, right: LabelColumn | None) -> None:
    assert (left is None) == (right is None)
    if left is not None and right is not None:
        assert left.names == right.names
        assert_same_bits(left.codes, right.codes)


def assert_same(left: BlockColumns, right: BlockColumns) -> None:
    for name in ("start_us", "offset_seconds", "value", "end_us"):
        assert_same_bits(getattr(left, name), getattr(right, name))
    assert_same_labels(left.type, right.type)
    assert_same_labels(left.unit, right.unit)
    assert list(left.extra) == list(right.extra)
    for name, column in left.extra.items():
        other = right.extra[name]
        if isinstance(column, LabelColumn):
            assert isinstance(other, LabelColumn)
            assert_same_labels(column, other)
        else:
            assert not isinstance(other, LabelColumn)
            assert_same_bits(column, other)


@pytest.mark.slow
@given(blocks(), st.sampled_from(Compressor))
def test_what_is_encoded_comes_back_to_the_bit(block: BlockColumns, compressor: Compressor) -> None:
    assert_same(block_decode(block_encode(block, compressor)), block)


def texts(labels: LabelColumn | None, size: int) -> list[str | None]:
    return [None] * size if labels is None else [None if code < 0 else labels.names[code] for code in labels.codes]


@pytest.mark.slow
@given(st.lists(st.tuples(blocks(), st.sampled_from([*Compressor, None])), max_size=6))
def test_blocks_that_are_decoded_together_lie_one_below_the_other(
    parts: list[tuple[BlockColumns, Compressor | None]],
) -> None:
    """Whether they are packed (by whatever) or decoded already; what only some have is empty for the others."""
    listed = [block for block, _ in parts]
    together = blocks_decode([block if packer is None else block_encode(block, packer) for block, packer in parts])
    sizes = [len(block) for block in listed]
    assert together.start_us.tolist() == [at for block in listed for at in block.start_us.tolist()]
    assert together.offset_seconds.tolist() == [offset for block in listed for offset in block.offset_seconds.tolist()]
    empty = np.zeros(0)
    values = [np.full(len(block), np.nan) if block.value is None else block.value for block in listed]
    if together.value is not None:
        assert_same_bits(together.value, np.concatenate([*values, empty]))
    assert (together.value is None) == all(block.value is None for block in listed)
    ends = [block.start_us if block.end_us is None else block.end_us for block in listed]
    if together.end_us is not None:
        assert together.end_us.tolist() == [at for end in ends for at in end.tolist()]
    assert (together.end_us is None) == all(block.end_us is None for block in listed)
    for name in ("type", "unit"):
        expected = [text for block in listed for text in texts(getattr(block, name), len(block))]
        assert texts(getattr(together, name), sum(sizes)) == expected
    assert set(together.extra) == {name for block in listed for name in block.extra}
    if together.extra:
        sensors, systolic = together.extra["sensor"], together.extra["systolic"]
        assert isinstance(sensors, LabelColumn)
        assert not isinstance(systolic, LabelColumn)
        pieces = [block.extra.get("systolic", np.full(len(block), np.nan)) for block in listed]
        assert_same_bits(systolic, np.concatenate([piece for piece in pieces if not isinstance(piece, LabelColumn)]))
        named = [block.extra.get("sensor") for block in listed]
        assert texts(sensors, sum(sizes)) == [
            text
            for block, labels in zip(listed, named, strict=True)
            for text in texts(labels if isinstance(labels, LabelColumn) else None, len(block))
        ]


def test_of_many_blocks_a_damaged_one_is_told() -> None:
    good = block_encode(day_of_minutes())
    for changed in (good[:-1] + bytes((good[-1] ^ 1,)), good[:8] + bytes((good[8] ^ 1,)) + good[9:], good[:-3]):
        with pytest.raises(BlockDamagedError):
            blocks_decode([good] * 70 + [changed] + [good] * 3)


@pytest.mark.slow
@given(blocks(), st.sampled_from(Compressor), st.data())
def test_whatever_is_changed_in_a_block_is_told_as_damage_or_not_at_all(
    block: BlockColumns, compressor: Compressor, data: st.DataObject
) -> None:
    """Never by another error. The checksum covers all but the header, whose number of samples the row repeats."""
    good = block_encode(block, compressor)
    place = data.draw(st.integers(0, len(good) - 1))
    bad = good[:place] + bytes((good[place] ^ data.draw(st.integers(1, 255)),)) + good[place + 1 :]
    # A number of samples that no machine has the memory for is not what this is about.
    if block_header_samples(bad) > 1_000_000:
        return
    try:
        block_decode(bad)
    except BlockDamagedError:
        return
    assert place < HEADER_BYTES


HEADER_BYTES = 16


def block_header_samples(data: bytes) -> int:
    return int.from_bytes(data[4:8], "little")


def day_of_minutes(*, decimals: int = 0, jitter: bool = False) -> BlockColumns:
    random = np.random.default_rng(7)
    start_us = 1_700_006_400_000_000 + np.arange(1_440, dtype=np.int64) * 60_000_000
    if jitter:
        start_us += random.integers(0, 30_000, 1_440) * 1_000
    walk = 60 + np.cumsum(random.normal(0, 1, 1_440)) % 80
    return BlockColumns(start_us, np.full(1_440, 3_600, np.int32), np.round(walk, decimals))


@pytest.mark.parametrize(("decimals", "jitter", "bytes_per_sample"), [(0, False, 1.0), (0, True, 3.8), (1, True, 4.6)])
def test_a_day_of_minutes_is_small(decimals: int, jitter: bool, bytes_per_sample: float) -> None:
    block = day_of_minutes(decimals=decimals, jitter=jitter)
    data = block_encode(block)
    assert_same(block_decode(data), block)
    assert len(data) / len(block) < bytes_per_sample


def test_a_negative_zero_keeps_its_sign() -> None:
    block = BlockColumns(np.arange(2, dtype=np.int64), np.zeros(2, np.int32), np.array([-0.0, 1.0]))
    decoded = block_decode(block_encode(block)).value
    assert decoded is not None
    assert np.signbit(decoded).tolist() == [True, False]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_value_that_is_no_number_is_refused(value: float) -> None:
    block = BlockColumns(np.zeros(1, np.int64), np.zeros(1, np.int32), np.array([value]))
    with pytest.raises(ValueError, match="finite"):
        block_encode(block)


def test_an_empty_block_is_a_block() -> None:
    empty = BlockColumns(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int64))
    assert_same(block_decode(block_encode(empty)), empty)


def test_the_header_tells_version_compressor_and_number_of_samples() -> None:
    repeating = replace(day_of_minutes(), value=np.tile(np.arange(60.0), 24))
    header = block_header(block_encode(repeating, Compressor.LZ4))
    assert (header.version, header.compressor, header.samples) == (VERSION, Compressor.LZ4, 1_440)


def test_what_compression_hardly_shortens_is_kept_as_it_is() -> None:
    assert block_header(block_encode(day_of_minutes(decimals=1, jitter=True))).compressor is Compressor.NONE


def test_jittered_times_take_two_bytes_and_gaps_cost_no_exactness() -> None:
    jittered = day_of_minutes(jitter=True)
    bare = replace(jittered, value=None)
    assert block_header(block_encode(bare)).body_bytes < 2 * 1_440 + 80
    gap = replace(bare, start_us=jittered.start_us + np.repeat([0, 3 * 3_600_000_000], 720))
    assert_same(block_decode(block_encode(gap)), gap)


def test_a_block_of_the_first_version_is_read() -> None:
    number = np.arange(40)
    block = BlockColumns(
        number * 60_000_000 + number * 7_919 % 60_000 * 1_000,
        np.full(40, 3_600, np.int32),
        np.round(60 + number * 0.1, 1),
    )
    assert_same(block_decode(bytes.fromhex(_FIRST_VERSION)), block)


def test_texts_of_a_block_of_the_first_version_are_read() -> None:
    block = BlockColumns(
        np.arange(6) * 60_000_000,
        np.zeros(6, np.int32),
        type=LabelColumn(np.array([0, 1, -1, 0, 1, 1], np.int32), ("walking", "läuft")),
        extra={"sensor": LabelColumn(np.array([-1, 0, 0, 0, 0, 0], np.int32), ("left",))},
    )
    assert_same(block_decode(bytes.fromhex(_FIRST_VERSION_LABELS)), block)


def test_every_sample_may_have_a_text_of_its_own() -> None:
    size = 66_000
    names = tuple(f"type {number}" for number in range(size))
    block = BlockColumns(
        np.arange(size, dtype=np.int64),
        np.zeros(size, np.int32),
        type=LabelColumn(np.arange(size, dtype=np.int32), names),
        extra={"sensor": LabelColumn(np.arange(size, dtype=np.int32), names[::-1])},
    )
    assert_same(block_decode(block_encode(block)), block)


def test_the_longest_text_of_any_resource_fits() -> None:
    """Four bytes a character, and lists of all choices."""
    fields = [field for spec in SERIES for field in spec.fields]
    assert max(4 * field.maximum_characters for field in fields) < 1 << 16
    assert max(4 * len(",".join(field.choices)) for field in fields) < 1 << 16
    longest = max(field.maximum_characters for field in fields)
    block = BlockColumns(
        np.zeros(1, np.int64),
        np.zeros(1, np.int32),
        extra={"content": LabelColumn(np.zeros(1, np.int32), ("😀" * longest,))},
    )
    assert_same(block_decode(block_encode(block)), block)


def test_a_changed_or_cut_block_is_told_from_a_good_one() -> None:
    data = bytearray(block_encode(day_of_minutes()))
    data[-1] ^= 1
    with pytest.raises(BlockDamagedError, match="not those that were written"):
        block_decode(bytes(data))
    with pytest.raises(BlockDamagedError, match="no readable header"):
        block_decode(bytes(data[:10]))


def test_a_block_of_a_later_version_is_refused() -> None:
    data = block_encode(replace(day_of_minutes(), value=None))
    with pytest.raises(BlockDamagedError, match="version"):
        block_decode(bytes((VERSION + 1,)) + data[1:])
