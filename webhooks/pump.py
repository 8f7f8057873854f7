"""Delivers what is owed: fans out, claims by lease, sends many at once, acknowledges in batches.

The database alone says what is owed, so a pump may die at any moment: what it had claimed and not acknowledged is
claimed again once its lease runs out, and arrives a second time under the same id. Any number may run side by side.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.conf import settings
from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.scope import SystemScope, system_scope
from webhooks import constants, selectors, services, walker
from webhooks.collector import collector_quiet
from webhooks.outgoing import Outgoings
from webhooks.pump_slots import slot_taken
from webhooks.records import Claim, Outcome, OwedEndpoint
from webhooks.sender import Sender
from webhooks.services.health import rates_hold, rates_spend
from webhooks.shares import Standings, allowances


@dataclass(frozen=True, slots=True)
class PumpOptions:
    """How a pump runs. The lease must be longer than the timeout."""

    timeout_seconds: float = constants.TIMEOUT_SECONDS
    lease_seconds: float = constants.LEASE_SECONDS
    idle_seconds: float = constants.PUMP_IDLE_SECONDS
    run_seconds: float = constants.PUMP_RUN_SECONDS
    #: It stays, with nothing to do, where something is due within this.
    linger_seconds: float = 0
    in_flight: int = constants.IN_FLIGHT_MAXIMUM

    def __post_init__(self) -> None:
        if self.lease_seconds <= self.timeout_seconds:
            raise ValueError("The lease must outlast the request.")


@dataclass(slots=True)
class PumpReport:
    """What a run did."""

    fanned_out: int = 0
    attempted: int = 0
    delivered: int = 0


@dataclass(frozen=True, slots=True)
class PumpCalls:
    """What others want to know of a pump: that it takes up nothing more, and that it has no room for what is owed.

    `resume` says whether it may take up more after all, while its last answers are out.
    """

    over: Callable[[], None] = lambda: None
    resume: Callable[[], bool] = lambda: True
    full: Callable[[], None] = lambda: None


@dataclass(slots=True)
class _Turn:
    """What a look at the database brought. `more`: there is more than it took.

    `waits`: some is due to an endpoint with a rate limit, which may have to give it time.
    """

    worked: bool = False
    more: bool = False
    waits: bool = False


def pump_run(options: PumpOptions = PumpOptions(), calls: PumpCalls = PumpCalls()) -> PumpReport:
    """Deliver until there was nothing to do for `idle_seconds`, or `run_seconds` are over; then finish what is sent.

    What a first failure has put off by seconds counts as something to do, with `linger_seconds`.

    When its time is over it says so before it waits for the last answers, so that another one can go on meanwhile.
    Where none does it goes on itself, until they are there.
    """
    with (
        collector_quiet(),
        system_scope(SystemScope.DELIVERY),
        Sender(timeout_seconds=options.timeout_seconds) as sender,
    ):
        run = _Run(options, calls, sender)
        run.take_up_while_there_is_time()
        calls.over()
        run.drain()
    return run.report


def pump_run_alone(options: PumpOptions = PumpOptions()) -> PumpReport | None:
    """`pump_run` unless WEBHOOK_PUMPS of these run now; None then. So workers keep slots for other tasks.

    Its slot is free again as soon as it takes up nothing more. What is left then, or came while it held the slot, gets
    a successor, so that nothing waits for the sweep.
    """
    with slot_taken(settings.WEBHOOK_PUMPS) as slot:
        if slot is None:
            return None

        begun = time.monotonic()

        def over() -> None:
            slot.give_back()
            # An idle pump has waited for the events that its wake-up covers; one whose time is over has not.
            if time.monotonic() - begun >= options.run_seconds or selectors.is_anything_owed():
                services.pump_wake()

        def full() -> None:
            if settings.WEBHOOK_PUMPS > 1:
                services.pump_wake()

        return pump_run(options, PumpCalls(over, slot.take_again, full))


@dataclass(slots=True)
class _Run:
    """One run of a pump."""

    options: PumpOptions
    calls: PumpCalls
    sender: Sender
    report: PumpReport = field(default_factory=PumpReport)
    outgoings: Outgoings = field(default_factory=Outgoings)
    standings: Standings = field(default_factory=Standings)
    asked_at: float = 0.0
    lingers_until: float | None = None
    begun: float = field(default_factory=time.monotonic)

    def take_up_while_there_is_time(self) -> None:
        """Take up and send what is owed, until nothing was for a while or the time is over."""
        busy_at = self.begun
        while self.lasted_seconds < self.options.run_seconds:
            turn = self.take_up()
            outcomes = self.collect(turn)
            if turn.worked or turn.waits or outcomes or self.sender.in_flight:
                busy_at = time.monotonic()
            elif time.monotonic() - busy_at >= self.options.idle_seconds and not self.lingers():
                break

    def lingers(self) -> bool:
        """Whether something is due so soon that another pump would hardly be there before."""
        if self.lingers_until is not None:
            if time.monotonic() >= self.lingers_until:
                self.lingers_until = None  # one look more, now that it is due
            return True
        if not self.options.linger_seconds:
            return False
        seconds = selectors.seconds_until_due(self.options.linger_seconds)
        if seconds is not None:
            self.lingers_until = time.monotonic() + seconds
        return seconds is not None

    def drain(self) -> None:
        """Wait for what is in flight, which takes a timeout at most; take up more meanwhile where nobody else does."""
        over_at = time.monotonic()
        resumed = False
        while self.sender.in_flight:
            waited_seconds = time.monotonic() - over_at
            if waited_seconds >= self.options.timeout_seconds:
                if resumed:
                    self.calls.over()
                resumed = False
            elif not resumed and waited_seconds >= constants.PUMP_RESUME_SECONDS:
                resumed = self.calls.resume()
            self.collect(self.take_up() if resumed else _Turn())
        if resumed:
            self.calls.over()

    @property
    def lasted_seconds(self) -> float:
        """How long it has run."""
        return time.monotonic() - self.begun

    @property
    def is_late(self) -> bool:
        """Whether a request that hangs would outlast it by much: those that are known to are left to the next one."""
        run_seconds = self.options.run_seconds
        return self.lasted_seconds >= max(run_seconds - self.options.timeout_seconds, run_seconds / 4)

    def collect(self, turn: _Turn) -> Sequence[Outcome]:
        """Acknowledge the outcomes that there are; with nothing else to do, wait a moment for some."""
        wait = constants.PUMP_GATHER_SECONDS if turn.worked else constants.PUMP_POLL_SECONDS
        outcomes = self.sender.collect(
            wait_seconds=0 if turn.more else wait,
            gather_seconds=0 if turn.more else constants.PUMP_GATHER_SECONDS,
            most=constants.CLAIM_ROWS,
        )
        if outcomes:
            self.standings.note(outcomes)
            services.outcomes_acknowledge(outcomes)
            self.report.attempted += len(outcomes)
            self.report.delivered += sum(outcome.succeeded for outcome in outcomes)
        return outcomes

    def take_up(self) -> _Turn:
        """Fan out waiting events, claim what is due and start sending it."""
        fan_out = services.events_fan_out()
        self.report.fanned_out += fan_out.events
        turn = _Turn(worked=fan_out.events > 0, more=fan_out.more)
        room = min(self.options.in_flight - self.sender.in_flight, constants.CLAIM_ROWS)
        if room <= 0:
            self.ask_for_another()
            turn.more = False
            return turn
        now = clock.now()
        owed = walker.endpoints_owed(constants.OWED_ENDPOINTS, now)
        claims = self.claim(owed, room) if owed else []
        turn.waits = any(item.rate_limit is not None for item in owed)
        if claims:
            self.sender.submit(self.outgoings.of_claims(claims))
            turn.worked = True
            turn.more = turn.more or len(claims) >= room
        elif owed and self.sender.in_flight >= self.options.in_flight // 4:
            self.ask_for_another()  # a team, or those that may hang, have all that they may have of this one
        return turn

    def claim(self, owed: Sequence[OwedEndpoint], room: int) -> list[Claim]:
        """Claim what the endpoints may have now. Where some have a rate limit, their books are held meanwhile."""
        if all(item.rate_limit is None for item in owed):
            return self.claim_of(owed, room)
        with transaction.atomic():
            now = clock.now()
            held = rates_hold(owed, now)
            claims = self.claim_of(held, room)
            limited = {item.endpoint_id for item in held if item.rate_limit is not None}
            rates_spend(Counter(claim.endpoint_id for claim in claims if claim.endpoint_id in limited), now)
        return claims

    def claim_of(self, owed: Sequence[OwedEndpoint], room: int) -> list[Claim]:
        self.standings.see(owed)
        if self.is_late:
            owed = [item for item in owed if not item.struggling]
        allowed = allowances(
            owed,
            in_flight=self.sender.by_endpoint,
            room=room,
            capacity=self.options.in_flight,
            now=clock.now(),
            standings=self.standings,
        )
        unnoted = {item.endpoint_id for item in owed if not item.noted}
        return walker.deliveries_claim(allowed, self.options.lease_seconds, limit=room, unnoted=unnoted)

    def ask_for_another(self) -> None:
        """Say, once in a while, that this pump is full."""
        now = time.monotonic()
        if now - self.asked_at >= constants.PUMP_ASK_SECONDS:
            self.asked_at = now
            self.calls.full()
