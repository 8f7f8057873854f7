"""A simulator served from a thread, and the two who talk to it: a person's browser and a client's program."""

import base64
import hashlib
import re
import socketserver
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from urllib.parse import parse_qsl, urlencode, urlsplit
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import orjson

from simulator.app import Simulator
from simulator.configuration import Configuration
from tests.simulator_control import CALLBACK_ORIGINS, CONTROL_SECRET, control_headers

CLIENT_ID = "healthsvc-test"
CLIENT_SECRET = "simulator-secret"
PASSWORD = "simulator"
CALLBACK = "http://127.0.0.1:9/callback?tenant=1"
SCOPES = {
    "oura": "email personal daily heartrate workout",
    "withings": "user.info,user.metrics,user.activity",
}


class _ThreadingServer(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own name
        pass


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, object]:
        document = orjson.loads(self.body)
        assert isinstance(document, dict)
        return document

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def location(self) -> dict[str, str]:
        """The query parameters of the Location header."""
        return dict(parse_qsl(urlsplit(self.headers["location"]).query))


class RunningSimulator:
    """A context manager; `url` is where it answers. Entering again after leaving is a restart."""

    def __init__(self, database: Path) -> None:
        self._database = database

    def __enter__(self) -> "RunningSimulator":
        origins = tuple(CALLBACK_ORIGINS.split(","))
        self._application = Simulator(
            Configuration(self._database, "http://127.0.0.1", control_secret=CONTROL_SECRET, callback_origins=origins)
        )
        self._server = make_server("127.0.0.1", 0, self._application, _ThreadingServer, _QuietHandler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._application.store.close()

    def stop_clock(self, now: str | None) -> None:
        assert self.post_json("/_control/clock", {"now": now}).status == 200

    def fault(self, **document: object) -> None:
        assert self.post_json("/_control/faults", document).status == 201

    def post_json(self, path: str, document: object) -> Answer:
        return ask(self.url, "POST", path, orjson.dumps(document), {"Content-Type": "application/json"})

    def get(self, path: str, token: str = "", **query: str) -> Answer:
        target = path + ("?" + urlencode(query) if query else "")
        return ask(self.url, "GET", target, headers=_bearer(token))

    def post_form(self, path: str, bearer: str = "", basic: str = "", **fields: str) -> Answer:
        headers = {"Content-Type": "application/x-www-form-urlencoded", **_bearer(bearer)}
        if basic:
            headers["Authorization"] = f"Basic {basic}"
        return ask(self.url, "POST", path, urlencode(fields).encode(), headers)

    def code(self, slug: str = "oura", email: str = "ada@example.com", **query: str) -> str:
        """Walk through the pages as a person who allows everything."""
        browser = Browser(self.url)
        browser.begin(slug, **query)
        browser.log_in(email)
        return browser.submit(decision="allow").location["code"]

    def tokens(self, slug: str = "oura", email: str = "ada@example.com", **query: str) -> dict[str, object]:
        """A code traded for tokens, out of whatever envelope the vendor uses."""
        code = self.code(slug, email, **query)
        return self.exchange(slug, grant_type="authorization_code", code=code, redirect_uri=CALLBACK)

    def exchange(self, slug: str, **fields: str) -> dict[str, object]:
        answer = self.token_request(slug, **fields)
        assert answer.status == 200, answer.body
        document = answer.json
        body = document["body"] if slug == "withings" else document
        assert isinstance(body, dict)
        return body

    def token_request(self, slug: str, **fields: str) -> Answer:
        client = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
        if slug == "withings":
            return self.post_form("/withings/v2/oauth2", **{"action": "requesttoken", **client, **fields})
        return self.post_form(f"/{slug}/oauth/token", **{**client, **fields})

    def access_token(self, slug: str = "oura", email: str = "ada@example.com", **query: str) -> str:
        return str(self.tokens(slug, email, **query)["access_token"])


class Browser:
    """A browser with a cookie jar, at one vendor's pages."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.cookies: dict[str, str] = {}
        self.page = Answer(0, {}, b"")

    def begin(self, slug: str, **query: str) -> Answer:
        """Arrive with a client's authorisation request; parameters given as '' are left out."""
        asked = {
            "response_type": "code",
            "client_id": CLIENT_ID,
            "redirect_uri": CALLBACK,
            "state": "s1",
            "scope": SCOPES.get(slug, "read"),
            **query,
        }
        present = {name: value for name, value in asked.items() if value}
        return self.visit("GET", f"/{slug}/oauth/authorize?" + urlencode(present))

    def log_in(self, email: str, password: str = PASSWORD) -> Answer:
        return self.submit(email=email, password=password)

    def submit(self, *, scopes: tuple[str, ...] | None = None, **fields: str) -> Answer:
        """Submit the page's form with its hidden fields and its ticked checkboxes, unless others are named."""
        html = self.page.text
        action = re.search(r'<form method="post" action="([^"]+)"', html)
        assert action is not None, html
        hidden = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', html)
        boxes = re.findall(r'name="scope" value="([^"]+)" checked>', html)
        ticked = scopes if scopes is not None else tuple(unescape(box) for box in boxes)
        form = [(name, unescape(value)) for name, value in hidden if name not in fields]
        form += [("scope", scope) for scope in ticked] + list(fields.items())
        return self.visit("POST", action.group(1), urlencode(form).encode())

    def visit(self, method: str, target: str, body: bytes = b"") -> Answer:
        """One request; a redirect within the vendor is followed, one to the client is not."""
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if body:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        self.page = ask(self._url, method, target, body, headers)
        if cookie := self.page.headers.get("set-cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        location = self.page.headers.get("location", "")
        return self.visit("GET", location) if location.startswith("/") else self.page


def ask(url: str, method: str, target: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=20)
    try:
        # The secret of the controls is shown where they are, and nowhere else; a test may show another one.
        connection.request(method, target, body or None, {**control_headers(target), **(headers or {})})
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, found, answer.read())
    finally:
        connection.close()


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def challenge_of(verifier: str) -> str:
    """The S256 code challenge of a verifier."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
