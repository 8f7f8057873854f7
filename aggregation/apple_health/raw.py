"""The export's own form of what a summary is made of: elements as objects, bounded in size and in number."""

from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from aggregation.apple_health.elements import Attributes, Child
from healthsvc.kernel.typing import JSONObject, JSONValue

#: A summary with a larger form has none: a workout's has some 4,000 bytes.
RAW_MAXIMUM_BYTES: Final = 32_000
#: What a kept form takes beside its own bytes.
_ENTRY_BYTES: Final = 150
_METADATA: Final = "MetadataEntry"


def element_raw(attributes: Attributes, children: Sequence[Child] = ()) -> JSONObject | None:
    """An element as an object: its attributes, its metadata by key, its other children in lists under their names.

    None where it is too large. The address the device's object had in the phone's memory, another one in every export,
    is left out, so that the same element is always the same object.
    """
    found: dict[str, JSONValue] = {**attributes}
    if "device" in attributes:
        found["device"] = attributes["device"].partition(">")[2].removeprefix(", ").removesuffix(">")
    metadata: dict[str, JSONValue] = {}
    lists: dict[str, list[JSONValue]] = {}
    for name, child in children:
        if name == _METADATA:
            metadata[child.get("key", "")] = child.get("value", "")
        else:
            lists.setdefault(name, []).append({**child})
    found.update(lists)
    if metadata:
        found[_METADATA] = metadata
    return found if len(orjson.dumps(found)) <= RAW_MAXIMUM_BYTES else None


class RawShelf:
    """Keeps elements' forms packed until the export ends, no more than `max_bytes` together."""

    def __init__(self, max_bytes: int) -> None:
        self._left_bytes = max_bytes

    def put(self, held: dict[str, bytes], name: str, attributes: Attributes, children: Sequence[Child] = ()) -> None:
        """Keep an element under its name among those of a summary, in place of the one before, where there is room."""
        before = held.pop(name, None)
        if before is not None:
            self._left_bytes += len(before) + _ENTRY_BYTES
        found = element_raw(attributes, children)
        packed = b"" if found is None else orjson.dumps(found)
        if packed and len(packed) + _ENTRY_BYTES <= self._left_bytes:
            self._left_bytes -= len(packed) + _ENTRY_BYTES
            held[name] = packed


def raw_of(held: Mapping[str, bytes]) -> JSONObject | None:
    """What was kept of one summary, by the elements' names; None where nothing was."""
    return {name: orjson.loads(packed) for name, packed in sorted(held.items())} or None
