"""Which source counts, by priority or merged: loops over rows and stretches of time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

ORDER = [
    "lab", "automatic", "watch", "ring", "chest_strap", "scale", "cuff", "fingerprick", "manual_scan", "phone",
    "app", "multiple_sources", "unknown",
]  # fmt: skip
NEAR = timedelta(minutes=10)

Row = dict[str, Any]
Source = tuple[str, str]
Stretch = tuple[datetime, datetime]


@dataclass
class Settings:
    """How sources are settled. `adds_up` is None by priority, else the resources of which a part may count."""

    overrides: Sequence[str] = ()
    priorities: dict[str, int] = field(default_factory=dict)
    adds_up: frozenset[str] | None = None

    def rank(self, source: Source) -> tuple[Any, ...]:
        provider, source_type = source
        if provider in self.overrides:
            standing = (0, list(self.overrides).index(provider))
        elif provider in self.priorities:
            standing = (1, -self.priorities[provider])
        else:
            standing = (2, 0)
        return (ORDER.index(source_type), standing, provider)

    def recorder(self, row: Row) -> tuple[Any, ...]:
        """The source, of one source the device before the apps on it."""
        app = row["source_app_id"]
        standing = 0 if app is None else 1 if app.startswith("com.apple.health") else 2
        return (*self.rank(source_of(row)), standing, app or "", row["source_device_id"] or "")


def source_of(row: Row) -> Source:
    return (row["source_provider"], row["source_type"])


def best(members: Sequence[Row], settings: Settings) -> list[Row]:
    """The rows of the source that counts, resource by resource."""
    first = {
        resource: min({source_of(row) for row in members if row["resource"] == resource}, key=settings.rank)
        for resource in {row["resource"] for row in members}
    }
    return [row for row in members if source_of(row) == first[row["resource"]]]


def merged(
    rows: Sequence[Row], settings: Settings, line_of: Callable[[Row], Any], group_of: Callable[[Row], Any]
) -> list[Row]:
    """What counts of the rows, with `share`; in their order."""
    kept: dict[int, Row] = {}
    cells: dict[Any, list[Row]] = {}
    adds_up = settings.adds_up or frozenset()
    for row in rows:
        cell = line_of(row) if row["resource"] in adds_up else group_of(row)
        cells.setdefault((row["resource"], cell), []).append(row)
    for (resource, _), members in cells.items():
        covered: list[Stretch] = []
        for recorder in sorted({settings.recorder(row) for row in members}):
            new: list[Stretch] = []
            for row in members:
                if settings.recorder(row) != recorder:
                    continue
                share = open_share(row, covered)
                if resource not in adds_up:
                    share = 1.0 if share > 0.5 else 0.0
                if share > 0:
                    value = row["value"] if row["value"] is None else row["value"] * share
                    kept[id(row)] = {**row, "value": value, "share": share}
                    near = timedelta() if resource in adds_up else NEAR
                    start, end = stretch(row)
                    new.append((start - near, end + near))
            covered += new
    return [kept[id(row)] for row in rows if id(row) in kept]


def stretch(row: Row) -> Stretch:
    length = timedelta(seconds=row.get("duration") or 0)
    return row["instant"], row["instant"] + max(length, timedelta(microseconds=1))


def open_share(row: Row, covered: Sequence[Stretch]) -> float:
    """The part of a sample that no stretch covers."""
    start, end = stretch(row)
    pieces = [(start, end)]
    for from_, until in covered:
        outside = [(max(one, until), two) for one, two in pieces] + [(one, min(two, from_)) for one, two in pieces]
        pieces = [(one, two) for one, two in outside if one < two]
    return sum(((two - one) for one, two in pieces), timedelta()) / (end - start)


def lineage(groups: Sequence[Sequence[Row]], resources: Sequence[str], settings: Settings) -> list[list[Any]]:
    """One column a resource and source: what share it has of each group."""
    columns = []
    for resource in resources:
        of_resource = [[row for row in group if row["resource"] == resource] for group in groups]
        sources = sorted({source_of(row) for group in of_resource for row in group}, key=settings.rank)
        columns += [[_share(group, source, settings) for group in of_resource] for source in sources]
    return columns


def _share(group: Sequence[Row], source: Source, settings: Settings) -> float | None:
    if not group:
        return None
    weights = [abs(row["value"] or 0) if row["resource"] in (settings.adds_up or ()) else 0 for row in group]
    if sum(weights) == 0:
        weights = [1] * len(group)
    return sum(w for w, row in zip(weights, group, strict=True) if source_of(row) == source) / sum(weights)
