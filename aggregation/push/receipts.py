"""What came of a push: counts for each resource, and every record that was refused, by its place and the reason."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from aggregation.records import StoreResult
from healthsvc.kernel.typing import JSONObject, JSONValue

#: Refused records a receipt names; the rest are counted.
REFUSED_NAMED_MAXIMUM: Final = 1_000

UNIT_UNKNOWN: Final = "unit_unknown"
TOO_MANY_WORKOUTS: Final = "too_many_workouts"


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

    `index` is None in the rare case that only the store could tell, for something changed at that very moment.
    """

    place: Place
    index: int | None
    reason: str
    loc: tuple[str | int, ...] = ()

    def as_json(self) -> JSONObject:
        """The entry of a receipt."""
        shown: list[JSONValue] = list(self.loc)
        return {
            "kind": self.place.part.value,
            "resource": self.place.resource,
            "index": self.index,
            "reason": self.reason,
            "loc": shown,
        }


@dataclass(slots=True)
class RefusedList:
    """Refused records on their way into a receipt: the first thousand named, all counted."""

    named: list[Refused] = field(default_factory=list)
    counts: Counter[Place] = field(default_factory=Counter)

    def add(self, place: Place, indexes: Iterable[int | None], reason: str, loc: Sequence[str | int] = ()) -> None:
        """Refuse records of one list for one reason."""
        for index in indexes:
            self.counts[place] += 1
            if self.names_more:
                self.named.append(Refused(place, index, reason, tuple(loc)))

    @property
    def names_more(self) -> bool:
        """Whether there is room to name another."""
        return len(self.named) < REFUSED_NAMED_MAXIMUM


def receipt_json(
    *, batch_id: str | None, stored_at: str, slugs: Mapping[Place, str], stored: StoreResult, refused: RefusedList
) -> JSONObject:
    """The receipt. `slugs` says under which name each list of the body is kept.

    For each list created + changed + unchanged + refused is the number of records in it; of streams, of their moments.
    """
    counts: dict[Part, JSONObject] = {part: {} for part in Part}
    for place, slug in slugs.items():
        counts[place.part][place.resource] = {
            "created": stored.created.get(slug, 0),
            "changed": stored.changed.get(slug, 0),
            "unchanged": stored.unchanged.get(slug, 0),
            "refused": refused.counts[place],
        }
    named = sorted(refused.named, key=_order)
    return {
        "batch_id": batch_id,
        "stored_at": stored_at,
        "timeseries": counts[Part.TIMESERIES],
        "summaries": counts[Part.SUMMARIES],
        "refused": [one.as_json() for one in named],
        "refused_total": refused.counts.total(),
    }


def _order(one: Refused) -> tuple[bool, str, int]:
    return one.place.part is Part.SUMMARIES, one.place.resource, -1 if one.index is None else one.index
