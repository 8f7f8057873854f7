"""The secret by which tests hold the controls of the simulators they start, which inherit it from this process."""

import os
from secrets import token_urlsafe
from typing import Final

os.environ.setdefault("SIMULATOR_CONTROLS", "true")
CONTROL_SECRET: Final = os.environ.setdefault("SIMULATOR_CONTROL_SECRET", token_urlsafe(32))
#: Clients of a test answer at whatever port is free.
CALLBACK_ORIGINS: Final = os.environ.setdefault("SIMULATOR_CALLBACK_ORIGINS", "http://127.0.0.1:*,http://localhost:*")


def control_headers(path: str) -> dict[str, str]:
    """What a request to the simulator shows besides its own headers."""
    return {"X-Simulator-Control": CONTROL_SECRET} if path.startswith("/_control/") else {}
