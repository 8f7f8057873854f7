"""The catalogue of events: each has a sample, a schema that the sample keeps to, and a place in the document."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from aggregation.catalogue import RESOURCES
from healthsvc.kernel.scope import SystemScope, system_scope
from tests.documents import MANAGEMENT_URLCONF, TEAM_URLCONF, document, event_problems, event_schema
from tests.factories import Tenant
from tests.true_events import check_events
from tests.webhooks.conftest import emit
from webhooks.constants import CHANNEL_PATTERN
from webhooks.models import Event
from webhooks.openapi import envelope_sample
from webhooks.registry import PROVIDER_CHANNEL, EventType, event_types, event_types_register, provider_channel

HEART_RATE = "daily.data.heartrate.created"
SLEEP = "daily.data.sleep.created"


def test_every_sample_keeps_to_its_schema() -> None:
    assert [problem for one in event_types().values() for problem in event_problems(envelope_sample(one))] == []


def test_every_schema_is_one() -> None:
    for name in event_types():
        Draft202012Validator.check_schema(event_schema(name))
        assert event_schema(name)["properties"]["data"] not in ({}, None), name


def objects_of(schema: Any) -> Iterator[dict[str, Any]]:
    """Every part of a schema that names properties."""
    for value in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from objects_of(value)
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        yield schema


def test_what_only_events_carry_is_closed_and_required() -> None:
    written = {name: one.schema for name, one in event_types().items() if isinstance(one.schema, dict)}
    assert {"webhook.test", "message.attempt.exhausted"} <= set(written)
    for name, schema in written.items():
        for part in objects_of(schema):
            assert part["additionalProperties"] is False, name
            assert set(part["required"]) == set(part["properties"]), name


def data_of(event_type: str, **changes: Any) -> dict[str, Any]:
    """The sample of an event in its envelope, with other data."""
    body = envelope_sample(event_types()[event_type])
    return {**body, "data": {**body["data"], **changes}}


@pytest.mark.parametrize(
    ("event_type", "changes", "problem"),
    [
        (SLEEP, {"invented": 1}, "invented"),
        (SLEEP, {"total": None}, "None"),
        (SLEEP, {"bedtime_start": "yesterday"}, "yesterday"),
        (SLEEP, {"id": "1"}, "uuid"),
        (SLEEP, {"type": "siesta"}, "siesta"),
        (SLEEP, {"source": {"slug": "oura"}}, "provider"),
        (HEART_RATE, {"data": [{"timestamp": "2026-03-01T08:00:00+00:00"}]}, "value"),
        (HEART_RATE, {"data": {}}, "array"),
        (HEART_RATE, {"source_id": "1"}, "integer"),
        ("daily.data.workout_stream.created", {"data": []}, "data"),
        ("historical.data.sleep.created", {"is_final": None}, "boolean"),
        ("provider.connection.error", {"error_type": "mood"}, "mood"),
        ("provider.connection.error", {"provider": {"slug": "oura"}}, "string"),
        ("message.attempt.exhausted", {"attempts": 0}, "minimum"),
        ("webhook.test", {"message": 1}, "string"),
    ],
)
def test_a_wrong_sample_is_found(event_type: str, changes: dict[str, Any], problem: str) -> None:
    assert problem in "\n".join(event_problems(data_of(event_type, **changes)))


@pytest.mark.parametrize(
    "changes",
    [{"event_type": SLEEP}, {"team_id": "ours"}, {"user_id": 7}, {"client_user_id": 7}, {"sent_at": "now"}],
)
def test_a_wrong_envelope_is_found(changes: dict[str, Any]) -> None:
    assert event_problems({**data_of(HEART_RATE), **changes}) != []


def test_a_field_that_is_left_out_is_found() -> None:
    for one in event_types().values():
        data = one.sample
        assert isinstance(data, dict)
        for name in data:
            without = {key: value for key, value in data.items() if key != name}
            assert event_problems({**envelope_sample(one), "data": without}) != [], (one.name, name)


def test_one_component_a_resource_and_it_is_the_one_of_the_api() -> None:
    def reference(event_type: str) -> str:
        found: str = event_schema(event_type)["properties"]["data"]["$ref"]
        return found.removeprefix("#/components/schemas/")

    daily = [name for name in event_types() if name.startswith("daily.data.") and name.endswith(".created")]
    for name in daily:
        assert reference(name) == reference(name.removesuffix("created") + "updated")
    assert len({reference(name) for name in daily}) == len(daily)
    assert {reference(name) for name in event_types() if name.startswith("historical.")} == {"HistoricalDataEvent"}
    assert (reference(SLEEP), reference("provider.device.updated")) == ("ClientFacingSleep", "ClientFacingDevice")
    schemas = document(TEAM_URLCONF)["components"]["schemas"]
    assert schemas["ClientSleepResponse"]["properties"]["sleep"]["items"] == {
        "$ref": f"#/components/schemas/{reference(SLEEP)}"
    }
    samples = schemas[reference(HEART_RATE)]["properties"]["data"]["items"]
    assert samples == {"$ref": "#/components/schemas/ClientFacingHeartRateTimeseries"}


def test_an_event_of_no_user_says_so() -> None:
    bodies = [envelope_sample(one) for one in event_types().values()]
    for body in bodies:
        assert body["user_id"] == body["data"].get("user_id")
        assert (body["client_user_id"] is None) == (body["user_id"] is None)
    assert {body["event_type"] for body in bodies if body["user_id"]} == {
        name for name in event_types() if name.startswith(("daily.", "historical.", "provider."))
    }


def test_what_comes_from_a_provider_has_its_channel() -> None:
    named = {name for name, one in event_types().items() if one.channels == (PROVIDER_CHANNEL,)}
    assert named == {name for name in event_types() if name.startswith(("daily.", "historical.", "provider."))}
    assert provider_channel("oura") == "provider.oura"
    assert CHANNEL_PATTERN.fullmatch(provider_channel("apple_health_kit"))


def test_the_catalogue_is_whole() -> None:
    resources = {spec.slug for spec in RESOURCES} - {"device", "hypnogram"}
    daily = {f"daily.data.{slug}.{what}" for slug in resources for what in ("created", "updated")}
    historical = {f"historical.data.{slug}.created" for slug in resources}
    ours = {name for name in event_types() if name.startswith(("daily.", "historical."))}
    assert ours == daily | historical
    assert len(resources) == 60


def test_the_same_event_with_another_schema_is_refused() -> None:
    known = event_types()["webhook.test"]
    with pytest.raises(ValueError, match="Two events"):
        event_types_register([EventType(known.name, known.meaning, known.sample, {})])


def test_the_management_address_has_no_shapes_of_events() -> None:
    names = document(MANAGEMENT_URLCONF)["components"]["schemas"]
    assert [name for name in names if name.endswith("Event")] == []


def test_an_event_that_is_not_as_documented_is_found(team: Tenant) -> None:
    here, elsewhere = Path(__file__), Path(__file__).parents[1] / "aggregation/test_events.py"
    emit(team, SLEEP, data=event_types()[SLEEP].sample)
    check_events(elsewhere)
    emit(team, SLEEP, data={"score": 81})
    check_events(here)
    with pytest.raises(AssertionError, match="'id' is a required property"):
        check_events(elsewhere)


def test_our_own_event_that_is_not_as_documented_is_found_here_too(team: Tenant) -> None:
    emit(team, "webhook.test", data={"message": "This is a test."})
    with pytest.raises(AssertionError, match="endpoint_id"):
        check_events(Path(__file__))
    with system_scope(SystemScope.PURGE):
        Event.objects.all().delete()
