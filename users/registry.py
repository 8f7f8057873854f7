"""What the users app needs from the apps above it; they fill it in `AppConfig.ready()`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from healthsvc.kernel.exporting import ExportPart
from healthsvc.kernel.principal import TeamContext


@dataclass(frozen=True, slots=True)
class ConnectedSource:
    """A provider a user is connected to."""

    name: str
    slug: str
    logo: str
    created_on: datetime


#: Answers for a whole page of users at once: (team, user ids) → sources by user.
ConnectedSources = Callable[[TeamContext, Sequence[UUID]], Mapping[UUID, Sequence[ConnectedSource]]]

connected_sources: list[ConnectedSources] = []


@dataclass(frozen=True, slots=True)
class WeekOfConnections:
    """A week: how many connections were made in it, and how many there were at its end."""

    made: int
    standing: int


@dataclass(frozen=True, slots=True)
class ConnectionCounts:
    """A team's living connections, those of them that are broken, and the weeks that were asked for."""

    living: int
    errored: int
    by_week: Sequence[WeekOfConnections]


#: Counts a team's connections: (team, when each week begins, consecutive ones, oldest first) → counts.
ConnectionCounter = Callable[[TeamContext, Sequence[datetime]], ConnectionCounts]

connection_counts: list[ConnectionCounter] = []

#: The whole address of a team's logo, as pages show it, or None.
team_logo_urls: list[Callable[[TeamContext], str | None]] = []

#: How many tests a team has ordered.
ordered_tests: list[Callable[[TeamContext], int]] = []

#: Ends what goes on for a user who is deleted, such as connections to providers and imports, and says how many there
#: were: (team, user id). Runs in the transaction of the deletion, which holds the user's row.
Disconnector = Callable[[TeamContext, UUID], int]

disconnectors: list[Disconnector] = []


class ErasureWaits(Exception):  # noqa: N818 - reads as what happens
    """What is left of a user must end by itself before it can be erased; it is looked at again later."""


#: Among the counts of a portion, beside its tables: grants, gone now, that their vendors could not be made to end.
GRANTS_NOT_REVOKED: Final = "grants_not_revoked"

#: (team, user id) → how many rows, by table.
Portion = Callable[[TeamContext, UUID], Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Eraser:
    """Erases what an app keeps of a user.

    `tables`: those it answers for. `portion` erases some of it, what takes a second or two, in the caller's
    transaction and the purge scope, and says how many rows, by table; nothing where nothing is left. Safe to repeat.
    ErasureWaits where what is left must end by itself first; what was written until then stays.

    `begin`: what must happen outside of a transaction first, such as removing bytes; it answers the portion to go on
    with, in the place of `portion`.

    `emptied`: those of `tables` whose rows stay, without what leads to the person.
    """

    tables: frozenset[str]
    portion: Portion
    begin: Callable[[TeamContext, UUID], Portion] | None = None
    emptied: frozenset[str] = frozenset()


#: In the order of the apps, from the lowest up. What is above is erased first, for its rows refer to those below.
erasers: list[Eraser] = []


def rows_split(rows: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Of counts by table: rows that went, and rows that were emptied."""
    emptied = {table for eraser in erasers for table in eraser.emptied}
    went = {table: count for table, count in rows.items() if table not in emptied}
    return went, {table: count for table, count in rows.items() if table in emptied}


@dataclass(frozen=True, slots=True)
class Exporter:
    """What an app puts into the archive of everything about a user.

    `left_out`: tables with something of a person that are not exported, each with its reason, which the archive tells.
    """

    parts: Sequence[ExportPart]
    left_out: Mapping[str, str]


#: In the order of the archive, from the lowest app up.
exporters: list[Exporter] = []
