"""The embedded Redis: private socket, nothing lost over a hard kill, one owner."""

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from healthsvc.runtime.locks import AlreadyRunningError
from healthsvc.runtime.redis import EmbeddedRedis, find_server

pytestmark = pytest.mark.slow


def _server(folder: Path) -> EmbeddedRedis:
    program = find_server()
    assert program is not None
    return EmbeddedRedis(folder, program, say=lambda _: None)


@pytest.fixture
def server(folder: Path) -> Iterator[EmbeddedRedis]:
    made = _server(folder)
    made.start(folder / "run")
    yield made
    made.stop()
    made.release()


def test_it_listens_on_a_private_socket_only(server: EmbeddedRedis, folder: Path) -> None:
    path = folder / "redis" / "redis.sock"
    assert server.urls.client_url == f"unix://{path}?db=0"
    assert server.urls.broker_url == f"redis+socket://{path}?virtual_host=0"
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with redis.Redis.from_url(server.urls.client_url) as client:
        found = client.config_get("*")
    expected = {"port": "0", "appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction"}
    assert {name: found[name] for name in expected} == expected


def test_entries_outlive_a_hard_kill(server: EmbeddedRedis, folder: Path) -> None:
    with redis.Redis.from_url(server.urls.client_url) as client:
        for number in range(100):
            client.rpush("kept", number)
        os.kill(int(client.info("server")["process_id"]), signal.SIGKILL)
    server.stop()
    assert not server.accepts()
    server.start(folder / "run")
    with redis.Redis.from_url(server.urls.client_url) as client:
        assert client.llen("kept") == 100


def test_a_second_owner_is_refused_and_the_first_undisturbed(server: EmbeddedRedis, folder: Path) -> None:
    with pytest.raises(AlreadyRunningError):
        _server(folder)
    assert server.accepts()


def test_an_orphan_is_stopped_first(server: EmbeddedRedis, folder: Path) -> None:
    with redis.Redis.from_url(server.urls.client_url) as client:
        client.set("kept", "1")
        orphan = client.info("server")["process_id"]
    server.release()
    second = _server(folder)
    try:
        second.start(folder / "run")
        with redis.Redis.from_url(second.urls.client_url) as client:
            assert client.get("kept") == b"1"
            assert client.info("server")["process_id"] != orphan
    finally:
        second.stop()
        second.release()


def test_no_server_anywhere_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert find_server() is None
