"""`manage.py up`: the embedded servers and every process of the service as one foreground tree."""

import json
import os
import shlex
import socket
from collections.abc import Callable, Collection
from pathlib import Path

from healthsvc.env import EnvError, env_secret
from healthsvc.runtime import tree
from healthsvc.runtime.console import Console
from healthsvc.runtime.instance_secrets import SecretsError, kept_secrets, write_private_json, write_private_text
from healthsvc.runtime.locations import LocationError, data_folder
from healthsvc.runtime.locks import AlreadyRunningError, FolderLock
from healthsvc.runtime.postgres import START_SECONDS as POSTGRES_START_SECONDS
from healthsvc.runtime.postgres import EmbeddedPostgres
from healthsvc.runtime.postgres_cluster import ClusterError
from healthsvc.runtime.postgres_places import PostgresOptions
from healthsvc.runtime.processes import end_leftovers
from healthsvc.runtime.redis import START_SECONDS as REDIS_START_SECONDS
from healthsvc.runtime.redis import EmbeddedRedis, RedisError, find_server
from healthsvc.runtime.supervisor import StepFailedError, StopRequestedError, Supervisor
from healthsvc.runtime.tree import TreeSettings

#: Which variables of the running tree other commands on the same data folder need.
CONNECTION_FILE = "environment.json"
#: What the simulator's controls are opened by (`simulator.app`).
_CONTROL_HEADER = "X-Simulator-Control"
_SERVER_TIER, _SERVICE_TIER = 0, 1
_READY_SECONDS = 120.0


def run(project: Path, *, commands: Collection[str], key_header: str) -> int:
    """Run the tree in the foreground until Ctrl-C. Returns the exit code; says why when it is not 0."""
    console = Console()
    os.umask(0o077)
    lock: FolderLock | None = None
    try:
        settings = TreeSettings.from_environment(project)
        folder = data_folder(settings.data_folder)
        lock = FolderLock(folder / "up.lock", **_addresses(settings))
        return _Tree(settings, console, commands, key_header).run()
    except AlreadyRunningError as error:
        console.say(_already(error))
    except (EnvError, LocationError, SecretsError, ClusterError, RedisError, StepFailedError, OSError) as error:
        console.say(f"Cannot start: {error}")
    finally:
        if lock is not None:
            lock.release()
    return 1


