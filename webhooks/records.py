"""What travels between the parts of delivery: the claim, the request to make, what came of it, the acknowledgement."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from healthsvc.kernel.http import OutboundFailure, OutboundTarget
from healthsvc.kernel.principal import TeamContext
from webhooks.states import DeliveryCommand


@dataclass(frozen=True, slots=True)
class Claim:
    """A delivery taken by this pump. It may be acknowledged while `number` is still the row's."""

    delivery_id: UUID
    number: int
    failures: int
    endpoint_id: UUID
    event_id: UUID
    event_type: str
    team: TeamContext
    #: Whether anything was noted of the endpoint's health when this was claimed.
    noted: bool = True


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request to make. It is signed when it is sent, with every key of `keys`."""

    claim: Claim
    target: OutboundTarget
    message_id: str
    keys: tuple[bytes, ...]
    body: bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a request: a status, or an error."""

    claim: Claim
    attempted_at: datetime
    duration_milliseconds: int
    status_code: int | None = None
    error: OutboundFailure | None = None
    retry_after_seconds: int | None = None
    answer_excerpt: str | None = None

    @property
    def succeeded(self) -> bool:
        """Any 2xx is success; a redirect is not."""
        return self.status_code is not None and 200 <= self.status_code < 300

    @property
    def gone(self) -> bool:
        """The endpoint says that it wants no more."""
        return self.status_code == 410


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Where a claimed delivery goes. `next_attempt_at` is set for RETRY only."""

    claim: Claim
    command: DeliveryCommand
    failures: int
    next_attempt_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class OwedEndpoint:
    """An endpoint that something is owed to, with what says how much of it may be sent now."""

    endpoint_id: UUID
    team_id: UUID
    rate_limit: int | None = None
    struggling: bool = False
    paused_until: datetime | None = None
    rate_free_at: datetime | None = None
    #: Whether anything is noted of its health; goes into its claims.
    noted: bool = True
