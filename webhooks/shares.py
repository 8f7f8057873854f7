"""How a pump's room is shared: no endpoint, no team and no crowd of slow endpoints can take it from those that answer.

What a pump has seen of endpoints is kept in it alone: a new pump knows nobody, and learns within one answer.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from webhooks.constants import (
    IN_FLIGHT_ENDPOINT_MAXIMUM,
    IN_FLIGHT_STRUGGLING_MAXIMUM,
    IN_FLIGHT_UNPROVEN_MAXIMUM,
    QUICK_SECONDS,
)
from webhooks.health import rate_allowance
from webhooks.records import Outcome, OwedEndpoint

_QUICK_MILLISECONDS: Final = QUICK_SECONDS * 1000


@dataclass(slots=True)
class Standings:
    """What a pump knows of the endpoints it has met: whose last answer was quick, who struggles, whose they are."""

    quick: set[UUID] = field(default_factory=set)
    struggling: set[UUID] = field(default_factory=set)
    teams: dict[UUID, UUID] = field(default_factory=dict)

    def see(self, owed: Iterable[OwedEndpoint]) -> None:
        """Take note of endpoints as the database has them now."""
        for item in owed:
            self.teams[item.endpoint_id] = item.team_id
            if item.struggling:
                self.struggling.add(item.endpoint_id)
            else:
                self.struggling.discard(item.endpoint_id)

    def note(self, outcomes: Iterable[Outcome]) -> None:
        """Take note of how long answers took; none at all is not quick, however soon it failed."""
        for outcome in outcomes:
            if outcome.error is None and outcome.duration_milliseconds < _QUICK_MILLISECONDS:
                self.quick.add(outcome.claim.endpoint_id)
            else:
                self.quick.discard(outcome.claim.endpoint_id)

    def is_doubtful(self, endpoint_id: UUID) -> bool:
        """Whether a request to it may hang, for all that is known."""
        return endpoint_id not in self.quick or endpoint_id in self.struggling

    def most_of(self, endpoint_id: UUID) -> int:
        """How many requests to it may be in flight."""
        if endpoint_id in self.struggling:
            return IN_FLIGHT_STRUGGLING_MAXIMUM
        return IN_FLIGHT_ENDPOINT_MAXIMUM if endpoint_id in self.quick else IN_FLIGHT_UNPROVEN_MAXIMUM


def allowances(
    owed: Sequence[OwedEndpoint],
    *,
    in_flight: Mapping[UUID, int],
    room: int,
    capacity: int,
    now: datetime,
    standings: Standings,
) -> dict[UUID, int]:
    """How many deliveries of each endpoint may be claimed now; those that may have none are left out.

    `in_flight` counts this pump's requests by endpoint, `room` how many it may add now, `capacity` how many it may have
    at all. The answer may add up to more than the room, since an endpoint is seldom owed all that it may have.
    Endpoints that are not known to answer quickly get at most half of the pump together, and so does each team, of
    which such endpoints of its own get half again. Half of each such share is for those that nobody knows yet: those
    that struggle can't take it from them.
    """
    doubtful_left = _part(capacity, 2) - sum(count for one, count in in_flight.items() if standings.is_doubtful(one))
    hanging_left = _part(capacity, 4) - sum(in_flight.get(one, 0) for one in standings.struggling)
    willing = [item for item in owed if item.paused_until is None or item.paused_until <= now]
    teams = _team_shares(willing, in_flight, capacity, standings)
    allowed: dict[UUID, int] = {}
    for item in willing:
        one, team, doubtful = item.endpoint_id, teams[item.team_id], standings.is_doubtful(item.endpoint_id)
        count = min(standings.most_of(one) - in_flight.get(one, 0), room, team.each, team.left)
        if item.rate_limit is not None:
            count = min(count, rate_allowance(item.rate_limit, item.rate_free_at, now))
        if doubtful:
            count = min(count, doubtful_left, team.doubtful_left)
        if item.struggling:
            count = min(count, hanging_left, team.hanging_left)
        if count > 0:
            allowed[one] = count
            team.left -= count
            if doubtful:
                doubtful_left -= count
                team.doubtful_left -= count
            if item.struggling:
                hanging_left -= count
                team.hanging_left -= count
    return allowed


@dataclass(slots=True)
class _TeamShare:
    """How many requests a team may add, how many to endpoints that may hang and that do, and how many to each."""

    left: int
    doubtful_left: int
    hanging_left: int
    each: int


def _team_shares(
    owed: Sequence[OwedEndpoint], in_flight: Mapping[UUID, int], capacity: int, standings: Standings
) -> dict[UUID, _TeamShare]:
    taken, doubtful, hanging = Counter[UUID](), Counter[UUID](), Counter[UUID]()
    for one, count in in_flight.items():
        taken[standings.teams[one]] += count
        if standings.is_doubtful(one):
            doubtful[standings.teams[one]] += count
        if one in standings.struggling:
            hanging[standings.teams[one]] += count
    endpoints = Counter(item.team_id for item in owed)
    left = {team_id: _part(capacity, 2) - taken[team_id] for team_id in endpoints}
    return {
        # Evenly, for most are owed less than they may have: what one leaves is another's at the next look.
        team_id: _TeamShare(
            left[team_id],
            _part(capacity, 4) - doubtful[team_id],
            _part(capacity, 8) - hanging[team_id],
            max(1, left[team_id] // count),
        )
        for team_id, count in endpoints.items()
    }


def _part(capacity: int, parts: int) -> int:
    """A part of a pump: one at least, so that the smallest pump delivers too."""
    return max(1, capacity // parts)
