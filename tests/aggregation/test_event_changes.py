"""Events say truly what is new and what was revised, whoever else writes at the moment, and whose data they are."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from threading import Barrier
from typing import Any, TypeAlias

import orjson
import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from aggregation.records import DataSource, SeriesBatch, SummaryRecord
from aggregation.services import health_data_store, historical_announce
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from tests import factories
from tests.aggregation.samples import PHONE, WATCH, Sample, batch, heartrates, us
from tests.aggregation.summaries import day, night
from users.models import User
from webhooks.models import Event

BASE_US = us(2026, 3, 1)
MINUTE_US = 60_000_000
WRITERS = 4

#: What an event tells of a sample: when it began, its value, and its type.
Told: TypeAlias = tuple[str, float, str | None]


@pytest.fixture
def user(in_team: factories.Tenant) -> User:
    return factories.user_make(in_team)


def emitted() -> list[tuple[str, Any]]:
    """What happened and the data of every event, oldest first."""
    with system_scope(SystemScope.DELIVERY):
        bodies = [orjson.loads(event.body or "") for event in Event.objects.order_by("id")]
    return [(body["event_type"].rpartition(".")[2], body["data"]) for body in bodies]


def told(what: str, events: Sequence[tuple[str, Any]]) -> list[Told]:
    """The samples that are told to be `created` or `updated`."""
    return [
        (sample["timestamp"], sample["value"], sample["type"])
        for name, data in events
        if name == what
        for sample in data["data"]
    ]


def text_of(at_us: int) -> str:
    """As events write it."""
    return datetime.fromtimestamp(at_us / 1_000_000, UTC).isoformat()


def steps(*samples: tuple[int, float, str | None]) -> SeriesBatch:
    """Steps of a minute each, by the minute at which they begin."""
    listed: list[Sample] = [
        (BASE_US + minute * MINUTE_US, BASE_US + (minute + 1) * MINUTE_US, value, 0, kind)
        for minute, value, kind in samples
    ]
    return batch(listed)


#: What is written at once: samples over two days in any order, some minutes twice.
WRITE = st.lists(
    st.tuples(st.sampled_from(range(0, 2_400, 60)), st.sampled_from([1.0, 2.0]), st.sampled_from(["a", None])),
    max_size=40,
)  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=st.lists(WRITE, min_size=1, max_size=5))
def test_events_are_what_a_write_has_made_different(
    in_team: factories.Tenant, writes: list[list[tuple[int, float, str | None]]]
) -> None:
    with transaction.atomic():
        someone = factories.user_make(in_team)
        before: dict[str, Told] = {}
        for number, samples in enumerate(writes):
            seen = len(emitted())
            health_data_store(team=in_team.context, user_id=someone.id, series=[steps(*samples)])
            after = {text_of(BASE_US + one * MINUTE_US): (value, kind) for one, value, kind in samples}
            new = {at: (at, *rest) for at, rest in after.items()}
            events = emitted()[seen:]
            assert told("created", events) == [new[at] for at in sorted(new) if at not in before], number
            assert told("updated", events) == [new[at] for at in sorted(new) if before.get(at, new[at]) != new[at]]
            before |= new
        transaction.set_rollback(True)


def test_small_posts_tell_the_same(in_team: factories.Tenant, user: User) -> None:
    """They wait in the tail of a block, where they are compared like all others."""

    def put(values: dict[int, float]) -> list[tuple[str, Any]]:
        seen = len(emitted())
        series = [heartrates({BASE_US + minute * MINUTE_US: value for minute, value in values.items()})]
        health_data_store(team=in_team.context, user_id=user.id, series=series)
        return emitted()[seen:]

    put(dict.fromkeys(range(100), 60.0))
    assert [name for name, _ in put({100: 60.0})] == ["created"]
    assert put({100: 60.0}) == []
    assert put({99: 60.0, 100: 60.0}) == []
    changed = put({100: 61.0})
    assert (told("created", changed), told("updated", changed)) == (
        [],
        [(text_of(BASE_US + 100 * MINUTE_US), 61.0, None)],
    )
    mixed = put({99: 60.0, 100: 62.0, 101: 60.0})
    assert told("created", mixed) == [(text_of(BASE_US + 101 * MINUTE_US), 60.0, None)]
    assert told("updated", mixed) == [(text_of(BASE_US + 100 * MINUTE_US), 62.0, None)]


def test_another_source_is_another_sample(in_team: factories.Tenant, user: User) -> None:
    for source in (WATCH, PHONE):
        health_data_store(team=in_team.context, user_id=user.id, series=[heartrates({BASE_US: 60.0}, source=source)])
    assert [(name, data["source"]["type"]) for name, data in emitted()] == [("created", "watch"), ("created", "phone")]


def test_a_summary_is_created_once_and_updated_when_it_differs(in_team: factories.Tenant, user: User) -> None:
    first, second = night(score=70), night(score=71)
    for summaries in (
        [first],
        [first],
        [second, day()],
        [second, day()],
        [replace(second, source=DataSource("oura", "watch"))],
    ):
        health_data_store(team=in_team.context, user_id=user.id, summaries=summaries)
    told_of = [(name, data.get("score"), data["source"]["type"]) for name, data in emitted()]
    assert told_of == [
        ("created", 70, "ring"), ("created", None, "ring"), ("updated", 71, "ring"), ("updated", 71, "watch"),
    ]  # fmt: skip
    assert len({data["id"] for _, data in emitted()}) == 2


def test_two_versions_in_one_write_are_one_new_summary(in_team: factories.Tenant, user: User) -> None:
    health_data_store(team=in_team.context, user_id=user.id, summaries=[night(score=70), night(score=71)])
    assert [(name, data["score"]) for name, data in emitted()] == [("created", 71)]


@contextmanager
def writers(tenant: factories.Tenant) -> Iterator[Any]:
    """Runs a function with each writer's number in threads that begin together."""
    ready = Barrier(WRITERS)

    def run(write: Any, number: int) -> None:
        try:
            with team_scope(tenant.context):
                ready.wait()
                write(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(WRITERS) as pool:
        yield lambda write: [one.result() for one in [pool.submit(run, write, number) for number in range(WRITERS)]]


@pytest.mark.django_db(transaction=True)
def test_the_same_new_sample_from_many_at_once_is_created_once(team: factories.Tenant) -> None:
    user = factories.user_make(team)

    def write(_number: int) -> None:
        health_data_store(team=team.context, user_id=user.id, series=[heartrates({BASE_US: 60.0})])

    with writers(team) as run:
        run(write)
    assert [name for name, _ in emitted()] == ["created"]


@pytest.mark.django_db(transaction=True)
def test_of_other_values_at_once_the_first_is_created_and_the_others_revise_it(team: factories.Tenant) -> None:
    user = factories.user_make(team)

    def write(number: int) -> None:
        series = [heartrates({BASE_US: 60.0 + number, BASE_US + MINUTE_US: 60.0})]
        health_data_store(team=team.context, user_id=user.id, series=series, summaries=[night(score=70 + number)])

    with writers(team) as run:
        run(write)
    events = emitted()
    samples = [(name, data) for name, data in events if "data" in data]
    assert sorted(value for _, value, _ in told("created", samples)) == sorted([60.0, told("created", samples)[0][1]])
    assert len(told("updated", samples)) == WRITERS - 1
    values = {
        value for at, value, _ in [*told("created", samples), *told("updated", samples)] if at == text_of(BASE_US)
    }
    assert values == {60.0 + number for number in range(WRITERS)}
    nights = [(name, data["score"]) for name, data in events if "score" in data]
    assert sorted(name for name, _ in nights) == ["created", "updated", "updated", "updated"]
    assert {score for _, score in nights} == {70 + number for number in range(WRITERS)}


def channels() -> list[tuple[str, list[str]]]:
    """Of every event, oldest first."""
    return [(event.event_type, event.channels) for event in Event.objects.order_by("id")]


def test_events_have_the_channels_of_their_provider_and_user(in_team: factories.Tenant, user: User) -> None:
    ring = DataSource("oura", "ring", device_id="ring-7")
    device = SummaryRecord("device", ring, "ring-7", datetime(2026, 3, 1, tzinfo=UTC).date(), None, None, None, {})
    health_data_store(
        team=in_team.context, user_id=user.id, series=[heartrates({BASE_US: 60.0})], summaries=[night(), device]
    )
    at = datetime(2026, 3, 1, tzinfo=UTC)
    historical_announce(team=in_team.context, user_id=user.id, provider="fitbit", resources=["sleep"], start=at, end=at)
    mine = f"user.{user.id}"
    assert dict(channels()) == {
        "daily.data.heartrate.created": ["provider.oura", mine],
        "daily.data.sleep.created": ["provider.oura", mine],
        "provider.device.created": ["provider.oura", mine],
        "historical.data.sleep.created": ["provider.fitbit", mine],
    }


def test_each_provider_of_a_write_has_its_channel(
    in_team: factories.Tenant, user: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    fitbit = DataSource("fitbit", "watch")
    nights = [night(f"oura-{number}") for number in range(3)]
    nights += [replace(night(f"fitbit-{number}"), source=fitbit) for number in range(3)]
    # Savepoint and its release, user held, summaries written, events of each provider.
    with django_assert_num_queries(6):
        health_data_store(team=in_team.context, user_id=user.id, summaries=nights)
    assert sorted(listed[0] for _, listed in channels()) == ["provider.fitbit"] * 3 + ["provider.oura"] * 3
    by_source = {
        (data["source"]["slug"], listed[0]) for (_, data), (_, listed) in zip(emitted(), channels(), strict=True)
    }
    assert by_source == {("oura", "provider.oura"), ("fitbit", "provider.fitbit")}
