"""What the users app needs from the apps above it; they fill it in `AppConfig.ready()`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

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

#: Ends what connects a user to providers, at once, and says how many there were: (team, user id). For deletion.
Disconnector = Callable[[TeamContext, UUID], int]

disconnectors: list[Disconnector] = []

#: Erases what an app keeps of a user, in the purge scope and a transaction of its own, safe to repeat:
#: (team, user id) → how many rows were erased, by table.
Eraser = Callable[[TeamContext, UUID], Mapping[str, int]]

erasers: list[Eraser] = []
