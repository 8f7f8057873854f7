"""Reading the environment: what is not understood is an error that names the variable and no secret."""

from pathlib import Path

import pytest

from healthsvc import env
from healthsvc.env import EnvError


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("1", True), ("TRUE", True), ("false", False), ("0", False)]
)
def test_booleans(monkeypatch: pytest.MonkeyPatch, text: str, value: bool) -> None:
    monkeypatch.setenv("SWITCH", text)
    assert env.env_bool("SWITCH", not value) is value


@pytest.mark.parametrize("text", ["yes", "on", "2", "y", "no", "truee"])
def test_other_words_are_no_booleans(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SWITCH", text)
    with pytest.raises(EnvError) as caught:
        env.env_bool("SWITCH", False)
    assert str(caught.value) == f"SWITCH={text!r} is not a boolean: use true, false, 1 or 0."


def test_empty_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("A", "A_FILE"):
        monkeypatch.setenv(name, " ")
    assert env.env_bool("A", True) is True
    assert env.env_int("A", 7) == 7
    assert env.env_str("A", "x") == "x"
    assert env.env_list("A", ["x"]) == ["x"]
    assert env.env_secret("A", "x") == "x"
    assert env.env_path("A", Path("/x")) == Path("/x")


@pytest.mark.parametrize("text", ["1.5", "ten", "1e3", "--1", "+1", "٣", "0x10", "1_000", "1 0"])
def test_not_whole_numbers(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("COUNT", text)
    with pytest.raises(EnvError) as caught:
        env.env_int("COUNT", 1, minimum=-5, maximum=9)
    assert str(caught.value) == f"COUNT={text!r} is not a whole number from -5 to 9."


@pytest.mark.parametrize(("text", "fits"), [("-6", False), ("-5", True), ("9", True), ("10", False)])
def test_bounds_are_included(monkeypatch: pytest.MonkeyPatch, text: str, fits: bool) -> None:
    monkeypatch.setenv("COUNT", text)
    if fits:
        assert env.env_int("COUNT", 1, minimum=-5, maximum=9) == int(text)
        return
    with pytest.raises(EnvError, match=f"COUNT={text} is out of range: use a whole number from -5 to 9."):
        env.env_int("COUNT", 1, minimum=-5, maximum=9)


def test_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTS", " a, b ,,c,")
    assert env.env_list("HOSTS", []) == ["a", "b", "c"]


def test_paths_are_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOLDER", "data/../var")
    assert env.env_path("FOLDER", Path("/x")) == Path.cwd() / "var"


def test_a_secret_or_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("  from-the-file\n")
    monkeypatch.setenv("TOKEN_FILE", str(file))
    assert env.env_secret("TOKEN", "") == "from-the-file"
    monkeypatch.delenv("TOKEN_FILE")
    monkeypatch.setenv("TOKEN", "itself")
    assert env.env_secret("TOKEN", "") == "itself"


def test_both_forms_are_an_error_that_tells_neither(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("aaaa")
    monkeypatch.setenv("TOKEN_FILE", str(file))
    monkeypatch.setenv("TOKEN", "bbbb")
    with pytest.raises(EnvError) as caught:
        env.env_secret("TOKEN", "")
    assert str(caught.value) == "TOKEN and TOKEN_FILE are both set: set only one."


@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff\xfe"])
def test_unusable_secret_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv("TOKEN_FILE", str(file))
    with pytest.raises(EnvError, match=f"TOKEN_FILE={file}"):
        env.env_secret("TOKEN", "")


def test_what_was_read_is_declared_without_secrets() -> None:
    env.env_secret("DECLARED_SECRET", "hidden default")
    env.env_int("DECLARED_COUNT", 3, minimum=1)
    found = {declaration.name: declaration for declaration in env.declared()}
    assert found["DECLARED_COUNT"] == env.Declaration("DECLARED_COUNT", "whole number", "3", minimum=1)
    assert found["DECLARED_SECRET"].default == "(set)"
    assert found["DECLARED_SECRET"].secret
