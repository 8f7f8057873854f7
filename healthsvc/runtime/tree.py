"""What `manage.py up` runs: ports, the environment of the children, and the table of programs."""

import os
import secrets as randomness
import socket
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from healthsvc.env import EnvError, env_int, env_path, env_str
from healthsvc.runtime.processes import Program

#: A worker that is told to stop finishes the task in hand, for at most this long.
WORKER_GRACE_SECONDS = 30.0
_LOOPBACK = "127.0.0.1"
#: Requests served at once by a process. A slow upload or a waiting refresh holds one; each holds a connection.
WEB_THREADS = 16
#: Celery warns about pickled messages under root; ours are JSON and it accepts nothing else.
_NO_ROOT_WARNING = "ignore:You're running the worker with superuser privileges"


@dataclass(frozen=True, slots=True)
class Ports:
    """One TCP port for each address. `by_setting` names the variable of each for messages."""

    team: int
    management: int
    simulator: int
    webhook_receiver: int

    def by_setting(self) -> dict[str, int]:
        return {
            "PORT": self.team,
            "MANAGEMENT_PORT": self.management,
            "SIMULATOR_PORT": self.simulator,
            "WEBHOOK_RECEIVER_PORT": self.webhook_receiver,
        }


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """What the person who types `make run` can choose by environment variables."""

    data_folder: Path
    host: str
    ports: Ports
    worker_count: int
    postgres_account: str
    project: Path
    web_threads: int = WEB_THREADS

    @classmethod
    def from_environment(cls, project: Path) -> "TreeSettings":
        """Raises EnvError, also when two addresses want the same port."""
        ports = Ports(
            team=_port("PORT", 8000),
            management=_port("MANAGEMENT_PORT", 8001),
            simulator=_port("SIMULATOR_PORT", 8002),
            webhook_receiver=_port("WEBHOOK_RECEIVER_PORT", 8003),
        )
        taken: dict[int, str] = {}
        for setting, port in ports.by_setting().items():
            if port in taken:
                raise EnvError(f"{taken[port]} and {setting} are both {port}: give each its own port.")
            taken[port] = setting
        return cls(
            data_folder=env_path("HEALTHSVC_DATA_DIR", project / "var"),
            host=env_str("HOST", _LOOPBACK),
            ports=ports,
            worker_count=env_int("WORKER_CONCURRENCY", 2, minimum=1, maximum=64),
            postgres_account=env_str("HEALTHSVC_POSTGRES_ACCOUNT", ""),
            web_threads=env_int("WEB_THREADS", WEB_THREADS, minimum=4, maximum=256),
            project=project,
        )


def _port(setting: str, default: int) -> int:
    return env_int(setting, default, minimum=1, maximum=65_535)


def busy_ports(settings: TreeSettings) -> list[str]:
    """A sentence for each port that something else listens on."""
    sentences = []
    for setting, port in settings.ports.by_setting().items():
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((settings.host, port))
            except OSError as error:
                sentences.append(
                    f"Port {port} on {settings.host} cannot be used ({error.strerror}): "
                    f"stop what listens there, or choose another with {setting}=…"
                )
    return sentences


