"""What a connector is: one small class a provider, which reads days of a resource as the service's records."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from aggregation.records import Refusal, SeriesBatch, StreamRecord, SummaryRecord
from links.connectors.payload import Series
from links.connectors.wire import Access


@dataclass(frozen=True, slots=True)
class Pulled:
    """What one window of days gave. `time_zone` is where the person was at its end, where the provider told.

    A stream's workout is among the summaries or the `workouts` here, or was stored before. `workouts` are told in less
    than full: they are stored only where there is none yet.
    """

    series: tuple[SeriesBatch, ...] = ()
    summaries: tuple[SummaryRecord, ...] = ()
    streams: tuple[StreamRecord, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    time_zone: str | None = None
    workouts: tuple[SummaryRecord, ...] = ()


class Connector(Protocol):
    """A provider's data. Methods call the network and raise `ProviderFailure`.

    `window_days` says how many days of each resource one call of `pull` reads; its keys are what can be pulled.
    """

    window_days: Mapping[str, int]

    def account_id(self, access: Access) -> str:
        """The account's own id at the provider, where the token endpoint did not tell it; '' for none."""

    def pull(self, access: Access, resource: str, start_on: date, end_on: date) -> Pulled:
        """The person's days from `start_on` to `end_on`, both included."""


def summaries_of(converted: Iterable[SummaryRecord | Refusal]) -> Pulled:
    """Summaries told apart from what was refused."""
    summaries: list[SummaryRecord] = []
    refusals: list[Refusal] = []
    for one in converted:
        (summaries if isinstance(one, SummaryRecord) else refusals).append(one)  # type: ignore[arg-type]
    return Pulled(summaries=tuple(summaries), refusals=tuple(refusals))


def series_of(found: Iterable[Series], resource: str) -> Pulled:
    """The batches of one resource; what else the documents hold is pulled with its own resource."""
    stretches = tuple(found)
    return Pulled(
        series=tuple(batch for one in stretches for batch in one.batches if batch.resource == resource),
        refusals=tuple(refusal for one in stretches for refusal in one.refusals),
    )