class _Tree:
    """One run of the tree, with its lock held by the caller."""

    def __init__(self, settings: TreeSettings, console: Console, commands: Collection[str], key_header: str) -> None:
        self._settings = settings
        self._console = console
        self._commands = commands
        self._key_header = key_header
        self._records = settings.data_folder / "run"
        self._supervisor = Supervisor(console, self._records)
        self._servers: list[EmbeddedPostgres | EmbeddedRedis] = []

    def run(self) -> int:
        with self._supervisor.watch_signals():
            end_leftovers(self._records, self._console.say)
            if busy := tree.busy_ports(self._settings):
                self._console.say("\n".join(busy))
                return 1
            try:
                self._start()
                self._supervisor.run()
            except StopRequestedError:
                pass
            finally:
                self._supervisor.stop_all()
                for server in self._servers:
                    server.release()
                (self._settings.data_folder / CONNECTION_FILE).unlink(missing_ok=True)
            self._console.say("stopped")
        return 0

    def _start(self) -> None:
        settings = self._settings
        environment = tree.base_environment(settings, kept_secrets(settings.data_folder))
        environment |= self._redis() | self._postgres()
        write_private_json(settings.data_folder / CONNECTION_FILE, _ours(environment))
        controls = f"{_CONTROL_HEADER}: {environment['SIMULATOR_CONTROL_SECRET']}\n"
        write_private_text(settings.data_folder / "simulator.header", controls)
        for step in tree.steps(settings, environment):
            self._supervisor.run_once(step, tier=_SERVICE_TIER)
        for service in tree.services(settings, environment, self._commands):
            self._supervisor.add(service, tier=_SERVICE_TIER)
        self._supervisor.wait_for(self._answers, what="the service", seconds=_READY_SECONDS)
        self._console.show(self._banner(environment))

    def _postgres(self) -> dict[str, str]:
        """The embedded PostgreSQL, unless DATABASE_URL names another."""
        if env_secret("DATABASE_URL", ""):
            self._console.say("PostgreSQL: the one in DATABASE_URL")
            return {}
        options = PostgresOptions(account=self._settings.postgres_account)
        server = EmbeddedPostgres(self._settings.data_folder, say=self._console.say, options=options)
        self._servers.append(server)
        self._supervisor.add(server.program(), tier=_SERVER_TIER)
        self._wait(server.accepts, "PostgreSQL", "postgres", POSTGRES_START_SECONDS, server.log_tail)
        server.make_roles()
        self._console.say(f"PostgreSQL: embedded, in {server.places.home}")
        return {"DATABASE_URL": server.urls.database_url, "DATABASE_OWNER_URL": server.urls.owner_url}

    def _redis(self) -> dict[str, str]:
        """The embedded Redis, unless REDIS_URL names another; without any, Celery's filesystem broker."""
        if env_secret("REDIS_URL", ""):
            self._console.say("Redis: the one in REDIS_URL")
            return {}
        program = find_server()
        if program is None:
            self._console.say(
                "!!! NO REDIS SERVER FOUND: jobs go through files and start up to a second late, and there are no "
                "rate limits. Install redis-server, or set REDIS_URL. !!!"
            )
            return {"CELERY_BROKER_URL": "filesystem://"}
        server = EmbeddedRedis(self._settings.data_folder, program, say=self._console.say)
        self._servers.append(server)
        self._supervisor.add(server.program(), tier=_SERVER_TIER)
        self._wait(server.accepts, "Redis", "redis", REDIS_START_SECONDS, server.log_tail)
        self._console.say(f"Redis: embedded, {program}")
        return {"REDIS_URL": server.urls.client_url}

    def _wait(
        self, accepts: Callable[[], bool], what: str, needs: str, seconds: float, log_tail: Callable[[], str]
    ) -> None:
        try:
            self._supervisor.wait_for(accepts, what=what, seconds=seconds, needs=needs)
        except StepFailedError as error:
            raise StepFailedError(f"{error}. Its log ends:\n{log_tail()}") from None

    def _answers(self) -> bool:
        host, ports = self._settings.host, self._settings.ports
        return _healthy(host, ports.team) and _healthy(host, ports.management) and _listens(host, ports.simulator)

    def _banner(self, environment: dict[str, str]) -> str:
        base, management = environment["BASE_URL"], environment["MANAGEMENT_URL"]
        rows = {
            "team API": base,
            "documentation": f"{base}/docs",
            "staff admin": f"{base}/admin/",
            "management address": management,
            "its documentation": f"{management}/docs",
            "simulator": environment["SIMULATOR_URL"],
        }
        if "webhook_receiver" in self._commands:
            rows["webhook receiver"] = f"http://127.0.0.1:{self._settings.ports.webhook_receiver}"
        lines = ["", "ready", *(f"  {name:<20} {url}" for name, url in rows.items())]
        if header := self._header_file():
            lines += ["", "  try it:", f"  curl -H @{shlex.quote(str(header))} '{base}/v2/user/?limit=10'"]
        return "\n".join([*lines, "", "Ctrl-C stops everything.", ""])

    def _header_file(self) -> Path | None:
        """The demo key as a header in a private file for curl: keys are shown once, not at every start."""
        demo = self._settings.data_folder / "demo.json"
        if not demo.exists():
            return None
        try:
            key = str(json.loads(demo.read_text(encoding="utf-8"))["api_key"])
        except (ValueError, KeyError):
            return None
        header = self._settings.data_folder / "demo.header"
        write_private_text(header, f"{self._key_header}: {key}\n")
        return header


def _ours(environment: dict[str, str]) -> dict[str, str]:
    """What the tree added to the environment it was started in."""
    return {name: value for name, value in environment.items() if os.environ.get(name) != value}


def _addresses(settings: TreeSettings) -> dict[str, str]:
    ports = settings.ports
    return {"team": f"http://localhost:{ports.team}", "management": f"http://localhost:{ports.management}"}


def _already(error: AlreadyRunningError) -> str:
    holder = error.holder
    return (
        f"The service already runs on this data folder: process {holder.get('pid', '(unknown)')}, "
        f"team API {holder.get('team', '(unknown)')}, management {holder.get('management', '(unknown)')}. "
        "It was left alone. To run a second one, set HEALTHSVC_DATA_DIR and the ports."
    )


def _healthy(host: str, port: int) -> bool:
    """Whether GET /healthz is answered with 200."""
    try:
        with socket.create_connection((_target(host), port), timeout=2) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return connection.recv(64).split(b" ")[1:2] == [b"200"]
    except OSError:
        return False


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((_target(host), port), timeout=2).close()
    except OSError:
        return False
    return True


def _target(host: str) -> str:
    """Where to connect to reach what is bound to `host`."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
