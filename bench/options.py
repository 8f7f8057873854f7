"""How large a measurement is: options of the command line, each with an environment variable for `make bench`."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass

#: What the store holds unless something else is asked for.
SAMPLES = 30_000_000
#: What the row-per-sample table holds: enough for an index that is larger than the server's buffers.
ROW_SAMPLES = 8_000_000
ROUNDS = 7
DELIVERIES = 20_000
DELIVERY_SECONDS = 20
#: In the one team whose users are listed and searched.
PEOPLE = 1_000_000
#: What the user who is erased has.
ERASED_SAMPLES = 5_000_000
ERASED_EVENTS = 10_000


@dataclass(frozen=True, slots=True)
class Options:
    """samples: in the store. row_samples: in the row-per-sample table. rounds: repeats of each timing.

    deliveries: in one run of the pump. delivery_seconds: how long events are produced at an even rate.

    people: in the team that lists and searches. erased_samples, erased_events: of the user who is erased.

    parts: the names of the measurements to run, all of them where empty.
    """

    samples: int = SAMPLES
    row_samples: int = ROW_SAMPLES
    rounds: int = ROUNDS
    parts: tuple[str, ...] = ()
    deliveries: int = DELIVERIES
    delivery_seconds: int = DELIVERY_SECONDS
    people: int = PEOPLE
    erased_samples: int = ERASED_SAMPLES
    erased_events: int = ERASED_EVENTS

    def runs(self, part: str) -> bool:
        """Whether the part was asked for."""
        return not self.parts or part in self.parts


def options_read(parts: Sequence[str] = (), arguments: Sequence[str] | None = None) -> Options:
    """From the command line; `parts` are the names that may be given there."""
    parser = argparse.ArgumentParser(description="Measurements, printed as ratios.")
    parser.add_argument("--samples", type=int, default=_number("BENCH_SAMPLES", SAMPLES))
    parser.add_argument("--row-samples", type=int, default=_number("BENCH_ROW_SAMPLES", ROW_SAMPLES))
    parser.add_argument("--rounds", type=int, default=_number("BENCH_ROUNDS", ROUNDS))
    parser.add_argument("--deliveries", type=int, default=_number("BENCH_DELIVERIES", DELIVERIES))
    parser.add_argument("--delivery-seconds", type=int, default=_number("BENCH_DELIVERY_SECONDS", DELIVERY_SECONDS))
    parser.add_argument("--people", type=int, default=_number("BENCH_PEOPLE", PEOPLE))
    parser.add_argument("--erased-samples", type=int, default=_number("BENCH_ERASED_SAMPLES", ERASED_SAMPLES))
    parser.add_argument("--erased-events", type=int, default=_number("BENCH_ERASED_EVENTS", ERASED_EVENTS))
    if parts:
        parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(parts)}; all where none is named")
    given = parser.parse_args(arguments)
    chosen = tuple(getattr(given, "parts", ()))
    if unknown := [part for part in chosen if part not in parts]:
        parser.error(f"there is no part {', '.join(unknown)}")
    return Options(
        samples=given.samples,
        row_samples=given.row_samples,
        rounds=given.rounds,
        parts=chosen,
        deliveries=given.deliveries,
        delivery_seconds=given.delivery_seconds,
        people=given.people,
        erased_samples=given.erased_samples,
        erased_events=given.erased_events,
    )


def _number(variable: str, default: int) -> int:
    return int(os.environ.get(variable) or default)
