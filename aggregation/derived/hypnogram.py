"""The course of a night: when sleep ended, and how often it was broken."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

#: Sleep stages of the API: 1 deep, 2 light, 3 REM, 4 awake, -1 asleep in a stage nobody knows.
AWAKE: Final = 4
#: An awakening that people remember (National Sleep Foundation, see `sleep_score`).
_LONG_AWAKENING_SECONDS: Final = 300


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of one stage, in seconds since the session began."""

    start_second: int
    end_second: int
    stage: int


def hypnogram_of(starts: Sequence[int], ends: Sequence[int], stages: Sequence[int]) -> list[Segment]:
    """The segments in order of time, from the API's three parallel lists."""
    segments = [Segment(*one) for one in zip(starts, ends, stages, strict=True)]
    return sorted(segments, key=lambda one: (one.start_second, one.end_second))


def awake_after_seconds(segments: Sequence[Segment]) -> int | None:
    """Seconds from the session's start to the end of the last segment that is not awake; None without sleep."""
    return max((one.end_second for one in segments if one.stage != AWAKE), default=None)


def awakenings(segments: Sequence[Segment]) -> int:
    """How often sleep is followed by being awake."""
    awake = [one.stage == AWAKE for one in segments]
    return sum(later and not earlier for earlier, later in pairwise(awake))


def long_awakenings(segments: Sequence[Segment]) -> int:
    """Stretches awake of more than five minutes with sleep before and after."""
    stretches = [(awake, list(listed)) for awake, listed in groupby(segments, key=lambda one: one.stage == AWAKE)]
    return sum(
        awake and sum(one.end_second - one.start_second for one in listed) > _LONG_AWAKENING_SECONDS
        for awake, listed in stretches[1:-1]
    )
