"""The embedded PostgreSQL: start, roles, hard kills, one owner, and accounts under root."""

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from healthsvc.runtime import postgres_places
from healthsvc.runtime.locks import AlreadyRunningError
from healthsvc.runtime.postgres import EmbeddedPostgres
from healthsvc.runtime.postgres_cluster import ClusterError
from healthsvc.runtime.postgres_places import PostgresOptions

pytestmark = pytest.mark.slow


class Folder:
    """One data folder, and whatever server runs on it, stopped at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.said: list[str] = []
        self.server: EmbeddedPostgres | None = None

    def start(self, **options: object) -> EmbeddedPostgres:
        chosen = PostgresOptions(fallback_root=self.path.parent / "outside", **options)  # type: ignore[arg-type]
        self.server = EmbeddedPostgres(self.path, say=self.said.append, options=chosen)
        self.server.start(self.path / "run")
        return self.server

    def stop(self) -> None:
        if self.server is not None:
            self.server.stop()
            self.server.release()
            self.server = None

    @property
    def postmaster(self) -> int:
        assert self.server is not None
        return int((self.server.places.cluster / "postmaster.pid").read_text().splitlines()[0])


@pytest.fixture
def data(folder: Path) -> Iterator[Folder]:
    (folder / "outside").mkdir(mode=0o711)
    (folder / "outside").chmod(0o711)
    path = folder / "data"
    path.mkdir()
    path.chmod(0o711)
    made = Folder(path)
    yield made
    made.stop()


def _one(url: str, query: bytes) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


def test_first_start_makes_a_private_durable_server(data: Folder) -> None:
    server = data.start()
    superuser = server.urls.superuser_url
    for setting, value in {
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "data_checksums": "on",
        "listen_addresses": "",
        "server_encoding": "UTF8",
        "lc_collate": "C.UTF-8",
        "max_connections": "200",
        "shared_buffers": "256MB",
    }.items():
        if setting == "lc_collate":
            query = b"SELECT datcollate FROM pg_database WHERE datname = 'healthsvc'"
            assert _one(superuser, query) == value
        else:
            assert _one(superuser, f"SHOW {setting}".encode()) == value, setting
    assert str(_one(superuser, b"SHOW server_version")).startswith("18.")
    assert stat.S_IMODE(server.places.home.stat().st_mode) == 0o700
    assert stat.S_IMODE(server.places.cluster.stat().st_mode) == 0o700
    assert stat.S_IMODE((data.path / "postgres-passwords.json").stat().st_mode) == 0o600
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(superuser.replace("healthsvc_superuser:", "healthsvc_superuser:x"))


def test_roles_can_do_no_more_than_they_must(data: Folder) -> None:
    urls = data.start().urls
    roles = (
        b"SELECT array_agg((rolname, rolcanlogin, rolsuper, rolbypassrls, rolcreatedb, rolcreaterole)::text"
        b" ORDER BY rolname) FROM pg_roles WHERE rolname IN ('healthsvc_app', 'healthsvc_owner')"
    )
    assert _one(urls.superuser_url, roles) == ["(healthsvc_app,t,f,f,f,f)", "(healthsvc_owner,t,f,f,f,f)"]
    with psycopg.connect(urls.owner_url, autocommit=True) as owner:
        owner.execute("CREATE TABLE mine (id int)")
        owner.execute("GRANT SELECT ON mine TO healthsvc_app")
    with psycopg.connect(urls.database_url, autocommit=True) as app:
        assert app.execute("SELECT count(*) FROM mine").fetchone() == (0,)
        app.execute("CREATE TEMPORARY TABLE scratch (id int)")
        for refused in (b"CREATE TABLE theirs (id int)", b"DROP TABLE mine", b"CREATE DATABASE other"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                app.execute(refused)
    with psycopg.connect(urls.owner_url, autocommit=True) as owner, pytest.raises(psycopg.errors.InsufficientPrivilege):
        owner.execute("CREATE DATABASE other")


def test_changed_roles_are_put_right_at_the_next_start(data: Folder) -> None:
    urls = data.start().urls
    with psycopg.connect(urls.superuser_url, autocommit=True) as connection:
        connection.execute("ALTER ROLE healthsvc_app SUPERUSER PASSWORD 'other'")
    data.stop()
    urls = data.start(owner_creates_databases=True).urls
    assert _one(urls.database_url, b"SELECT rolsuper FROM pg_roles WHERE rolname = current_user") is False
    assert _one(urls.owner_url, b"SELECT rolcreatedb FROM pg_roles WHERE rolname = current_user") is True


def test_committed_rows_outlive_a_hard_kill_and_a_reused_process_id(data: Folder) -> None:
    server = data.start()
    with psycopg.connect(server.urls.owner_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT n FROM generate_series(1, 1000) AS n")
    os.kill(data.postmaster, signal.SIGKILL)
    data.stop()
    account = server.places.account
    ids = {"user": account.uid, "group": account.gid, "extra_groups": []} if account else {}
    with subprocess.Popen(["/bin/sleep", "60"], **ids) as innocent:  # type: ignore[call-overload]
        pid_file = server.places.cluster / "postmaster.pid"
        lines = pid_file.read_text().splitlines()
        pid_file.write_text("\n".join([str(innocent.pid), *lines[1:]]) + "\n")
        assert _one(data.start().urls.owner_url, b"SELECT sum(n) FROM kept") == 500_500
        assert innocent.poll() is None
        innocent.kill()


def test_an_orphaned_server_is_stopped_first(data: Folder) -> None:
    server = data.start()
    first = data.postmaster
    guard = int(Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(guard, signal.SIGSTOP)
    server.release()
    try:
        second = EmbeddedPostgres(data.path, say=data.said.append)
        data.server = second
        second.start(data.path / "run")
        assert "a PostgreSQL of an earlier run is still there; stopping it first" in data.said
        assert data.postmaster != first
    finally:
        os.kill(guard, signal.SIGKILL)
        server.stop()


def test_a_second_owner_is_refused_and_the_first_undisturbed(data: Folder) -> None:
    server = data.start()
    with pytest.raises(AlreadyRunningError) as caught:
        EmbeddedPostgres(data.path, say=data.said.append)
    assert caught.value.holder == {"pid": str(os.getpid())}
    assert server.accepts()


def test_the_server_ends_with_the_process_that_started_it(data: Folder) -> None:
    program = (
        "import sys, time; from pathlib import Path; from healthsvc.runtime.postgres import EmbeddedPostgres\n"
        "server = EmbeddedPostgres(Path(sys.argv[1]), say=lambda text: None)\n"
        "server.start(Path(sys.argv[1]) / 'run'); print('up', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(data.path)], stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"up\n"
        pid_file = data.path / "postgres" / "cluster" / "postmaster.pid"
        assert pid_file.exists()
        starter.kill()
    deadline = time.monotonic() + 30
    while pid_file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not pid_file.exists()
    assert data.start().accepts()


def test_an_interrupted_first_start_leaves_nothing_in_the_way(data: Folder) -> None:
    server = EmbeddedPostgres(data.path, say=data.said.append)
    unfinished = server.places.home / "cluster.new"
    unfinished.mkdir()
    (unfinished / "half").write_text("made")
    server.release()
    assert data.start().accepts()
    assert not unfinished.exists()


def test_lost_passwords_are_an_explained_error(data: Folder) -> None:
    data.start()
    data.stop()
    (data.path / "postgres-passwords.json").unlink()
    with pytest.raises(ClusterError, match=r"postgres-passwords\.json is missing"):
        EmbeddedPostgres(data.path, say=data.said.append)


def test_a_cluster_of_another_version_is_an_explained_error(data: Folder) -> None:
    server = data.start()
    data.stop()
    (server.places.cluster / "PG_VERSION").write_text("17\n")
    with pytest.raises(ClusterError, match="was made by PostgreSQL 17, this is 18"):
        data.start()


def test_values_stay_out_of_the_log(data: Folder) -> None:
    server = data.start()
    with psycopg.connect(server.urls.owner_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE marker (value text PRIMARY KEY)")
        connection.execute("INSERT INTO marker VALUES ('canary-4711')")
        for query in (b"INSERT INTO marker VALUES ('canary-4711')", b"SELECT 'canary-4711'::int"):
            with pytest.raises(psycopg.Error, match=r"canary|duplicate"):
                connection.execute(query)
    data.stop()
    logged = "".join(path.read_text() for path in server.places.log.iterdir())
    assert "database system is ready" in logged
    assert "canary-4711" not in logged


def test_a_long_data_path_works(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    path = folder / ("long-folder-name-" * 5) / "with, space"
    for part in (path.parent, path):
        part.mkdir(mode=0o711)
        part.chmod(0o711)
    data = Folder(path)
    try:
        assert _one(data.start().urls.database_url, b"SELECT 1") == 1
        assert len(list(folder.glob("healthsvc-*"))) == 1
    finally:
        data.stop()
    assert list(folder.glob("healthsvc-*")) == []


def test_as_root_a_closed_data_folder_keeps_its_cluster_outside(data: Folder) -> None:
    data.path.chmod(0o700)
    server = data.start()
    if os.geteuid() != 0:
        assert (server.places.base, server.places.account) == (data.path, None)
        return
    assert server.places.base.parent == data.path.parent / "outside"
    assert stat.S_IMODE(data.path.stat().st_mode) == 0o700
    assert not (data.path / "postgres").exists()
    assert any(str(server.places.base) in said for said in data.said)
    with psycopg.connect(server.urls.owner_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (n int)")
    data.stop()
    assert _one(data.start().urls.owner_url, b"SELECT count(*) FROM kept") == 0
    data.stop()
    (data.path / "postgres.location").unlink()
    assert _one(data.start().urls.owner_url, b"SELECT to_regclass('kept') IS NULL") is True
    kept = [path for path in (data.path.parent / "outside").iterdir() if ".old-" in path.name]
    assert len(kept) == 1
    assert (kept[0] / "postgres" / "cluster" / "PG_VERSION").exists()


def test_as_root_binaries_in_a_private_home_are_copied(
    data: Folder, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = folder / "private"
    private.mkdir(mode=0o700)
    wheel = postgres_places.wheel_folder()
    (private / wheel.parent.name).mkdir()
    home = private / wheel.parent.name / wheel.name
    libraries = wheel.parent.with_name(f"{wheel.parent.name}.libs")
    subprocess.run(["cp", "-r", str(wheel), str(home)], check=True)
    subprocess.run(["cp", "-r", str(libraries), str(private)], check=True)
    monkeypatch.setattr(postgres_places, "wheel_folder", lambda: home)
    server = data.start()
    assert server.places.base == data.path
    place = data.path.parent / "outside" if os.geteuid() == 0 else home
    assert server.places.binaries.is_relative_to(place)
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
