"""What the simulator is told by its environment."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Configuration:
    """database: the SQLite file that holds all state. url: the address people and services reach it at."""

    database: Path
    url: str

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "Configuration":
        default = Path(tempfile.gettempdir()) / "healthsvc-simulator.sqlite3"
        return cls(
            database=Path(environ.get("SIMULATOR_DATABASE") or default),
            url=(environ.get("SIMULATOR_URL") or "http://127.0.0.1:8002").rstrip("/"),
        )
