"""Answers of Strava's that the simulator never gives: rows that move, vanish or are strange, and its own words."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
import time_machine
from pytest_django import Settings

from aggregation.records import Refusal
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.typing import JSONValue
from links.catalogue import provider_get
from links.connectors.base import Pulled
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.oauth import application_of, code_exchange
from links.connectors.strava.client import StravaConnector
from links.connectors.wire import Access
from tests.links.payloads import DATA, changed, load
from tests.links.stub_server import Asked, StubServer, stub_running

STRAVA = StravaConnector()
SPAN = (date(2026, 3, 5), date(2026, 3, 11))
RIDE, RUN = load("strava/activity_ride.json"), load("strava/activity_run.json")
STREAMS = load("strava/streams_ride.json")
ROW, OTHER, MANUAL = orjson.loads((DATA / "strava/activities.json").read_bytes())
GONE: tuple[int, JSONValue] = (404, {"message": "Record Not Found", "errors": []})

Answers = dict[str, tuple[int, JSONValue]]


@pytest.fixture
def vendor(settings: Settings) -> Iterator[StubServer]:
    """A vendor that answers as a test says."""
    with stub_running(lambda asked: (500, b"")) as stub:
        settings.LOOPBACK_ORIGINS = [stub.url]
        yield stub


def telling(pages: list[JSONValue], answers: Answers) -> Callable[[Asked], tuple[int, bytes]]:
    """Pages of the listing, and what each activity's addresses answer; 404 for the others."""

    def answer(asked: Asked) -> tuple[int, bytes]:
        parts = urlsplit(asked.path)
        path = parts.path.removeprefix("/api/v3")
        if path == "/athlete/activities":
            page = int(parse_qs(parts.query)["page"][0])
            return 200, orjson.dumps(pages[page - 1] if page <= len(pages) else [])
        status, document = answers.get(path, GONE)
        return status, orjson.dumps(document)

    return answer


def pulled(vendor: StubServer, resource: str) -> Pulled:
    return STRAVA.pull(Access(vendor.url, "token", frozenset()), resource, *SPAN)


def test_a_window_is_asked_for_in_seconds_of_utc_and_the_largest_pages(vendor: StubServer) -> None:
    vendor.answer = telling([], {})
    assert pulled(vendor, "workouts") == Pulled()
    (asked,) = vendor.asked
    assert parse_qs(urlsplit(asked.path).query) == {
        "after": [str(int(datetime(2026, 3, 5, tzinfo=UTC).timestamp()) - 1)],
        "before": [str(int(datetime(2026, 3, 12, tzinfo=UTC).timestamp()))],
        "per_page": ["200"],
        "page": ["1"],
    }
    assert asked.headers["authorization"] == "Bearer token"


def test_a_row_that_moves_to_the_next_page_is_read_once(vendor: StubServer) -> None:
    vendor.answer = telling([[ROW], [ROW, OTHER]], {f"/activities/{one['id']}": (200, one) for one in (RIDE, RUN)})
    assert [one.external_id for one in pulled(vendor, "workouts").summaries] == ["15230011223", "15230011999"]
    assert len(vendor.asked) == 3 + 2


def test_an_activity_that_vanishes_meanwhile_is_left_out(vendor: StubServer) -> None:
    vendor.answer = telling([[ROW, OTHER]], {"/activities/15230011999": (200, RUN)})
    assert [one.external_id for one in pulled(vendor, "workouts").summaries] == ["15230011999"]
    vendor.answer = telling([[ROW]], {})
    assert pulled(vendor, "workout_stream") == Pulled(time_zone="America/Los_Angeles")


def test_a_stream_costs_one_request_and_comes_with_its_workout_as_it_is_listed(vendor: StubServer) -> None:
    vendor.answer = telling([[ROW]], {"/activities/15230011223/streams": (200, STREAMS)})
    found = pulled(vendor, "workout_stream")
    assert [urlsplit(asked.path).path for asked in vendor.asked].count("/api/v3/activities/15230011223") == 0
    assert (len(vendor.asked), found.summaries) == (3, ())
    assert [one.workout for one in found.streams] == [one.external_id for one in found.workouts] == ["15230011223"]
    assert found.workouts[0].fields["calories"] is None


