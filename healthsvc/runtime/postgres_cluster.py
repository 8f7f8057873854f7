"""The files of the embedded cluster: making it, configuring it, and clearing away what a crash left."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from healthsvc.runtime.postgres_places import MAJOR_VERSION, PostgresPlaces
from healthsvc.runtime.processes import Account

SETTINGS_FILE = "healthsvc.conf"
#: How long a server that an earlier run left behind may take for a fast stop.
LEFTOVER_STOP_SECONDS = 60.0
CLEAN_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"}

_SETTINGS = """\
# Written by the service at every start; put changes of your own into postgresql.auto.conf (ALTER SYSTEM).
listen_addresses = ''
unix_socket_permissions = 0700
password_encryption = 'scram-sha-256'
max_connections = 200
shared_buffers = '256MB'
effective_cache_size = '1GB'
maintenance_work_mem = '128MB'
random_page_cost = 1.1
jit = off
wal_compression = 'pglz'
min_wal_size = '128MB'
max_wal_size = '2GB'
checkpoint_timeout = '15min'
timezone = 'UTC'
log_timezone = 'UTC'
logging_collector = on
log_filename = 'postgres-%u.log'
log_rotation_age = '1d'
log_rotation_size = 0
log_truncate_on_rotation = on
log_file_mode = 0600
# A failed statement, or the value its error repeats, could be health data: errors go to the client alone.
log_min_messages = 'log'
log_min_error_statement = 'panic'
log_error_verbosity = 'terse'
log_statement = 'none'
"""
_DURABLE = "fsync = on\nfull_page_writes = on\nsynchronous_commit = on\n"
_THROWAWAY = "fsync = off\nfull_page_writes = off\nsynchronous_commit = off\nautovacuum_naptime = '10min'\n"


class ClusterError(RuntimeError):
    """The cluster's files do not allow a start; the message says what to do."""


def make_cluster(places: PostgresPlaces, *, superuser: str, password: str, durable: bool) -> None:
    """initdb beside its place and rename: an interrupted first start leaves no half-made cluster."""
    unfinished = places.cluster.with_name("cluster.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    handle, name = tempfile.mkstemp(prefix="healthsvc-")
    password_file = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{password}\n")
        _give(password_file, places.account)
        run_as(
            places.account,
            str(places.binaries / "initdb"),
            f"--pgdata={unfinished}",
            f"--username={superuser}",
            f"--pwfile={password_file}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--data-checksums" if durable else "--no-data-checksums",
            "--no-instructions",
            *([] if durable else ["--no-sync"]),
        )
    finally:
        password_file.unlink(missing_ok=True)
    with (unfinished / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write(f"\ninclude = '{SETTINGS_FILE}'\n")
    write_for(unfinished / "pg_hba.conf", "local all all scram-sha-256\n", places.account)
    unfinished.rename(places.cluster)


def configure(places: PostgresPlaces, sockets: Path, *, durable: bool) -> None:
    """Write the settings. Raises ClusterError for a cluster of another major version."""
    found = (places.cluster / "PG_VERSION").read_text(encoding="utf-8").strip()
    if found != str(MAJOR_VERSION):
        raise ClusterError(
            f"{places.cluster} was made by PostgreSQL {found}, this is {MAJOR_VERSION}: "
            "dump it with that version, or set HEALTHSVC_DATA_DIR to a new folder."
        )
    lines = [_SETTINGS, _DURABLE if durable else _THROWAWAY]
    lines.append(f"unix_socket_directories = '{sockets}'\n")
    lines.append(f"log_directory = '{_quoted(places.log)}'\n")
    write_for(places.cluster / SETTINGS_FILE, "".join(lines), places.account)


def clear_leftovers(places: PostgresPlaces, sockets: Path, say: Callable[[str], None]) -> None:
    """End a server an earlier run left on this cluster, then remove lock files that name processes long gone.

    PostgreSQL's own lock file holds a process id only. After a hard kill that id may be a zombie's or any other
    program's, and the server would refuse to start. What counts here is who works in the cluster's folder. Without
    /proc nobody can be sure, and the files stay for PostgreSQL to judge. Call it only while holding the folder's lock.
    """
    if not Path("/proc/self/cwd").exists():
        return
    if _working_in(places.cluster):
        say("a PostgreSQL of an earlier run is still there; stopping it first")
        _end_servers(places.cluster)
    for path in [places.cluster / "postmaster.pid", *sockets.glob(".s.PGSQL.*")]:
        path.unlink(missing_ok=True)


def log_tail(folder: Path, line_count: int = 20) -> str:
    """The last lines of the newest server log."""
    logs = sorted(folder.glob("*.log"), key=lambda path: path.stat().st_mtime)
    if not logs:
        return "(no log was written)"
    return "\n".join(logs[-1].read_text(encoding="utf-8", errors="replace").splitlines()[-line_count:])


def run_as(account: Account | None, *command: str) -> None:
    """Run one program to its end as the account. Raises ClusterError with what it printed."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            cwd="/",
            env=CLEAN_ENVIRONMENT,
            umask=0o077,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    except OSError as error:
        raise ClusterError(f"{command[0]} could not be run: {error.strerror}") from error
    if done.returncode != 0:
        raise ClusterError(f"{Path(command[0]).name} failed:\n{done.stdout}{done.stderr}")


def write_for(path: Path, text: str, account: Account | None) -> None:
    """Replace a file's content, readable by the account alone; never through a link."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    _give(path, account)


def _give(path: Path, account: Account | None) -> None:
    if account:
        os.chown(path, account.uid, account.gid)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _working_in(folder: Path) -> list[int]:
    """Processes whose working directory is `folder`: PostgreSQL's all are in their cluster, zombies are nowhere."""
    place = folder.stat()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            here = (entry / "cwd").stat()
            if (here.st_dev, here.st_ino) == (place.st_dev, place.st_ino) and _is_postgres(entry):
                found.append(int(entry.name))
    return sorted(found)


def _is_postgres(entry: Path) -> bool:
    """A shell that somebody left in the folder is not ours to end. A replaced program reads `postgres (deleted)`."""
    return (entry / "exe").readlink().name.split(" ")[0] == "postgres"


def _end_servers(cluster: Path) -> None:
    """A fast stop of the lowest process id, which started the others; then harder."""
    for number, seconds, everyone in (
        (signal.SIGINT, LEFTOVER_STOP_SECONDS, False),
        (signal.SIGQUIT, 5.0, True),
        (signal.SIGKILL, 5.0, True),
    ):
        for pid in _working_in(cluster)[: None if everyone else 1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + seconds
        while _working_in(cluster) and time.monotonic() < deadline:
            time.sleep(0.05)
    if _working_in(cluster):
        raise ClusterError(f"A PostgreSQL that works in {cluster} cannot be ended.")
