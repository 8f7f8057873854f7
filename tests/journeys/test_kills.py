"""Whatever is killed, and when: everything acknowledged is there once, and every event arrives."""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.aggregation.apple_health.generate import write_export
from tests.journeys.receiver import Receiver, receiver
from tests.journeys.service import Service, call, service, wait_for
from tests.journeys.test_from_nothing_to_an_answer import Newcomer, ended

pytestmark = pytest.mark.slow

#: Of ten records seven are heart rates and two are steps (see the generator).
RECORDS = 200_000
HEART_RATES = RECORDS * 7 // 10
STEPS = RECORDS * 2 // 10


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


def test_nothing_acknowledged_is_lost_or_doubled(running: Service, customer: Receiver) -> None:
    newcomer = Newcomer(running)
    endpoint, secret = newcomer.endpoint(f"{customer.url}/hooks")
    user_id = newcomer.post("/v2/user", {"client_user_id": "anna"})["user_id"]
    export = io.BytesIO()
    write_export(export, RECORDS)
    path = f"/v2/user/{user_id}/import/apple_health"
    job = newcomer.post(path, export.getvalue(), status=202, Content_Type="application/xml")
    address = f"/v2/user/{user_id}/import/{job['job_id']}"

    with events_produced(newcomer, endpoint) as acknowledged:
        begun(newcomer, address)
        assert running.kill("celery", "worker") > 0
        begun(newcomer, address)
        assert running.kill("pginstall18") > 0
        wait_for("the service came back", lambda: up(running))
        begun(newcomer, address)
        running.kill_tree()
        running.start()
        answer = wait_for("the import ended", lambda: ended(newcomer, address), seconds=300)

    assert answer["status"] == "succeeded", answer
    receipt = answer["receipt"]
    assert (receipt["stored"]["heartrate"], receipt["stored"]["steps"]) == (HEART_RATES, STEPS)
    assert count_of(newcomer, user_id, "heartrate") == HEART_RATES
    assert len(acknowledged) > 20
    wait_for("every acknowledged event arrived", lambda: acknowledged <= arrived(customer, secret), seconds=180)
    announced = [name for _, name in sorted(arrived_names(customer, secret).items()) if name.startswith("historical")]
    resources = ("heartrate", "sleep", "sleep_cycle", "steps")
    assert sorted(announced) == [f"historical.data.{name}.created" for name in resources]
    assert running.stop() == 0


@contextmanager
def events_produced(newcomer: Newcomer, endpoint: str) -> Iterator[set[str]]:
    """Asks for test events all the while, from a thread; the ids of those that were acknowledged."""
    acknowledged: set[str] = set()
    enough = threading.Event()

    def produce() -> None:
        while not enough.wait(0.05):
            try:
                answer = call("POST", f"{endpoint}/test", headers=newcomer.management_headers)
            except OSError:
                continue  # the service is down; nothing was acknowledged
            if answer.status == 200:
                acknowledged.add(answer.json()["message_id"])

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        yield acknowledged
    finally:
        enough.set()
        producer.join(timeout=120)


def begun(newcomer: Newcomer, address: str) -> None:
    """Wait until the import has moved on, so that what is killed is in the middle of something."""
    before = progress(newcomer, address)
    after = wait_for("the import moved on", lambda: changed(newcomer, address, before), seconds=180)
    assert after[0] in ("queued", "running"), "the import was over before anything was killed"


def changed(newcomer: Newcomer, address: str, before: Any) -> Any:
    """How far the import is, once that is further than before."""
    now = progress(newcomer, address)
    return now if now not in (None, before) else None


def progress(newcomer: Newcomer, address: str) -> Any:
    """How far the import is, or None while the service is down."""
    try:
        answer = call("GET", newcomer.running.api + address, headers=newcomer.team_headers)
    except OSError:
        return None
    if answer.status != 200:
        return None
    body = answer.json()
    return (body["status"], body["progress"]["done"])


def up(running: Service) -> bool:
    """Whether requests are answered from the database again."""
    try:
        return bool(call("GET", f"{running.api}/readyz").json()["database"] == "ok")
    except OSError:
        return False


def count_of(newcomer: Newcomer, user_id: str, resource: str) -> int:
    """How many samples the query finds."""
    body = {
        "timeframe": {"type": "relative", "anchor": "2021-12-31", "past": {"unit": "year", "value": 3}},
        "queries": [
            {
                "select": [{"func": "count", "arg": {resource: "value"}}],
                "group_by": [{"arg": {"index": resource}, "date_trunc": {"unit": "year", "value": 1}}],
            }
        ],
    }
    table = newcomer.post(f"/aggregate/v1/user/{user_id}/query", body)["results"][0]["table"]
    return int(sum(table["count"]))


def arrived_names(customer: Receiver, secret: str) -> dict[str, str]:
    """Event types by message id, each message once whatever its repeats."""
    return {message_id: payload["event_type"] for message_id, payload in customer.verified(secret)}


def arrived(customer: Receiver, secret: str) -> set[str]:
    """The ids of what arrived."""
    return set(arrived_names(customer, secret))
