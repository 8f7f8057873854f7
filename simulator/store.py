"""All state of the simulator in one SQLite file: sign-ins, grants, codes, tokens, faults, counts, the clock.

Codes, tokens and form tokens are kept as SHA-256 digests only. Every method is one short transaction, so
several threads and a restart in the middle of a flow see one consistent state.
"""

import hashlib
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue

_SCHEMA = """
CREATE TABLE IF NOT EXISTS sign_in (
    id TEXT PRIMARY KEY, browser_hash TEXT NOT NULL, form_hash TEXT NOT NULL, slug TEXT NOT NULL,
    client_id TEXT NOT NULL, redirect_uri TEXT NOT NULL, state TEXT NOT NULL, scopes TEXT NOT NULL,
    code_challenge TEXT NOT NULL, person TEXT NOT NULL, account TEXT NOT NULL, expires_at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS access_grant (
    id INTEGER PRIMARY KEY, slug TEXT NOT NULL, client_id TEXT NOT NULL, account TEXT NOT NULL,
    seed TEXT NOT NULL, scopes TEXT NOT NULL, revoked INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS code (
    hash TEXT PRIMARY KEY, grant_id INTEGER NOT NULL, redirect_uri TEXT NOT NULL,
    code_challenge TEXT NOT NULL, expires_at REAL NOT NULL, used INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS token (
    hash TEXT PRIMARY KEY, grant_id INTEGER NOT NULL, kind TEXT NOT NULL, expires_at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS token_grant ON token (grant_id);
CREATE TABLE IF NOT EXISTS fault (
    id INTEGER PRIMARY KEY, slug TEXT NOT NULL, path_prefix TEXT NOT NULL, kind TEXT NOT NULL,
    skip INTEGER NOT NULL, remaining INTEGER NOT NULL, retry_after_seconds INTEGER NOT NULL,
    delay_seconds REAL NOT NULL);
CREATE TABLE IF NOT EXISTS request_count (
    slug TEXT NOT NULL, method TEXT NOT NULL, route TEXT NOT NULL, action TEXT NOT NULL,
    status INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (slug, method, route, action, status));
CREATE TABLE IF NOT EXISTS hook_subscription (
    id INTEGER PRIMARY KEY, slug TEXT NOT NULL, external_id TEXT NOT NULL, client_id TEXT NOT NULL,
    grant_id INTEGER NOT NULL, topic TEXT NOT NULL, callback_url TEXT NOT NULL, verify_token TEXT NOT NULL,
    created_at REAL NOT NULL, expires_at REAL, UNIQUE (slug, client_id, grant_id, topic, callback_url));
CREATE TABLE IF NOT EXISTS nonce (hash TEXT PRIMARY KEY, client_id TEXT NOT NULL, expires_at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS hook_call (
    id INTEGER PRIMARY KEY, slug TEXT NOT NULL, method TEXT NOT NULL, path TEXT NOT NULL, status INTEGER NOT NULL,
    failure TEXT NOT NULL, sent_at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS password_challenge (
    hash TEXT PRIMARY KEY, slug TEXT NOT NULL, account TEXT NOT NULL, attempts INTEGER NOT NULL,
    expires_at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS data_window (
    grant_id INTEGER NOT NULL, minute INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (grant_id, minute));
CREATE TABLE IF NOT EXISTS strava_usage (
    client_id TEXT NOT NULL, seconds INTEGER NOT NULL, window INTEGER NOT NULL, used INTEGER NOT NULL,
    PRIMARY KEY (client_id, seconds, window));
CREATE TABLE IF NOT EXISTS strava_limit (quarter_hour INTEGER NOT NULL, day INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS clock (id INTEGER PRIMARY KEY CHECK (id = 1), now REAL NOT NULL);
"""


def digest(secret: str) -> str:
    """What is stored in place of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


class Store:
    """The SQLite file. Connections are lent from a pool, one at a time; writers wait up to ten seconds.

    `callback_origins`: the clients that may be called (`simulator.configuration`).
    """

    def __init__(self, database: Path, callback_origins: tuple[str, ...] = ()) -> None:
        self.callback_origins = callback_origins
        database.parent.mkdir(parents=True, exist_ok=True)
        self._database = database
        self._idle: SimpleQueue[sqlite3.Connection] = SimpleQueue()
        with self._lent() as connection:
            connection.executescript(_SCHEMA)

    @contextmanager
    def _lent(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._idle.get_nowait()
        except Empty:
            connection = self._connected()
        try:
            yield connection
        finally:
            self._idle.put(connection)

    def _connected(self) -> sqlite3.Connection:
        # isolation_level None: transactions begin where the code says so, and nowhere else.
        connection = sqlite3.connect(self._database, timeout=10, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    def close(self) -> None:
        """Close every idle connection; for tests that restart a simulator in one process."""
        while not self._idle.empty():
            self._idle.get_nowait().close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A write transaction that begins with the lock, so what is read in it is still so at the write."""
        with self._lent() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def row(self, statement: str, parameters: Sequence[object] = ()) -> sqlite3.Row | None:
        with self._lent() as connection:
            found: sqlite3.Row | None = connection.execute(statement, parameters).fetchone()
        return found

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[sqlite3.Row]:
        with self._lent() as connection:
            return connection.execute(statement, parameters).fetchall()

    def now(self) -> float:
        """Seconds since 1970 by the simulator's clock, which a test may have stopped."""
        stopped = self.row("SELECT now FROM clock")
        return float(stopped["now"]) if stopped else time.time()

    def set_clock(self, now: float | None) -> None:
        """Stop the clock at an instant, or let it run with None."""
        with self.writing() as connection:
            connection.execute("DELETE FROM clock")
            if now is not None:
                connection.execute("INSERT INTO clock (id, now) VALUES (1, ?)", (now,))

    def count_request(self, slug: str, method: str, route: str, action: str, status: int) -> None:
        with self.writing() as connection:
            connection.execute(
                "INSERT INTO request_count VALUES (?, ?, ?, ?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1",
                (slug, method, route, action, status),
            )

    def reset(self) -> None:
        """Forget everything: grants, tokens, faults, counts, and a stopped clock."""
        with self.writing() as connection:
            # Vendors' modules make tables of their own beside those above.
            names = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
            for (name,) in names.fetchall():
                connection.execute('DELETE FROM "{}"'.format(name.replace('"', '""')))  # noqa: S608 - our own tables
