"""`make bench`: every measurement on one filled store, each printed as ratios; parts can be named."""

from bench import audit, clients, deliveries, erasure, ingest, output, people, queries, sizes, syncs, users
from bench.filled import filled
from bench.options import Options, options_read
from bench.stage import load_note
from bench.targets import Targets

PARTS = (
    "users",
    "sizes",
    "queries",
    "output",
    "ingest",
    "clients",
    "syncs",
    "audit",
    "deliveries",
    "people",
    "erasure",
)
#: Those that need the filled store.
ON_STORE = PARTS[: PARTS.index("deliveries")]


def main() -> None:
    """Wrong answers raise; slow ones are only told."""
    options = options_read(PARTS)
    targets = Targets()
    print(f"Before: {load_note()}")
    if any(map(options.runs, ON_STORE)):
        _on_store(options, targets)
    if options.runs("deliveries"):
        deliveries.measure(options, targets)
    if options.runs("people"):
        people.measure(options, targets)
    if options.runs("erasure"):
        erasure.measure(options, targets)
    targets.told()
    print(f"After: {load_note()}. Programs that share the cores stretch the times, and less the ratios.")


def _on_store(options: Options, targets: Targets) -> None:
    with filled(options) as store:
        if options.runs("sizes"):
            sizes.measure(store, targets)
        if options.runs("queries"):
            queries.measure(store, targets, options.rounds)
        if options.runs("output"):
            output.measure(store, options.rounds)
        if options.runs("ingest"):
            ingest.measure(store, targets)
        if options.runs("clients"):
            clients.measure(store)
        if options.runs("users"):
            users.measure(store.tenant)
        if options.runs("syncs"):
            syncs.measure(store.tenant)
        if options.runs("audit"):
            audit.measure(store.tenant, targets)


if __name__ == "__main__":
    main()
