"""Generated pages, commands and files stay true to the code."""

import re
import subprocess
from io import StringIO

from django.core.management import call_command, get_commands

from healthsvc import env, reference_docs
from healthsvc.kernel.errors import ErrorCode
from healthsvc.kernel.json_io import json_decode, json_encode
from tests.invariants.test_code import PACKAGES, ROOT
from webhooks.registry import event_types

#: Commands that a test can't call in its own process, with what covers them.
COVERED_OTHERWISE = {
    "migrate": "makes every test database",
    "up": "the journey starts it as a person would",
}


def test_generated_pages_are_as_the_code_says() -> None:
    out = StringIO()
    call_command("docs_generate", "--check", stdout=out)
    assert "as the code says" in out.getvalue()


def test_every_error_code_is_in_the_docs() -> None:
    page = (ROOT / "docs/errors.md").read_text()
    assert [code.code for code in ErrorCode if f"`{code.code}`" not in page] == []


def test_every_event_is_in_the_docs_and_its_sample_is_json() -> None:
    page = (ROOT / "docs/events.md").read_text()
    assert [name for name in event_types() if f"\n| `{name}` |" not in page] == []
    for event in event_types().values():
        assert json_decode(json_encode(event.sample)) == event.sample
        assert event.meaning.endswith(".")


def test_every_setting_has_a_meaning_and_every_meaning_a_setting() -> None:
    settings_source = (ROOT / "healthsvc/settings.py").read_text()
    asked = {item.name for item in env.declared() if re.search(rf'env_\w+\("{item.name}"', settings_source)}
    assert asked == set(reference_docs.SETTING_MEANINGS)


def test_every_variable_of_make_run_is_in_the_docs() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "healthsvc/runtime").glob("*.py"))
    asked = set(re.findall(r'(?:env_\w+|_port)\("(\w+)"', sources))
    documented = {*reference_docs.RUN_SETTINGS, *reference_docs.SETTING_MEANINGS}
    assert asked - documented == set()
    page = (ROOT / "docs/settings.md").read_text()
    assert [name for name in documented if f"`{name}`" not in page] == []


def test_every_command_is_called_by_a_test() -> None:
    ours = {name for name, app in get_commands().items() if str(app).split(".")[0] in PACKAGES}
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    called = {name for name in ours if f'"{name}"' in tests}
    assert ours - called - set(COVERED_OTHERWISE) == set()
    assert set(COVERED_OTHERWISE) - ours == set()


def test_no_path_of_a_machine_is_committed() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    # A folder of a person or of this checkout; addresses such as https://host/home/ are no paths.
    pattern = re.compile(rb"(?<![\w./:-])/(?:home|Users)/\w+/|" + re.escape(str(ROOT).encode()) + rb"\b")
    found = [name for name in tracked if (ROOT / name).is_file() and pattern.search((ROOT / name).read_bytes())]
    assert found == []
