"""The events of health data tell what happened, in the transaction in which it happened."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import numpy as np
import orjson
import pytest
from django.db import transaction
from pytest_django import DjangoAssertNumQueries

from aggregation import event_types as catalogue
from aggregation import events
from aggregation.catalogue import SERIES, SUMMARIES, SampleField, SampleFieldKind, SeriesSpec, SummarySpec
from aggregation.constants import SOURCE_IDS
from aggregation.models import Block, Summary
from aggregation.records import DataSource, FieldColumn, SampleColumns, SeriesBatch, SummaryRecord
from aggregation.registry import provider_name
from aggregation.serializers import sample_shape, summary_shape
from aggregation.services import health_data_store, historical_announce
from aggregation.shapes import device_uuid, source_json
from aggregation.store.streams import StreamChange
from aggregation.store.summaries import SummaryRow
from tests import factories
from tests.aggregation.samples import WATCH, batch, heartrates, us
from tests.aggregation.summaries import RING, night
from users.models import User
from webhooks.models import Event
from webhooks.registry import event_types

BASE_US = us(2026, 3, 1)
AT = datetime(2026, 3, 1, 8, tzinfo=UTC)
USER_ID = UUID("01934c7e-2b1d-7d04-8a7e-51d2f9b7c6aa")


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
        "provider": "oura", "type": "watch", "app_id": None, "device_id": None, "workout_id": None, "sport": None,
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


def test_events_cost_one_statement_however_many_they_are(
    in_team: factories.Tenant, user: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for count in (1, 100):
        nights = [night(f"{count}-{number}") for number in range(count)]
        # Savepoint and its release, user held, summaries written, events.
        with django_assert_num_queries(5):
            health_data_store(team=in_team.context, user_id=user.id, summaries=nights)
    assert Event.objects.count() == 101


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
    ours = {one.name for one in catalogue.event_types()}
    assert len(ours) == 182
    family = ("daily.data.", "historical.data.", "provider.device.")
    assert {name for name in event_types() if name.startswith(family)} == ours
    assert {type(event_types()[name].sample) for name in ours} == {dict}
    assert not any("hypnogram" in name or ".data.device." in name for name in ours)


@pytest.mark.parametrize("spec", [spec for spec in SERIES if not spec.is_older], ids=lambda spec: spec.slug)
def test_the_sample_of_a_timeseries_event_is_one_that_would_be_stored(
    in_team: factories.Tenant, user: User, spec: SeriesSpec
) -> None:
    data: Any = event_types()[f"daily.data.{spec.slug}.created"].sample
    shown = sample_shape(spec)
    assert set(data["data"][0]) == set(shown().fields)
    columns = SampleColumns(
        start_us=np.array([BASE_US]),
        end_us=np.array([BASE_US + 1]) if spec.is_interval else None,
        value=np.array([data["data"][0]["value"]]) if spec.has_value else None,
        offset_seconds=np.array([3_600], np.int32),
        type=[data["data"][0]["type"]],
        fields={field.name: column_of(field, data["data"][0]) for field in spec.fields},
    )
    series = [SeriesBatch(spec.slug, DataSource("manual", "app"), columns)]
    health_data_store(team=in_team.context, user_id=user.id, series=series)
    (event,) = emitted()
    assert event["event_type"] == f"daily.data.{spec.slug}.created"
    (sample,) = event["data"]["data"]
    expected = {**data["data"][0], "timestamp": "2026-03-01T00:00:00+00:00", "timezone_offset": 3_600}
    if spec.is_interval:
        expected |= {"start": "2026-03-01T00:00:00+00:00", "end": "2026-03-01T00:00:00.000001+00:00"}
    assert sample == expected


def column_of(field: SampleField, sample: dict[str, Any]) -> FieldColumn:
    value = sample["value" if field.is_text_value else field.name]
    if field.kind is SampleFieldKind.NUMBER:
        return np.array([value], np.float64)
    return [",".join(value) if isinstance(value, list) else value]


SHOWN = [spec for spec in SUMMARIES if not spec.raw_only]


@pytest.mark.parametrize("spec", SHOWN, ids=lambda spec: spec.slug)
def test_the_sample_of_a_summary_event_is_one_that_would_be_stored(
    in_team: factories.Tenant, user: User, spec: SummarySpec
) -> None:
    data: Any = event_types()[f"daily.data.{spec.slug}.created"].sample
    assert set(data) == set(summary_shape(spec)().fields)
    fields = {field.name: data[field.name] for field in spec.fields}
    offset_seconds = fields.pop("timezone_offset", None)
    starts_at, ends_at = (
        datetime.fromisoformat(fields.pop(name)) if name else None for name in (spec.starts_field, spec.ends_field)
    )
    if "sport" in fields:
        fields["sport"] = data["sport"]["slug"]
    summaries = []
    if spec.parent is not None:
        summaries = [night()]
        fields = {**fields, spec.parent.id_field: None, spec.parent.external_id_field: "night-1"}
    day = spec.example.calendar_date
    summaries.append(SummaryRecord(spec.slug, RING, "one", day, starts_at, ends_at, offset_seconds, fields))
    assert health_data_store(team=in_team.context, user_id=user.id, summaries=summaries).refused == ()
    event = list(emitted())[-1]
    assert event["event_type"] == f"daily.data.{spec.slug}.created"
    own = {"id", "user_id", "created_at", "updated_at", "provider_id", "sleep_id"}
    own |= {name for name in data if name.startswith("source")}
    differing = {name for name, value in event["data"].items() if value != data[name]}
    assert differing <= own


def test_a_device_has_events_of_its_own(in_team: factories.Tenant, user: User) -> None:
    source = DataSource("oura", "ring", device_id="ring-7")
    at = datetime(2026, 3, 1, 8, tzinfo=UTC)
    for version in ("1.0", "1.1"):
        fields = {"device_model": "Gen 4", "device_version": version}
        device = SummaryRecord("device", source, "ring-7", at.date(), None, None, None, fields)
        health_data_store(team=in_team.context, user_id=user.id, summaries=[device])
    assert [(one["event_type"], one["data"]) for one in emitted()] == [
        (
            f"provider.device.{name}",
            {
                "id": str(device_uuid(user.id, "oura", "ring-7")),
                "user_id": str(user.id),
                "provider": "oura",
                "source_type": "ring",
                "app_id": None,
                "device_id": "ring-7",
                "device_manufacturer": None,
                "device_model": "Gen 4",
                "device_version": version,
            },
        )
        for name, version in (("created", "1.0"), ("updated", "1.1"))
    ]


def test_the_event_of_a_stream_carries_no_samples(in_team: factories.Tenant, user: User) -> None:
    workout = SummaryRow(
        USER_ID, user.id, "workouts", RING, date(2026, 3, 1), {"sport": "cycling", "provider_id": "ride-1"}, AT, AT
    )
    for created, name in ((True, "created"), (False, "updated")):
        event = events.stream_event(user.id, StreamChange("workout_stream", workout, created))
        assert event.type == f"daily.data.workout_stream.{name}"
        assert event.data == {
            "user_id": str(user.id),
            "workout_id": str(USER_ID),
            "provider_id": "ride-1",
            "message": "The stream of this workout can be read at its stream endpoint.",
            "sport": {"id": 4, "name": "Cycling", "slug": "cycling"},
            "source": source_json(user.id, RING, workout_id=USER_ID, sport="cycling"),
        }


def test_source_ids_are_fixed() -> None:
    assert (SOURCE_IDS["oura"], SOURCE_IDS["apple_health_kit"], SOURCE_IDS["google_health"]) == (1, 16, 41)
    assert WATCH.provider in SOURCE_IDS