def test_an_activity_without_streams_is_not_asked_for_more(vendor: StubServer) -> None:
    vendor.answer = telling([[ROW, MANUAL]], {"/activities/15230011223": (200, RIDE)})
    assert pulled(vendor, "workout_stream") == Pulled(time_zone="Europe/Helsinki")
    assert [urlsplit(asked.path).path for asked in vendor.asked] == [
        "/api/v3/athlete/activities",
        "/api/v3/athlete/activities",
        "/api/v3/activities/15230011223/streams",
    ]


def test_strange_rows_are_refused_and_stop_nothing(vendor: StubServer) -> None:
    rows: list[JSONValue] = [None, "row", changed(ROW, id="7"), changed(ROW, id=None), ROW]
    rows.append(changed(OTHER, elapsed_time=0))
    answers: Answers = {
        "/activities/15230011223": (200, RIDE),
        "/activities/15230011999": (200, changed(RUN, elapsed_time=0)),
        "/activities/15230011223/streams": (200, changed(STREAMS, watts={"data": "much"})),
        "/activities/15230011999/streams": (200, STREAMS),
    }
    vendor.answer = telling([rows], answers)
    listed = (
        Refusal("activity", "missing_field:id"),
        Refusal("activity", "not_an_object", 2),
        Refusal("activity", "wrong_type:id"),
    )
    found = pulled(vendor, "workouts")
    assert [one.external_id for one in found.summaries] == ["15230011223"]
    assert found.refusals == (*listed, Refusal("activity", "ends_before_start"))
    found = pulled(vendor, "workout_stream")
    assert [one.workout for one in found.streams] == ["15230011223"]
    assert "power" not in found.streams[0].channels
    assert found.refusals == (
        *listed,
        Refusal("streams", "wrong_type:watts"),
        Refusal("activity", "ends_before_start"),
    )


def test_a_listing_without_an_end_is_given_up(vendor: StubServer) -> None:
    vendor.answer = telling([[ROW]] * 200, {})
    with pytest.raises(ProviderFailure) as caught:
        pulled(vendor, "workouts")
    assert (caught.value.kind, len(vendor.asked)) == (FailureKind.REFUSED, 100)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, (DATA / "strava/fault_scope.json").read_bytes(), FailureKind.SCOPE_MISSING),
        (401, b'{"message":"Authorization Error","errors":[{"code":"invalid"}]}', FailureKind.TOKEN_REJECTED),
        (401, b'{"errors":"missing"}', FailureKind.TOKEN_REJECTED),
        (401, b'{"errors":["missing"]}', FailureKind.TOKEN_REJECTED),
        (403, b"{}", FailureKind.FORBIDDEN),
        (402, b"{}", FailureKind.REFUSED),
        (200, b"{}", FailureKind.TRANSPORT),
        (200, b"[", FailureKind.TRANSPORT),
    ],
)
def test_what_a_refusal_says(vendor: StubServer, status: int, body: bytes, kind: FailureKind) -> None:
    vendor.answer = lambda asked: (status, body)
    with pytest.raises(ProviderFailure) as caught:
        pulled(vendor, "workouts")
    assert caught.value.kind is kind


def test_an_athlete_without_a_number_has_no_name(vendor: StubServer) -> None:
    vendor.answer = lambda asked: (200, b'{"id": "seven"}')
    assert STRAVA.account_id(Access(vendor.url, "token", frozenset({"read"}))) == ""
    assert pulled(vendor, "profile").refusals == (Refusal("athlete", "wrong_type:id"),)


def test_the_token_answer_names_the_athlete(vendor: StubServer, settings: Settings) -> None:
    settings.SIMULATOR_URL = vendor.url
    application = application_of(provider_get("strava"), Environment.SANDBOX)
    assert application is not None
    vendor.answer = lambda asked: (200, (DATA / "strava/token.json").read_bytes())
    with time_machine.travel(datetime(2026, 3, 8, tzinfo=UTC), tick=False):
        tokens = code_exchange(application, code="code", verifier="")
    assert (tokens.external_user_id, tokens.scopes) == ("134815", None)
    assert tokens.expires_at == datetime(2026, 3, 8, 6, tzinfo=UTC)
    (asked,) = vendor.asked
    assert asked.path == "/strava/api/v3/oauth/token"
    assert parse_qs(asked.body.decode())["client_secret"] == [application.client_secret]
