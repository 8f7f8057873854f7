"""Ultrahuman's partner API answered for a simulated person: one day a request, an object for each metric.

Read from Ultrahuman's partner API documentation and from those who read it, not compared with a live account.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from simulator.day import Day, day_of, local
from simulator.draws import bell, identifier
from simulator.glucose import glucose_at
from simulator.grants import Grant, grant_of
from simulator.person import WORN_SINCE, Person, person_of
from simulator.sleep import AWAKE, DEEP, LIGHT, REM, SLOT_SECONDS
from simulator.web import Request, Response, Route, json_response

if TYPE_CHECKING:
    from simulator.store import Store

SLUG: Final = "ultrahuman"
_BASE: Final = f"/{SLUG}/api/partners/v1/user_data"
_STAGES: Final = {DEEP: "deep_sleep", LIGHT: "light_sleep", REM: "rem_sleep", AWAKE: "awake"}

Document: TypeAlias = Mapping[str, object]


class Ultrahuman:
    """The `/api/partners/v1/user_data` endpoints."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def user_info(self, request: Request) -> Response:
        """GET /user_info, for the scope `profile`."""
        grant = grant_of(self._store, SLUG, request.bearer)
        if grant is None:
            return _refused(401, "Unauthorized")
        if "profile" not in grant.scopes:
            return _refused(403, "Insufficient scope")
        person = person_of(grant.seed)
        data = {"user_id": str(person.user_id), "email": grant.account, "time_zone": person.zone}
        return json_response({"data": data, "error": None, "status": 200})

    def metrics(self, request: Request) -> Response:
        """GET /metrics?date=: what the scopes open of the day, as far as it has come."""
        grant = grant_of(self._store, SLUG, request.bearer)
        if grant is None:
            return _refused(401, "Unauthorized")
        if not {"ring_data", "cgm_data"} & set(grant.scopes):
            return _refused(403, "Insufficient scope")
        try:
            on = date.fromisoformat(request.query.get("date", ""))
        except ValueError:
            return _refused(400, "Invalid date")
        person, now = person_of(grant.seed), self._store.now()
        worn = WORN_SINCE <= on <= local(person, now).date()
        listed = list(_listed(person, grant, day_of(person, on), now)) if worn else []
        data = {"metrics": {on.isoformat(): listed}, "latest_time_zone": person.zone}
        return json_response({"data": data, "error": None, "status": 200})


def _refused(status: int, error: str) -> Response:
    return json_response({"data": None, "error": error, "status": status}, status)


def _listed(person: Person, grant: Grant, day: Day, now: float) -> Iterator[Document]:
    scopes = grant.scopes
    if "ring_data" in scopes:
        yield from _ring(person, day, now)
    if "cgm_data" in scopes:
        yield {"type": "glucose", "object": _glucose(person, day, now)}


def _ring(person: Person, day: Day, now: float) -> Iterator[Document]:
    late = identifier(person.seed, "ultrahuman") % 200
    slots = [slot for slot in day.slots if slot.starts_at + SLOT_SECONDS <= now]
    worn = [slot for slot in slots if slot.bpm is not None]
    first = {"day_start_timestamp": day.starts_at}
    yield {
        "type": "hr",
        "object": {
            **first,
            "title": "Heart Rate",
            "values": [{"value": slot.bpm, "timestamp": slot.starts_at + late} for slot in worn],
            "last_reading": worn[-1].bpm if worn else None,
            "unit": "BPM",
        },
    }
    yield {
        "type": "temp",
        "object": {
            **first,
            "title": "Skin Temperature",
            "values": [
                {"value": _celsius(person, slot.starts_at), "timestamp": slot.starts_at + late} for slot in worn
            ],
            "unit": "°C",
        },
    }
    yield {
        "type": "steps",
        "object": {
            **first,
            # A slot without steps is told as nought.
            "values": [{"value": float(slot.steps), "timestamp": slot.starts_at + late} for slot in worn],
            "total": sum(slot.steps for slot in worn),
            "unit": "steps",
        },
    }
    yield {"type": "hrv", "object": _variability(person, day, now)}
    if day.night.ends_at <= now:
        yield from _night(day)


def _celsius(person: Person, at: int) -> float:
    return round(33.2 + 1.4 * bell(person.seed, "ultrahuman skin", at // SLOT_SECONDS), 4)


def _variability(person: Person, day: Day, now: float) -> Document:
    """Of both nights that the day has a part of."""
    nights = (day.night, day_of(person, day.on + timedelta(days=1)).night)
    values = [
        {"value": value, "timestamp": at}
        for one in nights
        for at, value in zip(range(one.starts_at, one.ends_at, SLOT_SECONDS), one.rmssd_ms, strict=True)
        if day.starts_at <= at < day.ends_at and at <= now
    ]
    return {"day_start_timestamp": day.starts_at, "title": "HRV", "values": values, "unit": "ms"}


def _night(day: Day) -> Iterator[Document]:
    one = day.night
    average = round(sum(one.rmssd_ms) / len(one.rmssd_ms))
    yield {"type": "sleep", "object": _sleep(day)}
    yield {"type": "night_rhr", "object": {"title": "Night RHR", "avg": min(one.bpm), "unit": "BPM"}}
    yield {"type": "avg_sleep_hrv", "object": {"value": average}}
    yield {"type": "recovery_index", "object": {"value": max(1, one.score - 4), "title": "Recovery Index"}}


def _sleep(day: Day) -> Document:
    one = day.night
    graph: list[Document] = []
    at = one.starts_at
    for stage, run in groupby(one.stages):
        until = at + len(list(run)) * SLOT_SECONDS
        graph.append({"start": at, "end": until, "type": _STAGES[stage]})
        at = until
    beats = [
        {"timestamp": one.starts_at + index * SLOT_SECONDS, "value": float(bpm)} for index, bpm in enumerate(one.bpm)
    ]
    return {
        "bedtime_start": one.starts_at,
        "bedtime_end": one.ends_at,
        "sleep_score": {"score": one.score},
        "total_sleep": {"minutes": one.asleep_seconds // 60},
        "time_in_bed": {"minutes": one.in_bed_seconds // 60},
        "sleep_efficiency": {"percentage": round(100 * one.asleep_seconds / one.in_bed_seconds)},
        "temperature_deviation": {"celsius": one.temperature_delta_celsius},
        "average_body_temperature": {"celsius": 36.4},
        "sleep_stages": [
            {
                "title": name.replace("_", " ").title(),
                "type": name,
                "percentage": round(100 * one.seconds(stage) / one.in_bed_seconds),
                "stage_time": one.seconds(stage),
            }
            for stage, name in _STAGES.items()
        ],
        "sleep_graph": {"title": "Sleep Stages", "data": graph},
        "hr_graph": {"title": "HR", "data": beats},
    }


def _glucose(person: Person, day: Day, now: float) -> Document:
    late = identifier(person.seed, "ultrahuman sensor") % 200
    values = [
        {"value": round(glucose_at(person, day, at)), "timestamp": at + late}
        for at in range(day.starts_at, day.ends_at, SLOT_SECONDS)
        if at + SLOT_SECONDS <= now
    ]
    return {"day_start_timestamp": day.starts_at, "title": "Glucose", "values": values, "unit": "mg/dL"}


def routes(store: Store) -> tuple[Route, ...]:
    """Ultrahuman's routes."""
    ultrahuman = Ultrahuman(store)
    return (
        Route("GET", f"{_BASE}/metrics", ultrahuman.metrics),
        Route("GET", f"{_BASE}/user_info", ultrahuman.user_info),
    )
