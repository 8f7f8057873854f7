"""What came of a push: counts for each resource, and every record that was refused, by its place and the reason."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from aggregation.records import StoreResult
from healthsvc.kernel.typing import JSONObject, JSONValue

#: Refused records a receipt names; the rest are counted.
REFUSED_NAMED_MAXIMUM: Final = 1_000

UNIT_UNKNOWN: Final = "unit_unknown"
TOO_MANY_WORKOUTS: Final = "too_many_workouts"
TOO_MANY_LABELS: Final = "too_many_labels"


class Part(StrEnum):
    """The two halves of a push."""

    TIMESERIES = "timeseries"
    SUMMARIES = "summaries"


@dataclass(frozen=True, slots=True)
class Place:
    """A list in the body: its half, and its name there."""

    part: Part
    resource: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A record that was not stored. `index` is its place in its list; `loc` names the field, where one is at fault.

    `count` is 1, or of a stream the number of moments that were refused for this reason. `index` is None in the rare
    case that only the store could tell, for something changed at that very moment; `count` is then of records.
    """

    place: Place
    index: int | None
    reason: str
    loc: tuple[str | int, ...] = ()
    count: int = 1

    def as_json(self) -> JSONObject:
        """The entry of a receipt."""
        shown: list[JSONValue] = list(self.loc)
        return {
            "kind": self.place.part.value,
            "resource": self.place.resource,
            "index": self.index,
            "reason": self.reason,
            "loc": shown,
            "count": self.count,
        }


@dataclass(frozen=True, slots=True)
class Note:
    """Records of a list that are stored, though something of them is not."""

    place: Place
    reason: str
    count: int

    def as_json(self) -> JSONObject:
        """The entry of a receipt."""
        return {
            "kind": self.place.part.value,
            "resource": self.place.resource,
            "reason": self.reason,
            "count": self.count,
        }


@dataclass(slots=True)
class RefusedList:
    """Refused records on their way into a receipt: of each list the first thousand named, all counted."""

    entries: dict[Place, list[Refused]] = field(default_factory=dict)
    counts: Counter[Place] = field(default_factory=Counter)

    def add(self, place: Place, indexes: Sequence[int], reason: str, loc: Sequence[str | int] = ()) -> None:
        """Refuse records of one list for one reason."""
        self.counts[place] += len(indexes)
        entries = self.entries.setdefault(place, [])
        room = max(0, REFUSED_NAMED_MAXIMUM - len(entries))
        entries += [Refused(place, index, reason, tuple(loc)) for index in indexes[:room]]

    def add_many(self, place: Place, index: int | None, count: int, reason: str, loc: Sequence[str | int] = ()) -> None:
        """Refuse several at once under one entry: moments of a stream, or records without a place."""
        self.counts[place] += count
        entries = self.entries.setdefault(place, [])
        if len(entries) < REFUSED_NAMED_MAXIMUM:
            entries.append(Refused(place, index, reason, tuple(loc), count))

    def named(self) -> list[Refused]:
        """At most a thousand entries. Where there are more, every list gets the same share as long as it has enough."""
        found: list[Refused] = []
        shortest_first = sorted(self.entries.values(), key=len)
        for place, entries in enumerate(shortest_first):
            share = (REFUSED_NAMED_MAXIMUM - len(found)) // (len(shortest_first) - place)
            found += sorted(entries, key=_index)[:share]
        return sorted(found, key=_order)


def receipt_json(
    *,
    batch_id: str | None,
    stored_at: str,
    slugs: Mapping[Place, str | None],
    stored: StoreResult,
    refused: RefusedList,
    notes: Sequence[Note],
) -> JSONObject:
    """The receipt. `slugs` says under which name each list of the body is kept, None for a resource that is not known.

    For each list created + changed + unchanged + refused is the number of records in it; of streams, of their moments.
    No two resources have the same slug, and no two lists of a push the same resource.
    """
    counts: dict[Part, JSONObject] = {part: {} for part in Part}
    for place, slug in slugs.items():
        counts[place.part][place.resource] = {
            "created": stored.created.get(slug, 0) if slug else 0,
            "changed": stored.changed.get(slug, 0) if slug else 0,
            "unchanged": stored.unchanged.get(slug, 0) if slug else 0,
            "refused": refused.counts[place],
        }
    return {
        "batch_id": batch_id,
        "stored_at": stored_at,
        "timeseries": counts[Part.TIMESERIES],
        "summaries": counts[Part.SUMMARIES],
        "refused": [one.as_json() for one in refused.named()],
        "refused_total": refused.counts.total(),
        "notes": [one.as_json() for one in notes],
    }


def _index(one: Refused) -> int:
    return -1 if one.index is None else one.index


def _order(one: Refused) -> tuple[bool, str, int]:
    return one.place.part is Part.SUMMARIES, one.place.resource, _index(one)
