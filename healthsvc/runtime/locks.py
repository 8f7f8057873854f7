"""One owner per folder: a lock that the kernel releases when its holder dies, however it dies."""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path


class AlreadyRunningError(RuntimeError):
    """Another living process holds the folder. `holder` is what that process said about itself."""

    def __init__(self, path: Path, holder: Mapping[str, str]) -> None:
        super().__init__(f"{path} is held by process {holder.get('pid', '(unknown)')}")
        self.holder = dict(holder)


class FolderLock:
    """Held from construction until `release`. The file stays: removing it would let two owners hold two files."""

    def __init__(self, path: Path, **about: str) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            raise AlreadyRunningError(path, _read_holder(path)) from None
        self.describe(**about)

    def describe(self, **about: str) -> None:
        """Write what a second starter should be told."""
        content = json.dumps({"pid": str(os.getpid()), **about}).encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, content, 0)

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _read_holder(path: Path) -> dict[str, str]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(key): str(value) for key, value in content.items()}
