"""A whole journey of events: every delivery verifies with the published library and is as the served document says."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.documents import EventSchemas
from tests.journeys.receiver import Receiver, receiver
from tests.journeys.service import Service, call, service, wait_for
from tests.journeys.test_from_nothing_to_an_answer import Newcomer
from webhooks.constants import BODY_MAXIMUM_BYTES

pytestmark = pytest.mark.slow

SAMPLES = 6_000
AT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def customer() -> Iterator[Receiver]:
    """Where events arrive."""
    with receiver() as running:
        yield running


@pytest.fixture
def running(tmp_path: Path, customer: Receiver) -> Iterator[Service]:
    """The service, started on an empty folder."""
    with service(tmp_path / "data", extra_origins=[customer.url]) as made:
        made.start()
        yield made


class Events:
    """What the customer was sent: verified, and held against the document that the service serves."""

    def __init__(self, newcomer: Newcomer, customer: Receiver, secret: str) -> None:
        self._customer, self._secret = customer, secret
        self._schemas = EventSchemas(newcomer.get("/openapi.json"))
        self._bodies: dict[str, dict[str, Any]] = {}

    def found(self) -> dict[str, list[dict[str, Any]]]:
        """Every event once, by its type."""
        arrived = dict(self._customer.verified(self._secret))
        new = {message_id: body for message_id, body in arrived.items() if message_id not in self._bodies}
        assert [problem for body in new.values() for problem in self._schemas.problems(body)] == []
        self._bodies |= new
        found: dict[str, list[dict[str, Any]]] = {}
        for body in self._bodies.values():
            found.setdefault(body["event_type"], []).append(body)
        return found

    def wait(self, event_type: str) -> list[dict[str, Any]]:
        """The events of a type, once there is one."""
        arrived: list[dict[str, Any]] = wait_for(f"{event_type} arrived", lambda: self.found().get(event_type))
        return arrived


def heart_rates(value: float, *, count: int) -> dict[str, Any]:
    """A telephone's push of a heart rate a second."""
    samples = [{"timestamp": (AT + timedelta(seconds=second)).isoformat(), "value": value} for second in range(count)]
    source = {"type": "watch", "device_id": "watch-7", "app_id": "com.example.health"}
    return {"provider": "manual", "source": source, "timeseries": {"heartrate": samples}}


def test_every_event_of_a_journey_is_verified_and_as_documented(running: Service, customer: Receiver) -> None:
    newcomer = Newcomer(running)
    endpoint, secret = newcomer.endpoint(f"{customer.url}/hooks")
    events = Events(newcomer, customer, secret)
    reference = "Zoë / 17"
    user_id = newcomer.post("/v2/user", {"client_user_id": reference})["user_id"]

    newcomer.post("/v2/link/connect/demo", {"user_id": user_id, "provider": "oura"})
    (created,) = events.wait("provider.connection.created")
    assert created["data"]["provider"]["slug"] == "oura"
    for resource in ("heartrate", "sleep", "activity", "workouts"):
        (notice,) = events.wait(f"historical.data.{resource}.created")
        assert (notice["data"]["provider"], notice["client_user_id"]) == ("oura", reference)

    path = f"/v2/user/{user_id}/data"
    watch = {"id": "watch-7", "device_model": "Band"}
    newcomer.post(path, {"provider": "manual", "source": {"type": "watch"}, "summaries": {"device": [watch]}})
    # The ring of the demo is told too, before or after.
    wait_for("the watch was told", lambda: ("watch-7", "Band") in devices(events))
    assert {model for _, model in devices(events)} <= {"Band", "gen3"}
    newcomer.post(path, heart_rates(60.0, count=SAMPLES))
    wait_for("every new sample arrived", lambda: samples(events, "daily.data.heartrate.created") == SAMPLES)
    newcomer.post(path, heart_rates(60.0, count=SAMPLES))
    newcomer.post(path, heart_rates(61.0, count=10))
    wait_for("what was revised arrived", lambda: samples(events, "daily.data.heartrate.updated") == 10)
    assert samples(events, "daily.data.heartrate.created") == SAMPLES
    assert max(len(body) for _, body in customer.received) <= BODY_MAXIMUM_BYTES

    assert call("POST", f"{endpoint}/test", headers=newcomer.management_headers).status == 200
    (test,) = events.wait("webhook.test")
    assert (test["user_id"], test["client_user_id"]) == (None, None)

    assert {body["team_id"] for bodies in events.found().values() for body in bodies} == {running.demo["team_id"]}
    assert not [name for name in events.found() if name.startswith("message.")]
    assert running.stop() == 0


def devices(events: Events) -> list[tuple[str, str]]:
    """Id and model of each that was told."""
    found = events.found().get("provider.device.created", [])
    return [(body["data"]["device_id"], body["data"]["device_model"]) for body in found]


def samples(events: Events, event_type: str) -> int:
    """How many of them arrived."""
    return sum(len(body["data"]["data"]) for body in events.found().get(event_type, []))
