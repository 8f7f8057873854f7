"""How a pump's room is shared: among endpoints, teams, and those of whom nobody knows whether they answer."""

from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthsvc.kernel.http import OutboundFailure
from healthsvc.kernel.principal import Environment, TeamContext
from tests.webhooks.health_making import BEGIN
from webhooks.records import Claim, Outcome, OwedEndpoint
from webhooks.shares import Standings, allowances

OURS, THEIRS = UUID(int=1), UUID(int=2)
A, B = UUID(int=11), UUID(int=12)


def owed_of(endpoint_id: UUID, team_id: UUID = OURS, *, struggling: bool = False, **values: object) -> OwedEndpoint:
    return OwedEndpoint(endpoint_id, team_id, struggling=struggling, **values)  # type: ignore[arg-type]


def outcome_of(endpoint_id: UUID, *, milliseconds: int = 10, error: OutboundFailure | None = None) -> Outcome:
    team = TeamContext(OURS, Environment.SANDBOX)
    claim = Claim(UUID(int=5), 1, 0, endpoint_id, UUID(int=6), "webhook.test", team)
    return Outcome(claim, BEGIN, milliseconds, None if error else 500, error)


def standings_of(*owed: OwedEndpoint, quick: set[UUID] | None = None) -> Standings:
    """A pump that has met these endpoints."""
    found = Standings(quick=set(quick or ()))
    found.see(owed)
    return found


def shares(
    *owed: OwedEndpoint, quick: set[UUID] | None = None, in_flight: dict[UUID, int] | None = None, room: int = 256
) -> dict[UUID, int]:
    standings = standings_of(*owed, quick=quick)
    capacity = room + sum((in_flight or {}).values())
    return allowances(owed, in_flight=in_flight or {}, room=room, capacity=capacity, now=BEGIN, standings=standings)


@pytest.mark.parametrize(
    ("item", "quick", "in_flight", "room", "count"),
    [
        (owed_of(A), True, 0, 256, 32),
        (owed_of(A), True, 30, 256, 2),
        (owed_of(A), True, 32, 256, None),
        (owed_of(A), True, 40, 256, None),
        (owed_of(A), True, 0, 10, 5),
        (owed_of(A), True, 0, 0, None),
        (owed_of(A), True, 0, 1, 1),
        (owed_of(A), False, 0, 1, 1),
        (owed_of(A, struggling=True), False, 0, 1, 1),
        (owed_of(A), False, 0, 256, 4),
        (owed_of(A), False, 0, 8, 2),
        (owed_of(A), False, 3, 256, 1),
        (owed_of(A), False, 4, 256, None),
        (owed_of(A, struggling=True), True, 0, 256, 2),
        (owed_of(A, struggling=True), False, 1, 256, 1),
        (owed_of(A, struggling=True), False, 2, 256, None),
        (owed_of(A, paused_until=BEGIN + timedelta(seconds=1)), True, 0, 256, None),
        (owed_of(A, paused_until=BEGIN), True, 0, 256, 32),
        (owed_of(A, rate_limit=5), True, 0, 256, 1),
        (owed_of(A, rate_limit=100), True, 0, 256, 10),
        (owed_of(A, rate_limit=1000), True, 0, 256, 32),
        (owed_of(A, rate_limit=100, rate_free_at=BEGIN + timedelta(seconds=0.05)), True, 0, 256, 5),
        (owed_of(A, rate_limit=100, rate_free_at=BEGIN + timedelta(seconds=0.11)), True, 0, 256, None),
        (owed_of(A, rate_limit=100, struggling=True), True, 0, 256, 2),
    ],
)
def test_what_one_endpoint_may_have(
    item: OwedEndpoint, quick: bool, in_flight: int, room: int, count: int | None
) -> None:
    found = shares(item, quick={A} if quick else set(), in_flight={A: in_flight} if in_flight else {}, room=room)
    assert found == ({A: count} if count is not None else {})


