"""Every operation of both OpenAPI documents under thousands of random requests, others each time.

Part of `make soak`; `python -m bench.soak_fuzz 4711` sends once more what a run with that seed sent.
"""

import random
import sys
import time
from typing import Final

from django.db import transaction
from django.test import override_settings

from tests.databases import database_made
from tests.documents import MANAGEMENT_URLCONF, TEAM_URLCONF, document
from tests.fuzz.cast import Cast, cast_make
from tests.fuzz.sending import Amount, operation_problems, service_operations

_WORKER_NUMBER: Final = 93
#: Random requests of each operation, beside all those on a boundary.
_RANDOM: Final = 300
_SEEDS: Final = 2**31


def fuzz(seed: int) -> dict[str, dict[str, str]]:
    """What is wrong, by operation."""
    found: dict[str, dict[str, str]] = {}
    amount = Amount(random=_RANDOM, boundaries=None, seed=seed)
    hosts = override_settings(ALLOWED_HOSTS=["localhost", "testserver"])
    with hosts, database_made(_WORKER_NUMBER), transaction.atomic():
        cast = cast_make()
        for urlconf in (TEAM_URLCONF, MANAGEMENT_URLCONF):
            found |= _address(cast, urlconf, amount)
        transaction.set_rollback(True)
    return {name: problems for name, problems in found.items() if problems}


def _address(cast: Cast, urlconf: str, amount: Amount) -> dict[str, dict[str, str]]:
    found = {}
    for path, methods in document(urlconf)["paths"].items():
        for method in methods:
            started = time.perf_counter()
            problems = operation_problems(
                service_operations(urlconf)[path][method],
                headers=cast.headers(urlconf),
                known=cast.known[urlconf],
                amount=amount,
            )
            seconds = time.perf_counter() - started
            print(f"  {method.upper():<6} {path:<90} {seconds:6.1f} s, {len(problems)} wrong", flush=True)
            found[f"{method.upper()} {path}"] = problems
    return found


def main(seed: int) -> None:
    """Print as it goes; exit with what is wrong."""
    print(f"fuzz run with seed {seed}", flush=True)
    found = fuzz(seed)
    for name, problems in found.items():
        for report in problems.values():
            print(f"\n{name}\n{report}", flush=True)
    if found:
        sys.exit(f"The fuzz run found something wrong with {len(found)} operations; its seed was {seed}.")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(_SEEDS))
