"""Turning measures into scores: straight lines between known points, and whole numbers."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

#: (measure, score), in order of the measure; flat beyond both ends.
Points: TypeAlias = Sequence[tuple[float, float]]


def scaled(points: Points, measure: float) -> float:
    """The score at a measure, on the straight line between its two neighbours."""
    if measure <= points[0][0]:
        return points[0][1]
    for (left, low), (right, high) in pairwise(points):
        if measure <= right:
            return low + (high - low) * (measure - left) / (right - left)
    return points[-1][1]


def whole(score: float) -> int:
    """The nearest whole number, halves upwards."""
    return math.floor(score + 0.5)
