"""Rules about the code itself. An exemption has a reason, and one that is no longer needed fails."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("healthsvc", "management", "users", "webhooks", "aggregation", "links", "labs", "orders", "simulator")
FILE_LINES = 500
FUNCTION_LINES = 60

#: Assign `.status`: the one walker of each lifecycle.
STATUS_WALKERS: dict[str, str] = {
    "management/jobs.py": "the walker of background jobs",
    "users/services/erasure.py": "the walker of erasures",
    "users/services/exports.py": "the walker of exports",
    "webhooks/walker.py": "the walker of deliveries",
    "links/services/walk.py": "the walker of link tokens, connections and pulls",
}
#: Call an HTTP library: the one outbound client.
HTTP_CALLERS: dict[str, str] = {
    "healthsvc/kernel/http.py": "the kernel's client",
    "simulator/hooks.py": "simulated vendors call a service on this machine, and import nothing of it",
}
HTTP_LIBRARIES = {"requests", "httpx", "aiohttp", "urllib3", "urllib.request", "http.client"}
SHAPELESS_NAMES = {"utils.py", "helpers.py", "misc.py", "common.py"}


def sources(*, tests: bool = False) -> Iterator[Path]:
    """Every module of the project, migrations left out."""
    for package in (*PACKAGES, "tests") if tests else PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path


def name(path: Path) -> str:
    """The path from the root."""
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def parsed(path: Path) -> ast.Module:
    """The module's syntax tree."""
    return ast.parse(path.read_text())


def exempted(found: set[str], exemptions: dict[str, str]) -> None:
    """Fail on what is not exempted, and on an exemption that nothing needs."""
    assert found - set(exemptions) == set()
    assert set(exemptions) - found == set(), "stale exemption"


def status_assigners(path: Path) -> set[str]:
    """The module's name where it assigns `x.status`, or passes `status=` to a queryset's `update`."""
    for node in ast.walk(parsed(path)):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        if any(isinstance(target, ast.Attribute) and target.attr == "status" for target in targets):
            return {name(path)}
        if isinstance(node, ast.Call) and _is_status_update(node):
            return {name(path)}
    return set()


def _is_status_update(call: ast.Call) -> bool:
    updates = isinstance(call.func, ast.Attribute) and call.func.attr == "update"
    return updates and any(keyword.arg == "status" for keyword in call.keywords)


def http_imports(path: Path) -> set[str]:
    """Outbound HTTP libraries that a module imports."""
    found: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {module for module in found if any(f"{module}.".startswith(f"{library}.") for library in HTTP_LIBRARIES)}


def sql_f_strings(path: Path) -> list[int]:
    """Lines where an f-string or a `%` or `.format` builds SQL."""
    verbs = ("SELECT ", "INSERT ", "UPDATE ", "DELETE ", "CREATE ", "ALTER ", "DROP ", "COPY ")
    lines = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.JoinedStr) and node.values:
            first = node.values[0]
            if isinstance(first, ast.Constant) and str(first.value).lstrip().startswith(verbs):
                lines.append(node.lineno)
    return lines


def long_functions(path: Path) -> list[str]:
    """Functions over the limit."""
    return [
        f"{name(path)}:{node.lineno} {node.name} {node.end_lineno - node.lineno + 1}"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > FUNCTION_LINES
    ]


def forbidden_imports(path: Path) -> bool:
    """Whether a module imports Django's signals, or everything from somewhere."""
    return any(
        isinstance(node, ast.ImportFrom)
        and (
            (node.module or "").startswith(("django.dispatch", "django.db.models.signals", "django.core.signals"))
            or any(alias.name == "*" for alias in node.names)
        )
        for node in ast.walk(parsed(path))
    )


def test_nobody_assigns_a_status_outside_the_walkers() -> None:
    apps = [path for path in sources() if path.relative_to(ROOT).parts[0] not in ("healthsvc", "simulator")]
    found = {where for path in apps for where in status_assigners(path)}
    exempted(found, STATUS_WALKERS)


def test_nobody_calls_an_http_library_outside_the_kernel_client() -> None:
    exempted({name(path) for path in sources() if http_imports(path)}, HTTP_CALLERS)


def test_no_f_string_builds_sql() -> None:
    assert [(name(path), lines) for path in sources(tests=True) if (lines := sql_f_strings(path))] == []


def test_files_and_functions_keep_to_their_sizes() -> None:
    long_files = [name(path) for path in sources(tests=True) if len(path.read_text().splitlines()) > FILE_LINES]
    assert long_files == []
    assert [found for path in sources(tests=True) for found in long_functions(path)] == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [name(path) for path in sources() if path.name != "__init__.py" and not ast.get_docstring(parsed(path))]
    assert silent == []


def test_no_shapeless_names() -> None:
    assert [name(path) for path in sources(tests=True) if path.name in SHAPELESS_NAMES] == []


def test_no_signals_and_no_star_imports() -> None:
    assert [name(path) for path in sources() if forbidden_imports(path)] == []


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        (status_assigners, "def f(order):\n    order.status = 'done'\n"),
        (status_assigners, "def f(orders):\n    orders.update(status='done')\n"),
        (forbidden_imports, "from django.dispatch import receiver\n"),
        (forbidden_imports, "from os import *\n"),
        (http_imports, "import requests\n"),
        (http_imports, "from urllib import request\n"),
        (sql_f_strings, 'def f(t):\n    return f"SELECT * FROM {t}"\n'),
        (long_functions, "def f():\n" + "    x = 1\n" * FUNCTION_LINES),
    ],
)
def test_each_rule_fails_when_it_is_broken(rule: Callable[[Path], object], broken: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text(broken)
    assert rule(path)
