"""The embedded PostgreSQL server: one owner, started from the wheel's binaries, probed by connecting."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from healthsvc.runtime import postgres_cluster, postgres_roles
from healthsvc.runtime.locations import give_up_socket_folder, private_folder, socket_folder
from healthsvc.runtime.locks import FolderLock
from healthsvc.runtime.postgres_places import PostgresOptions, choose_places
from healthsvc.runtime.postgres_roles import PostgresUrls
from healthsvc.runtime.processes import Guarded, Program

SOCKET_NAME = ".s.PGSQL.5432"
#: A crash recovery replays up to `max_wal_size` of log.
START_SECONDS = 600.0
#: A fast stop ends with a checkpoint.
STOP_SECONDS = 60.0


class EmbeddedPostgres:
    """One cluster under one data folder. Construction takes its lock and makes folders and passwords, nothing runs.

    Raises AlreadyRunningError when another living process owns the folder, LocationError and ClusterError.
    """

    def __init__(
        self, data_folder: Path, *, say: Callable[[str], None], options: PostgresOptions | None = None
    ) -> None:
        self._say = say
        self._options = options or PostgresOptions()
        self.places = choose_places(data_folder, self._options, say)
        self._lock = FolderLock(self.places.base / "postgres.lock")
        try:
            fresh = not self.places.cluster.exists()
            self._passwords = postgres_roles.kept_passwords(self.places.base / "postgres-passwords.json", fresh=fresh)
        except ValueError as error:
            self._lock.release()
            raise postgres_cluster.ClusterError(str(error)) from None
        self._guarded: Guarded | None = None

    @property
    def urls(self) -> PostgresUrls:
        return postgres_roles.urls(self._passwords, self._sockets())

    def program(self) -> Program:
        """The server as a child process; preparing it makes the cluster if needed and clears what a crash left."""
        return Program(
            name="postgres",
            command=(str(self.places.binaries / "postgres"), "-D", str(self.places.cluster)),
            environment=postgres_cluster.CLEAN_ENVIRONMENT,
            folder=Path("/"),
            stop_signal=signal.SIGINT,
            hard_signal=signal.SIGQUIT,
            death_signal=signal.SIGINT,
            grace_seconds=STOP_SECONDS,
            account=self.places.account,
            prepare=self._prepare,
        )

    def accepts(self) -> bool:
        """Whether it answers a query now."""
        return postgres_roles.answers(self.urls.superuser_url)

    def make_roles(self) -> None:
        """The two roles and the database, whatever state they are in. For a server that accepts."""
        creates = self._options.owner_creates_databases
        postgres_roles.ensure(self.urls.superuser_url, self._passwords, owner_creates_databases=creates)

    def log_tail(self) -> str:
        return postgres_cluster.log_tail(self.places.log)

    def start(self, records: Path) -> PostgresUrls:
        """Start it without a supervisor and wait until it is usable. Raises ClusterError with the end of its log."""
        self._guarded = Guarded(self.program(), records=records, output=subprocess.DEVNULL)
        began = time.monotonic()
        while not self.accepts():
            if self._guarded.exit_code() is not None or time.monotonic() - began > START_SECONDS:
                self.stop()
                raise postgres_cluster.ClusterError(f"PostgreSQL did not start. Its log ends:\n{self.log_tail()}")
            time.sleep(0.02)
        self.make_roles()
        return self.urls

    def stop(self) -> None:
        """Fast stop of a server that `start` started."""
        if self._guarded is not None:
            self._guarded.stop()
            self._guarded = None

    def release(self) -> None:
        """Give the folder up, once the server is stopped."""
        give_up_socket_folder(self._sockets(), self.places.sockets)
        self._lock.release()

    def _sockets(self) -> Path:
        return socket_folder(self.places.sockets, SOCKET_NAME, self.places.account)

    def _prepare(self) -> None:
        durable, sockets = self._options.durable, self._sockets()
        private_folder(self.places.log, self.places.account)
        if not self.places.cluster.exists():
            self._say("making the PostgreSQL cluster")
            password = self._passwords[postgres_roles.SUPERUSER]
            postgres_cluster.make_cluster(
                self.places, superuser=postgres_roles.SUPERUSER, password=password, durable=durable
            )
        postgres_cluster.configure(self.places, sockets, durable=durable)
        postgres_cluster.clear_leftovers(self.places, sockets, self._say)
