"""A pump that dies by `kill -9` at a moment that is named: `python -m tests.webhooks.dying_pump claimed|answered`."""

import os
import signal
import sys
from typing import Any, NoReturn

import django


def _die(*_arguments: Any, **_named: Any) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit("It outlived kill -9.")


def main(moment: str) -> None:
    """Deliver what is owed, and die."""
    django.setup()
    from webhooks import pump, services
    from webhooks.sender import Sender

    if moment == "claimed":
        Sender.submit = _die  # type: ignore[method-assign]
    else:
        services.outcomes_acknowledge = _die
    pump.pump_run(pump.PumpOptions(idle_seconds=0, timeout_seconds=5))


if __name__ == "__main__":
    main(sys.argv[1])
