"""Back-off, merged lines, kept secrets, socket places and ports."""

import io
import os
import socket
import stat
from pathlib import Path

import pytest

from healthsvc.env import EnvError
from healthsvc.runtime import tree
from healthsvc.runtime.backoff import Backoff
from healthsvc.runtime.console import LINE_BYTES, Console
from healthsvc.runtime.instance_secrets import SecretsError, kept_secrets
from healthsvc.runtime.locations import LocationError, private_folder, socket_folder
from healthsvc.runtime.locks import AlreadyRunningError, FolderLock
from healthsvc.runtime.processes import Account
from healthsvc.runtime.tree import Ports, TreeSettings


def test_backoff_doubles_to_its_limit_and_starts_anew_after_a_long_life() -> None:
    backoff, waits = Backoff(), []
    for _ in range(7):
        backoff = backoff.ended(lived_seconds=0.5)
        waits.append(backoff.wait_seconds)
    assert waits == [1, 2, 4, 8, 16, 30, 30]
    assert backoff.ended(lived_seconds=59.9).wait_seconds == 30
    assert backoff.ended(lived_seconds=60).wait_seconds == 1
    assert Backoff().wait_seconds == 0
    assert Backoff(10_000).wait_seconds == 30


def test_lines_come_whole_however_they_arrive() -> None:
    stream = io.StringIO()
    console = Console(stream)
    console.feed("api", b"first\nsec")
    console.feed("worker", b"other\n")
    console.feed("api", b"ond\r\nunfinished \xff")
    console.finish("api")
    assert stream.getvalue() == (
        "api        | first\nworker     | other\napi        | second\n"
        "api        | unfinished \N{REPLACEMENT CHARACTER}\n"
    )


def test_an_endless_line_is_cut() -> None:
    stream = io.StringIO()
    Console(stream).feed("api", b"x" * (LINE_BYTES + 1))
    assert stream.getvalue() == "api        | " + "x" * (LINE_BYTES + 1) + "\n"


def test_secrets_are_made_once_and_private(tmp_path: Path) -> None:
    first = kept_secrets(tmp_path)
    assert kept_secrets(tmp_path) == first
    assert set(first) == {"SECRET_KEY", "KEY_PEPPER", "FIELD_ENCRYPTION_KEYS"}
    assert first["FIELD_ENCRYPTION_KEYS"].startswith("k1:")
    assert len(first["SECRET_KEY"]) == len(first["KEY_PEPPER"]) == 64
    assert stat.S_IMODE((tmp_path / "secrets.json").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secrets.json"]


def test_a_broken_secrets_file_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    path.write_text('{"SECRET_KEY": "topsecret"')
    with pytest.raises(SecretsError) as caught:
        kept_secrets(tmp_path)
    assert "topsecret" not in str(caught.value)
    assert path.read_text() == '{"SECRET_KEY": "topsecret"'


def test_a_lock_has_one_holder_and_tells_who(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path / "up.lock", team="http://localhost:8000")
    with pytest.raises(AlreadyRunningError) as caught:
        FolderLock(tmp_path / "up.lock")
    assert caught.value.holder == {"pid": str(os.getpid()), "team": "http://localhost:8000"}
    lock.release()
    FolderLock(tmp_path / "up.lock").release()


def test_a_short_plain_path_holds_its_own_socket(folder: Path) -> None:
    assert socket_folder(folder / "socket", "s") == folder / "socket"
    assert stat.S_IMODE((folder / "socket").stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["long-" * 30, "with space", "with,comma", "with%20", "übung", "a?b", "a'b"])
def test_other_paths_get_a_private_socket_folder_elsewhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    place = socket_folder(folder / name / "socket", ".s.PGSQL.5432")
    assert place.parent == folder
    assert len(os.fsencode(place / ".s.PGSQL.5432")) < 107
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert socket_folder(folder / name / "socket", ".s.PGSQL.5432") == place
    assert socket_folder(folder / name / "other", ".s.PGSQL.5432") != place


def test_a_link_in_the_shared_temp_folder_is_refused(folder: Path) -> None:
    (folder / "theirs").mkdir()
    (folder / "trap").symlink_to(folder / "theirs")
    with pytest.raises(LocationError, match=r"trap is not a folder\.$"):
        private_folder(folder / "trap")


def test_somebody_elses_folder_is_refused() -> None:
    theirs = next(path for path in (Path("/proc/1"), Path("/usr")) if path.stat().st_uid != 65_534)
    wanted = Account("nobody", 65_534, 65_534)
    with pytest.raises(LocationError, match=f"belongs to uid {theirs.stat().st_uid}, not to nobody"):
        private_folder(theirs, wanted)


def _settings(**ports: int) -> TreeSettings:
    numbers = {"team": 1, "management": 2, "simulator": 3, "webhook_receiver": 4, **ports}
    return TreeSettings(Path("/data"), "127.0.0.1", Ports(**numbers), 2, "", Path("/project"))


def test_a_busy_port_is_named_with_its_setting() -> None:
    with socket.socket() as taken, socket.socket() as free:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        free.bind(("127.0.0.1", 0))
        port, others = taken.getsockname()[1], free.getsockname()[1]
        free.close()
        settings = _settings(team=others, management=port, simulator=others, webhook_receiver=others)
        (sentence,) = tree.busy_ports(settings)
    assert sentence == (
        f"Port {port} on 127.0.0.1 cannot be used (Address already in use): "
        "stop what listens there, or choose another with MANAGEMENT_PORT=…"
    )


def test_two_addresses_cannot_share_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "9000")
    monkeypatch.setenv("SIMULATOR_PORT", "9000")
    with pytest.raises(EnvError, match=r"^PORT and SIMULATOR_PORT are both 9000: give each its own port\.$"):
        TreeSettings.from_environment(Path("/project"))


