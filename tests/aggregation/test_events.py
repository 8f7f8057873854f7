"""The events of health data tell what happened, in the transaction in which it happened."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from django.db import transaction

from aggregation import events
from aggregation.constants import EVENT_SAMPLES_MAXIMUM, SOURCE_IDS
from aggregation.models import Block, Summary
from aggregation.registry import provider_name
from aggregation.services import health_data_store, historical_announce
from tests import factories
from tests.aggregation.samples import PHONE, WATCH, batch, heartrates, us
from tests.aggregation.summaries import night
from users.models import User
from webhooks.models import Event
from webhooks.registry import event_types

BASE_US = us(2026, 3, 1)


@pytest.fixture
def user(in_team: factories.Tenant) -> User:
    return factories.user_make(in_team, client_user_id="person-77")


def emitted() -> Iterator[dict[str, Any]]:
    for event in Event.objects.order_by("id"):
        yield orjson.loads(event.body or "")


def test_new_and_changed_samples_have_events_of_their_own(in_team: factories.Tenant, user: User) -> None:
    for values in ({BASE_US: 60.0, BASE_US + 1: 61.0}, {BASE_US + 1: 99.0, BASE_US: 60.0, BASE_US + 2: 62.0}):
        health_data_store(team=in_team.context, user_id=user.id, series=[heartrates(values, offset_seconds=3_600)])
    ours = provider_name("oura")
    source = {
        "provider": "oura", "type": "watch", "app_id": None, "device_id": None,
        "name": ours.name, "slug": "oura", "logo": ours.logo,
    }  # fmt: skip

    def sample(value: float, fraction: str) -> dict[str, Any]:
        timestamp = f"2026-03-01T00:00:00{fraction}+00:00"
        return {"timestamp": timestamp, "timezone_offset": 3_600, "type": None, "unit": "bpm", "value": value}

    def event(name: str, *samples: dict[str, Any]) -> dict[str, Any]:
        return {
            "event_type": f"daily.data.heartrate.{name}",
            "team_id": str(in_team.team.id),
            "user_id": str(user.id),
            "client_user_id": "person-77",
            "data": {"user_id": str(user.id), "source_id": 1, "source": source, "data": list(samples)},
        }

    assert list(emitted()) == [
        event("created", sample(60.0, ""), sample(61.0, ".000001")),
        event("created", sample(62.0, ".000002")),
        event("updated", sample(99.0, ".000001")),
    ]


def test_sending_the_same_again_is_no_event(in_team: factories.Tenant, user: User) -> None:
    for _ in range(2):
        health_data_store(
            team=in_team.context, user_id=user.id, series=[heartrates({BASE_US: 60.0})], summaries=[night()]
        )
    assert [one["event_type"] for one in emitted()] == ["daily.data.heartrate.created", "daily.data.sleep.created"]


def test_a_summary_event_carries_the_summary(in_team: factories.Tenant, user: User) -> None:
    for score in (70, 71):
        health_data_store(team=in_team.context, user_id=user.id, summaries=[night(score=score)])
    created, updated = emitted()
    row = Summary.objects.get()
    assert [created["event_type"], updated["event_type"]] == ["daily.data.sleep.created", "daily.data.sleep.updated"]
    assert [created["data"]["score"], updated["data"]["score"]] == [70, 71]
    assert {created["data"]["id"], updated["data"]["id"]} == {str(row.id)}
    assert updated["data"]["source"]["slug"] == "oura"


def test_an_event_carries_a_bounded_number_of_samples(in_team: factories.Tenant, user: User) -> None:
    values = {BASE_US + second * 1_000_000: 60.0 for second in range(EVENT_SAMPLES_MAXIMUM + 1)}
    health_data_store(
        team=in_team.context, user_id=user.id, series=[heartrates(values), heartrates({BASE_US: 1.0}, source=PHONE)]
    )
    assert [(len(one["data"]["data"]), one["data"]["source"]["type"]) for one in emitted()] == [
        (1, "phone"),
        (EVENT_SAMPLES_MAXIMUM, "watch"),
        (1, "watch"),
    ]


class BrokenError(Exception):
    """What goes wrong after the data were written."""


def test_data_that_are_rolled_back_have_no_event(in_team: factories.Tenant, user: User) -> None:
    def stored_and_broken() -> None:
        with transaction.atomic():
            health_data_store(
                team=in_team.context, user_id=user.id, series=[heartrates({BASE_US: 60.0})], summaries=[night()]
            )
            assert Event.objects.count() == 2
            raise BrokenError

    with pytest.raises(BrokenError):
        stored_and_broken()
    assert (Event.objects.count(), Block.objects.count(), Summary.objects.count()) == (0, 0, 0)


def test_a_write_without_events_emits_none(in_team: factories.Tenant, user: User) -> None:
    health_data_store(
        team=in_team.context,
        user_id=user.id,
        series=[batch([(BASE_US, BASE_US, 1.0, 0, None)])],
        summaries=[night()],
        emit=False,
    )
    assert list(emitted()) == []


def test_a_backfill_is_announced_once_a_resource_without_data(in_team: factories.Tenant, user: User) -> None:
    historical_announce(
        team=in_team.context,
        user_id=user.id,
        provider="oura",
        resources=["sleep", "steps"],
        start=datetime(2026, 2, 1, tzinfo=UTC),
        end=datetime(2026, 3, 1, tzinfo=UTC),
    )
    notice = {
        "user_id": str(user.id),
        "start_date": "2026-02-01T00:00:00+00:00",
        "end_date": "2026-03-01T00:00:00+00:00",
        "provider": "oura",
        "is_final": True,
    }
    assert [(one["event_type"], one["data"]) for one in emitted()] == [
        ("historical.data.sleep.created", notice),
        ("historical.data.steps.created", notice),
    ]


def test_every_event_of_the_catalogue_is_registered_with_a_sample() -> None:
    ours = {one.name for one in events.event_types()}
    assert len(ours) == 18
    assert {name for name in event_types() if name.startswith(("daily.data.", "historical.data."))} == ours
    assert {type(event_types()[name].sample) for name in ours} == {dict}


def test_source_ids_are_fixed() -> None:
    assert (SOURCE_IDS["oura"], SOURCE_IDS["apple_health_kit"], SOURCE_IDS["google_health"]) == (1, 16, 41)
    assert WATCH.provider in SOURCE_IDS
