"""Secrets of one installation on this machine: made on the first start, kept in a private file of the data folder."""

import base64
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

FILE_NAME = "secrets.json"
NAMES = ("SECRET_KEY", "KEY_PEPPER", "FIELD_ENCRYPTION_KEYS")


class SecretsError(RuntimeError):
    """The file of secrets is there but not usable; the message names it and nothing in it."""


def kept_secrets(data_folder: Path) -> dict[str, str]:
    """The installation's secrets by variable name. Made once, flushed to disk before use: losing them loses data."""
    path = data_folder / FILE_NAME
    if not path.exists():
        write_private_json(path, generated())
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {name: str(content[name]) for name in NAMES}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SecretsError(f"{path} cannot be used: {type(error).__name__}. Restore it from a backup.") from None


def generated() -> dict[str, str]:
    """New random secrets, each of at least 256 bits."""
    field_key = base64.b64encode(secrets.token_bytes(32)).decode()
    return {
        "SECRET_KEY": secrets.token_urlsafe(48),
        "KEY_PEPPER": secrets.token_urlsafe(48),
        "FIELD_ENCRYPTION_KEYS": f"k1:{field_key}",
    }


def write_private_json(path: Path, content: Mapping[str, str]) -> None:
    """Replace `path` at once, readable by its owner alone; a crash leaves the old file or the whole new one."""
    write_private_text(path, json.dumps(dict(content), indent=1))


def write_private_text(path: Path, text: str) -> None:
    """As `write_private_json`, for any text."""
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
