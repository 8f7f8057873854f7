"""Makes a test database: one migrated template a run, one copy a worker."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.conf import settings
from django.db import connections
from psycopg import sql

ROOT = Path(__file__).resolve().parent.parent
#: Any fixed number: workers wait on it while one of them makes the template.
_LOCK = 727_501


@contextmanager
def database_made(worker_number: int) -> Iterator[None]:
    """Point Django's connections at a fresh database for this worker; drop it afterwards."""
    superuser_url = os.environ.get("TEST_SUPERUSER_URL")
    if not superuser_url:
        pytest.exit("The tests need servers of their own: run `make test`.", returncode=2)
    name = f"test_{worker_number}_{os.getpid()}"
    with psycopg.connect(superuser_url, autocommit=True) as superuser:
        template = _template(superuser)
        owner = sql.Identifier(settings.DATABASES["owner"]["USER"])
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {}")
        superuser.execute(create.format(sql.Identifier(name), sql.Identifier(template), owner))
        for alias in ("default", "owner"):
            connections[alias].settings_dict["NAME"] = name
        try:
            yield
        finally:
            connections.close_all()
            superuser.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _template(superuser: psycopg.Connection) -> str:
    """The name of the migrated template, made by whoever comes first."""
    name = f"test_template_{_migrations_digest()}"
    superuser.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
    try:
        known = superuser.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
        if known is None:
            _template_make(superuser, name)
    finally:
        superuser.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
    return name


def _template_make(superuser: psycopg.Connection, name: str) -> None:
    making = f"{name}_making"
    owner = settings.DATABASES["owner"]["USER"]
    service = settings.DATABASES["default"]["USER"]
    superuser.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(making)))
    superuser.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(making), sql.Identifier(owner)))
    environment = dict(os.environ)
    for variable in ("DATABASE_URL", "DATABASE_OWNER_URL"):
        environment[variable] = url_with_database(os.environ[variable], making)
    command = [sys.executable, "manage.py", "migrate", "--noinput", "-v0"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    with psycopg.connect(url_with_database(os.environ["TEST_SUPERUSER_URL"], making), autocommit=True) as connection:
        # Only tests empty tables; the service's role may not.
        grant = sql.SQL("GRANT TRUNCATE ON ALL TABLES IN SCHEMA public TO {}")
        connection.execute(grant.format(sql.Identifier(service)))
    rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
    superuser.execute(rename.format(sql.Identifier(making), sql.Identifier(name)))


def url_with_database(url: str, name: str) -> str:
    """The same server and role, another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def _migrations_digest() -> str:
    digest = hashlib.sha256()
    made_by = ("healthsvc/kernel/row_security.py", "users/icd10cm.py", "users/services/diagnoses.py")
    for path in [*sorted(ROOT.glob("*/migrations/*.py")), *(ROOT / name for name in made_by)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