def test_endpoints_not_known_to_be_quick_get_half_of_the_pump_together() -> None:
    doubtful = [owed_of(UUID(int=100 + number), UUID(int=number + 1000)) for number in range(100)]
    struggling = [owed_of(UUID(int=300 + number), UUID(int=number + 2000), struggling=True) for number in range(100)]
    known = owed_of(A)
    found = shares(*doubtful, *struggling, known, quick={A}, room=100)
    assert (sum(found.values()) - found[A], found[A]) == (50, 32)
    in_flight = {item.endpoint_id: 4 for item in doubtful[:13]}
    found = shares(*doubtful, *struggling, known, quick={A}, room=48, in_flight=in_flight)
    assert found == {A: 32}, "52 of 100 are theirs already"


def test_of_a_team_s_half_its_own_slow_endpoints_leave_half_to_the_others() -> None:
    slow = [owed_of(UUID(int=100 + number), struggling=True) for number in range(50)]
    well = owed_of(A)
    unknown = [owed_of(UUID(int=200 + number)) for number in range(50)]
    found = shares(*slow, *unknown, well, quick={A}, room=800)
    assert sum(found.get(item.endpoint_id, 0) for item in slow) == 100, "an eighth"
    assert sum(found.get(item.endpoint_id, 0) for item in unknown) == 100, "what is left of a quarter"
    assert found[A] == 3
    in_flight = {item.endpoint_id: 2 for item in slow}
    assert set(shares(*slow, well, quick={A}, room=700, in_flight=in_flight)) == {A}


def test_one_team_gets_half_of_the_pump_however_quick_its_endpoints_are() -> None:
    ours = [owed_of(UUID(int=100 + number)) for number in range(50)]
    other = owed_of(B, THEIRS)
    quick = {item.endpoint_id for item in (*ours, other)}
    found = shares(*ours, other, quick=quick, room=512)
    assert (sum(found.values()) - found[B], found[B]) == (250, 32)
    in_flight = {item.endpoint_id: 5 for item in ours}
    found = shares(*ours, other, quick=quick, room=262, in_flight=in_flight)
    assert (sum(found.values()) - found[B], found[B]) == (6, 32)
    in_flight = {item.endpoint_id: 6 for item in ours}
    assert shares(*ours, other, quick=quick, room=200, in_flight=in_flight) == {B: 32}


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans(), st.integers(0, 32)), max_size=60))
def test_nobody_takes_more_than_the_half(crowd: list[tuple[int, bool, bool, int]]) -> None:
    owed = [
        owed_of(UUID(int=100 + number), UUID(int=team), struggling=struggling)
        for number, (team, _quick, struggling, _flying) in enumerate(crowd)
    ]
    quick = {item.endpoint_id for item, one in zip(owed, crowd, strict=True) if one[1]}
    in_flight = {item.endpoint_id: one[3] for item, one in zip(owed, crowd, strict=True) if one[3]}
    room = max(0, 512 - sum(in_flight.values()))
    half = (room + sum(in_flight.values())) // 2
    found = shares(*owed, quick=quick, in_flight=in_flight, room=room)
    for team in range(4):
        ids = {item.endpoint_id for item in owed if item.team_id == UUID(int=team)}
        before = sum(in_flight.get(one, 0) for one in ids)
        assert before + sum(found.get(one, 0) for one in ids) <= max(half, before)
    doubtful = {item.endpoint_id for item in owed if item.endpoint_id not in quick or item.struggling}
    before = sum(in_flight.get(one, 0) for one in doubtful)
    assert before + sum(found.get(one, 0) for one in doubtful) <= max(half, before)
    assert all(count > 0 for count in found.values())


def test_a_quick_answer_proves_an_endpoint_and_a_slow_one_or_none_takes_it_back() -> None:
    standings = standings_of(owed_of(A))
    assert (standings.is_doubtful(A), standings.most_of(A)) == (True, 4)
    standings.note([outcome_of(A)])
    assert (standings.is_doubtful(A), standings.most_of(A)) == (False, 32)
    for slow in (outcome_of(A, milliseconds=3000), outcome_of(A, error=OutboundFailure.CONNECTION)):
        standings.note([outcome_of(A)])
        standings.note([slow])
        assert standings.most_of(A) == 4
    standings.note([outcome_of(A)])
    standings.see([owed_of(A, struggling=True)])
    assert (standings.is_doubtful(A), standings.most_of(A)) == (True, 2)
    standings.see([owed_of(A)])
    assert standings.most_of(A) == 32