def base_environment(settings: TreeSettings, secrets: Mapping[str, str]) -> dict[str, str]:
    """Our own environment with what the children need; what the person set stays as set."""
    ports, folder = settings.ports, settings.data_folder
    environment = dict(os.environ)
    defaults = {
        "DJANGO_SETTINGS_MODULE": "healthsvc.settings",
        "HEALTHSVC_EMBEDDED": "true",
        "BASE_URL": f"http://localhost:{ports.team}",
        "MANAGEMENT_URL": f"http://localhost:{ports.management}",
        "SIMULATOR_URL": f"http://{_LOOPBACK}:{ports.simulator}",
        "SIMULATOR_DATABASE": str(folder / "simulator.sqlite3"),
        # Whoever reaches the simulator may play at it; its controls open to the developer of this machine alone.
        "SIMULATOR_CONTROLS": "true",
        "SIMULATOR_CONTROL_SECRET": randomness.token_urlsafe(32),
        "HEALTHSVC_BROKER_DIR": str(folder / "broker"),
        **{name: value for name, value in secrets.items() if not environment.get(f"{name}_FILE")},
    }
    for name, value in defaults.items():
        if not environment.get(name):
            environment[name] = value
    given = [origin for origin in environment.get("HEALTHSVC_LOOPBACK_ORIGINS", "").split(",") if origin]
    ours = [f"http://{_LOOPBACK}:{port}" for port in (ports.simulator, ports.webhook_receiver)]
    environment["HEALTHSVC_LOOPBACK_ORIGINS"] = ",".join(dict.fromkeys([*given, *ours]))
    environment["HEALTHSVC_DATA_DIR"] = str(folder)
    environment["PYTHONUNBUFFERED"] = "1"
    return environment


def steps(settings: TreeSettings, environment: Mapping[str, str]) -> list[Program]:
    """What runs to its end, in order, before the services start."""
    return [
        _manage(settings, environment, "migrate", "migrate", "--noinput"),
        _manage(settings, environment, "check", "check", "--database", "default"),
        _manage(settings, environment, "bootstrap", "bootstrap"),
    ]


def services(settings: TreeSettings, environment: Mapping[str, str], commands: Collection[str]) -> list[Program]:
    """The children that stay. `commands` are the management commands there are."""
    ports = settings.ports
    programs = [
        _granian(settings, environment, "api", "healthsvc.wsgi:application", ports.team),
        _granian(settings, environment, "management", "healthsvc.wsgi:management_application", ports.management),
        _granian(settings, environment, "simulator", "simulator.wsgi:application", ports.simulator),
        _worker(settings, environment, "worker", "celery", settings.worker_count),
        _worker(settings, environment, "imports", "imports", 1),
        # In memory: its tasks may run late or twice, and a file would be found broken after a hard kill.
        _celery(settings, environment, "beat", "beat", "--scheduler=celery.beat:Scheduler", "--pidfile="),
    ]  # fmt: skip
    if "webhook_receiver" in commands:
        port = str(ports.webhook_receiver)
        programs.append(_manage(settings, environment, "receiver", "webhook_receiver", "--port", port))
    return programs


def _manage(settings: TreeSettings, environment: Mapping[str, str], name: str, *arguments: str) -> Program:
    command = (sys.executable, str(settings.project / "manage.py"), *arguments)
    return Program(name=name, command=command, environment=environment, folder=settings.project)


def _granian(settings: TreeSettings, environment: Mapping[str, str], name: str, application: str, port: int) -> Program:
    command = (
        *(
            sys.executable,
            "-m",
            "granian",
            "--interface",
            "wsgi",
            "--workers",
            "1",
            "--blocking-threads",
            str(settings.web_threads),
        ),
        *("--host", settings.host, "--port", str(port), "--no-ws", "--log-level", "error", application),
    )
    return Program(name=name, command=command, environment=environment, folder=settings.project)


def _worker(settings: TreeSettings, environment: Mapping[str, str], name: str, queue: str, count: int) -> Program:
    """A worker for one queue."""
    options = ("--pool=prefork", f"--concurrency={count}", f"--queues={queue}", f"--hostname={name}@%h")
    return _celery(settings, environment, name, "worker", *options, "--without-gossip", "--without-mingle")


def _celery(settings: TreeSettings, environment: Mapping[str, str], name: str, *arguments: str) -> Program:
    command = (
        sys.executable,
        "-W",
        _NO_ROOT_WARNING,
        "-m",
        "celery",
        "--app",
        "healthsvc.celery:app",
        "--quiet",
        *arguments,
    )
    return Program(
        name=name,
        command=(*command, "--loglevel=INFO"),
        environment=environment,
        folder=settings.project,
        grace_seconds=WORKER_GRACE_SECONDS,
    )
