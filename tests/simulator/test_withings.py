"""Withings' data: its envelope, pages that add up, rows that agree with each other, in plausible ranges."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.simulator.running import RunningSimulator

MEASURE, MEASURE_V2, SLEEP_V2 = "/withings/measure", "/withings/v2/measure", "/withings/v2/sleep"
MONTH = {"startdateymd": "2026-10-01", "enddateymd": "2026-10-31"}
ACTIVITY_FIELDS = "steps,distance,elevation,soft,moderate,intense,active,calories,hr_average,hr_min,hr_max"
SLEEP_FIELDS = (
    "total_timeinbed,total_sleep_time,lightsleepduration,remsleepduration,deepsleepduration,sleep_efficiency,"
    "sleep_latency,wakeupduration,waso,hr_average,hr_min,hr_max,rr_average"
)


def body(simulator: RunningSimulator, token: str, path: str, **fields: str) -> dict[str, Any]:
    answer = simulator.post_form(path, token, **fields)
    assert (answer.status, answer.json["status"]) == (200, 0), answer.body
    found = answer.json["body"]
    assert isinstance(found, dict)
    return found


def pages(simulator: RunningSimulator, token: str, path: str, key: str, **fields: str) -> list[list[dict[str, Any]]]:
    found: list[list[dict[str, Any]]] = []
    offset, more = 0, True
    while more:
        page = body(simulator, token, path, **fields, **({"offset": str(offset)} if offset else {}))
        found.append(page[key])
        more, offset = bool(page.get("more")), page.get("offset", 0)
    return found


def everything(simulator: RunningSimulator, token: str, path: str, key: str, **fields: str) -> list[dict[str, Any]]:
    return [row for page in pages(simulator, token, path, key, **fields) for row in page]


def intraday(simulator: RunningSimulator, token: str, start: int, fields: str) -> dict[str, dict[str, Any]]:
    window = {"startdate": str(start), "enddate": str(start + 86_400), "data_fields": fields}
    series = body(simulator, token, MEASURE_V2, action="getintradayactivity", **window)["series"]
    return series if isinstance(series, dict) else {}


def test_pages_of_a_month_hold_each_day_once(simulator: RunningSimulator) -> None:
    token = simulator.access_token("withings")
    found = pages(simulator, token, MEASURE_V2, "activities", action="getactivity", **MONTH)
    assert [len(page) for page in found] == [20, 11]
    assert [row["date"] for page in found for row in page] == [f"2026-10-{day:02}" for day in range(1, 32)]


def test_getmeas_pages_with_a_number_for_more(simulator: RunningSimulator) -> None:
    token = simulator.access_token("withings")
    since = {"action": "getmeas", "startdate": str(int(datetime(2026, 7, 1, tzinfo=UTC).timestamp()))}
    found = pages(simulator, token, MEASURE, "measuregrps", **since)
    assert [len(page) for page in found[:-1]] == [25] * (len(found) - 1)
    groups = [group for page in found for group in page]
    assert len({group["grpid"] for group in groups}) == len(groups)
    assert [group["date"] for group in groups] == sorted(group["date"] for group in groups)
    first = body(simulator, token, MEASURE, **since)
    assert (first["more"], first["measuregrps"]) == (1, found[0])
    short = body(simulator, token, MEASURE, action="getmeas", startdate="1793000000")
    assert {"more", "offset"} & set(short) == set()


def test_the_same_person_is_the_same_for_ever(simulator: RunningSimulator) -> None:
    first, second = simulator.access_token("withings"), simulator.access_token("withings")
    asked = {"action": "getsummary", "data_fields": SLEEP_FIELDS, **MONTH}
    before = everything(simulator, first, SLEEP_V2, "series", **asked)
    simulator.stop_clock("2026-11-01T13:00:00+00:00")
    assert everything(simulator, second, SLEEP_V2, "series", **asked) == before
    other = simulator.access_token("withings", "bob@example.com")
    assert everything(simulator, other, SLEEP_V2, "series", **asked) != before


def test_intraday_entries_add_up_to_the_day(simulator: RunningSimulator) -> None:
    token = simulator.access_token("withings", "c@x.y")
    days = everything(
        simulator, token, MEASURE_V2, "activities", action="getactivity", data_fields=ACTIVITY_FIELDS, **MONTH
    )
    day = days[19]
    assert (day["date"], day["timezone"]) == ("2026-10-20", "America/Los_Angeles")
    midnight = int(datetime(2026, 10, 20, 7, tzinfo=UTC).timestamp())
    entries = intraday(simulator, token, midnight, "steps,distance,calories,elevation,duration,heart_rate")
    assert sum(entry.get("steps", 0) for entry in entries.values()) == day["steps"] == 16_334
    assert sum(entry.get("elevation", 0) for entry in entries.values()) == day["elevation"]
    assert sum(entry.get("calories", 0) for entry in entries.values()) == pytest.approx(day["calories"], abs=2)
    assert sum(entry.get("distance", 0) for entry in entries.values()) == pytest.approx(day["distance"], abs=2)
    beats = [entry["heart_rate"] for entry in entries.values()]
    assert (min(beats), max(beats)) == (day["hr_min"], day["hr_max"])
    assert {entry["duration"] for entry in entries.values() if "steps" in entry} == {300}


def test_intraday_answers_one_day_and_not_more(simulator: RunningSimulator) -> None:
    token = simulator.access_token("withings")
    start = int(datetime(2026, 10, 5, tzinfo=UTC).timestamp())
    window = {"startdate": str(start), "enddate": str(start + 5 * 86_400), "data_fields": "heart_rate"}
    series = body(simulator, token, MEASURE_V2, action="getintradayactivity", **window)["series"]
    stamps = [int(key) for key in series]
    assert min(stamps) >= start
    assert max(stamps) == start + 86_400 - 300


def test_an_empty_series_is_a_list_as_the_vendor_writes_it(simulator: RunningSimulator) -> None:
    token = simulator.access_token("withings")
    asked = {"action": "getintradayactivity", "startdate": "0", "enddate": "1000"}
    assert body(simulator, token, MEASURE_V2, **asked) == {"series": []}


def test_fields_on_request_are_left_out_unless_asked_for(simulator: RunningSimulator) -> None:
    token = simulator.access_token("withings")
    day = {"startdateymd": "2026-10-20", "enddateymd": "2026-10-20"}
    (bare,) = everything(simulator, token, MEASURE_V2, "activities", action="getactivity", **day)
    assert "steps" not in bare
    assert "totalcalories" in bare
    (asked,) = everything(simulator, token, MEASURE_V2, "activities", action="getactivity", data_fields="steps", **day)
    assert set(asked) - set(bare) == {"steps"}


def test_nights_agree_with_themselves_and_with_their_segments(simulator: RunningSimulator) -> None:
    token = simulator.access_token("withings")
    nights = everything(simulator, token, SLEEP_V2, "series", action="getsummary", data_fields=SLEEP_FIELDS, **MONTH)
    assert len({night["id"] for night in nights}) == len(nights) >= 31
    for night in nights:
        data = night["data"]
        asleep = data["lightsleepduration"] + data["remsleepduration"] + data["deepsleepduration"]
        assert asleep == data["total_sleep_time"]
        assert night["enddate"] - night["startdate"] == data["total_timeinbed"] == asleep + data["wakeupduration"]
        assert data["sleep_efficiency"] == pytest.approx(asleep / data["total_timeinbed"], abs=1e-4)
    night = nights[10]
    window = {"startdate": str(night["startdate"]), "enddate": str(night["enddate"])}
    segments = everything(simulator, token, SLEEP_V2, "series", action="get", data_fields="hr,rr", **window)
    assert (segments[0]["startdate"], segments[-1]["enddate"]) == (night["startdate"], night["enddate"])
    assert [segment["enddate"] for segment in segments[:-1]] == [segment["startdate"] for segment in segments[1:]]
    deep = sum(segment["enddate"] - segment["startdate"] for segment in segments if segment["state"] == 2)
    assert deep == night["data"]["deepsleepduration"]
    beats = [value for segment in segments for value in segment["hr"].values()]
    assert (min(beats), max(beats)) == (night["data"]["hr_min"], night["data"]["hr_max"])


def within(values: Sequence[float], low: float, high: float) -> bool:
    return bool(values) and low <= min(values) and max(values) <= high


@pytest.mark.parametrize("email", ["ada@example.com", "c@x.y", "eve@example.org"])
def test_every_number_is_plausible(simulator: RunningSimulator, email: str) -> None:
    token = simulator.access_token("withings", email)
    measured: dict[int, list[float]] = {}
    for group in everything(simulator, token, MEASURE, "measuregrps", action="getmeas", startdate="1782900000"):
        for measure in group["measures"]:
            measured.setdefault(measure["type"], []).append(measure["value"] * 10.0 ** measure["unit"])
    assert within(measured[1], 40, 130)
    assert max(measured[1]) / min(measured[1]) < 1.08
    assert within(measured[6], 8, 45)
    assert within(measured[5], 30, 100)
    assert within(measured[9], 55, 100)
    assert within(measured[10], 95, 145)
    assert within(measured[11], 45, 90)
    workouts = everything(
        simulator, token, MEASURE_V2, "series", action="getworkouts", data_fields="calories,hr_max,distance", **MONTH
    )
    assert within([workout["data"]["hr_max"] for workout in workouts], 55, 195)
    assert within([workout["data"]["calories"] for workout in workouts], 20, 1_200)
    days = everything(
        simulator, token, MEASURE_V2, "activities", action="getactivity", data_fields=ACTIVITY_FIELDS, **MONTH
    )
    assert within([day["steps"] for day in days], 1_500, 30_000)
    assert within([day["distance"] / day["steps"] for day in days], 0.55, 0.9)
    assert within([day["totalcalories"] for day in days], 1_200, 4_500)


def test_measures_of_asked_types_only(simulator: RunningSimulator) -> None:
    token = simulator.access_token("withings")
    day = timedelta(days=7).total_seconds()
    window = {"startdate": str(1_791_000_000), "enddate": str(1_791_000_000 + int(day))}
    for asked in ({"meastypes": "1,6"}, {"meastype": "1"}):
        groups = everything(simulator, token, MEASURE, "measuregrps", action="getmeas", **window, **asked)
        kinds = {measure["type"] for group in groups for measure in group["measures"]}
        assert kinds == {int(text) for text in next(iter(asked.values())).split(",")}


def test_since_lastupdate_only_the_late_days_come(simulator: RunningSimulator) -> None:
    token = simulator.access_token("withings", "c@x.y")
    since = str(int(datetime(2026, 10, 30, 12, tzinfo=UTC).timestamp()))
    days = everything(simulator, token, MEASURE_V2, "activities", action="getactivity", lastupdate=since)
    assert [day["date"] for day in days] == ["2026-10-29", "2026-10-30", "2026-10-31"]


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (MEASURE, {"action": "getactivity"}),
        (MEASURE, {"action": "getmeas", "startdate": "200", "enddate": "100"}),
        (MEASURE, {"action": "getmeas", "startdate": "yesterday"}),
        (MEASURE_V2, {"action": "getactivity"}),
        (MEASURE_V2, {"action": "getworkouts", "startdateymd": "2026-10-01"}),
        (MEASURE_V2, {"action": "getintradayactivity", "startdate": "200", "enddate": "100"}),
        (SLEEP_V2, {"action": "get"}),
        (SLEEP_V2, {"action": "getsummary", "startdateymd": "20261001", "enddateymd": "x"}),
    ],
)
def test_bad_parameters_are_status_503(simulator: RunningSimulator, path: str, fields: dict[str, str]) -> None:
    answer = simulator.post_form(path, simulator.access_token("withings"), **fields)
    assert (answer.status, answer.json["status"], answer.json["body"]) == (200, 503, {})


def test_a_bad_token_is_status_401_and_a_missing_scope_214(simulator: RunningSimulator) -> None:
    for path, action in ((MEASURE, "getmeas"), (MEASURE_V2, "getactivity"), (SLEEP_V2, "getsummary")):
        assert simulator.post_form(path, "guess", action=action).json["status"] == 401
        token = simulator.access_token("withings", scope="user.info")
        assert simulator.post_form(path, token, action=action).json["status"] == 214
