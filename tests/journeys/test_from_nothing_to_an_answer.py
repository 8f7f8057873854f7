"""A newcomer's whole way: an empty folder, a user, a provider connected on a page, data, a question, events."""

import io
import tarfile
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect

from tests.journeys.receiver import Receiver, receiver
from tests.journeys.service import Service, call, service, wait_for
from tests.links.browsing import chromium
from tests.links.simulators import Person

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ACCOUNT = "anna@example.com"
EXPORT = Path(__file__).resolve().parents[1] / "data/apple_health/export.xml"
PAST_DAYS = 7


@pytest.fixture
def customer() -> Iterator[Receiver]:
    """The customer's site: webhooks arrive there, and people come back to it."""
    with receiver() as running:
        yield running


@pytest.fixture
def running(tmp_path: Path, customer: Receiver) -> Iterator[Service]:
    """The service, started on an empty folder."""
    with service(tmp_path / "data", extra_origins=[customer.url]) as made:
        made.start()
        yield made


class Newcomer:
    """Somebody with the demo keys."""

    def __init__(self, running: Service) -> None:
        self.running = running
        self.team_headers = {"x-service-api-key": running.demo["api_key"]}
        self.management_headers = {"X-Management-Key": running.demo["management_key"]}

    def get(self, path: str) -> Any:
        """A team call's answer."""
        answer = call("GET", self.running.api + path, headers=self.team_headers)
        assert answer.status == 200, answer.body
        return answer.json()

    def post(self, path: str, body: Any = None, *, status: int = 200, **headers: str) -> Any:
        """A team call's answer."""
        sent = {**self.team_headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        answer = call("POST", self.running.api + path, body, sent)
        assert answer.status == status, answer.body
        return answer.json()

    def endpoint(self, url: str) -> tuple[str, str]:
        """Register a webhook endpoint; its address at the management API, and its secret."""
        demo = self.running.demo
        base = f"{self.running.management}/v1/org/{demo['org_id']}/team/{demo['team_id']}/sandbox/webhook"
        made = call("POST", base, {"url": url, "description": "journey"}, self.management_headers)
        assert made.status == 200, made.body
        address = f"{base}/{made.json()['id']}"
        return address, call("GET", f"{address}/secret", headers=self.management_headers).json()["key"]


def test_from_an_empty_folder_to_a_verified_event_and_a_true_answer(running: Service, customer: Receiver) -> None:
    newcomer = Newcomer(running)
    _, secret = newcomer.endpoint(f"{customer.url}/hooks")
    user = newcomer.post("/v2/user", {"client_user_id": "anna"})
    user_id: str = user["user_id"]

    connect_in_a_browser(newcomer, user_id, f"{customer.url}/done")
    connections = newcomer.get(f"/v2/user/providers/{user_id}")["providers"]
    assert [(item["slug"], item["status"]) for item in connections] == [("oura", "connected")]
    assert [item["source"]["slug"] for item in newcomer.get("/v2/user/")["users"][0]["connected_sources"]] == ["oura"]

    announced = wait_for(
        "the backfill was announced for heart rate",
        lambda: [
            payload
            for _, payload in customer.verified(secret)
            if payload["event_type"] == "historical.data.heartrate.created"
        ],
        seconds=120,
    )
    assert set(announced[0]) == {"event_type", "data", "team_id", "user_id", "client_user_id"}
    assert (announced[0]["user_id"], announced[0]["client_user_id"]) == (user_id, "anna")

    truth = daily_heart_rates(running)
    check_query(newcomer, user_id, truth)
    check_import(newcomer, user_id)

    imported = wait_for(
        "the import was announced",
        lambda: [
            payload
            for _, payload in customer.verified(secret)
            if payload["event_type"] == "historical.data.steps.created"
        ],
    )
    assert {payload["data"]["provider"] for payload in imported} == {"apple_health_kit"}
    names = [payload["event_type"] for _, payload in customer.verified(secret)]
    assert names.count("provider.connection.created") == 1
    assert running.stop() == 0


def connect_in_a_browser(newcomer: Newcomer, user_id: str, home: str) -> None:
    """The hosted page, by hand, until the browser is back at the customer's."""
    link = newcomer.post("/v2/link/token", {"user_id": user_id, "redirect_url": home.replace("127.0.0.1", "localhost")})
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.goto(link["link_web_url"])
        page.get_by_role("link", name="Oura").click()
        page.get_by_role("button", name="Continue").click()
        page.get_by_label("E-mail").fill(ACCOUNT)
        page.get_by_label("Password").fill("simulator")
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("button", name="Allow").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Back at the customer's")
        assert parse_qs(urlsplit(page.url).query)["state"] == ["success"]


def daily_heart_rates(running: Service) -> dict[str, list[float]]:
    """The person's heart rates by their own day, fetched from the vendor past the service."""
    callback = "http://localhost:9/elsewhere"
    query = {"response_type": "code", "client_id": "independent", "redirect_uri": callback, "state": "s"}
    query["scope"] = "personal daily heartrate workout session spo2"
    back = Person(account=ACCOUNT).decide(f"{running.simulator}/oura/oauth/authorize?{urlencode(query)}")
    form = {
        "grant_type": "authorization_code",
        "code": parse_qs(urlsplit(back).query)["code"][0],
        "redirect_uri": callback,
        "client_id": "independent",
        "client_secret": "simulator-secret",
    }
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    token = call("POST", f"{running.simulator}/oura/oauth/token", urlencode(form).encode(), headers).json()
    bearer = {"Authorization": f"Bearer {token['access_token']}"}
    now = datetime.now(UTC)
    found: dict[str, list[float]] = {}
    cursor = ""
    window = {
        "start_datetime": (now - timedelta(days=PAST_DAYS + 2)).isoformat(),
        "end_datetime": (now + timedelta(days=1)).isoformat(),
    }
    offsets = sleep_offsets(running, bearer, now)
    while True:
        page = {**window, **({"next_token": cursor} if cursor else {})}
        url = f"{running.simulator}/oura/v2/usercollection/heartrate?{urlencode(page)}"
        answer = call("GET", url, headers=bearer).json()
        for item in answer["data"]:
            at = datetime.fromisoformat(item["timestamp"]) + offsets
            found.setdefault(at.strftime("%Y-%m-%dT00:00:00"), []).append(float(item["bpm"]))
        cursor = answer["next_token"]
        if not cursor:
            return found


def sleep_offsets(running: Service, bearer: dict[str, str], now: datetime) -> timedelta:
    """How far from UTC the person's clock is, as their last nights say; the same for all of them."""
    days = {
        "start_date": (now - timedelta(days=PAST_DAYS + 2)).date().isoformat(),
        "end_date": now.date().isoformat(),
    }
    url = f"{running.simulator}/oura/v2/usercollection/sleep?{urlencode(days)}"
    nights = call("GET", url, headers=bearer).json()["data"]
    found = {datetime.fromisoformat(night["bedtime_end"]).utcoffset() for night in nights}
    assert len(found) == 1
    offset = found.pop()
    assert offset is not None
    return offset


def check_query(newcomer: Newcomer, user_id: str, truth: dict[str, list[float]]) -> None:
    """Mean, min, max and newest of each whole day of the past week, as JSON and as Parquet."""
    anchor = date.today() - timedelta(days=2)  # noqa: DTZ011 - a day of the person's, two days back in any zone
    body = {
        "timeframe": {"type": "relative", "anchor": anchor.isoformat(), "past": {"unit": "day", "value": 4}},
        "queries": [
            {
                "select": [{"func": name, "arg": {"heartrate": "value"}} for name in ("mean", "min", "max", "newest")],
                "group_by": [{"arg": {"index": "heartrate"}, "date_trunc": {"unit": "day", "value": 1}}],
            }
        ],
    }
    table = newcomer.post(f"/aggregate/v1/user/{user_id}/query", body)["results"][0]["table"]
    days = [(anchor - timedelta(days=back)).strftime("%Y-%m-%dT00:00:00") for back in (3, 2, 1, 0)]
    assert list(table) == ["index", "mean", "min", "max", "newest"]
    assert table["index"] == days
    assert table["mean"] == pytest.approx([fmean(truth[day]) for day in days])
    assert table["min"] == [min(truth[day]) for day in days]
    assert table["max"] == [max(truth[day]) for day in days]
    assert table["newest"] == [truth[day][-1] for day in days]
    headers = {**newcomer.team_headers, "Accept": "application/vnd.service.tar+gzip+parquet"}
    archive = call("POST", f"{newcomer.running.api}/aggregate/v1/user/{user_id}/query", body, headers)
    with tarfile.open(fileobj=io.BytesIO(archive.body), mode="r:gz") as tar:
        assert tar.getnames() == ["0.parquet"]
        member = tar.extractfile("0.parquet")
        assert member is not None
        assert pq.read_table(io.BytesIO(member.read())).column("max").to_pylist() == table["max"]


def check_import(newcomer: Newcomer, user_id: str) -> None:
    """A hand-written Apple Health export: accepted, worked by the worker, and told exactly."""
    path = f"/v2/user/{user_id}/import/apple_health"
    job = newcomer.post(path, EXPORT.read_bytes(), status=202, Content_Type="application/xml")
    answer = wait_for("the import ended", lambda: ended(newcomer, f"/v2/user/{user_id}/import/{job['job_id']}"))
    assert answer["status"] == "succeeded"
    assert answer["receipt"]["stored"]["steps"] > 0
    again = newcomer.post(path, EXPORT.read_bytes(), status=202, Content_Type="application/xml")
    answer = wait_for("the import ended", lambda: ended(newcomer, f"/v2/user/{user_id}/import/{again['job_id']}"))
    assert answer["receipt"]["stored"] == {}


def ended(newcomer: Newcomer, path: str) -> Any:
    """The job's answer once it has ended."""
    answer = newcomer.get(path)
    return answer if answer["status"] in ("succeeded", "failed") else None
