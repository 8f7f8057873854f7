"""The course of a workout or a night as the API shows it: parallel arrays, or samples by resource."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from aggregation.catalogue import SeriesSpec, StreamSpec
from aggregation.codec import BlockColumns
from aggregation.shapes.samples import samples_json
from aggregation.store.days import SECOND_US

#: Channels that the API shows as whole numbers.
WHOLE_CHANNELS: Final = frozenset({"heartrate"})


def workout_stream_json(spec: StreamSpec, block: BlockColumns | None) -> dict[str, Any]:
    """One array a channel, all as long as `time` (Unix seconds) or empty where nobody measured the channel."""
    shown: dict[str, Any] = {"time": [] if block is None else (block.start_us // SECOND_US).tolist()}
    for channel in spec.channels:
        values = None if block is None else block.extra.get(channel.name)
        shown[channel.name] = _channel(channel.name, values) if isinstance(values, np.ndarray) else []
    return shown


def _channel(name: str, values: NDArray[np.float64]) -> list[float | int | None]:
    absent = np.isnan(values)
    if absent.all():
        return []
    if name in WHOLE_CHANNELS:
        return [None if value != value else round(value) for value in values.tolist()]
    return [None if value != value else value for value in values.tolist()]


def sleep_stream_json(channels: Mapping[SeriesSpec, BlockColumns | None]) -> dict[str, Any]:
    """The samples of a night by resource."""
    return {
        spec.slug: orjson.Fragment(b"[]" if block is None else samples_json(spec, block))
        for spec, block in channels.items()
    }
