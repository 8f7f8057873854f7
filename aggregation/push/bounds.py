"""How much a push may hold: counted over its text before any of it is read, so that reading it stays cheap."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from healthsvc.kernel.errors import ErrorCode, ServiceError

#: Records of all lists together (samples, summaries, streams).
RECORDS_MAXIMUM: Final = 200_000
#: Members of objects and items of lists, of the whole body: a stream of ten channels and 180,000 moments fits.
VALUES_MAXIMUM: Final = 2_000_000
#: Records of the half `summaries`: each is a row and may be an event, about 1 ms and 15 KB. Fourteen years of days.
SUMMARIES_MAXIMUM: Final = 5_000

#: Names of fields and resources. Taking the body apart refuses far fewer by their place; this keeps that cheap.
NAMES_MAXIMUM: Final = 1_000
#: Blocks of the store, each read and written whole: five years of days of five resources. About 0.1 ms each.
BLOCKS_MAXIMUM: Final = 10_000

_CHUNK_BYTES: Final = 1 << 20
#: body { timeseries { heartrate [ here
_RECORD_DEPTH: Final = 3
_QUOTE, _BACKSLASH, _COMMA = b'"\\,'
_IS_STRUCTURE: Final = np.isin(np.arange(256), np.frombuffer(b'"{}[],', np.uint8))
_STEP: Final = np.zeros(256, np.int64)
_STEP[np.frombuffer(b"{[", np.uint8)] = 1
_STEP[np.frombuffer(b"}]", np.uint8)] = -1

_Bytes = NDArray[np.uint8]


def bounds_check(body: bytes) -> None:
    """413 where a body holds more records or values than a push may. About 3 ms a megabyte, of small bodies less.

    An empty list counts as a record. Of what is no JSON nothing is promised.
    """
    if len(body) <= RECORDS_MAXIMUM:
        return
    text = np.frombuffer(body, np.uint8)
    chunks = [text[start : start + _CHUNK_BYTES] for start in range(0, len(text), _CHUNK_BYTES)]
    if sum(int(np.count_nonzero(chunk == mark)) for chunk in chunks for mark in b",{[") <= RECORDS_MAXIMUM:
        return
    count = _Count()
    for chunk in chunks:
        count.take(chunk)
        if count.names > NAMES_MAXIMUM:
            raise _too_large(f"{NAMES_MAXIMUM} names of fields and resources")
        if count.records > RECORDS_MAXIMUM or count.values > VALUES_MAXIMUM:
            raise _too_large(f"{RECORDS_MAXIMUM} records and {VALUES_MAXIMUM} values")


def summaries_bound_check(count: int) -> None:
    """413 for more summaries and streams than a push may hold."""
    if count > SUMMARIES_MAXIMUM:
        raise _too_large(f"{SUMMARIES_MAXIMUM} summaries")


def blocks_bound_check(count: int) -> None:
    """413 for samples spread over more stretches of time than a push may touch."""
    if count > BLOCKS_MAXIMUM:
        raise _too_large(f"samples of {BLOCKS_MAXIMUM} stretches of time, of an hour, a day or four weeks by resource")


def _too_large(bound: str) -> ServiceError:
    message = f"A push may hold {bound}. Split it into several pushes, each with a batch_id of its own."
    return ServiceError(ErrorCode.TOO_LARGE, message)


class _Count:
    """Counts what stands between the braces, brackets and commas that are outside of texts, chunk by chunk."""

    def __init__(self) -> None:
        self.records = 0
        self.values = 0
        self.names = 0
        self._depth = 0
        self._inside_text = False
        self._first_is_escaped = False

    def take(self, chunk: _Bytes) -> None:
        """Go on with the next piece of the text."""
        places = np.flatnonzero(_IS_STRUCTURE[chunk] & ~self._escaped(chunk))
        marks = chunk[places]
        quotes = marks == _QUOTE
        inside = (np.cumsum(quotes) + self._inside_text) % 2 == 1
        if len(inside):
            self._inside_text = bool(inside[-1])
        marks = marks[~inside & ~quotes]
        steps = _STEP[marks]
        depth = self._depth + np.cumsum(steps)
        if len(depth):
            self._depth = int(depth[-1])
        more = (steps > 0) | (marks == _COMMA)
        self.values += int(np.count_nonzero(more))
        self.names += int(np.count_nonzero(more & (depth < _RECORD_DEPTH)))
        self.records += int(np.count_nonzero(more & (depth == _RECORD_DEPTH)))

    def _escaped(self, chunk: _Bytes) -> NDArray[np.bool_]:
        """Which characters a backslash stands for; of a run of backslashes every second escapes the next."""
        escaped = np.zeros(len(chunk) + 1, np.bool_)
        slashes = chunk == _BACKSLASH
        if self._first_is_escaped:
            escaped[0], slashes[0] = True, False
        if slashes.any():
            places = np.flatnonzero(slashes)
            begins = np.append(True, np.diff(places) > 1)
            in_run = places - places[begins][np.cumsum(begins) - 1]
            escaped[places[in_run % 2 == 0] + 1] = True
        self._first_is_escaped = bool(escaped[-1])
        return escaped[:-1]
