"""The simulator as it is really run: granian, one process, several threads, its state in the file it was told."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.simulator.running import CALLBACK, CLIENT_ID, CLIENT_SECRET, Browser, ask

ROOT = Path(__file__).parent.parent.parent


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def served(database: Path) -> Iterator[str]:
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers", "1", "--blocking-threads", "4", "simulator.wsgi:application"]
    environ = {**os.environ, "SIMULATOR_DATABASE": str(database), "SIMULATOR_URL": url, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.DEVNULL) as process:
        try:
            _wait_until_ready(url)
            yield url
        finally:
            process.terminate()


def _wait_until_ready(url: str) -> None:
    for _ in range(200):
        try:
            if ask(url, "GET", "/healthz").status == 200:
                return
        except OSError:
            time.sleep(0.05)
    pytest.fail("The simulator did not come up.")


@pytest.mark.slow
def test_a_flow_begun_before_a_restart_ends_after_it(tmp_path: Path) -> None:
    database = tmp_path / "state" / "simulator.sqlite3"
    with served(database) as url:
        browser = Browser(url)
        browser.begin("oura")
        browser.log_in("ada@example.com")
    with served(database) as url:
        code = _moved(browser, url).submit(decision="allow").location["code"]
        client = f"client_id={CLIENT_ID}&client_secret={CLIENT_SECRET}&redirect_uri={CALLBACK.replace('?', '%3F')}"
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        body = f"grant_type=authorization_code&code={code}&{client}".encode()
        answer = ask(url, "POST", "/oura/oauth/token", body, form)
        assert answer.status == 200, answer.body
        bearer = {"Authorization": f"Bearer {answer.json['access_token']}"}
        path = "/oura/v2/usercollection/sleep?start_date=2026-10-01&end_date=2026-10-10"
        with ThreadPoolExecutor(8) as pool:
            bodies = set(pool.map(lambda _: ask(url, "GET", path, headers=bearer).body, range(40)))
        assert len(bodies) == 1
        counted = ask(url, "GET", "/_control/requests").json["requests"]
        assert isinstance(counted, list)
        sleeps = [row["count"] for row in counted if row["route"] == "/oura/v2/usercollection/sleep"]
        assert sleeps == [40]


def _moved(browser: Browser, url: str) -> Browser:
    """The same browser with the same cookies and page, now that the vendor answers at another address."""
    moved = Browser(url)
    moved.cookies, moved.page = browser.cookies, browser.page
    return moved
