"""What the simulator is told by its environment."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

#: A guess at fewer would be worth somebody's time.
_SECRET_MINIMUM_CHARACTERS = 32
#: In place of a port: any. For test runs, whose clients answer at whatever port is free.
_ANY_PORT = "*"


class ConfigurationError(ValueError):
    """A variable holds something the simulator does not accept."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """database: the SQLite file that holds all state. url: the address people and services reach it at.

    control_secret: what a request to `/_control/…` must show; empty: there are no controls. callback_origins: the
    clients that notices are sent to; no other address is ever called.
    """

    database: Path
    url: str
    control_secret: str = ""
    callback_origins: tuple[str, ...] = ()

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "Configuration":
        """Raises ConfigurationError."""
        default = Path(tempfile.gettempdir()) / "healthsvc-simulator.sqlite3"
        return cls(
            database=Path(environ.get("SIMULATOR_DATABASE") or default),
            url=(environ.get("SIMULATOR_URL") or "http://127.0.0.1:8002").rstrip("/"),
            control_secret=_control_secret(environ),
            callback_origins=_origins(environ.get("SIMULATOR_CALLBACK_ORIGINS") or environ.get("BASE_URL") or ""),
        )


def origin_of(url: str) -> tuple[str, str] | None:
    """Scheme and host with its port, as two origins are compared; None for what is no http or https address."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
    if port is None or not parts.hostname or "@" in parts.netloc:
        return None
    return f"{parts.scheme}://{parts.hostname}", str(port)


def origin_allowed(url: str, allowed: tuple[str, ...]) -> bool:
    """Whether `url` lies at one of these origins."""
    found = origin_of(url)
    if found is None:
        return False
    for one in allowed:
        host, _, port = one.rpartition(":")
        if port == _ANY_PORT and host == found[0]:
            return True
        if port != _ANY_PORT and origin_of(one) == found:
            return True
    return False


def _origins(text: str) -> tuple[str, ...]:
    found = tuple(part.strip().rstrip("/") for part in text.split(",") if part.strip())
    for one in found:
        if origin_of(one.removesuffix(f":{_ANY_PORT}")) is None:
            raise ConfigurationError("SIMULATOR_CALLBACK_ORIGINS holds something that is no http or https origin.")
    return found


def _control_secret(environ: Mapping[str, str]) -> str:
    wanted = (environ.get("SIMULATOR_CONTROLS") or "false").lower()
    if wanted not in ("true", "1", "false", "0"):
        raise ConfigurationError("SIMULATOR_CONTROLS is not a boolean: use true, false, 1 or 0.")
    if wanted in ("false", "0"):
        return ""
    secret = environ.get("SIMULATOR_CONTROL_SECRET") or ""
    if len(secret) < _SECRET_MINIMUM_CHARACTERS or not secret.isascii():
        raise ConfigurationError(
            f"SIMULATOR_CONTROLS is on, so SIMULATOR_CONTROL_SECRET must have {_SECRET_MINIMUM_CHARACTERS} or more "
            "ASCII characters."
        )
    return secret
