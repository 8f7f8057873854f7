"""Roles, passwords and database of the embedded PostgreSQL."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from healthsvc.runtime.instance_secrets import write_private_json

SUPERUSER = "healthsvc_superuser"
OWNER = "healthsvc_owner"
APP = "healthsvc_app"
DATABASE = "healthsvc"


@dataclass(frozen=True, slots=True)
class PostgresUrls:
    """`postgresql://user:password@/database?host=<socket folder>`.

    The service runs with `database_url`, migrations with `owner_url`; `superuser_url` stays with launcher and tests.
    """

    database_url: str
    owner_url: str
    superuser_url: str


def kept_passwords(path: Path, *, fresh: bool) -> dict[str, str]:
    """Passwords by role from the private file `path`, made there before the cluster is. Raises ValueError if lost."""
    if not path.exists():
        if not fresh:
            raise ValueError(f"{path} is missing: without it the database of this folder cannot be opened.")
        passwords = {role: secrets.token_urlsafe(24) for role in (SUPERUSER, OWNER, APP)}
        write_private_json(path, passwords)
    content = json.loads(path.read_text(encoding="utf-8"))
    return {role: str(content[role]) for role in (SUPERUSER, OWNER, APP)}


def urls(passwords: Mapping[str, str], sockets: Path) -> PostgresUrls:
    def url(role: str, database: str) -> str:
        return f"postgresql://{role}:{quote(passwords[role])}@/{database}?host={quote(str(sockets), safe='')}"

    return PostgresUrls(url(APP, DATABASE), url(OWNER, DATABASE), url(SUPERUSER, "postgres"))


def answers(superuser_url: str) -> bool:
    """Whether the server takes a connection and a query now."""
    try:
        with psycopg.connect(superuser_url, connect_timeout=2) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def ensure(superuser_url: str, passwords: Mapping[str, str], *, owner_creates_databases: bool) -> None:
    """Make the roles and the database, or bring them back to what they must be."""
    creates = sql.SQL("CREATEDB" if owner_creates_databases else "NOCREATEDB")
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        for role, rights in ((OWNER, creates), (APP, sql.SQL("NOCREATEDB"))):
            name = sql.Identifier(role)
            if not _exists(connection, "SELECT 1 FROM pg_roles WHERE rolname = %s", role):
                connection.execute(sql.SQL("CREATE ROLE {}").format(name))
            connection.execute(
                sql.SQL(
                    "ALTER ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOREPLICATION NOINHERIT {} PASSWORD {}"
                ).format(name, rights, sql.Literal(passwords[role]))
            )
        if not _exists(connection, "SELECT 1 FROM pg_database WHERE datname = %s", DATABASE):
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(DATABASE), sql.Identifier(OWNER))
            )
        names = {"database": sql.Identifier(DATABASE), "owner": sql.Identifier(OWNER), "app": sql.Identifier(APP)}
        connection.execute(sql.SQL("REVOKE ALL ON DATABASE {database} FROM PUBLIC").format(**names))
        connection.execute(sql.SQL("GRANT CONNECT, TEMPORARY ON DATABASE {database} TO {app}").format(**names))
    _ensure_schema(superuser_url, names)


def _ensure_schema(superuser_url: str, names: Mapping[str, sql.Identifier]) -> None:
    inside = superuser_url.replace("@/postgres?", f"@/{DATABASE}?")
    with psycopg.connect(inside, autocommit=True) as connection:
        connection.execute(sql.SQL("ALTER SCHEMA public OWNER TO {owner}").format(**names))
        connection.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
        connection.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {app}").format(**names))


def _exists(connection: psycopg.Connection[tuple[object, ...]], query: str, name: str) -> bool:
    return connection.execute(query.encode(), (name,)).fetchone() is not None
