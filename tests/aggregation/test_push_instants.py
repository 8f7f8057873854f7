"""Times of pushed records: many texts at once give what the standard library gives one by one."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregation.push.instants import clocks_read, instants_of
from aggregation.records import OFFSET_UNKNOWN

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BERLIN = "Europe/Berlin"


def us_of(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
NAIVE = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1))  # noqa: DTZ001
MOMENTS = st.one_of(NAIVE, st.builds(lambda moment, zone: moment.replace(tzinfo=zone), NAIVE, OFFSETS))


@given(st.lists(MOMENTS, max_size=20))
def test_any_mixture_of_forms_is_read_as_the_standard_library_reads_it(moments: list[datetime]) -> None:
    clocks = clocks_read([moment.isoformat() for moment in moments])
    assert clocks.good.all()
    assert clocks.naive.tolist() == [moment.tzinfo is None for moment in moments]
    assert clocks.wall_us.tolist() == [us_of(moment.replace(tzinfo=UTC)) for moment in moments]
    expected = [int((moment.utcoffset() or timedelta()).total_seconds()) for moment in moments]
    assert clocks.offset_seconds.tolist() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01T08:00:00Z", "2026-03-01T08:00:00+00:00"),
        ("2026-03-01t08:00:00z", "2026-03-01T08:00:00+00:00"),
        ("2026-03-01 08:00:00Z", "2026-03-01T08:00:00+00:00"),
        ("2026-03-01T08:00Z", "2026-03-01T08:00:00+00:00"),
        ("2026-03-01T08:00:00+0530", "2026-03-01T02:30:00+00:00"),
        ("2026-03-01T08:00:00-05:30", "2026-03-01T13:30:00+00:00"),
        ("2026-03-01T08:00:00.5Z", "2026-03-01T08:00:00.500000+00:00"),
        ("2026-03-01T08:00:00,25Z", "2026-03-01T08:00:00.250000+00:00"),
        ("2026-03-01T08:00:00.123456789Z", "2026-03-01T08:00:00.123456+00:00"),
        ("2000-02-29T00:00:00Z", "2000-02-29T00:00:00+00:00"),
    ],
)
def test_a_form_is_taken(text: str, expected: str) -> None:
    instants = instants_of(clocks_read([text]), None, None)
    assert instants.good.tolist() == [True]
    assert instants.at_us.tolist() == [us_of(datetime.fromisoformat(expected))]


WRONG = [
    "", "x", "2026-03-01", "08:00:00Z", "1772352000", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
    "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-03-00T00:00:00Z",
    "2026-03-01T24:00:00Z", "2026-03-01T08:60:00Z", "2026-03-01T08:00:60Z", "2026-03-01T08:00:00+01:60",
    "0000-03-01T08:00:00Z", "2026-03-01T08:00:00Z ", "2026-03-01T08:00:00.Z", "2026-03-01T08:00:00.1234567890Z",
    "\u0662026-03-01T08:00:00Z", "2026-03-01T08:00:0\u0660Z", "2026/03/01T08:00:00Z", "2026-03-01T08:00:00+1",
]  # fmt: skip


def test_what_is_no_time_is_not_good_and_spoils_nothing() -> None:
    good = "2026-03-01T08:00:00Z"
    for text in WRONG:
        assert clocks_read([text]).good.tolist() == [False]
        assert clocks_read([good, text, None, good]).good.tolist() == [True, False, False, True]
    assert clocks_read(WRONG).good.tolist() == [False] * len(WRONG)


def test_utc_tells_when_and_not_where() -> None:
    clocks = clocks_read(["2026-07-01T08:00:00Z", "2026-07-01T08:00:00+00:00", "2026-07-01T08:00:00+02:00"])
    assert instants_of(clocks, None, None).offset_seconds.tolist() == [OFFSET_UNKNOWN, OFFSET_UNKNOWN, 7_200]
    assert instants_of(clocks, None, "Asia/Tokyo").offset_seconds.tolist() == [32_400, 32_400, 7_200]
    sent = np.array([0.0, np.nan, 3_600.0])
    assert instants_of(clocks, sent, None).offset_seconds.tolist() == [0, OFFSET_UNKNOWN, 3_600]


def test_a_clock_without_offset_needs_to_be_told_where_it_hangs() -> None:
    clocks = clocks_read(["2026-07-01T08:00:00", "2026-07-01T08:00:00"])
    assert instants_of(clocks, None, None).good.tolist() == [False, False]
    told = instants_of(clocks, np.array([7_200.0, np.nan]), None)
    assert told.good.tolist() == [True, False]
    assert told.at_us[0] == us_of(datetime(2026, 7, 1, 6, tzinfo=UTC))
    placed = instants_of(clocks, np.array([0.0, np.nan]), BERLIN)
    assert placed.good.tolist() == [True, True]
    assert placed.at_us.tolist() == [us_of(datetime(2026, 7, 1, hour, tzinfo=UTC)) for hour in (8, 6)]
    assert placed.offset_seconds.tolist() == [0, 7_200]


def test_the_spring_gap_is_read_with_the_offset_before_it() -> None:
    clocks = clocks_read(["2026-03-29T01:59:59", "2026-03-29T02:30:00", "2026-03-29T03:00:00"])
    found = instants_of(clocks, None, BERLIN)
    expected = [datetime(2026, 3, 29, 0, 59, 59, tzinfo=UTC), datetime(2026, 3, 29, 1, 30, tzinfo=UTC)]
    expected.append(datetime(2026, 3, 29, 1, tzinfo=UTC))
    assert found.at_us.tolist() == [us_of(moment) for moment in expected]
    assert found.offset_seconds.tolist() == [3_600, 7_200, 7_200]


def test_of_the_hour_that_comes_twice_the_first_is_meant() -> None:
    clocks = clocks_read(["2026-10-25T02:30:00", "2026-10-25T02:30:00+01:00", "2026-10-25T01:30:00Z"])
    found = instants_of(clocks, None, BERLIN)
    second_pass = us_of(datetime(2026, 10, 25, 1, 30, tzinfo=UTC))
    assert found.at_us.tolist() == [us_of(datetime(2026, 10, 25, 0, 30, tzinfo=UTC)), second_pass, second_pass]
    assert found.offset_seconds.tolist() == [7_200, 3_600, 3_600]
