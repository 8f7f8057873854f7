"""The controls a test holds: faults, counts of requests, the clock, and forgetting everything."""

from collections.abc import Mapping
from datetime import UTC, datetime

import orjson

from simulator.faults import KINDS
from simulator.store import Store
from simulator.web import Request, Response, json_response


class _InvalidControlError(Exception):
    """A control request that says something the simulator cannot do."""


class Control:
    """The `/_control` endpoints. They ask for JSON, which no other web page can send without being asked first."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def fault_add(self, request: Request) -> Response:
        """POST /_control/faults."""
        try:
            document = _document(request)
            slug = _text(document, "slug", "")
            parameters = (
                slug,
                _text(document, "path_prefix", "/").removeprefix(f"/{slug}"),
                _kind(document),
                _number(document, "skip", 0, 1_000_000),
                max(1, _number(document, "times", 1, 1_000_000)),
                _number(document, "retry_after_seconds", 1, 86_400),
                _seconds(document, "delay_seconds", 600),
            )
        except _InvalidControlError as error:
            return json_response({"detail": str(error)}, 422)
        with self._store.writing() as connection:
            connection.execute(
                "INSERT INTO fault (slug, path_prefix, kind, skip, remaining, retry_after_seconds, delay_seconds) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                parameters,
            )
        return json_response({"accepted": True}, 201)

    def fault_clear(self, request: Request) -> Response:
        """DELETE /_control/faults."""
        del request
        with self._store.writing() as connection:
            cleared = connection.execute("DELETE FROM fault").rowcount
        return json_response({"cleared": cleared})

    def requests(self, request: Request) -> Response:
        """GET /_control/requests: how often each route was asked and how it answered. No values, no secrets."""
        del request
        rows = self._store.rows(
            "SELECT slug, method, route, action, status, count FROM request_count "
            "ORDER BY slug, route, action, method, status"
        )
        counted = [dict(row) for row in rows]
        return json_response({"total": sum(row["count"] for row in rows), "requests": counted})

    def clock(self, request: Request) -> Response:
        """POST /_control/clock with `now`: an ISO 8601 instant stops the clock there, null lets it run."""
        try:
            now = _document(request).get("now")
            instant = None if now is None else _instant(now)
        except _InvalidControlError as error:
            return json_response({"detail": str(error)}, 422)
        self._store.set_clock(instant)
        return json_response({"now": datetime.fromtimestamp(self._store.now(), UTC).isoformat()})

    def reset(self, request: Request) -> Response:
        """POST /_control/reset."""
        if not _is_json(request):
            return json_response({"detail": "Send JSON."}, 415)
        self._store.reset()
        return json_response({"reset": True})


def _is_json(request: Request) -> bool:
    return request.headers["content-type"].partition(";")[0].strip() == "application/json"


def _document(request: Request) -> Mapping[str, object]:
    if not _is_json(request):
        raise _InvalidControlError("Send JSON.")
    try:
        document = orjson.loads(request.body)
    except orjson.JSONDecodeError as error:
        raise _InvalidControlError("The body is not JSON.") from error
    if not isinstance(document, dict):
        raise _InvalidControlError("The body is not an object.")
    return document


def _text(document: Mapping[str, object], name: str, default: str) -> str:
    value = document.get(name, default)
    if not isinstance(value, str) or not value:
        raise _InvalidControlError(f"{name} must be a text.")
    return value


def _kind(document: Mapping[str, object]) -> str:
    kind = _text(document, "kind", "")
    if kind not in KINDS:
        raise _InvalidControlError("kind must be one of " + ", ".join(KINDS))
    return kind


def _number(document: Mapping[str, object], name: str, default: int, maximum: int) -> int:
    value = document.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum:
        raise _InvalidControlError(f"{name} must be a whole number from 0 to {maximum}.")
    return value


def _seconds(document: Mapping[str, object], name: str, maximum: int) -> float:
    value = document.get(name, 1)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= maximum:
        raise _InvalidControlError(f"{name} must be a number from 0 to {maximum}.")
    return float(value)


def _instant(value: object) -> float:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise _InvalidControlError("now must be an ISO 8601 instant.") from error
    if moment.tzinfo is None:
        raise _InvalidControlError("now needs an offset from UTC.")
    return moment.timestamp()
