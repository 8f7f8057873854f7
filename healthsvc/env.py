"""Strict reading of environment variables: a value that is not understood stops the process, it is never guessed at.

An empty variable counts as unset. Messages name the variable and what it accepts; they never repeat a secret.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


class EnvError(ValueError):
    """An environment variable holds something the service does not accept."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """One variable as the code asked for it. `default` and the bounds are text for the generated settings page."""

    name: str
    kind: str
    default: str
    minimum: int | None = None
    maximum: int | None = None
    secret: bool = False


_declared: dict[str, Declaration] = {}


def declared() -> tuple[Declaration, ...]:
    """Every variable read so far in this process, by name."""
    return tuple(_declared[name] for name in sorted(_declared))


def env_str(name: str, default: str) -> str:
    _declare(Declaration(name, "text", default))
    value = _read(name)
    return default if value is None else value


def env_bool(name: str, default: bool) -> bool:
    """Only true, false, 1 and 0: DEBUG=yes is an error, not False."""
    _declare(Declaration(name, "boolean", "true" if default else "false"))
    value = _read(name)
    if value is None:
        return default
    try:
        return _BOOLEANS[value.lower()]
    except KeyError:
        raise EnvError(f"{name}={value!r} is not a boolean: use true, false, 1 or 0.") from None


def env_int(name: str, default: int, minimum: int | None = None, maximum: int | None = None) -> int:
    """A whole number between `minimum` and `maximum`, both included."""
    _declare(Declaration(name, "whole number", str(default), minimum, maximum))
    value = _read(name)
    if value is None:
        return default
    span = _span(minimum, maximum)
    if not value.removeprefix("-").isdecimal() or not value.isascii():
        raise EnvError(f"{name}={value!r} is not a whole number{span}.")
    number = int(value)
    if (minimum is not None and number < minimum) or (maximum is not None and number > maximum):
        raise EnvError(f"{name}={value} is out of range: use a whole number{span}.")
    return number


def env_list(name: str, default: Sequence[str]) -> list[str]:
    """Comma-separated; spaces around an item and empty items are dropped."""
    _declare(Declaration(name, "comma-separated list", ",".join(default)))
    value = _read(name)
    if value is None:
        return list(default)
    return [item.strip() for item in value.split(",") if item.strip()]


def env_path(name: str, default: Path) -> Path:
    """An absolute path; a relative one is taken from the working directory, `~` from the home."""
    _declare(Declaration(name, "path", str(default)))
    value = _read(name)
    path = default if value is None else Path(value).expanduser()
    return Path(os.path.abspath(path))  # noqa: PTH100 - Path.absolute keeps "..", resolve would follow links


def env_secret(name: str, default: str) -> str:
    """NAME, or the stripped content of the file that NAME_FILE points at. Both at once is an error."""
    _declare(Declaration(name, "secret, or NAME_FILE", "" if not default else "(set)", secret=True))
    value, file_name = _read(name), _read(f"{name}_FILE")
    if value is not None and file_name is not None:
        raise EnvError(f"{name} and {name}_FILE are both set: set only one.")
    if file_name is not None:
        return _secret_file(name, file_name)
    return default if value is None else value


def _secret_file(name: str, file_name: str) -> str:
    try:
        content = Path(file_name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise EnvError(f"{name}_FILE={file_name} cannot be read: {type(error).__name__}.") from None
    if not content:
        raise EnvError(f"{name}_FILE={file_name} is empty.")
    return content


def _read(name: str) -> str | None:
    return os.environ.get(name, "").strip() or None


def _declare(declaration: Declaration) -> None:
    _declared[declaration.name] = declaration


def _span(minimum: int | None, maximum: int | None) -> str:
    if minimum is not None and maximum is not None:
        return f" from {minimum} to {maximum}"
    if minimum is not None:
        return f" of at least {minimum}"
    return "" if maximum is None else f" of at most {maximum}"