def test_what_the_person_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASE_URL", "https://health.example")
    monkeypatch.setenv("KEY_PEPPER_FILE", "/run/secrets/pepper")
    for name in ("SECRET_KEY", "KEY_PEPPER", "SIMULATOR_URL", "MANAGEMENT_URL", "HEALTHSVC_LOOPBACK_ORIGINS"):
        monkeypatch.delenv(name, raising=False)
    environment = tree.base_environment(_settings(management=81, simulator=82, webhook_receiver=83), {
        "SECRET_KEY": "made", "KEY_PEPPER": "made",
    })  # fmt: skip
    assert environment["BASE_URL"] == "https://health.example"
    assert environment["SECRET_KEY"] == "made"
    assert "KEY_PEPPER" not in environment
    assert environment["MANAGEMENT_URL"] == "http://localhost:81"
    assert environment["HEALTHSVC_LOOPBACK_ORIGINS"] == "http://127.0.0.1:82,http://127.0.0.1:83"


def test_the_receiver_is_a_child_only_where_its_command_exists() -> None:
    names = [program.name for program in tree.services(_settings(), {}, [])]
    assert names == ["api", "management", "simulator", "worker", "imports", "beat"]
    names = [program.name for program in tree.services(_settings(), {}, ["webhook_receiver"])]
    assert names == ["api", "management", "simulator", "worker", "imports", "beat", "receiver"]


def test_the_simulators_controls_open_by_a_secret_of_this_start(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SIMULATOR_CONTROLS", "SIMULATOR_CONTROL_SECRET"):
        monkeypatch.delenv(name, raising=False)
    first, second = (tree.base_environment(_settings(), {}) for _ in range(2))
    assert first["SIMULATOR_CONTROLS"] == "true"
    assert len(first["SIMULATOR_CONTROL_SECRET"]) >= 32
    assert first["SIMULATOR_CONTROL_SECRET"] != second["SIMULATOR_CONTROL_SECRET"]
    monkeypatch.setenv("SIMULATOR_CONTROLS", "false")
    assert tree.base_environment(_settings(), {})["SIMULATOR_CONTROLS"] == "false"


def test_web_processes_have_the_threads_that_are_counted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEB_THREADS", "24")
    settings = TreeSettings.from_environment(Path("/project"))
    (api, *_rest) = tree.services(settings, {}, [])
    assert api.command[api.command.index("--blocking-threads") + 1] == "24"
    monkeypatch.setenv("WEB_THREADS", "3")
    with pytest.raises(EnvError, match="WEB_THREADS"):
        TreeSettings.from_environment(Path("/project"))
