"""A producer of events: each in a transaction of its own, and noted only once the commit has returned.

`python -m bench.soak_producer TEAM_ID ENVIRONMENT JOURNAL RATE` commits RATE events a second until it is stopped. What
it could not commit it does not note, and goes on with the next.
"""

import hashlib
import sys
import time
from itertools import count
from pathlib import Path
from typing import Final, TextIO
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection, transaction

from healthsvc.kernel.json_io import json_encode
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.scope import team_scope
from healthsvc.kernel.typing import JSONObject
from webhooks import services

EVENT_TYPE: Final = "daily.data.steps.created"
_OUTAGE_REST_SECONDS: Final = 0.1


def produce(team: TeamContext, journal: TextIO, rate: float) -> None:
    """Commit and note, for ever."""
    started = time.monotonic()
    for number in count():
        wait = started + number / rate - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        data: JSONObject = {"number": number, "made_at": time.time_ns()}
        begun = time.monotonic()
        try:
            with team_scope(team), transaction.atomic():
                event_id = services.event_emit(
                    team=team, event_type=EVENT_TYPE, data=data, user_id=None, client_user_id=None
                )
        except (OperationalError, InterfaceError):
            connection.close()
            time.sleep(_OUTAGE_REST_SECONDS)
            continue
        seconds = time.monotonic() - begun
        journal.write(f"{time.time():.3f}\tmsg_{event_id}\t{body_digest(team, data)}\t{seconds:.4f}\n")


def body_digest(team: TeamContext, data: JSONObject) -> str:
    """Of the bytes that must arrive: the envelope that the interface names."""
    envelope = {
        "event_type": EVENT_TYPE,
        "data": data,
        "team_id": str(team.team_id),
        "user_id": None,
        "client_user_id": None,
    }
    return hashlib.sha256(json_encode(envelope)).hexdigest()


def main() -> None:
    """Until stopped."""
    team_id, environment, path, rate = sys.argv[1:]
    with Path(path).open("a", buffering=1) as journal:
        produce(TeamContext(UUID(team_id), Environment(environment)), journal, float(rate))


if __name__ == "__main__":
    main()
