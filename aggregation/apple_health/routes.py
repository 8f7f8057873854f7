"""GPX files of workout routes, read as a stream into arrays in bounded memory."""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from aggregation.apple_health.attachments import DamagedAttachmentError
from aggregation.apple_health.elements import Attributes
from aggregation.apple_health.instants import EARLIEST_US, LATEST_US
from aggregation.apple_health.limits import ExportLimits
from aggregation.apple_health.quantities import parse_number
from aggregation.apple_health.tally import RefusalReason

_READ_BYTES = 64 * 1024
_TEXT_MAXIMUM_CHARACTERS = 64
_TEXTS = frozenset({"ele", "time", "speed"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Route:
    """Points in order of time, each moment once; NaN where a point has no altitude or speed."""

    time_us: NDArray[np.int64]
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]
    altitude_m: NDArray[np.float64]
    speed_m_per_s: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.time_us)


class _StopReadingError(Exception):
    """Raised inside a handler to leave the parser: bounds are met, or the file holds what no route does."""

    def __init__(self, problem: RefusalReason) -> None:
        super().__init__()
        self.problem = problem


def read_route(read: Callable[[int], bytes], limits: ExportLimits) -> tuple[Route, RefusalReason | None]:
    """The points of a GPX file as far as they go, and what ended the reading before its end.

    Points without a place, a time or sense are passed over. `read` gives the next bytes and none at the end.
    """
    points = _Points(limits)
    try:
        problem = _read_points(read, points, limits)
    except _StopReadingError as stop:
        problem = stop.problem
    except expat.ExpatError:
        problem = RefusalReason.MALFORMED
    except DamagedAttachmentError:
        problem = RefusalReason.TRUNCATED
    return points.route(), problem


def _read_points(read: Callable[[int], bytes], points: "_Points", limits: ExportLimits) -> RefusalReason | None:
    read_bytes = quiet_bytes = met = 0
    while data := read(_READ_BYTES):
        read_bytes += len(data)
        if read_bytes > limits.max_route_bytes:
            return RefusalReason.TOO_LARGE
        points.parser.Parse(data, False)
        quiet_bytes = quiet_bytes + len(data) if points.met == met else 0
        met = points.met
        # Expat keeps an unfinished tag whole, and every name it ever saw.
        if quiet_bytes > limits.max_element_bytes or len(points.parser.intern) > limits.max_names:
            return RefusalReason.MALFORMED
    return None if points.closed else RefusalReason.TRUNCATED


def merged(routes: Sequence[Route]) -> Route:
    """The points of several files as one route."""
    if len(routes) == 1:
        return routes[0]
    return _in_order(
        np.concatenate([route.time_us for route in routes]),
        [
            np.concatenate(columns)
            for columns in zip(
                *((one.latitude, one.longitude, one.altitude_m, one.speed_m_per_s) for one in routes), strict=True
            )
        ],
    )


def _in_order(time_us: NDArray[np.int64], numbers: Sequence[NDArray[np.float64]]) -> Route:
    """The points in order of time; of equal moments the one read last."""
    order = np.argsort(time_us, kind="stable")
    time_us = time_us[order]
    last = np.append(time_us[1:] != time_us[:-1], True) if len(time_us) else np.zeros(0, np.bool_)
    return Route(time_us[last], *(column[order][last] for column in numbers))


@dataclass(slots=True)
class _Columns:
    time_us: "array[int]" = field(default_factory=lambda: array("q"))
    numbers: "tuple[array[float], ...]" = field(default_factory=lambda: tuple(array("d") for _ in range(4)))


class _Points:
    """The parser's handlers, and the points they found."""

    def __init__(self, limits: ExportLimits) -> None:
        self._limits = limits
        self._columns = _Columns()
        self._place: tuple[float, float] | None = None
        self._texts: dict[str, str] = {}
        self._open: str | None = None
        self._depth = 0
        self.met = 0
        self.closed = False
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._doctype
        self.parser = parser

    def route(self) -> Route:
        """The points found so far."""
        return _in_order(
            np.array(self._columns.time_us, dtype=np.int64),
            [np.array(column, dtype=np.float64) for column in self._columns.numbers],
        )

    def _doctype(self, *_declaration: object) -> None:
        raise _StopReadingError(RefusalReason.MALFORMED)

    def _start(self, name: str, attributes: Attributes) -> None:
        self.met += 1
        self._depth += 1
        if self._depth > self._limits.max_depth:
            raise _StopReadingError(RefusalReason.MALFORMED)
        local = name.rpartition(" ")[2]
        if local == "trkpt":
            self._place = _place(attributes)
            self._texts = {}
        self._open = local if self._place is not None and local in _TEXTS else None
        if self._open is not None:
            self._texts[self._open] = ""

    def _text(self, text: str) -> None:
        if self._open is not None and len(self._texts[self._open]) < _TEXT_MAXIMUM_CHARACTERS:
            self._texts[self._open] += text[:_TEXT_MAXIMUM_CHARACTERS]

    def _end(self, name: str) -> None:
        self.met += 1
        self._depth -= 1
        self._open = None
        if self._depth == 0:
            self.closed = True
        if name.rpartition(" ")[2] == "trkpt":
            self._keep_point()

    def _keep_point(self) -> None:
        place, self._place = self._place, None
        at_us = _instant_us(self._texts.get("time", ""))
        if place is None or at_us is None:
            return
        if len(self._columns.time_us) >= self._limits.max_route_points:
            raise _StopReadingError(RefusalReason.TOO_MANY)
        self._columns.time_us.append(at_us)
        altitude = _number_within(self._texts.get("ele"), -1_000.0, 10_000.0)
        speed = _number_within(self._texts.get("speed"), 0.0, 1_000.0)
        for column, number in zip(self._columns.numbers, (*place, altitude, speed), strict=True):
            column.append(number)


def _place(attributes: Attributes) -> tuple[float, float] | None:
    latitude = _number_within(attributes.get("lat"), -90.0, 90.0)
    longitude = _number_within(attributes.get("lon"), -180.0, 180.0)
    return (latitude, longitude) if latitude == latitude and longitude == longitude else None


def _number_within(text: str | None, lowest: float, highest: float) -> float:
    """The number, NaN where it is none or none that can be meant."""
    number = parse_number(text.strip() if text else None)
    return number if number is not None and lowest <= number <= highest else float("nan")


def _instant_us(text: str) -> int | None:
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if at.tzinfo is None:
        return None
    at_us = (at - _EPOCH) // timedelta(microseconds=1)
    return at_us if EARLIEST_US <= at_us < LATEST_US else None
