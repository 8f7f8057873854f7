"""Events stay small enough for receivers: samples are cut into several, none lost, none twice, in their order."""

from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregation.catalogue import SERIES_BY_SLUG
from aggregation.constants import EVENT_SAMPLES_GUESS
from aggregation.records import DataSource, SampleColumns, SeriesBatch
from aggregation.services import health_data_store
from aggregation.shapes import samples_json, samples_pieces
from aggregation.store.columns import block_of
from tests import factories
from tests.aggregation.samples import heartrates, us
from tests.aggregation.summaries import RING
from users.constants import CLIENT_USER_ID_MAXIMUM_CHARACTERS
from users.models import User
from webhooks.constants import BODY_MAXIMUM_BYTES, ENVELOPE_MAXIMUM_BYTES
from webhooks.models import Event

BASE_US = us(2026, 3, 1)
MINUTE_US = 60_000_000
SECOND_US = 1_000_000
HEARTRATE, NOTE = SERIES_BY_SLUG["heartrate"], SERIES_BY_SLUG["note"]


def notes(texts: list[str]) -> SampleColumns:
    """A note a minute."""
    start_us = BASE_US + np.arange(len(texts), dtype=np.int64) * MINUTE_US
    offsets = np.zeros(len(texts), np.int32)
    return SampleColumns(start_us, None, offsets, start_us, None, fields={"content": texts})


def bodies() -> list[str]:
    """Of every event, oldest first."""
    return [event.body or "" for event in Event.objects.order_by("id")]


#: Short and long texts, and such as JSON needs several bytes a character for.
TEXTS = st.lists(st.builds(lambda text, times: text * times, st.sampled_from(["a", "é", '"', "\x01", "😀"]),
                           st.integers(1, 400)), max_size=60)  # fmt: skip


@given(texts=TEXTS, maximum_bytes=st.integers(1, 20_000))
def test_pieces_are_the_samples_in_their_order(texts: list[str], maximum_bytes: int) -> None:
    block = block_of(notes(texts), interval=True)
    pieces = list(samples_pieces(NOTE, block, maximum_bytes=maximum_bytes))
    read: list[list[Any]] = [orjson.loads(piece) for piece in pieces]
    assert [sample for piece in read for sample in piece] == orjson.loads(samples_json(NOTE, block))
    assert all(read)
    too_large = {len(samples) for piece, samples in zip(pieces, read, strict=True) if len(piece) > maximum_bytes}
    assert too_large <= {1}


def test_even_samples_fill_their_pieces() -> None:
    size = 20 * EVENT_SAMPLES_GUESS
    start_us = BASE_US + np.arange(size, dtype=np.int64) * SECOND_US
    columns = SampleColumns(start_us, np.full(size, 60.0), np.zeros(size, np.int32), None, None)
    room = BODY_MAXIMUM_BYTES - ENVELOPE_MAXIMUM_BYTES
    pieces = list(samples_pieces(HEARTRATE, block_of(columns, interval=False), maximum_bytes=room))
    assert max(len(piece) for piece in pieces) <= room
    # The last holds what is left; the others at least eight tenths of what they may.
    assert min(len(piece) for piece in pieces[1:-1]) * 10 > room * 8


@pytest.mark.parametrize("count", [1, EVENT_SAMPLES_GUESS, 10_000])
def test_no_event_of_samples_is_larger_than_receivers_take(in_team: factories.Tenant, count: int) -> None:
    user = factories.user_make(in_team, client_user_id="😀" * CLIENT_USER_ID_MAXIMUM_CHARACTERS)
    source = DataSource("oura", "watch", app_id="é" * 255, device_id="ü" * 255)
    values = {BASE_US + second * SECOND_US: 60.0 + second % 50 for second in range(count)}
    health_data_store(team=in_team.context, user_id=user.id, series=[heartrates(values, source=source)])
    assert max(len(body.encode()) for body in bodies()) <= BODY_MAXIMUM_BYTES
    told = [sample["value"] for body in bodies() for sample in orjson.loads(body)["data"]["data"]]
    assert told == list(values.values())


def test_new_and_changed_samples_are_cut_alike(in_team: factories.Tenant) -> None:
    user = factories.user_make(in_team)
    times = [BASE_US + second * SECOND_US for second in range(6_000)]
    for value in (60.0, 61.0):
        health_data_store(team=in_team.context, user_id=user.id, series=[heartrates(dict.fromkeys(times, value))])
    found: dict[str, list[str]] = {}
    for body in bodies():
        event = orjson.loads(body)
        found.setdefault(event["event_type"], []).extend(sample["timestamp"] for sample in event["data"]["data"])
    assert set(found) == {"daily.data.heartrate.created", "daily.data.heartrate.updated"}
    assert [len(listed) for listed in found.values()] == [6_000, 6_000]
    assert found["daily.data.heartrate.created"] == found["daily.data.heartrate.updated"]


def test_long_notes_are_told_in_several_events(in_team: factories.Tenant) -> None:
    user: User = factories.user_make(in_team)
    texts = [f"{number}{'é' * 900}" for number in range(400)]
    series = [SeriesBatch("note", RING, notes(texts))]
    assert health_data_store(team=in_team.context, user_id=user.id, series=series).refused == ()
    assert len(bodies()) == 4
    assert max(len(body.encode()) for body in bodies()) <= BODY_MAXIMUM_BYTES
    assert [one["value"] for body in bodies() for one in orjson.loads(body)["data"]["data"]] == texts
