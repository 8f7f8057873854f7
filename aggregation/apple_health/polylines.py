"""Encoded polylines: a route as one short ASCII text, five decimals of a degree, each point the step from the last."""

import numpy as np
from numpy.typing import NDArray

#: Points of a full route and of a coarse one: a full one has at most about 80 KB.
FULL_POINTS = 10_000
COARSE_POINTS = 200


def thinned(degrees: NDArray[np.float64], points: int) -> NDArray[np.float64]:
    """At most `points` of the array, evenly chosen, the first and the last among them."""
    if len(degrees) <= points:
        return degrees
    return degrees[np.linspace(0, len(degrees) - 1, points).round().astype(np.int64)]


def encoded(latitudes: NDArray[np.float64], longitudes: NDArray[np.float64]) -> str:
    """The polyline of two arrays of degrees of one length."""
    points = np.rint(np.stack((latitudes, longitudes), axis=1) * 1e5).astype(np.int64)
    steps: list[int] = np.diff(points, axis=0, prepend=np.zeros((1, 2), np.int64)).ravel().tolist()
    # The sign goes to the lowest bit, then five bits a character, low ones first, with a mark for more to come.
    return "".join(_characters(~(step << 1) if step < 0 else step << 1) for step in steps)


def _characters(number: int) -> str:
    text = ""
    while number >= 0x20:
        text += chr((0x20 | (number & 0x1F)) + 63)
        number >>= 5
    return text + chr(number + 63)
