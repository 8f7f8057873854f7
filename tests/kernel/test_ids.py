"""Identifiers that sort by time."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from healthsvc.kernel.ids import uuid_floor, uuid_instant, uuid_ordered

MOMENT = datetime(2026, 11, 21, 8, 30, 0, 123_999, tzinfo=UTC)


def test_the_floor_of_an_instant_is_the_least_id_of_its_millisecond() -> None:
    floor = uuid_floor(MOMENT)
    assert (floor.version, floor.variant) == (7, "specified in RFC 4122")
    assert floor == UUID("01a1fd3a-03bb-7000-8000-000000000000")
    assert floor.int >> 80 == 1_795_249_800_123
    assert uuid_floor(datetime(1960, 1, 1, tzinfo=UTC)) == uuid_floor(datetime(1970, 1, 1, tzinfo=UTC))


def test_rows_made_before_an_instant_have_smaller_ids_and_later_ones_larger() -> None:
    before = datetime.now(UTC)
    made = uuid_ordered()
    after = datetime.now(UTC) + timedelta(milliseconds=1)
    assert uuid_floor(before) <= made < uuid_floor(after)


def test_an_ordered_id_tells_when_it_was_made() -> None:
    assert uuid_instant(uuid_floor(MOMENT)) == MOMENT.replace(microsecond=123_000)
