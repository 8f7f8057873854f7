"""A real browser for link tests, and a customer's site to come back to and to frame the pages in."""

import html
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

#: The smallest screen that pages must be usable on.
PHONE: ViewportSize = {"width": 320, "height": 640}
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """The machine's Chromium."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def sign_in(page: Page, *, allow: bool = True) -> None:
    """Log in and decide at the simulated vendor."""
    page.get_by_label("E-mail").fill("ada@example.com")
    page.get_by_label("Password").fill("simulator")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name="Allow" if allow else "Deny").click()


def fits(page: Page) -> bool:
    """Whether nothing sticks out sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


class _Customer(BaseHTTPRequestHandler):
    """Its one page; with `?frame=address`, that address in a frame."""

    def do_GET(self) -> None:
        framed = parse_qs(urlsplit(self.path).query).get("frame", [""])[0]
        frame = f'<iframe src="{html.escape(framed)}" title="Link" width="380" height="700"></iframe>' if framed else ""
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(f"<!doctype html><title>Back home</title><h1>Back home</h1>{frame}".encode())

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing."""


@contextmanager
def customer_site() -> Iterator[str]:
    """A page on a loopback port; its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Customer) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
